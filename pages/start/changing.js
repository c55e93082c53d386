// The sentence that changes with the dial, and the words that are guessed. marked_words.js
// is prepended.

function show(state) {
  state.waiting = 0;
  const { data, step } = state;
  fillWords(state.sentence, data.words[step], data.texts);
  state.numbers.forEach((number, i) => { number.textContent = data.numbers[step][i]; });
}

function go(state, step) {
  state.step = Math.max(0, Math.min(step, state.data.words.length - 1));
  if (!state.waiting) state.waiting = requestAnimationFrame(() => show(state));
}

function begin(parentElement) {
  const root = node("div", "changing");
  const sentence = node("p", "sentence");
  sentence.dir = "auto";
  const list = node("ul", "numbers");
  root.append(sentence, list);
  parentElement.append(root);
  const state = { root, sentence, list, numbers: [], step: 0, waiting: 0 };
  state.hear = ({ detail }) => {
    if (state.data && detail.group === state.data.group) go(state, detail.step);
  };
  window.addEventListener("dpcore:dial", state.hear);
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
    state.numbers = data.names.map(() => node("b"));
    state.list.replaceChildren(...data.names.map((name, i) => {
      const item = node("li");
      item.append(state.numbers[i], node("span", "", name));
      return item;
    }));
    go(state, other ? step : state.step);
  }
  return () => {
    window.removeEventListener("dpcore:dial", state.hear);
    cancelAnimationFrame(state.waiting);
    state.root.remove();
    states.delete(parentElement);
  };
}
