// Dial: one slider with two readings, leakage and guarantee. Moving it only shows another step and
// announces it to the page (event "dpcore:dial"): the components that follow it already have their
// numbers. The server is informed when the dial rests. spoken.js and slider.js are prepended.

const REST_MS = 250;
const SWEEP_MS = 2000;
const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

const node = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

function reading(side) {
  const box = node("div", `reading ${side}`);
  const about = node("span", "about");
  const value = node("span", "value");
  box.append(about, value);
  return { box, about, value };
}

// The step for a typed number, and a sentence if it is another number. A share is a limit: its step
// is never above it. Of ε it is the nearest: equal ratios are equal distances.
function stepFor({ values, most }, typed) {
  const wanted = Number(typed);
  if (!(wanted > 0 && wanted < Infinity)) return [-1, words.nonsense];
  const exact = values.findIndex((n) => n !== null && few(n, most) === wanted);
  if (exact >= 0) return [exact, ""];
  const there = values.filter((n) => n !== null);
  const least = Math.min(...there);
  const largest = Math.max(...there);
  let took = wanted < least ? least : largest;
  let why = wanted < least ? words.least : words.largest;
  if (wanted >= least && wanted <= largest) {
    const far = (n) => Math.abs(Math.log(n / wanted));
    took = most
      ? Math.max(...there.filter((n) => n <= wanted))
      : there.reduce((best, n) => (far(n) < far(best) ? n : best));
    why = most ? words.below : words.nearest;
  }
  const said = { took: written(few(took, most), DIGITS), typed: written(wanted, DIGITS) };
  return [values.indexOf(took), filled(why, said)];
}

// As shown in the field: a share is an estimate, and has three digits.
const few = (number, most) => Number(number.toPrecision(most ? 3 : 4));
const DIGITS = { maximumSignificantDigits: 15 };

function field(state, name) {
  const label = node("label");
  const input = node("input");
  input.type = "number";
  input.step = "any";
  input.min = "0";
  input.addEventListener("change", () => {
    const [step, why] = stepFor(state.data.fields[name], input.value);
    show(state, step < 0 ? state.step : step); // replaces the typed number in any case
    state.note.textContent = why;
    if (step < 0) return;
    tell(state, false);
    rest(state);
  });
  const title = node("span");
  label.append(title, input);
  return { label, title, input };
}

function tell(state, resting) {
  const { group, epsilons, shares } = state.data;
  const step = state.step;
  const detail = { group, step, epsilon: epsilons[step], share: shares[step], rest: resting };
  window.dispatchEvent(new CustomEvent("dpcore:dial", { detail }));
}

function show(state, step) {
  const { data, input } = state;
  state.step = Math.max(0, Math.min(step, data.steps.length - 1));
  const { left, right, spoken } = data.steps[state.step];
  state.left.about.textContent = left[0];
  state.left.value.textContent = left[1];
  state.left.box.hidden = !left[1];
  state.right.about.textContent = right[0];
  state.right.value.textContent = right[1];
  input.value = state.step;
  input.setAttribute("aria-valuetext", spoken);
  for (const [name, { input: box }] of state.fields) {
    const { values, most } = data.fields[name];
    const number = values[state.step];
    box.value = number === null ? "" : few(number, most);
  }
  state.note.textContent = "";
}

function moved(state, step) {
  if (step === state.step) return;
  show(state, step);
  tell(state, false);
}

function rest(state) {
  clearTimeout(state.resting);
  state.resting = setTimeout(() => settle(state), REST_MS);
}

function settle(state) {
  clearTimeout(state.resting);
  tell(state, true);
  if (state.step !== state.sent) state.send("rest", { step: state.step });
  state.sent = state.step;
}

// Once for each visit: the dial goes from its low end to its place, and the page shows what it does.
let swept = false;

function sweep(state, step) {
  if (swept || still()) return;
  swept = true;
  const { root, input } = state;
  const begun = performance.now();
  const end = () => {
    cancelAnimationFrame(state.sweeping);
    root.classList.remove("sweeping");
    for (const name of ["pointerdown", "keydown"]) input.removeEventListener(name, end);
  };
  const frame = (now) => {
    const part = Math.min(1, (now - begun) / SWEEP_MS);
    moved(state, Math.round(part * step));
    if (part < 1) state.sweeping = requestAnimationFrame(frame);
    else end();
  };
  for (const name of ["pointerdown", "keydown"]) input.addEventListener(name, end);
  root.classList.add("sweeping");
  state.stop = end;
  moved(state, 0);
  state.sweeping = requestAnimationFrame(frame);
}

function build(state) {
  const { data, root } = state;
  state.left = reading("left");
  state.right = reading("right");
  const track = node("div", "track");
  const input = node("input");
  input.type = "range";
  input.min = 0;
  input.max = data.steps.length - 1;
  input.step = 1;
  input.setAttribute("aria-label", data.label);
  input.addEventListener("input", () => moved(state, Number(input.value)));
  input.addEventListener("change", () => rest(state));
  undoWhenScrolled(input, () => state.step, (step) => {
    moved(state, step);
    rest(state);
  });
  // Moving on to something else, such as a link, ends the use of the dial.
  input.addEventListener("blur", () => {
    if (state.step !== state.sent) settle(state);
  });
  state.input = input;
  const ends = node("div", "ends");
  const [low, high] = data.ends.map((text) => node("span", "", text));
  ends.append(low, high);
  track.append(input, ends);
  root.replaceChildren(state.left.box, track, state.right.box);
  state.fields = new Map();
  const exact = node("details", "exact");
  exact.append(node("summary", "", data.exact));
  for (const name of Object.keys(data.fields)) {
    const made = field(state, name);
    made.title.textContent = data.fields[name].title;
    state.fields.set(name, made);
    exact.append(made.label);
  }
  state.note = node("output", "note"); // read aloud when it changes
  exact.append(state.note);
  if (state.fields.size) low.after(exact);
}

const states = new WeakMap();

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let state = states.get(parentElement);
  if (!state) {
    const place = node("div", "place");
    const root = node("div", "dial");
    place.append(root);
    parentElement.append(place);
    state = { place, root, step: -1, resting: 0, sweeping: 0, stop: () => {} };
    states.set(parentElement, state);
  }
  state.send = setTriggerValue;
  const { step, turn, sweep: moving, ...content } = data;
  const shown = JSON.stringify(content);
  const other = shown !== state.shown;
  if (other) {
    state.stop();
    state.shown = shown;
    state.data = data;
    speakAs(data);
    build(state);
  }
  // A step from the server counts if the server chose it (a link, a button), not if it repeats a
  // step that it received: the dial may have moved on.
  if (other || turn !== state.turn) {
    state.turn = turn;
    show(state, step);
    state.sent = state.step;
    tell(state, true);
    if (moving) sweep(state, step);
  }
  return () => {
    clearTimeout(state.resting);
    state.stop();
    state.place.remove();
    states.delete(parentElement);
  };
}
