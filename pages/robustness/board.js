// A digit whose pixels can be painted, one draw of the noise on it, the votes of all draws, and the
// size of the change beside the certified radius. Pixels follow at once; all numbers are the
// server's. marked_words.js and svg_files.js are prepended.

const LINES = 8, LEVELS = 16, STEP = 4; // a pixel has 17 levels, and moves by a quarter
const TITLE = 22, AIR = 24, WIDE = 620, GAUGE = 14;
const SEND_MS = 120;

const shape = (tag, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const levelsOf = (text) => [...text].map((sign) => parseInt(sign, LEVELS + 1));
const textOf = (levels) => levels.map((level) => level.toString(LEVELS + 1)).join("");
const percent = (level) => Math.round((100 * level) / LEVELS);

// From white (0) to nearly black (1), on every ground.
const grey = (share) => {
  const part = Math.min(1, Math.max(0, share));
  return `rgb(${[16, 20, 24].map((dark) => Math.round(255 + (dark - 255) * part)).join(",")})`;
};

// One step away from the level that the pixel had; behind the last one it is back where it was.
function stepped(level, original) {
  const dark = original < LEVELS / 2;
  if (level === (dark ? LEVELS : 0)) return original;
  return dark ? Math.min(LEVELS, level + STEP) : Math.max(0, level - STEP);
}

function showPixel(state, i) {
  const level = state.levels[i];
  const before = state.original[i];
  const cell = state.cells[i];
  cell.setAttribute("fill", grey(level / LEVELS));
  cell.setAttribute("class", level === before ? "pixel" : "pixel changed");
  const place = { line: Math.floor(i / LINES) + 1, column: (i % LINES) + 1 };
  const said = level === before ? state.data.words.pixel : state.data.words["changed pixel"];
  cell.setAttribute("aria-label", filled(said, { ...place, now: percent(level), before: percent(before) }));
}

function tell(state) {
  if (state.timer) return;
  state.timer = setTimeout(() => {
    state.timer = 0;
    state.send("painted", { picture: state.data.picture, levels: textOf(state.levels) });
  }, SEND_MS);
}

function set(state, i, level) {
  if (state.levels[i] === level) return;
  state.levels[i] = level;
  showPixel(state, i);
  showReset(state);
  tell(state);
}

function showReset(state) {
  state.reset.classList.toggle("away", textOf(state.levels) === state.data.original);
}

function focusOn(state, i) {
  state.cells[state.at].setAttribute("tabindex", -1);
  state.at = i;
  state.cells[i].setAttribute("tabindex", 0);
}

function pressed(state, event) {
  const i = state.at;
  const column = i % LINES;
  const next = {
    ArrowLeft: column > 0 ? i - 1 : i,
    ArrowRight: column < LINES - 1 ? i + 1 : i,
    ArrowUp: i >= LINES ? i - LINES : i,
    ArrowDown: i < LINES * (LINES - 1) ? i + LINES : i,
  }[event.key];
  if (next !== undefined) {
    focusOn(state, next);
    state.cells[next].focus();
  } else if (event.key === " " || event.key === "Enter") {
    set(state, i, stepped(state.levels[i], state.original[i]));
  } else if (event.key === "Backspace" || event.key === "Delete") {
    set(state, i, state.original[i]);
  } else {
    return;
  }
  event.preventDefault();
}

// The pixel under a pointer, which the grid has captured; -1 outside.
function under(state, event) {
  const box = state.grid.getBoundingClientRect();
  const column = Math.floor((LINES * (event.clientX - box.left)) / box.width);
  const line = Math.floor((LINES * (event.clientY - box.top)) / box.height);
  return Math.min(line, column) < 0 || Math.max(line, column) >= LINES ? -1 : line * LINES + column;
}

function touched(state, event) {
  const i = under(state, event);
  if (i < 0 || i === state.last) return;
  state.last = i;
  focusOn(state, i);
  set(state, i, stepped(state.levels[i], state.original[i]));
}

function squares(values, x, y, side, made) {
  return values.map((value, i) => shape("rect", {
    x: x + (i % LINES) * side, y: y + Math.floor(i / LINES) * side, width: side - 1, height: side - 1,
    ...made(value, i),
  }));
}

// Everything but the pixels' levels: the places of the parts follow from the width alone.
function draw(state) {
  const { data, svg } = state;
  state.width = Math.max(280, Math.round(state.figure.clientWidth || 640));
  const wide = state.width >= WIDE;
  const side = wide ? Math.min(36, Math.floor((0.62 * state.width - AIR) / 16)) : Math.floor((state.width - 100) / 8);
  const whole = LINES * side;
  const bars = wide ? 2 * whole + 2 * AIR : whole + 12;
  const gaugeTop = TITLE + whole + 14;
  const small = wide ? side : 14;
  const noisy = wide ? { x: whole + AIR, y: TITLE } : { x: 0, y: gaugeTop + GAUGE + 66 };
  const height = wide ? gaugeTop + GAUGE + 24 : noisy.y + small * data.noisy.length / LINES + 4;
  svg.setAttribute("viewBox", `0 0 ${state.width} ${height}`);
  const title = (x, y, text) => shape("text", { class: "tick", x, y: y - 7 }, text);
  state.grid = shape("g", { role: "grid", "aria-label": data.words.grid });
  // Catches the pointer in the gaps too, and gives the grid its box.
  state.grid.append(shape("rect", { class: "ground", x: -1, y: TITLE - 1, width: whole + 1, height: whole + 1 }));
  state.cells = squares(state.levels, 0, TITLE, side, (_, i) => ({
    role: "gridcell", tabindex: i === state.at ? 0 : -1,
  }));
  for (let line = 0; line < LINES; line += 1) {
    const row = shape("g", { role: "row" });
    row.append(...state.cells.slice(line * LINES, (line + 1) * LINES));
    state.grid.append(row);
  }
  state.below = shape("g", {});
  state.votes = { x: bars, width: state.width - bars, row: whole / data.votes.length, wide };
  state.gauge = { y: gaugeTop, width: state.width };
  state.noisy = { ...noisy, side: small };
  svg.replaceChildren(
    title(0, TITLE, data.words.paint),
    title(noisy.x, noisy.y, data.title),
    title(bars, TITLE, wide ? data.score : data.words.votes),
    state.below,
    state.grid,
  );
  state.levels.forEach((_, i) => showPixel(state, i));
  showNumbers(state);
}

// Answers of the server: noise, votes, the gauge and the finding.
function showNumbers(state) {
  const { data, votes, gauge, noisy } = state;
  const lines = Math.ceil(data.noisy.length / LINES);
  const parts = [shape("rect", {
    class: "ground", x: noisy.x - 1, y: noisy.y - 1,
    width: noisy.side * LINES + 1, height: noisy.side * lines + 1,
  }), ...squares(data.noisy, noisy.x, noisy.y, noisy.side, (share) => (
    { fill: grey(share) }))];
  const end = votes.width - (votes.wide ? 60 : 16);
  data.votes.forEach(([name, share, text], i) => {
    const y = TITLE + i * votes.row;
    const middle = y + votes.row / 2 + 5;
    const first = name === data.winner;
    const kind = first ? (name === data.label ? "first right" : "first wrong") : "other";
    parts.push(
      shape("text", { class: first ? "name first" : "name", x: votes.x, y: middle }, name),
      shape("rect", { class: `bar ${kind}`, x: votes.x + 16, y: y + 3, width: Math.max(1, end * share), height: votes.row - 6 }),
    );
    if (votes.wide && share > 0) {
      parts.push(shape("text", { class: "tick", x: votes.x + 22 + end * share, y: middle }, text));
    }
  });
  const { y, width } = gauge;
  const mark = Math.min(width - 3, Math.max(1, width * data.size));
  const line = y + GAUGE + 18;
  parts.push(
    shape("rect", { class: "range", x: 0, y, width, height: GAUGE }),
    shape("rect", { class: "certified", x: 0, y, width: Math.max(1, width * data.radius), height: GAUGE }),
    shape("rect", { class: "mark", x: mark - 2, y: y - 5, width: 5, height: GAUGE + 10 }),
    shape("text", { class: "tick", x: 0, y: line }, data["radius text"]),
    shape("text", votes.wide
      ? { class: "axis", x: width, y: line, "text-anchor": "end" }
      : { class: "axis", x: 0, y: line + 17 }, data["size text"]),
  );
  state.below.replaceChildren(...parts);
  state.svg.setAttribute("aria-label", data.alt);
  if (state.finding.textContent !== data.finding) state.finding.textContent = data.finding;
  showReset(state);
}

const states = new WeakMap();

function begin(parentElement) {
  const root = node("div", "painting");
  const figure = node("figure");
  const svg = shape("svg", { role: "group" });
  figure.append(svg);
  const finding = node("p", "finding");
  const below = node("p", "about");
  const hint = node("span");
  const reset = node("button", "away");
  reset.type = "button";
  below.append(hint, " ", reset);
  root.append(figure, finding, below);
  parentElement.append(root);
  const state = { root, figure, svg, finding, hint, reset, at: 27, timer: 0, last: -1, cells: [] };
  svg.addEventListener("keydown", (event) => {
    if (event.target.getAttribute("role") === "gridcell") pressed(state, event);
  });
  svg.addEventListener("pointerdown", (event) => {
    // A finger may be about to scroll: it paints with a tap.
    if (!state.grid.contains(event.target) || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    state.last = -1;
    state.painting = true;
    touched(state, event);
    state.cells[state.at].focus({ preventScroll: true });
  });
  svg.addEventListener("pointermove", (event) => {
    if (state.painting) touched(state, event);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    svg.addEventListener(name, () => { state.painting = false; });
  }
  svg.addEventListener("click", (event) => {
    if (event.pointerType !== "touch" || !state.grid.contains(event.target)) return;
    state.last = -1;
    touched(state, event);
  });
  reset.addEventListener("click", () => {
    state.original.forEach((level, i) => set(state, i, level));
    state.cells[state.at].focus();
  });
  state.save = ({ detail }) => {
    if (detail.name === state.data.name) saveSvg(svg, detail.name, detail.format, finding.textContent);
  };
  window.addEventListener("dpcore:save", state.save);
  state.watch = new ResizeObserver(() => {
    if (state.data && Math.round(figure.clientWidth) !== state.width) draw(state);
  });
  state.watch.observe(figure);
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
  const before = state.data;
  state.data = data;
  state.hint.textContent = data.words.hint;
  state.reset.textContent = data.words.reset;
  // An answer may be to an earlier stroke: the pixels are the browser's until the picture changes.
  if (data.original !== before?.original) {
    clearTimeout(state.timer);
    state.timer = 0;
    state.levels = levelsOf(data.levels);
    state.original = levelsOf(data.original);
    draw(state);
  } else if (data.noisy.length !== before.noisy.length || data.title !== before.title) {
    draw(state);
  } else {
    showNumbers(state);
  }
  return () => {
    clearTimeout(state.timer);
    window.removeEventListener("dpcore:save", state.save);
    state.watch.disconnect();
    state.root.remove();
    states.delete(parentElement);
  };
}
