// Posterior for one output: a hundred squares before and after, and the same in words. The data holds
// all steps of the dial; the dial only selects one. spoken.js and svg_files.js are prepended.

const SIDE = 10;
const CELL = 20;
const PANEL = SIDE * CELL;
const GAP = 24;
const TOP = 20;
const LINE = 19;
const WIDTH = 2 * PANEL + GAP;

const node = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

const shape = (tag, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

// A square of squares, filled row by row with as many letters as there are cases.
function panel(data, counts, left, title) {
  const group = shape("g", { transform: `translate(${left} ${TOP})` });
  group.append(shape("text", { x: PANEL / 2, y: -6, "text-anchor": "middle" }, title));
  const levels = counts.flatMap((count, i) => Array(count).fill(i < counts.length - 1 ? i : -1));
  levels.forEach((level, i) => {
    const x = (i % SIDE) * CELL;
    const y = Math.floor(i / SIDE) * CELL;
    const square = { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2 };
    if (level < 0) {
      group.append(shape("rect", { ...square, class: "empty" }));
      return;
    }
    group.append(shape("rect", { ...square, style: `fill:${data.colours[level]}` }));
    const middle = { x: x + CELL / 2, y: y + CELL / 2 + 4, class: "letter" };
    group.append(shape("text", { ...middle, style: `fill:${data.ink}` }, data.marks[level]));
  });
  return group;
}

const short = (word) => (word.length > 18 ? `${word.slice(0, 17)}…` : word);

// Legend of the letters in the squares, in two columns below them.
function key(data, step) {
  const counted = (word, i) => filled(words.cases, { word, before: step.panels[0][i], after: step.panels[1][i] });
  const group = shape("g", { transform: `translate(0 ${TOP + PANEL})` });
  const seen = step.words.map((word, i) => [word, i])
    .filter(([, i]) => step.panels.some((counts) => counts[i] > 0));
  seen.forEach(([word, i], place) => {
    const x = (place % 2) * (PANEL + GAP);
    const y = LINE * (Math.floor(place / 2) + 1);
    const cases = counted(short(word), i);
    group.append(shape("text", { x, y }, `${data.marks[i]}  ${cases}`));
  });
  const last = seen.length;
  const place = { x: (last % 2) * (PANEL + GAP), y: LINE * (Math.floor(last / 2) + 1) };
  const rest = step.words.length;
  if (step.panels.some((counts) => counts[rest] > 0)) {
    group.append(shape("text", place, counted(data.rest, rest)));
  }
  return group;
}

function spoken(data, step) {
  const cases = (counts) => step.words
    .map((word, i) => [word, counts[i]]).filter(([, count]) => count > 0)
    .map(([word, count]) => `${word} ${count}`)
    .concat(`${data.rest} ${counts[counts.length - 1]}`).join(", ");
  const [before, after] = step.panels;
  return filled(words.spoken, { before: cases(before), after: cases(after) });
}

function show(state) {
  state.waiting = 0;
  const { data } = state;
  const step = data.steps[state.step];
  state.body.hidden = !step;
  state.later.hidden = Boolean(step);
  state.later.textContent = words.waiting;
  if (!step) return;
  state.title.textContent = step.title;
  const now = step.best ? filled(words.best, { word: step.best }) : words.any;
  const numbers = [[step.now, now], [step.before, filled(words.prior, { prior: data.known })]];
  state.numbers.replaceChildren(...numbers.map(([number, about]) => {
    const item = node("li");
    item.dataset.told = "";
    item.append(node("b", "", number), " ", node("span", "", about));
    return item;
  }));
  state.lines.replaceChildren(...step.lines.map((text) => node("p", "", text)));
  const height = TOP + PANEL + data.rows * LINE + 8;
  state.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  state.svg.setAttribute("aria-label", spoken(data, step));
  state.svg.replaceChildren(
    panel(data, step.panels[0], 0, words.before),
    panel(data, step.panels[1], PANEL + GAP, filled(words.seen, { word: short(data.output) })),
    key(data, step),
  );
}

function go(state, step) {
  state.wanted = step; // the dial may know more steps than the data that are here yet
  state.step = Math.max(0, Math.min(step, state.data.steps.length - 1));
  if (!state.waiting) state.waiting = requestAnimationFrame(() => show(state));
}

function begin(parentElement) {
  const root = node("div", "believed");
  const state = {
    root,
    body: node("div", "card"),
    title: node("p", "title"),
    numbers: node("ul", "numbers"),
    lines: node("div", "lines"),
    svg: shape("svg", { role: "img", viewBox: `0 0 ${WIDTH} ${PANEL}` }),
    later: node("p", "later"),
    step: 0,
    wanted: 0,
    waiting: 0,
  };
  state.body.append(state.title, state.svg, state.numbers, state.lines);
  root.append(state.body, state.later);
  parentElement.append(root);
  state.hear = ({ detail }) => {
    if (state.data && detail.group === state.data.group) go(state, detail.step);
  };
  state.save = ({ detail }) => {
    if (!state.data || detail.name !== state.data.name) return;
    saveSvg(state.svg, detail.name, detail.format, state.title.textContent);
  };
  window.addEventListener("dpcore:dial", state.hear);
  window.addEventListener("dpcore:save", state.save);
  return state;
}

const states = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  speakAs(data);
  let state = states.get(parentElement);
  if (!state) {
    state = begin(parentElement);
    states.set(parentElement, state);
  }
  const { step, ...content } = data;
  const shown = JSON.stringify(content);
  if (shown !== state.shown) {
    // The dial says where it is, also when the server moves it: an answer may be to a step that it
    // has left since.
    const other = state.data?.group !== data.group;
    state.shown = shown;
    state.data = data;
    go(state, other ? step : state.wanted);
  }
  return () => {
    window.removeEventListener("dpcore:dial", state.hear);
    window.removeEventListener("dpcore:save", state.save);
    cancelAnimationFrame(state.waiting);
    state.root.remove();
    states.delete(parentElement);
  };
}
