// Crowd: three private texts, and the words that all of them together tell apart, at the steps of two
// dials. Every number and every word is in the data; here they are only placed. Texts are set as
// textContent. marked_words.js and svg_files.js are prepended.

const SVG = "http://www.w3.org/2000/svg";
const ROW = 21; // height of a row
const MOVE_MS = 220;

const shape = (tag, attributes, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

// A place as an attribute, which a saved file keeps, reached by a short motion from the former one.
function put(part, x, y, scale) {
  const before = part.place;
  part.place = [x, y, scale];
  part.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)}) scale(${scale.toFixed(3)},1)`);
  if (!before || still() || before.every((value, i) => value === part.place[i])) return;
  const css = ([left, top, wide]) => `translate(${left}px, ${top}px) scale(${wide}, 1)`;
  part.animate([{ transform: css(before) }, { transform: css(part.place) }],
    { duration: MOVE_MS, easing: "ease-out" });
}

function plane(state) {
  const { axis } = state.data;
  const narrow = state.width < 480;
  const left = narrow ? 92 : 120;
  const right = state.width - (narrow ? 10 : 16);
  const bottom = 8 + ROW * state.most;
  return {
    left, right, top: 4, bottom,
    x: (value) => left + ((right - left) * (value - axis.low)) / (axis.high - axis.low),
  };
}

// Axis, and the ground on which words come and go: the same at all steps.
function drawGround(state) {
  const { data, svg } = state;
  state.width = Math.max(280, Math.round(state.figure.clientWidth || 640));
  const at = plane(state);
  state.plane = at;
  svg.setAttribute("viewBox", `0 0 ${state.width} ${at.bottom + 62}`);
  const parts = [];
  for (const [value, text] of data.axis.ticks) {
    const x = at.x(value);
    const kind = value === 0 ? "zero" : "gridline";
    parts.push(shape("line", { class: kind, x1: x, x2: x, y1: at.top, y2: at.bottom }));
    parts.push(shape("text", { class: "tick", x, y: at.bottom + 18, "text-anchor": "middle" }, text));
  }
  const middle = (at.left + at.right) / 2;
  const below = at.bottom + 38;
  parts.push(shape("text", { class: "tick", x: at.left, y: below + 18 }, `← ${data.sides[1]}`));
  parts.push(shape("text", { class: "axis", x: middle, y: below, "text-anchor": "middle" },
    data.axis.title));
  parts.push(shape("text", { class: "tick", x: at.right, y: below + 18, "text-anchor": "end" },
    `${data.sides[0]} →`));
  state.rows = new Map();
  state.ground = shape("g", {});
  state.none = shape("text", { class: "none", x: middle, y: at.bottom / 2, "text-anchor": "middle" });
  svg.replaceChildren(...parts, state.ground, state.none);
}

function newRow(word) {
  const group = shape("g", { class: "row" });
  const text = shape("text", { class: "word", y: 5, "text-anchor": "end" }, word);
  const interval = shape("rect", { class: "interval", x: -0.5, y: -1.75, width: 1, height: 3.5 });
  const dot = shape("path", {});
  const truth = shape("circle", { class: "truth", r: 6 });
  group.append(text, interval, dot, truth);
  return { group, text, interval, dot, truth };
}

const DISC = "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z";
const SQUARE = "M-4,-4h8v8h-8Z";

function moveRows(state) {
  const { data, plane: at } = state;
  const [first, second] = state.at;
  const cell = data.cells[first][second];
  const shown = new Set();
  // The clearest words are at both ends, as in the axis: those of the group above, the others below.
  const rows = [
    ...cell.up.map((row) => ({ row, kind: "up" })),
    ...cell.down.map((row) => ({ row, kind: "down" })).reverse(),
  ];
  rows.forEach(({ row: [index, difference, half, truth], kind }, place) => {
    const name = `${kind} ${index}`;
    shown.add(name);
    let made = state.rows.get(name);
    if (!made) {
      made = newRow(data.words[index]);
      state.rows.set(name, made);
      if (!still()) made.group.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });
    }
    state.ground.append(made.group); // in the order that is seen
    put(made.group, 0, at.top + ROW * (place + 0.5), 1);
    made.text.setAttribute("x", at.left - 8);
    made.interval.setAttribute("class", `interval ${kind}`);
    put(made.interval, at.x(difference), 0, Math.max(1, at.x(difference + half) - at.x(difference - half)));
    made.dot.setAttribute("class", `dot ${kind}`);
    made.dot.setAttribute("d", kind === "up" ? DISC : SQUARE);
    put(made.dot, at.x(difference), 0, 1);
    put(made.truth, at.x(truth), 0, 1);
  });
  for (const [name, { group }] of state.rows) {
    if (shown.has(name)) continue;
    group.remove();
    state.rows.delete(name);
  }
  state.none.textContent = rows.length ? "" : cell.finding;
  const named = (list) => list.map(([index]) => data.words[index]).join(", ");
  const told = [["up", 0], ["down", 1]]
    .filter(([kind]) => cell[kind].length)
    .map(([kind, side]) => `${data.sides[side]}: ${named(cell[kind])}.`);
  state.svg.setAttribute("aria-label", [cell.finding, ...told].join(" "));
  state.finding.replaceChildren(cell.finding, node("span", "", cell.more ? ` ${cell.more}` : ""));
}

function moveTexts(state) {
  const texts = state.data.texts[state.at[0]];
  state.texts.forEach((place, i) => { place.textContent = texts[i]; });
}

function move(state) {
  state.waiting = 0;
  moveRows(state);
  moveTexts(state);
}

function go(state, dial, step) {
  const most = dial ? state.data.cells[0].length : state.data.cells.length;
  state.at[dial] = Math.max(0, Math.min(step, most - 1));
  // Of several steps in one frame only the last is drawn.
  if (!state.waiting) state.waiting = requestAnimationFrame(() => move(state));
}

function build(state) {
  const { data } = state;
  state.most = Math.max(6, ...data.cells.flat().map(({ up, down }) => up.length + down.length));
  const { said } = data;
  state.titles.released.textContent = said.released;
  state.titles.texts.textContent = said.texts;
  state.titles.told.textContent = said.told;
  state.titles.legend.textContent = said.legend;
  state.texts = data.written.map(() => {
    const text = node("p", "private");
    text.lang = "en";
    return text;
  });
  const written = node("details");
  written.append(node("summary", "", said.written));
  for (const line of data.written) {
    const text = node("p", "private", line);
    text.lang = "en";
    written.append(text);
  }
  state.released.replaceChildren(state.titles.released, state.titles.texts, ...state.texts, written);
  drawGround(state);
}

// Streamlit tells a component its colours, and not which theme they are of.
function theme(state) {
  const [red, green, blue] = (getComputedStyle(state.root).color.match(/[\d.]+/g) ?? []).map(Number);
  state.root.classList.toggle("dark", red + green + blue > 384);
}

const states = new WeakMap();

function begin(parentElement) {
  const root = node("div", "crowd");
  const released = node("section");
  const figure = node("figure");
  const titles = {
    released: node("h2"), texts: node("p", "about"), told: node("h2"), legend: node("p", "about"),
  };
  const svg = shape("svg", { role: "img" });
  const head = node("div", "head");
  head.append(titles.told, titles.legend);
  figure.append(head, svg);
  const finding = node("p", "finding");
  root.append(released, figure, finding);
  parentElement.append(root);
  const state = { root, released, figure, titles, svg, finding, at: [0, 0], waiting: 0 };
  state.hear = ({ detail }) => {
    const dial = state.data ? state.data.dials.indexOf(detail.group) : -1;
    if (dial >= 0) go(state, dial, detail.step);
  };
  window.addEventListener("dpcore:dial", state.hear);
  state.save = ({ detail }) => {
    if (detail.name === "crowd") saveSvg(svg, detail.name, detail.format, finding.textContent);
  };
  window.addEventListener("dpcore:save", state.save);
  state.watch = new ResizeObserver(() => {
    if (!state.data || Math.round(figure.clientWidth) === state.width) return;
    drawGround(state);
    move(state);
  });
  state.watch.observe(figure);
  return state;
}

export default function (component) {
  const { data, parentElement } = component;
  let state = states.get(parentElement);
  if (!state) {
    state = begin(parentElement);
    states.set(parentElement, state);
  }
  theme(state);
  const { at, ...content } = data;
  const shown = JSON.stringify(content);
  if (shown !== state.shown) {
    // The dials may have moved on since the server was told; another comparison begins where it says.
    if (data.compared !== state.data?.compared) state.at = [...at];
    state.shown = shown;
    state.data = data;
    build(state);
    move(state);
  }
  return () => {
    window.removeEventListener("dpcore:dial", state.hear);
    window.removeEventListener("dpcore:save", state.save);
    cancelAnimationFrame(state.waiting);
    state.watch.disconnect();
    state.root.remove();
    states.delete(parentElement);
  };
}
