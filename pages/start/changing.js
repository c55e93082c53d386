// The sentence that changes with the dial: each word as it was written, and below it as it is now.
// Typed text is only ever set as text. captioned.js and svg_files.js are prepended.

const node = (tag, className, text) => {
  const fresh = document.createElement(tag);
  if (className) fresh.className = className;
  if (text !== undefined) fresh.textContent = text;
  return fresh;
};

function show(state) {
  state.waiting = 0;
  const { data, step } = state;
  data.words[step].forEach(([index, changed], i) => {
    state.tokens[i].textContent = data.texts[index];
    state.tokens[i].className = changed ? "changed" : "";
  });
  state.numbers.forEach((number, i) => { number.textContent = data.numbers[step][i]; });
  state.allowed.textContent = data.allowed[step];
}

function go(state, step) {
  state.step = Math.max(0, Math.min(step, state.data.words.length - 1));
  if (!state.waiting) state.waiting = requestAnimationFrame(() => show(state));
}

// Tokens without white space between them, such as a word and its full stop, share a column.
function columns(state) {
  const pieces = [];
  let was, now;
  state.tokens = state.data.original.map(([text, gap], i) => {
    if (gap || !i) {
      was = node("span", "was");
      was.setAttribute("aria-hidden", "true");
      now = node("span", "now");
      const column = node("span", "column");
      column.append(was, now);
      if (i) pieces.push(" ");
      pieces.push(column);
    }
    was.append(text);
    const token = node("span");
    now.append(token);
    return token;
  });
  state.sentence.replaceChildren(...pieces);
}

function begin(parentElement) {
  const root = node("div", "changing");
  const wrote = node("p", "unseen");
  const sentence = node("p", "sentence");
  sentence.dir = "auto";
  const list = node("ul", "numbers");
  sentence.dataset.told = "";
  const allowed = node("p", "allowed");
  const unknown = node("p", "allowed");
  root.append(wrote, sentence, unknown, list, allowed);
  parentElement.append(root);
  const state = {
    root, wrote, sentence, unknown, list, allowed, tokens: [], numbers: [], step: 0, waiting: 0,
  };
  state.hear = ({ detail }) => {
    if (state.data && detail.group === state.data.group) go(state, detail.step);
  };
  window.addEventListener("dpcore:dial", state.hear);
  state.offered = offerPicture(
    "sentence", () => pictured(state.sentence), () => state.data.findings[state.step],
  );
  return state;
}

const states = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  let state = states.get(parentElement);
  if (!state) {
    state = begin(parentElement);
    states.set(parentElement, state);
  }
  const { step, ...content } = data;
  const shown = JSON.stringify(content);
  if (shown !== state.shown) {
    const other = state.data?.group !== data.group;
    state.shown = shown;
    state.data = data;
    const written = data.original.map(([text, gap]) => gap + text).join("");
    state.wrote.textContent = `${data.wrote} ${written}`;
    columns(state);
    state.unknown.textContent = data.unknown;
    state.unknown.hidden = !data.unknown;
    state.numbers = data.names.map(() => node("b"));
    state.list.replaceChildren(...data.names.map((name, i) => {
      const item = node("li");
      item.dataset.told = "";
      item.append(state.numbers[i], " ", node("span", "", name));
      return item;
    }));
    go(state, other ? step : state.step);
  }
  return () => {
    window.removeEventListener("dpcore:dial", state.hear);
    state.offered();
    cancelAnimationFrame(state.waiting);
    state.root.remove();
    states.delete(parentElement);
  };
}
