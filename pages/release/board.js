// Offers: one row per mechanism, each at the step of the dial. Every word is in the data and set as
// text. A row is chosen by a click, or by the arrow keys and Enter.

const node = (tag, className, text) => {
  const fresh = document.createElement(tag);
  if (className) fresh.className = className;
  if (text !== undefined) fresh.textContent = text;
  return fresh;
};

const cell = (tag, role, className) => {
  const fresh = node(tag, className);
  fresh.setAttribute("role", role);
  return fresh;
};

function rowOf(data, row) {
  const line = cell("tr", "row", "offer");
  line.dataset.key = row.key;
  const name = cell("th", "rowheader", "name");
  name.scope = "row";
  const glyph = node("span", "glyph", row.glyph);
  glyph.style.color = row.colour;
  glyph.setAttribute("aria-hidden", "true");
  const status = node("span", "status");
  name.append(glyph, node("span", "label", row.name), status);
  const cells = data.short.slice(1).map((title) => {
    const fresh = cell("td", "gridcell", "value");
    const value = node("span");
    // Hidden where the columns have heads, and shown in their place on a phone; screen readers read
    // the heads.
    const about = node("span", "about", title);
    about.setAttribute("aria-hidden", "true");
    fresh.append(about, value);
    line.append(fresh);
    return value;
  });
  line.prepend(name);
  return { line, status, cells };
}

function show(state) {
  state.waiting = 0;
  const { data, step } = state;
  data.rows.forEach((row, i) => {
    const { line, status, cells } = state.rows[i];
    const here = row.steps[step];
    status.textContent = here.status;
    line.classList.toggle("refuted", here.refuted);
    line.classList.toggle("none", here.status === "");
    cells.forEach((value, j) => { value.textContent = here.cells[j]; });
  });
  state.finding.textContent = data.findings[step];
}

function go(state, step) {
  state.step = Math.max(0, Math.min(step, state.data.findings.length - 1));
  if (!state.waiting) state.waiting = requestAnimationFrame(() => show(state));
}

function mark(state, key) {
  state.chosen = key;
  state.rows.forEach(({ line }) => {
    const is = line.dataset.key === key;
    line.setAttribute("aria-selected", String(is));
    line.tabIndex = is ? 0 : -1;
  });
}

function choose(state, line) {
  if (!line || line.dataset.key === state.chosen) return;
  mark(state, line.dataset.key);
  state.send("chosen", { key: line.dataset.key });
}

function press(state, event) {
  const line = event.target.closest(".offer");
  const at = state.rows.findIndex((row) => row.line === line);
  if (at < 0) return;
  const last = state.rows.length - 1;
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last };
  if (event.key in moves) {
    state.rows[Math.max(0, Math.min(moves[event.key], last))].line.focus();
  } else if (event.key === "Enter" || event.key === " ") choose(state, line);
  else return;
  event.preventDefault();
}

function build(state) {
  const { data, table } = state;
  table.setAttribute("aria-label", data.label);
  const head = node("thead");
  const titles = cell("tr", "row", "");
  titles.append(...data.columns.map((title) => {
    const fresh = cell("th", "columnheader", "");
    fresh.scope = "col";
    fresh.textContent = title;
    return fresh;
  }));
  head.append(titles);
  const body = node("tbody");
  state.rows = data.rows.map((row) => rowOf(data, row));
  body.append(...state.rows.map(({ line }) => line));
  for (const part of [head, body]) part.setAttribute("role", "rowgroup");
  table.replaceChildren(head, body);
}

const states = new WeakMap();

function begin(parentElement) {
  const root = node("div", "offers");
  const table = node("table");
  table.setAttribute("role", "grid");
  const finding = node("p", "finding");
  root.append(table, finding);
  parentElement.append(root);
  const state = { root, table, finding, rows: [], step: 0, waiting: 0 };
  table.addEventListener("click", (event) => choose(state, event.target.closest(".offer")));
  table.addEventListener("keydown", (event) => press(state, event));
  state.hear = ({ detail }) => {
    if (state.data && detail.group === state.data.group) go(state, detail.step);
  };
  window.addEventListener("dpcore:dial", state.hear);
  state.offered = offerPicture("offers", () => pictured(state.table), () => finding.textContent);
  return state;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let state = states.get(parentElement);
  if (!state) {
    state = begin(parentElement);
    states.set(parentElement, state);
  }
  state.send = setTriggerValue;
  const { step, chosen, ...content } = data;
  const shown = JSON.stringify(content);
  if (shown !== state.shown) {
    const other = state.data?.group !== data.group;
    state.shown = shown;
    state.data = data;
    build(state);
    state.chosen = undefined;
    go(state, other ? step : state.step);
  }
  if (chosen !== state.chosen) mark(state, chosen);
  return () => {
    window.removeEventListener("dpcore:dial", state.hear);
    state.offered();
    cancelAnimationFrame(state.waiting);
    state.root.remove();
    states.delete(parentElement);
  };
}
