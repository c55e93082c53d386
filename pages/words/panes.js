// Two panes in one scale. All numbers of all ε are here, so that a step of the dial (the browser
// event "dpcore:dial") moves discs without the server. spoken.js, pane.js and play.js are
// prepended.

const TRUE = ["how stands", "how guess", "how area", "how noise", "how draws"];
const MAPPED = ["how map", "how guess", "how area", "how draws"];

function tap(state, pane, event) {
  const box = pane.svg.getBoundingClientRect();
  const k = pane.width / box.width;
  const [x, y] = [(event.clientX - box.left) * k, (event.clientY - box.top) * k];
  let best = -1, least = Infinity;
  pane.words.forEach((word, i) => {
    const far = Math.hypot(word.x - x, word.y - y);
    const inName = word.named && word.box && x >= word.box.left && x <= word.box.right && y >= word.box.top && y <= word.box.bottom;
    const near = far <= Math.max(12, Number(word.disc.getAttribute("r")));
    const rank = inName ? -1 : far;
    if ((inName || near) && rank < least) [best, least] = [i, rank];
  });
  return best;
}

function look(state, pane, i) {
  for (const other of state.panes) if (other.active >= 0) forget(state, other);
  pane.active = i;
  const word = pane.words[i];
  speak(state, pane, i);
  pane.svg.setAttribute("aria-activedescendant", word.option.id);
  pane.focus.setAttribute("cx", word.x);
  pane.focus.setAttribute("cy", word.y);
  pane.focus.setAttribute("r", Math.max(8, Number(word.disc.getAttribute("r")) + 3));
  pane.focus.setAttribute("opacity", 1);
  state.card.replaceChildren(element("strong", "", word.name), ...describe(state, pane, i).map((line) => element("span", "", line)));
  state.card.hidden = false;
  const k = pane.svg.getBoundingClientRect().width / pane.width;
  const box = pane.svg.getBoundingClientRect(), root = state.root.getBoundingClientRect();
  const left = box.left - root.left + word.x * k + 14, top = box.top - root.top + word.y * k + 14;
  const { offsetWidth: w, offsetHeight: h } = state.card;
  const across = left + w > root.width ? Math.max(0, left - 28 - w) : left;
  const low = box.bottom - root.top;
  state.card.style.left = `${across}px`;
  state.card.style.top = `${top + h > low ? top - 28 - h : top}px`;
}

function forget(state, pane) {
  if (pane.active >= 0) pane.words[pane.active].option.setAttribute("aria-label", pane.words[pane.active].spoken);
  pane.active = -1;
  pane.svg.removeAttribute("aria-activedescendant");
  pane.focus.setAttribute("opacity", 0);
  state.card.hidden = true;
}

function listen(state, pane) {
  const { svg } = pane;
  const focused = () => svg.getRootNode().activeElement === svg;
  svg.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const i = tap(state, pane, event);
    if (i >= 0 && i !== pane.active) look(state, pane, i);
    else if (i < 0 && pane.active >= 0 && !focused()) forget(state, pane);
  });
  svg.addEventListener("pointerleave", () => pane.active >= 0 && !focused() && forget(state, pane));
  svg.addEventListener("click", (event) => {
    const i = tap(state, pane, event);
    if (i >= 0) look(state, pane, i);
    else forget(state, pane);
  });
  svg.addEventListener("focus", () => {
    if (svg.matches(":focus-visible") && pane.active < 0) look(state, pane, 0);
  });
  svg.addEventListener("blur", () => forget(state, pane));
  svg.addEventListener("keydown", (event) => {
    const last = pane.words.length - 1;
    const to = {
      ArrowRight: Math.min(last, pane.active + 1), ArrowDown: Math.min(last, pane.active + 1),
      ArrowLeft: Math.max(0, pane.active - 1), ArrowUp: Math.max(0, pane.active - 1),
      Home: 0, End: last,
    }[event.key];
    if (event.key === "Escape") forget(state, pane);
    if (to === undefined) return;
    event.preventDefault();
    look(state, pane, to);
  });
}

function show(state, number) {
  state.step = Math.max(0, Math.min(state.data.rows.length - 1, number));
  state.changes = 0;
  stopPlay(state);
  for (const pane of state.panes) step(state, pane);
  const row = state.data.rows[state.step];
  say(state, state.status, "");
  if (state.asking) state.asking.disabled = row === null;
  say(state, state.caption, row === null
    ? filled(words.undefined, { mechanism: state.data.mechanism, reading: state.data.readings[state.step] })
    : state.data.captions[row]);
  state.root.dataset.step = state.step;
  state.root.dataset.changes = state.changes;
}

function build(state) {
  const { data, root } = state;
  cancelAnimationFrame(state.frame);
  state.playing = false;
  state.number = 0;
  const pair = element("div", "pair");
  state.panes = data.panes.map((_, i) => makePane(state, i));
  pair.append(...state.panes.map((pane) => pane.figure));
  const buttons = element("div", "buttons");
  for (const [title, act] of [[words["one draw"], playOne], [words.hundred, playHundred]]) {
    const button = element("button", "", title);
    button.type = "button";
    button.addEventListener("click", () => act(state));
    buttons.append(button);
  }
  state.asking = null;
  if (data.offers) {
    const button = element("button", "", words["less protected"]);
    button.type = "button";
    button.title = words["less protected help"];
    button.addEventListener("click", () => state.send("less_protected", true));
    buttons.prepend(button);
    state.asking = button;
  }
  state.status = element("span", "status");
  state.status.setAttribute("role", "status");
  buttons.append(state.status);
  state.caption = element("p", "caption");
  state.caption.dataset.told = "";
  const key = element("p", "key");
  const sample = shape("svg", "sample", { width: 22, height: 22, "aria-hidden": "true" });
  key.append(sample, element("span", "", data.map
    ? `${filled(words["map key"], data.map)} ${data.map.note}` : words.key));
  state.sample = sample;
  const how = element("details", "how");
  how.append(element("summary", "", words.how), ...(data.map ? MAPPED : TRUE).map(
    (line) => element("p", "", filled(words[line], data.map || {}))));
  how.append(element("p", "", filled(data.exact ? words.exact : words.estimated, data)));
  const board = element("div", "board");
  board.append(pair, state.caption, key, buttons, how);
  root.replaceChildren(board, state.card);
  for (const pane of state.panes) listen(state, pane);
}

function arrangeAll(state) {
  const width = Math.round(state.panes[0].svg.clientWidth);
  const size = `${width} ${heightOf(state, width)}`;
  if (!width || size === state.size) return;
  state.size = size;
  stopPlay(state);
  for (const pane of state.panes) fit(state, pane);
  const r = state.panes[0].whole * Math.sqrt(0.1), wide = 2 * Math.ceil(r) + 2;
  for (const side of ["width", "height"]) state.sample.setAttribute(side, wide);
  state.sample.replaceChildren(shape("circle", "disc", { cx: wide / 2, cy: wide / 2, r: r.toFixed(2) }));
  show(state, state.step);
}

// A self-contained drawing: the rules of the style sheet are written into it.
function standing(state) {
  const ground = getComputedStyle(state.root);
  const [one] = state.panes;
  const wide = one.width, high = one.height;
  const sheet = shape("svg", "", { xmlns: SVG, viewBox: `0 0 ${2 * wide + 24} ${high + 74}`, width: 2 * wide + 24, height: high + 74 });
  const paper = getComputedStyle(state.card).backgroundColor;
  sheet.append(shape("rect", "", { width: "100%", height: "100%", fill: paper }));
  const letters = (text, x, y, more = {}) => {
    const node = shape("text", "", { x, y, fill: ground.color, "font-family": LETTERS, "font-size": 14, ...more });
    node.textContent = text;
    sheet.append(node);
  };
  state.panes.forEach((pane, i) => {
    const copy = styled(pane.svg);
    [...pane.svg.querySelectorAll("*")].map((node, j) => [node, copy.querySelectorAll("*")[j]])
      .forEach(([node, twin]) => node.matches(".focus") && twin.remove());
    for (const [key, value] of [["x", i * (wide + 24)], ["y", 28], ["width", wide], ["height", high]]) copy.setAttribute(key, value);
    for (const key of ["tabindex", "role", "aria-activedescendant"]) copy.removeAttribute(key);
    sheet.append(copy);
    letters([pane.title.textContent, pane.guess.textContent].filter(Boolean).join(", "), i * (wide + 24) + 8, 20, { "font-weight": 600 });
  });
  letters(state.caption.textContent, 8, high + 50);
  letters(`${state.data.mechanism}. ${state.data.map ? filled(words["map sheet"], state.data.map) : words.sheet}`, 8, high + 68, { "font-size": 12 });
  return sheet;
}

function save(state, format) {
  saveSheet(standing(state), "words", format);
}

const states = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let state = states.get(parentElement);
  if (!state) {
    const root = element("div", "panes");
    parentElement.append(root);
    const card = element("div", "card");
    card.hidden = true;
    state = { root, card, panes: [], step: 0, number: 0, size: "", frame: 0, changes: 0 };
    state.dial = ({ detail }) => {
      if (detail && detail.group === state.data.group && Number.isInteger(detail.step)) show(state, detail.step);
    };
    window.addEventListener("dpcore:dial", state.dial);
    state.watch = new ResizeObserver(() => state.panes.length && arrangeAll(state));
    state.watch.observe(root);
    state.offered = (({ detail }) => detail.name === "words" && save(state, detail.format));
    window.addEventListener("dpcore:save", state.offered);
    state.resized = () => state.panes.length && arrangeAll(state);
    window.addEventListener("resize", state.resized); // the window's height sets that of the panes
    states.set(parentElement, state);
  }
  state.send = setTriggerValue;
  speakAs(data);
  const { step: wanted, "none found": none, ...rest } = data;
  const content = JSON.stringify(rest);
  if (content !== state.content) {
    state.content = content;
    state.data = data;
    // As high as before until the new panes are: a browser keeps in place what stands below, and
    // the page would scroll.
    state.root.style.minHeight = `${state.root.offsetHeight}px`;
    build(state);
    state.size = "";
    state.step = wanted;
    arrangeAll(state);
    state.root.style.minHeight = "";
  } else if (wanted !== state.step) show(state, wanted);
  // Once for each click: it is about this ε, and a step of the dial takes it away.
  if (none && none.number !== state.none) {
    state.none = none.number;
    say(state, state.status, none.text);
    state.status.scrollIntoView({ block: "nearest" }); // on a phone it may end below the window
  }
  return () => {
    cancelAnimationFrame(state.frame);
    window.removeEventListener("dpcore:dial", state.dial);
    window.removeEventListener("resize", state.resized);
    window.removeEventListener("dpcore:save", state.offered);
    state.watch.disconnect();
    state.root.remove();
    states.delete(parentElement);
  };
}
