// Rewrite grid. Typed text arrives as data and is only ever set as textContent, so it cannot become
// markup. The tree is rebuilt when its data has changed (a few hundred nodes); the focus and the
// open guarantees are restored. The likely outputs of a word are requested on hover or focus
// ("peek") and kept until the grid changes. grid_card.js and svg_files.js are prepended.

const spoken = (token, input) =>
  filled(token.changed ? words.became : words.stayed, { input, output: token.text });

function wordButton(token, row, state) {
  const button = element("button", token.changed ? "word changed" : "word", token.text);
  button.type = "button";
  button.dataset.id = `${row.key}/${token.place}`;
  button.dataset.place = token.place;
  button.tabIndex = -1;
  button.setAttribute("aria-label", spoken(token, state.data.inputs[token.place]));
  const selected = state.data.place === token.place;
  if (selected) button.classList.add("same");
  const chosen = selected && state.data.mechanism === row.key;
  button.setAttribute("aria-pressed", chosen ? "true" : "false");
  button.setAttribute("aria-describedby", "card");
  const show = () => look(state, button, token, row);
  button.addEventListener("mouseenter", show);
  button.addEventListener("focus", show);
  button.addEventListener("mouseleave", () => later(state));
  button.addEventListener("blur", () => later(state));
  button.addEventListener("click", () => {
    clearTimeout(state.asking);
    state.send("word", { mechanism: row.key, place: token.place });
  });
  return button;
}

// One tab stop per row; the arrow keys move inside it and between the rows.
function move(event, state) {
  const button = event.target.closest(".word");
  if (!button) return;
  if (event.key === "Escape") return hide(state);
  const row = [...button.closest(".words").querySelectorAll(".word")];
  const at = row.indexOf(button);
  const lines = [...state.root.querySelectorAll(".words")].filter((n) => n.querySelector(".word"));
  const line = lines.indexOf(button.closest(".words"));
  const target = {
    ArrowRight: () => row[at + 1],
    ArrowLeft: () => row[at - 1],
    Home: () => row[0],
    End: () => row[row.length - 1],
    ArrowDown: () => lines[line + 1] && lines[line + 1].querySelectorAll(".word")[at],
    ArrowUp: () => lines[line - 1] && lines[line - 1].querySelectorAll(".word")[at],
  }[event.key];
  if (!target) return;
  event.preventDefault();
  const next = target();
  if (next) focusOn(next);
}

function focusOn(button) {
  for (const other of button.closest(".words").querySelectorAll(".word")) other.tabIndex = -1;
  button.tabIndex = 0;
  button.focus();
}

function promise(row, state) {
  const details = element("details", "promise");
  details.dataset.id = row.key;
  details.open = state.open.has(row.key);
  details.addEventListener("toggle", () =>
    details.open ? state.open.add(row.key) : state.open.delete(row.key));
  const summary = element("summary");
  const badge = element("span", `badge ${row.status.kind}`);
  badge.append(element("span", "icon", row.status.icon), ` ${row.status.label}`);
  badge.firstChild.setAttribute("aria-hidden", "true");
  summary.append(badge, element("span", "more", ` ${row.status.line}`));
  const list = element("dl");
  for (const [name, text] of row.promise) {
    list.append(element("dt", "", name), element("dd", "", text));
  }
  details.append(summary, list);
  return details;
}

function mechanismRow(row, state) {
  const frame = element("div", "row");
  const head = element("div", "head");
  head.dataset.told = "";
  const glyph = element("span", "glyph", row.glyph);
  glyph.style.color = row.colour;
  glyph.setAttribute("aria-hidden", "true");
  const title = element("span", "title", row.title);
  title.id = `title-${row.key}`;
  head.append(glyph, title, element("span", "count", row.count));
  const body = element("div", "body");
  if (row.problem) {
    body.append(element("p", "problem", row.problem));
  } else {
    const line = element("div", "words");
    // A redactor offers no choice: its row is a text, not a toolbar.
    const choosing = row.tokens.some((token) => token.place !== undefined);
    line.setAttribute("role", choosing ? "toolbar" : "group");
    line.setAttribute("aria-label", filled(choosing ? words.row : words.redacted, { title: row.title }));
    let first = true;
    for (const token of row.tokens) {
      if (token.gap) line.append(token.gap);
      if (token.place === undefined) {
        const piece = element("span", token.role, token.text);
        if (token.role === "block") {
          piece.setAttribute("role", "img");
          piece.setAttribute("aria-label", filled(words.block, { kind: token.text }));
        }
        line.append(piece);
        continue;
      }
      const button = wordButton(token, row, state);
      const chosen = button.getAttribute("aria-pressed") === "true";
      if (first || chosen) {
        for (const other of line.querySelectorAll(".word")) other.tabIndex = -1;
        button.tabIndex = 0;
        first = false;
      }
      line.append(button);
    }
    body.append(line);
    if (row.strip) body.append(strip(row));
  }
  body.append(promise(row, state));
  frame.append(head, body);
  return frame;
}

// Outputs of this one draw for the chosen word over the whole range of the slider.
function strip(row) {
  const figure = element("div", "strip");
  const bar = element("div", "pieces");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", row.strip.alt);
  row.strip.pieces.forEach(([from, to, word, stays, said], i) => {
    const piece = element("div", stays ? "piece stays" : "piece", word);
    piece.style.left = `${100 * from}%`;
    piece.style.width = `${100 * (to - from)}%`;
    piece.style.borderColor = row.colour;
    piece.title = said;
    if (!stays) piece.style.background = `color-mix(in srgb, ${row.colour} ${i % 2 ? 18 : 32}%, transparent)`;
    bar.append(piece);
  });
  const now = element("div", "now");
  now.style.left = `${100 * row.strip.now}%`;
  bar.append(now);
  const ends = element("div", "ends");
  ends.append(element("span", "", row.strip.low), element("span", "", row.strip.high));
  figure.append(bar, ends);
  return figure;
}

function sourceRow(source) {
  const line = element("div", "row source");
  const head = element("div", "head");
  head.append(element("span", "title", words.source));
  const body = element("div", "body");
  const text = element("p", "plain");
  text.dir = "auto";
  for (const token of source) {
    if (token.gap) text.append(token.gap);
    text.append(element("span", token.role, token.text));
  }
  body.append(text);
  line.append(head, body);
  return line;
}

function draw(state) {
  const { data, root } = state;
  const active = root.getRootNode().activeElement;
  const focused = active && active.dataset ? active.dataset.id : null;
  const inSummary = active && active.tagName === "SUMMARY" ? active.parentElement.dataset.id : null;
  const shown = state.shown;
  hide(state);
  const tree = [sourceRow(data.source)];
  for (const group of data.groups) {
    const section = element("section");
    section.setAttribute("aria-label", group.title);
    const heading = element("h2");
    heading.append(element("span", "", group.title), element("span", "epsilon", group.epsilon));
    section.append(heading, ...group.rows.map((row) => mechanismRow(row, state)));
    tree.push(section);
  }
  root.replaceChildren(...tree, state.card);
  const find = (id) => [...root.querySelectorAll(".word")].find((n) => n.dataset.id === id);
  if (focused && find(focused)) focusOn(find(focused));
  else if (shown && find(shown)) find(shown).dispatchEvent(new Event("mouseenter"));
  if (inSummary) {
    const again = [...root.querySelectorAll("details")].find((n) => n.dataset.id === inSummary);
    if (again) again.querySelector("summary").focus();
  }
}

const states = new WeakMap();

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let state = states.get(parentElement);
  if (!state) {
    const root = element("div", "grid");
    parentElement.append(root);
    const card = element("div", "card");
    card.id = "card";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    state = { root, card, open: new Set(), shown: null, timer: 0, asking: 0, likely: new Map() };
    card.addEventListener("mouseleave", () => later(state));
    root.addEventListener("keydown", (event) => move(event, state));
    // A card whose word was redrawn under a resting pointer, or by a tap, gets no "leave" event.
    root.addEventListener("pointermove", (event) => {
      if (!state.shown || event.target.closest(".card")) return;
      const over = event.target.closest(".word");
      if (!over || over.dataset.id !== state.shown) later(state);
    });
    state.outside = (event) => {
      if (!event.composedPath().includes(root)) hide(state);
    };
    document.addEventListener("pointerdown", state.outside);
    state.offered = offerPicture("rewrites", () => pictured(root), () => "");
    states.set(parentElement, state);
  }
  const { likely, ...shown } = data;
  const content = JSON.stringify(shown);
  state.send = setTriggerValue;
  speakAs(data);
  const same = content === state.content;
  if (!same) state.likely.clear();
  for (const entry of likely) state.likely.set(entry.id, entry);
  if (same) {
    if (state.shown) state.refill();
  } else {
    state.data = data;
    state.content = content;
    draw(state);
  }
  return () => {
    hide(state);
    document.removeEventListener("pointerdown", state.outside);
    state.offered();
    state.root.remove();
    states.delete(parentElement);
  };
}
