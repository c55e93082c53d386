// Movable part of a lesson step: a slider, or a button that draws, over settings whose numbers are
// all in the data. Words are only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 420;
const SIDE = 48;
const ABOVE = 34;
const BELOW = 30;
const REST_MS = 250;

const node = (tag, className, text) => {
  const fresh = document.createElement(tag);
  if (className) fresh.className = className;
  if (text !== undefined) fresh.textContent = text;
  return fresh;
};

const mark = (tag, attributes, text) => {
  const fresh = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) fresh.setAttribute(name, value);
  if (text !== undefined) fresh.textContent = text;
  return fresh;
};

// One draw: the word, where its noise ends, and the word nearest to that; one scale for all draws.
function picture(frames, landing, noise) {
  const drawn = frames.map((frame) => frame.landing).filter(Boolean);
  const scale = (WIDTH - 2 * SIDE) / Math.max(...drawn.map(({ noise }) => noise));
  const height = ABOVE + BELOW + scale * Math.max(...drawn.map((one) => one.output_y));
  const ground = height - BELOW;
  const svg = mark("svg", { viewBox: `0 0 ${WIDTH} ${height}`, "aria-hidden": "true" });
  const text = (x, y, anchor, words) => mark("text", { x, y, "text-anchor": anchor }, words);
  const word = (landing || drawn[0]).word;
  svg.append(mark("circle", { class: "word", cx: SIDE, cy: ground, r: 6 }));
  svg.append(text(SIDE, ground + 22, "middle", word));
  if (!landing) return svg;
  const end = SIDE + scale * landing.noise;
  const x = SIDE + scale * landing.output_x;
  const y = ground - scale * landing.output_y;
  const high = Math.min(y, ground) - 24;
  svg.append(
    mark("path", { class: "noise", pathLength: 1, d: `M ${SIDE} ${ground} L ${end} ${ground}` }),
    mark("path", { class: "nearest", d: `M ${end} ${ground} Q ${(x + end) / 2} ${high} ${x} ${y}` }),
    mark("circle", { class: "end", cx: end, cy: ground, r: 5 }),
    text((SIDE + end) / 2, ground + 22, "middle", noise),
  );
  if (landing.output !== word) {
    svg.append(mark("circle", { class: "output", cx: x, cy: y, r: 6 }));
  }
  svg.append(text(x - 6, y - 12, "start", landing.output));
  return svg;
}

function show(state, step) {
  const { frames } = state.data;
  state.step = Math.max(0, Math.min(step, frames.length - 1));
  const frame = frames[state.step];
  state.name.textContent = frame.name;
  state.finding.textContent = frame.finding;
  if (state.input) {
    state.input.value = state.step;
    state.input.setAttribute("aria-valuetext", frame.name);
  }
  if (state.canvas) state.canvas.replaceChildren(picture(frames, frame.landing, state.data.noise));
  frame.bars.forEach(([name, share, text], i) => {
    const [about, bar, value] = state.bars[i];
    about.textContent = name;
    value.textContent = text;
    bar.style.width = `${100 * (share ?? 0)}%`;
  });
}

// The server is informed when the slider rests, so that the link opens the same setting.
function turn(state, step) {
  show(state, step);
  clearTimeout(state.resting);
  state.resting = setTimeout(() => {
    if (state.step !== state.sent) state.send("rest", { step: state.step });
    state.sent = state.step;
  }, REST_MS);
}

function controls(state) {
  const { data } = state;
  const row = node("div", "controls");
  state.input = null;
  state.name = node("output", "name");
  if (data.action) {
    const button = node("button", "", data.action);
    button.type = "button";
    // After the last draw the first one follows.
    button.addEventListener("click", () => {
      turn(state, state.step + 1 < data.frames.length ? state.step + 1 : 1);
    });
    row.append(button, state.name);
    return row;
  }
  const input = node("input");
  input.type = "range";
  input.min = 0;
  input.max = data.frames.length - 1;
  input.step = 1;
  input.setAttribute("aria-label", data.label);
  input.addEventListener("input", () => turn(state, Number(input.value)));
  undoWhenScrolled(input, () => state.step, (step) => turn(state, step));
  state.input = input;
  const label = node("span", "label", `${data.label}:`);
  label.append(" ", state.name);
  row.append(label, input);
  return row;
}

function build(state) {
  const { data, root } = state;
  const row = controls(state);
  state.canvas = data.frames.some((frame) => frame.landing) ? node("div", "canvas") : null;
  const list = node("ul", "bars");
  state.bars = data.frames[0].bars.map(() => {
    const item = node("li");
    const about = node("span", "about");
    const track = node("span", "track");
    const bar = node("span", "bar");
    const value = node("b");
    track.append(bar);
    item.append(about, value, track);
    list.append(item);
    return [about, bar, value];
  });
  state.finding = node("p", "finding");
  const parts = [row, state.canvas, list, state.finding];
  root.replaceChildren(...parts.filter(Boolean));
}

// A step that a button opened begins at its title, for the eye and for the keyboard.
let seen = 0;

function toTitle() {
  const title = document.querySelector(".st-key-lesson_title h2");
  if (!title) return;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "start" });
}

const states = new WeakMap();

export default function (component) {
  const { parentElement, setTriggerValue } = component;
  const { moved, start, ...data } = component.data;
  let state = states.get(parentElement);
  if (!state) {
    const room = node("div", "room");
    const root = node("div", "turning");
    room.append(root);
    parentElement.append(room);
    state = { room, root, step: start, sent: start, resting: 0 };
    states.set(parentElement, state);
  }
  state.send = setTriggerValue;
  const content = JSON.stringify(data);
  if (content !== state.content) {
    // After the guess more may be shown: the slider stays where it is.
    state.content = content;
    state.data = data;
    build(state);
    show(state, state.step);
  }
  if (moved !== seen) {
    seen = moved;
    if (moved) toTitle();
  }
  return () => {
    clearTimeout(state.resting);
    state.room.remove();
    states.delete(parentElement);
  };
}
