// One row per claim or experiment, grouped by source: a list in which one row is chosen, by a
// click, or by the arrow keys and Enter. Every word is in the data and set as text.

const node = (tag, className, text) => {
  const fresh = document.createElement(tag);
  if (className) fresh.className = className;
  if (text !== undefined) fresh.textContent = text;
  return fresh;
};

function optionOf(row, number) {
  const item = node("li", row.refuted ? "option refuted" : "option");
  item.id = `row-${number}`;
  item.setAttribute("role", "option");
  item.dataset.key = row.key;
  const verdict = node("span", "verdict", `${row.sign} ${row.word}`);
  const says = node("span", "says");
  says.append(node("b", "", row.says), " ", node("span", "", row.name));
  item.append(verdict, says, node("span", "figure", row.figure));
  if (row.more) item.append(node("span", "more", row.more));
  return item;
}

function build(state) {
  const { data, list, head } = state;
  state.root.classList.toggle("three", data.columns.length === 3);
  head.replaceChildren(...data.columns.map((title) => node("span", "", title)));
  list.setAttribute("aria-label", data.label);
  state.options = [];
  const groups = data.groups.map((group, i) => {
    const part = node("li");
    part.setAttribute("role", "presentation");
    const rows = node("ul");
    rows.setAttribute("role", "group");
    const title = node("li", "source", group.title);
    title.id = `source-${i}`;
    title.setAttribute("role", "presentation");
    rows.setAttribute("aria-labelledby", title.id);
    const options = group.rows.map((row, j) => optionOf(row, state.options.length + j));
    state.options.push(...options);
    rows.append(title, ...options);
    part.append(rows);
    return part;
  });
  list.replaceChildren(...groups);
}

function activate(state, number) {
  const { options, list } = state;
  if (!options.length) return;
  state.active = Math.max(0, Math.min(number, options.length - 1));
  options.forEach((option, i) => option.classList.toggle("active", i === state.active));
  const option = options[state.active];
  list.setAttribute("aria-activedescendant", option.id);
  // Scrolls within the list alone: the page does not move. A first row brings the name of its
  // source.
  const top = option.previousElementSibling?.classList.contains("source")
    ? option.previousElementSibling : option;
  const [from, to] = [top.offsetTop - list.offsetTop, option.offsetTop - list.offsetTop];
  if (from < list.scrollTop) list.scrollTop = from;
  const low = to + option.offsetHeight - list.clientHeight;
  if (low > list.scrollTop) list.scrollTop = low;
}

function mark(state, key) {
  state.chosen = key;
  for (const option of state.options) {
    option.setAttribute("aria-selected", String(option.dataset.key === key));
  }
}

function choose(state, option) {
  if (!option) return;
  activate(state, state.options.indexOf(option));
  if (option.dataset.key === state.chosen) return;
  mark(state, option.dataset.key);
  state.send("chosen", { key: option.dataset.key });
}

function press(state, event) {
  const moves = {
    ArrowDown: state.active + 1, ArrowUp: state.active - 1, Home: 0, End: state.options.length - 1,
  };
  if (event.key in moves) activate(state, moves[event.key]);
  else if (event.key === "Enter" || event.key === " ") choose(state, state.options[state.active]);
  else return;
  event.preventDefault();
}

const states = new WeakMap();

function begin(parentElement) {
  const root = node("div", "listing");
  const head = node("div", "head");
  head.setAttribute("aria-hidden", "true");
  const list = node("ul", "list");
  list.setAttribute("role", "listbox");
  list.tabIndex = 0;
  root.append(head, list);
  parentElement.append(root);
  const state = { root, head, list, options: [], active: 0 };
  list.addEventListener("click", (event) => choose(state, event.target.closest("[role=option]")));
  list.addEventListener("keydown", (event) => press(state, event));
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
  const { chosen, ...content } = data;
  const shown = JSON.stringify(content);
  if (shown !== state.shown) {
    state.shown = shown;
    state.data = data;
    build(state);
    state.chosen = undefined;
  }
  if (chosen !== state.chosen) {
    mark(state, chosen);
    activate(state, Math.max(0, state.options.findIndex((option) => option.dataset.key === chosen)));
    const { list, options, active } = state;
    // In the middle, so that the rows around it are visible.
    const above = (list.clientHeight - (options[active]?.offsetHeight ?? 0)) / 2;
    if (active) list.scrollTop = options[active].offsetTop - list.offsetTop - above;
  }
  return () => {
    state.root.remove();
    states.delete(parentElement);
  };
}
