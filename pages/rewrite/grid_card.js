// Card of a word: its most likely outputs, shown on hover or focus. This file is prepended to
// grid.js, and both are one module. spoken.js is prepended to both.

const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

const percent = (p) => {
  if (p >= 0.9995) return `>${written(99.9)} %`;
  if (p >= 0.1) return `${Math.round(100 * p)} %`;
  return p >= 0.001 ? `${written(100 * p, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} %` : `<${written(0.1)} %`;
};

const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
const distance = (d) => (d === null ? "–" : d === 0 ? words.itself : written(d, digits));

const sameWord = (one, other) => one.toLowerCase() === other.toLowerCase();

function fillCard(card, token, row, input, likely) {
  card.replaceChildren();
  const title = element("p", "card-title");
  const [before, after] = words.card.split("{input}");
  title.append(before, element("b", "", input), after);
  card.append(title);
  if (!likely) {
    card.append(element("p", "card-note", words.computing));
    return;
  }
  const table = element("table");
  const head = element("tr");
  for (const name of [words.output, words.probability, words.distance]) {
    const cell = element("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = element("tbody");
  for (const [word, probability, far] of likely.outputs) {
    const line = element("tr");
    const chance = element("td", "chance", percent(probability));
    const bar = element("span", "bar");
    bar.style.width = `${Math.max(2, Math.round(48 * probability))}px`;
    bar.style.background = row.colour;
    chance.append(bar);
    const name = element("td", sameWord(word, token.text) ? "here" : "", word);
    line.append(name, chance, element("td", "number", distance(far)));
    body.append(line);
  }
  const header = element("thead");
  header.append(head);
  table.append(header, body);
  card.append(table, element("p", "card-note", likely.note));
}

function place(card, target, root) {
  const inside = root.getBoundingClientRect();
  const box = target.getBoundingClientRect();
  card.hidden = false;
  const width = card.offsetWidth;
  const left = Math.min(Math.max(0, box.left - inside.left), Math.max(0, inside.width - width));
  card.style.left = `${left}px`;
  card.style.top = `${box.bottom - inside.top + 4}px`;
}

// Shows the card; requests missing outputs after a moment.
function look(state, button, token, row) {
  const id = button.dataset.id;
  clearTimeout(state.timer);
  clearTimeout(state.asking);
  state.shown = id;
  state.refill = () => {
    fillCard(state.card, token, row, state.data.inputs[token.place], state.likely.get(id));
    place(state.card, button, state.root);
  };
  state.refill();
  mark(state, token.place);
  if (!state.likely.has(id)) {
    state.asking = setTimeout(
      () => state.send("peek", { mechanism: row.key, place: token.place }), 150);
  }
}

function mark(state, place) {
  for (const other of state.root.querySelectorAll(".word")) {
    other.classList.toggle("near", other.dataset.place === String(place));
  }
}

function hide(state) {
  clearTimeout(state.timer);
  clearTimeout(state.asking);
  state.card.hidden = true;
  state.shown = null;
  mark(state, null);
}

// The card can be hovered itself, so it does not vanish at once.
function later(state) {
  clearTimeout(state.timer);
  state.timer = setTimeout(() => {
    const active = state.root.getRootNode().activeElement;
    if (state.card.matches(":hover")) return;
    if (active && active.dataset && active.dataset.id === state.shown) return;
    hide(state);
  }, 180);
}
