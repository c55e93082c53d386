// One pane: a word, its neighbours at their true distances, and a disc for the probability of each.
// Words are data: they are only ever set as text content.

const SVG = "http://www.w3.org/2000/svg";
const DOT = 2.6, GAP = 7, AIR = 0.75;
const SHEET = { width: 540, height: 500, edge: 18 }; // as in dpcore.plots.maps.rings
const NARROW = 0.93; // height by width where there is less room than that
const COLUMNS = 700; // pixels of the board from which the panes stand side by side
const BESIDE = 343, LOWEST = 320; // pixels of the window above and below panes, and their least height

function element(name, className = "", text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function shape(name, className, values = {}) {
  const node = document.createElementNS(SVG, name);
  node.setAttribute("class", className);
  for (const [key, value] of Object.entries(values)) node.setAttribute(key, value);
  return node;
}

// Sets changed values, and counts them: the cost of a step is this number.
function put(state, node, key, value) {
  const text = String(value);
  if (node.getAttribute(key) === text) return;
  node.setAttribute(key, text);
  state.changes += 1;
}

function say(state, node, text) {
  if (node.textContent === text) return;
  node.textContent = text;
  state.changes += 1;
}

const rounded = (value, digits) => written(Number(value.toPrecision(digits)),
  { maximumFractionDigits: 6 });

// A probability as a count: "30 in 100", "1 in 40", "practically always".
function often(p, form = words.in) {
  const counted = (count, whole) => filled(form, { count, whole });
  if (p >= 0.9999995) return words.always;
  if (p > 0.99) return counted(rounded(1 / (1 - p) - 1, 3), rounded(1 / (1 - p), 3));
  if (p >= 0.095) return counted(Math.round(100 * p), 100);
  if (p >= 1e-6) return counted(1, rounded(1 / p, p < 0.01 ? 3 : 2));
  return words.never;
}

// The same for an upper bound on a probability: never less than it.
function oftenAtMost(p, form = words.in) {
  const counted = (count, whole) => filled(form, { count, whole });
  if (p >= 0.9999995) return words.always;
  if (p > 0.99) {
    const whole = atMost(withoutNoise(1 / withoutNoise(1 - p)), 3);
    return counted(rounded(whole - 1, 6), rounded(whole, 6));
  }
  if (p >= 0.095) return counted(percentAtMost(p), 100);
  if (p >= 1e-6) return counted(1, rounded(atLeast(withoutNoise(1 / p), p < 0.01 ? 3 : 2), 3));
  return words.never;
}

function hundred(p) {
  if ((p > 0.995 && p < 0.9999995) || (p < 0.005 && p >= 1e-6)) return often(p, words.of);
  return filled(words.of, { count: Math.round(100 * p), whole: 100 });
}

function hundredAtMost(p) {
  if ((p > 0.995 && p < 0.9999995) || (p < 0.005 && p >= 1e-6)) return oftenAtMost(p, words.of);
  return filled(words.of, { count: percentAtMost(p), whole: 100 });
}

const boxesMeet = (a, b) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function makePane(state, index) {
  const shown = state.data.panes[index];
  const figure = element("div", "pane");
  figure.style.setProperty("--tone", shown.colour);
  const head = element("div", "head");
  const title = element("span", "title"), guess = element("span", "guess");
  head.append(title, guess);
  const svg = shape("svg", "drawing", { role: "listbox", tabindex: 0 });
  svg.setAttribute("aria-label", filled(words.around, { word: shown.word }));
  figure.append(head, svg);
  const pane = { index, shown, figure, title, guess, svg, words: [], active: -1 };
  const map = state.data.map;
  pane.layers = Object.fromEntries(["rings", "discs", "dots", "play", "names"].map((name) => {
    const layer = shape("g", name);
    svg.append(layer);
    return [name, layer];
  }));
  pane.rings = (map ? [] : state.data.rings).map((distance) => {
    const ring = shape("circle", "ring"), text = shape("text", "unit");
    text.textContent = written(distance);
    pane.layers.rings.append(ring, text);
    return { distance, ring, text };
  });
  pane.rim = shape("circle", "ring");
  pane.arc = shape("circle", "arc", { pathLength: 1 });
  pane.elsewhere = shape("text", "elsewhere");
  pane.noise = shape("circle", "noise");
  pane.arrow = shape("path", "beyond");
  pane.long = shape("text", "long");
  pane.gap = shape("text", "gap");
  pane.gap.textContent = filled(words.gap, { distance: shown.gap });
  // Places on a map are pairs of a distance from the word and an angle, one after the other.
  pane.others = [];
  if (map) {
    const others = map.others[index];
    for (let i = 0; i < others.length; i += 2) {
      const dot = shape("circle", "other", { r: 1.6 });
      pane.layers.rings.append(dot);
      pane.others.push({ far: others[i], angle: others[i + 1], dot });
    }
  }
  pane.kept = shape("text", "long");
  pane.kept.textContent = map ? filled(words.kept, { share: map.kept[index] }) : "";
  pane.layers.rings.append(pane.rim, pane.arc, pane.noise, pane.arrow);
  pane.layers.names.append(pane.elsewhere, pane.long, pane.gap, pane.kept);
  const all = [[shown.word, 0, 0, "middle"], ...shown.near];
  all.forEach(([name, distance, arranged, side], i) => {
    const near = map && i ? map.near[index].slice(2 * i - 2, 2 * i) : null;
    const [far, angle] = near || [distance, arranged];
    const option = shape("g", "word", { role: "option", id: `pane${index}-${i}` });
    const disc = shape("circle", "disc"), dot = shape("circle", "dot", { r: DOT });
    const text = shape("text", i ? "name" : "name middle"), leader = shape("path", "leader");
    text.textContent = name;
    option.append(dot);
    pane.layers.discs.append(disc);
    pane.layers.dots.append(option);
    pane.layers.rings.append(leader);
    pane.layers.names.append(text);
    const spoken = filled(
      i ? words.away : words.itself, { word: name, distance: rounded(distance, 3) });
    option.setAttribute("aria-label", spoken);
    pane.words.push({ name, distance, far, angle, side, disc, dot, text, leader, option, spoken, named: true,
      tall: i ? 0 : 3 }); // the word in the middle has larger letters
  });
  pane.focus = shape("circle", "focus");
  pane.layers.play.before(pane.focus);
  return pane;
}

const at = (pane, distance, angle) => [
  pane.x + pane.scale * distance * Math.cos(angle),
  pane.y - pane.scale * distance * Math.sin(angle),
];

// Height of the panes: side by side they leave room for the finding in the window.
function heightOf(state, width) {
  const room = state.root.clientWidth > COLUMNS ? Math.max(LOWEST, window.innerHeight - BESIDE) : SHEET.height;
  return Math.round(Math.min(1.1 * SHEET.height, room, width * NARROW));
}

// Places everything that does not move with ε, for the available width.
function fit(state, pane) {
  const width = Math.max(240, pane.svg.clientWidth || pane.figure.clientWidth || SHEET.width);
  const height = heightOf(state, width);
  const map = state.data.map;
  pane.width = width;
  pane.height = height;
  pane.radius = Math.min(width, height) / 2 - SHEET.edge;
  pane.reach = map ? map.reach : state.data.reach;
  pane.scale = pane.radius / pane.reach;
  pane.x = width / 2;
  pane.y = height / 2;
  pane.whole = state.data.whole * pane.radius;
  pane.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  pane.svg.setAttribute("height", height);
  for (const { distance, ring, text } of pane.rings) {
    const r = distance * pane.scale;
    for (const [key, value] of [["cx", pane.x], ["cy", pane.y], ["r", r]]) ring.setAttribute(key, value);
    text.setAttribute("x", pane.x);
    text.setAttribute("y", pane.y - r + 4);
  }
  for (const node of [pane.rim, pane.arc]) {
    for (const [key, value] of [["cx", pane.x], ["cy", pane.y], ["r", pane.radius + 5]]) node.setAttribute(key, value);
  }
  for (const key of ["cx", "cy"]) pane.noise.setAttribute(key, key === "cx" ? pane.x : pane.y);
  const slant = (pane.radius + 9) * Math.SQRT1_2;
  const [ax, ay] = [pane.x + slant, pane.y + slant];
  pane.arrow.setAttribute("d", `M${ax - 3},${ay - 3}l13,13m0,-8v8h-8`);
  pane.elsewhere.setAttribute("x", 2);
  pane.elsewhere.setAttribute("y", height - 5);
  pane.gap.setAttribute("x", 2);
  pane.gap.setAttribute("y", 14);
  pane.long.setAttribute("x", width - 2);
  pane.long.setAttribute("y", height - 5);
  pane.kept.setAttribute("x", width - 2);
  pane.kept.setAttribute("y", 14);
  for (const { far, angle, dot } of pane.others) {
    const [x, y] = at(pane, far, angle);
    dot.setAttribute("cx", x.toFixed(1));
    dot.setAttribute("cy", y.toFixed(1));
  }
  for (const word of pane.words) {
    const beyond = word.far > pane.reach; // on a map a neighbour may lie anywhere
    [word.x, word.y] = at(pane, Math.min(word.far, pane.reach), word.angle);
    word.option.classList.toggle("outside", beyond);
    for (const node of [word.disc, word.dot]) {
      node.setAttribute("cx", word.x);
      node.setAttribute("cy", word.y);
    }
    word.text.setAttribute("display", "inline"); // a hidden one has no length
    word.width = word.text.getComputedTextLength();
  }
  pane.order = "";
}

const SIDES = {
  right: (w) => [w.x + GAP, w.y + 4, "start"],
  left: (w) => [w.x - GAP, w.y + 4, "end"],
  above: (w) => [w.x, w.y - GAP - 1, "middle"],
  below: (w) => [w.x, w.y + GAP + 10, "middle"],
  middle: (w) => [w.x, w.y + 5, "middle"],
};

function nameBox(word, side) {
  const [x, y, anchor] = SIDES[side](word);
  const left = anchor === "start" ? x : anchor === "end" ? x - word.width : x - word.width / 2;
  return { x, y, anchor, left: left - AIR, right: left + word.width + AIR, top: y - 11 - AIR - word.tall, bottom: y + 4 + AIR + word.tall };
}

// Boxes of a name away from its dot, the nearest and the most outward ones first: a map has clumps.
function awayFrom(pane, word) {
  const outward = Math.atan2(word.y - pane.y, word.x - pane.x);
  const boxes = [];
  for (const far of [20, 32, 46, 62, 80, 100, 122, 146]) {
    for (const turn of [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8]) {
      const angle = outward + (turn * Math.PI) / 8;
      const [x, y] = [word.x + far * Math.cos(angle), word.y + far * Math.sin(angle)];
      const anchor = Math.cos(angle) > 0.3 ? "start" : Math.cos(angle) < -0.3 ? "end" : "middle";
      const left = anchor === "start" ? x : anchor === "end" ? x - word.width : x - word.width / 2;
      boxes.push({ x, y: y + 4, anchor, left: left - AIR, right: left + word.width + AIR, top: y - 7 - AIR - word.tall,
        bottom: y + 8 + AIR + word.tall, line: `M${word.x.toFixed(1)},${word.y.toFixed(1)}L${x.toFixed(1)},${y.toFixed(1)}` });
    }
  }
  return boxes;
}

// Places names: the likeliest first, on a map the nearest. A name without room is hidden, its dot never.
function name(state, pane, chances) {
  const { map } = state.data;
  const order = pane.words.map((_, i) => i)
    .sort((a, b) => (a && b && !map ? chances(b) - chances(a) || a - b : a - b));
  const key = order.join();
  if (key === pane.order) return;
  pane.order = key;
  const dots = pane.words.map((w) => ({ left: w.x - 3, right: w.x + 3, top: w.y - 3, bottom: w.y + 3 }));
  const corners = [
    { left: 0, right: 150, top: pane.height - 18, bottom: pane.height },
    { left: pane.width - 125, right: pane.width, top: pane.height - 18, bottom: pane.height },
    { left: 0, right: 125, top: 0, bottom: 18 },
    ...(map ? [{ left: pane.width - 170, right: pane.width, top: 0, bottom: 18 }] : []),
  ];
  const taken = pane.rings.map(({ distance }) => {
    const y = pane.y - distance * pane.scale;
    return { left: pane.x - 6, right: pane.x + 6, top: y - 7, bottom: y + 7 };
  });
  for (const i of order) {
    const word = pane.words[i];
    const sides = [...new Set(i || map ? [word.side, ...Object.keys(SIDES).slice(0, 4)] : ["middle"])];
    const free = (box) => (!i && !map) || (box.left >= 0 && box.right <= pane.width && box.top >= 0 && box.bottom <= pane.height
      && !taken.some((other) => boxesMeet(box, other)) && !corners.some((other) => boxesMeet(box, other))
      && !dots.some((dot, j) => j !== i && boxesMeet(box, dot)));
    const boxes = () => [
      ...sides.filter((side) => !map || side !== "middle").map((side) => nameBox(word, side)),
      ...(map ? awayFrom(pane, word) : []),
    ];
    const box = map && i > state.data.map.named ? null : boxes().find(free);
    put(state, word.leader, "d", (box && box.line) || "");
    word.named = Boolean(box);
    put(state, word.text, "display", box ? "inline" : "none");
    if (!box) continue;
    taken.push(box);
    word.box = box;
    put(state, word.text, "x", box.x);
    put(state, word.text, "y", box.y);
    put(state, word.text, "text-anchor", box.anchor);
  }
}

const describe = (state, pane, i) => {
  const row = state.data.rows[state.step];
  const width = pane.words.length + 1;
  const word = pane.words[i];
  const parts = [
    i ? filled(words.distance, { distance: rounded(word.distance, 3) }) : words["the word"]];
  if (row !== null) {
    const place = row * width + i;
    const { ends, chances } = pane.shown;
    const unseen = ends && chances[place] < 0.1 * ends[1][place];
    parts.push(unseen ? filled(words.most, { chance: oftenAtMost(ends[1][place]) }) : often(chances[place]));
    if (ends && !unseen) {
      const [low, high] = ends.map((end) => often(end[place]));
      parts.push(filled(words.interval, { low, high }));
    }
  }
  return parts;
};

// Moves everything that depends on ε.
function step(state, pane) {
  const row = state.data.rows[state.step];
  const width = pane.words.length + 1;
  const chances = (i) => (row === null ? 0 : pane.shown.chances[row * width + i]);
  pane.words.forEach((word, i) => {
    put(state, word.disc, "r", (pane.whole * Math.sqrt(chances(i))).toFixed(2));
  });
  const beyond = chances(width - 1);
  // An estimate far below its upper end conveys no more than that end.
  const counted = (i) => {
    const most = pane.shown.ends && row !== null ? pane.shown.ends[1][row * width + i] : 0;
    return chances(i) < 0.1 * most ? filled(words.most, { chance: hundredAtMost(most) }) : hundred(chances(i));
  };
  put(state, pane.arc, "stroke-dasharray", `${Math.min(beyond, 1).toFixed(4)} 1.1`);
  put(state, pane.arc, "transform", `rotate(${(135 - 180 * Math.min(beyond, 1)).toFixed(1)} ${pane.x} ${pane.y})`);
  put(state, pane.arc, "opacity", beyond >= 0.0005 ? 1 : 0);
  say(state, pane.elsewhere, row === null ? "" : filled(words.elsewhere, { chance: counted(width - 1) }));
  const standing = row === null ? "" : state.data.standings[row][pane.index];
  say(state, pane.title, standing ? words[standing] : "");
  say(state, pane.guess, row === null ? "" : filled(words.guessed, { chance: counted(0) }));
  // Noise has no length on a map.
  const length = row === null || !state.data.noise || state.data.map ? null : state.data.noise[row];
  const inside = length !== null && length <= pane.reach;
  put(state, pane.noise, "r", inside ? (length * pane.scale).toFixed(2) : 0);
  put(state, pane.arrow, "opacity", length !== null && !inside ? 1 : 0);
  say(state, pane.long, length === null ? "" : filled(words.noise, { length: rounded(length, 3) }));
  name(state, pane, chances);
  if (pane.active >= 0) speak(state, pane, pane.active);
}

// Only the word in focus is described with its probability: the texts of the others never go stale.
function speak(state, pane, i) {
  pane.words[i].option.setAttribute("aria-label", [pane.words[i].name, ...describe(state, pane, i)].join(", "));
}
