// Map of a whole vocabulary. Finding a word, moving and zooming happen in the browser alone; the
// server is asked for the true neighbours of a word in focus, and told which word becomes the first
// or second of the page. spoken.js, svg_files.js and the other vocabulary_*.js are prepended. Words
// are data: they are only ever set as text content, or written on a canvas.

const OFFERED = 8; // words that the search offers
const CLOSEST = 400; // zoom
const FLIGHT = 650; // milliseconds
const TAP = 6, REACH = { mouse: 9, pen: 12, touch: 20 }; // pixels
const LATCH = 350; // milliseconds in which the wheel goes on scrolling the page
const SLICE = 6; // milliseconds of work on names at a time

const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const smooth = (t) => t * t * (3 - 2 * t);

function make(name, className = "", text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function button(title, act, className = "") {
  const node = make("button", className, title);
  node.type = "button";
  node.addEventListener("click", act);
  return node;
}

// ---- the picture -------------------------------------------------------------------------------

function fitted(state, map = state.map) {
  return 0.95 * Math.min(state.width / (2 * map.grid.right), state.height / (2 * map.grid.top));
}

function setView(state, x, y, k) {
  const zoom = clamp(k, 1, CLOSEST), { right, top } = state.map.grid;
  const room = Math.min(1, zoom - 1); // the whole map leaves no room to move
  state.view = {
    x: clamp(x, -right * room, right * room), y: clamp(y, -top * room, top * room), k: zoom,
    scale: fitted(state) * zoom,
  };
  state.stage.style.touchAction = zoom > 1.01 ? "none" : "pan-y"; // otherwise a touch could not scroll past
  request(state);
}

function zoomBy(state, factor, x = state.width / 2, y = state.height / 2) {
  const { view } = state;
  const k = clamp(view.k * factor, 1, CLOSEST), scale = fitted(state) * k;
  // The point under the pointer stays there.
  const [across, up] = [x - state.width / 2, state.height / 2 - y];
  stopFlight(state);
  setView(state, view.x + across / view.scale - across / scale, view.y + up / view.scale - up / scale, k);
}

function moveBy(state, across, down) {
  const { view } = state;
  stopFlight(state);
  setView(state, view.x - across / view.scale, view.y + down / view.scale, view.k);
}

function wholeMap(state) {
  fly(state, 0, 0, 1);
}

// A flight zooms out until both ends are in sight, and in again.
function fly(state, x, y, k) {
  const from = { ...state.view };
  stopFlight(state);
  if (calm()) return setView(state, x, y, k);
  const far = Math.hypot(x - from.x, y - from.y) * fitted(state);
  const high = Math.min(from.k, k, far ? Math.max(1, (0.7 * Math.min(state.width, state.height)) / far) : k);
  const begin = performance.now();
  state.flight = (now) => {
    const t = clamp((now - begin) / FLIGHT, 0, 1), way = smooth(t);
    const rise = smooth(Math.min(1, 2 * t)), fall = smooth(Math.max(0, 2 * t - 1));
    setView(state, from.x + (x - from.x) * way, from.y + (y - from.y) * way,
      from.k * (high / from.k) ** rise * (k / high) ** fall);
    if (t === 1) state.flight = null;
  };
  request(state);
}

function stopFlight(state) {
  state.flight = null;
}

function request(state, points = true) {
  state.points = state.points || points;
  if (!state.frame) state.frame = requestAnimationFrame((now) => frame(state, now));
}

function frame(state, now) {
  state.frame = 0;
  if (!state.pack || !state.width) return;
  if (state.flight) state.flight(now);
  if (state.turn) {
    state.mix = clamp((now - state.turn) / FLIGHT, 0, 1);
    if (state.mix === 1) state.turn = 0;
    state.points = true;
  }
  const tones = inks(state);
  if (state.points) {
    const { x, y, scale, k } = state.view;
    state.painter.paint({
      x, y, scale, width: state.width, height: state.height, ratio: state.ratio, tones: tones.tones,
      from: state.before || state.map, to: state.map, mix: state.before ? smooth(state.mix) : 1,
      size: Math.min(9, 2.4 + 0.85 * Math.log2(k)),
    });
    state.points = false;
  }
  const moving = state.turn > 0;
  state.named = paintOver(state.over.getContext("2d"), {
    width: state.width, height: state.height, ratio: state.ratio, view: state.view, map: state.map,
    pack: state.pack, ink: tones.ink, ground: tones.ground, font: tones.font, widthOf: state.widthOf,
    pair: moving ? [] : state.data.pair, mass: moving ? [] : state.data.mass, look: moving ? null : looked(state),
    hover: moving ? -1 : state.hover, quiet: moving,
  });
  state.root.dataset.named = state.named;
  if (state.flight || state.turn) request(state);
}

// Colours of the theme, read at every frame, since no event reports a change.
function inks(state) {
  const style = getComputedStyle(state.stage);
  const ground = style.backgroundColor;
  const key = ground + style.color;
  if (state.inks && state.inks.key === key) return state.inks;
  const [red, green, blue] = (ground.match(/[\d.]+/g) || [255, 255, 255]).map(Number);
  const theme = 0.299 * red + 0.587 * green + 0.114 * blue > 127 ? "light" : "dark";
  const { colours, bounds } = state.pack.head;
  const hexes = bounds ? colours[theme] : colours[theme].map(() => colours[theme][3]);
  const tones = hexes.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255));
  state.inks = { key, ground, ink: style.color, font: style.fontFamily, tones, hexes };
  state.swatches.forEach((swatch, i) => { swatch.style.background = hexes[i]; });
  return state.inks;
}

// Names are placed bit by bit in idle time.
function placeNames(state) {
  const { map } = state, scale = fitted(state);
  if (map.placedAt !== scale) {
    map.placedAt = scale;
    map.work = levelsOf(map, state.pack.count, scale, state.widthOf);
  }
  clearTimeout(state.placing);
  state.placing = 0;
  if (!map.work) return;
  const step = () => {
    state.placing = 0;
    if (state.map !== map || !map.work || !state.root.isConnected) return;
    const end = performance.now() + SLICE, ready = map.ready;
    let done = false;
    while (!done && performance.now() < end) done = map.work.next().done;
    if (done) map.work = null;
    else state.placing = setTimeout(step, 0);
    if (map.ready !== ready && map.ready <= STEPS * Math.log2(state.view.k) + 2) request(state, false);
    state.root.dataset.placed = map.ready;
  };
  state.placing = setTimeout(step, 0);
}

function sizeUp(state) {
  const width = state.stage.clientWidth, height = state.stage.clientHeight;
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  if (!state.pack || !width || (width === state.width && height === state.height && ratio === state.ratio)) return;
  Object.assign(state, { width, height, ratio });
  for (const canvas of [state.under, state.over]) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const { x, y, k } = state.view || { x: 0, y: 0, k: 1 };
  setView(state, x, y, k);
  placeNames(state);
  if (state.pending >= 0) approach(state, state.pending);
}

// ---- words in focus ----------------------------------------------------------------------------

const looked = (state) => state.look < 0 ? null
  : { row: state.look, near: state.data.look && state.data.look.row === state.look ? state.data.look.near : null };

// Zooms in far enough that the word has its name, and those around it theirs.
function approach(state, row) {
  state.pending = state.view ? -1 : row; // a map that has no room yet will have it
  if (!state.view) return;
  const level = state.map.levels[row];
  const k = Math.max(state.view.k, clamp(1.3 * 2 ** ((level < state.map.ready ? level : 8) / STEPS), 10, 64));
  fly(state, state.map.points[2 * row], state.map.points[2 * row + 1], k);
}

function lookAt(state, row) {
  if (state.look === row) return;
  state.look = row;
  tell(state);
  request(state, false);
  state.send("look", row);
}

// Facts about the word in focus, as text: everything that the picture says about it.
function tell(state) {
  const { told, data, pack, look } = state;
  if (look < 0) {
    told.replaceChildren(make("p", "", words.tap));
    return;
  }
  const head = make("div", "head");
  head.append(make("strong", "", pack.names[look]));
  [words["make first"], words["make second"]].forEach((title, slot) => {
    const choose = button(title, () => state.send("choose", { slot, row: look }));
    choose.disabled = data.pair.some((word) => word.row === look);
    head.append(choose);
  });
  told.replaceChildren(head);
  const more = data.look && data.look.row === look ? data.look : null;
  if (!more) {
    told.append(make("p", "", words.looking));
    return;
  }
  const list = make("ol", "near");
  list.setAttribute("aria-label", filled(words.nearest, { word: pack.names[look] }));
  for (const [row, name, distance] of more.near) {
    const item = make("li");
    const far = make("span", "far", written(distance));
    if (row === null) item.append(make("span", "", name), far);
    else {
      const go = button("", () => { approach(state, row); lookAt(state, row); });
      go.append(make("span", "", name), far);
      item.append(go);
    }
    list.append(item);
  }
  told.append(list, ...more.facts.map((fact) => make("p", "", fact)));
}

// ---- search ------------------------------------------------------------------------------------

function makeSearch(state) {
  const box = make("div", "search"), field = make("input"), list = make("ul", "offers");
  const label = make("label", "", words.find);
  field.id = "find";
  label.htmlFor = "find";
  list.id = "offers";
  field.type = "text";
  field.maxLength = 80;
  for (const [name, value] of Object.entries({
    role: "combobox", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    "aria-autocomplete": "list", "aria-controls": "offers", "aria-expanded": "false",
  })) field.setAttribute(name, value);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", words.offers);
  list.hidden = true;
  const none = make("span", "none");
  none.setAttribute("role", "status");
  let rows = [], active = -1;
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const mark = (to) => {
    active = to;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === to)));
    if (to >= 0) field.setAttribute("aria-activedescendant", `offer${to}`);
    else field.removeAttribute("aria-activedescendant");
  };
  const take = (row) => {
    field.value = state.pack.names[row];
    none.textContent = "";
    close();
    approach(state, row);
    lookAt(state, row);
  };
  const offer = () => {
    rows = state.pack ? findWords(state.pack, field.value, OFFERED) : [];
    list.replaceChildren(...rows.map((row, i) => {
      const option = make("li", "", state.pack.names[row]);
      option.id = `offer${i}`;
      option.setAttribute("role", "option");
      option.addEventListener("pointerdown", (event) => {
        event.preventDefault(); // the field keeps the focus
        take(row);
      });
      return option;
    }));
    none.textContent = field.value.trim() && !rows.length ? words.none : "";
    if (!rows.length) return close();
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    mark(-1);
  };
  field.addEventListener("input", offer);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "Escape") return close();
    if (key === "Enter" && field.value.trim()) {
      if (list.hidden) offer();
      if (rows.length) take(rows[Math.max(0, active)]);
      return;
    }
    if (key !== "ArrowDown" && key !== "ArrowUp") return;
    event.preventDefault();
    if (list.hidden) offer();
    else mark((active + (key === "ArrowDown" ? 1 : rows.length + (active < 0 ? 0 : -1))) % rows.length);
  });
  box.append(label, field, list, none);
  return box;
}

// ---- hands -------------------------------------------------------------------------------------

function listen(state) {
  const { stage } = state, hands = new Map();
  let travelled = 0;
  const placeOf = (event) => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left - stage.clientLeft, event.clientY - box.top - stage.clientTop];
  };
  const rowAt = (event) => {
    const [x, y] = placeOf(event), { view } = state;
    return nearestRow(state.map, view.x + (x - state.width / 2) / view.scale,
      view.y + (state.height / 2 - y) / view.scale, (REACH[event.pointerType] || 12) / view.scale);
  };
  stage.addEventListener("pointerdown", (event) => {
    if (!state.pack || event.button) return;
    if (!hands.size) travelled = 0;
    hands.set(event.pointerId, placeOf(event));
    if (hands.size > 1) travelled = Infinity; // two fingers are not a tap
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!state.pack) return;
    const old = hands.get(event.pointerId), now = placeOf(event);
    if (!old) {
      const row = event.pointerType === "touch" ? -1 : rowAt(event);
      if (row !== state.hover) {
        state.hover = row;
        stage.classList.toggle("over", row >= 0);
        request(state, false);
      }
      return;
    }
    travelled += Math.hypot(now[0] - old[0], now[1] - old[1]);
    if (hands.size === 1 && travelled > TAP) {
      moveBy(state, now[0] - old[0], now[1] - old[1]);
      stage.classList.add("held");
    }
    const other = [...hands].find(([id]) => id !== event.pointerId);
    if (other) {
      const gap = (a, b) => Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1]));
      const middle = (a, b) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
      const [was, is] = [middle(old, other[1]), middle(now, other[1])];
      zoomBy(state, gap(now, other[1]) / gap(old, other[1]), ...is);
      moveBy(state, is[0] - was[0], is[1] - was[1]);
    }
    hands.set(event.pointerId, now);
  });
  const release = (event) => {
    if (!hands.delete(event.pointerId)) return;
    stage.classList.remove("held");
    if (event.type === "pointerup" && travelled <= TAP && !hands.size) {
      const row = rowAt(event);
      if (row >= 0) lookAt(state, row);
    }
  };
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("pointerleave", () => {
    if (state.hover < 0) return;
    state.hover = -1;
    request(state, false);
  });
  stage.addEventListener("transitionend", () => request(state)); // the theme has changed
  stage.addEventListener("dblclick", (event) => zoomBy(state, 2, ...placeOf(event)));
  // A wheel that scrolls the page across the map goes on scrolling; one that rests on it zooms.
  let scrolled = -Infinity;
  state.wheel = (event) => {
    if (!event.composedPath().includes(stage)) scrolled = event.timeStamp;
  };
  window.addEventListener("wheel", state.wheel, { passive: true });
  stage.addEventListener("wheel", (event) => {
    if (!state.pack) return;
    const out = event.deltaY > 0 && state.view.k <= 1;
    if (out || (event.timeStamp - scrolled < LATCH && !event.ctrlKey)) {
      scrolled = event.timeStamp;
      return;
    }
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    zoomBy(state, Math.exp(clamp(-event.deltaY * lines, -240, 240) * 0.0022), ...placeOf(event));
  }, { passive: false });
  stage.addEventListener("keydown", (event) => {
    if (!state.pack || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 0.12 * Math.min(state.width, state.height);
    const act = {
      ArrowLeft: () => moveBy(state, step, 0), ArrowRight: () => moveBy(state, -step, 0),
      ArrowUp: () => moveBy(state, 0, step), ArrowDown: () => moveBy(state, 0, -step),
      "+": () => zoomBy(state, 1.5), "=": () => zoomBy(state, 1.5), "-": () => zoomBy(state, 1 / 1.5),
      0: () => wholeMap(state), Home: () => wholeMap(state),
      Enter: () => {
        const row = nearestRow(state.map, state.view.x, state.view.y, 200 / state.view.scale);
        if (row >= 0) lookAt(state, row);
      },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

// ---- files -------------------------------------------------------------------------------------

// The visible part as lines: the points of a class are one path, names are letters.
function sheetOf(state) {
  const { width, height, map, pack, view } = state, { ground, ink, hexes, font } = inks(state);
  const node = (name, values, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const sheet = node("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": font, "font-size": 12, "text-anchor": "middle" });
  sheet.append(node("rect", { width, height, fill: ground }));
  const size = Math.min(9, 2.4 + 0.85 * Math.log2(view.k));
  hexes.forEach((stroke, kind) => {
    const marks = [];
    for (let i = 0; i < pack.count; i++) {
      if (pack.classes[i] !== kind) continue;
      const x = width / 2 + (map.points[2 * i] - view.x) * view.scale, y = height / 2 - (map.points[2 * i + 1] - view.y) * view.scale;
      if (x > 0 && x < width && y > 0 && y < height) marks.push(`M${x.toFixed(1)} ${y.toFixed(1)}h0`);
    }
    if (marks.length) sheet.append(node("path", { d: marks.join(""), stroke, "stroke-width": size, "stroke-linecap": "round", "stroke-opacity": 0.85 }));
  });
  // The names and marks are those of the canvas above the points, written as shapes instead of
  // painted.
  const pen = penOf(node, sheet);
  pen.measureText = (text) => {
    const context = state.over.getContext("2d");
    context.font = pen.font;
    return context.measureText(text);
  };
  paintOver(pen, {
    width, height, ratio: 1, view, map, pack, ink, ground, font, widthOf: state.widthOf,
    pair: state.data.pair, mass: state.data.mass, look: looked(state), hover: -1,
  });
  return sheet;
}

// The subset of a canvas that `paintOver` uses; it writes shapes into a sheet.
function penOf(node, sheet) {
  const pen = { globalAlpha: 1, path: "" };
  const look = () => ({ opacity: pen.globalAlpha });
  return Object.assign(pen, {
    setTransform() {}, clearRect() {},
    beginPath() { pen.path = ""; },
    moveTo(x, y) { pen.path += `M${x.toFixed(1)} ${y.toFixed(1)}`; },
    lineTo(x, y) { pen.path += `L${x.toFixed(1)} ${y.toFixed(1)}`; },
    closePath() { pen.path += "Z"; },
    arc(x, y, r) { pen.path += `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`; },
    fill() { sheet.append(node("path", { d: pen.path, fill: pen.fillStyle, ...look() })); },
    stroke() { sheet.append(node("path", { d: pen.path, fill: "none", stroke: pen.strokeStyle, "stroke-width": pen.lineWidth, ...look() })); },
    strokeText(text, x, y) {
      const style = pen.font.startsWith(BOLD) ? { "font-size": 14, "font-weight": 650 }
        : pen.font.startsWith(REGION) ? { "font-size": 16, "font-weight": 600, "font-style": "italic" } : {};
      sheet.append(node("text", {
        x: x.toFixed(1), y: y.toFixed(1), fill: pen.ink, stroke: pen.strokeStyle, "stroke-width": 3, "stroke-linejoin": "round",
        "paint-order": "stroke", ...style,
      }, text));
    },
    fillText() { sheet.lastChild.setAttribute("fill", pen.fillStyle); },
  });
}

// ---- life --------------------------------------------------------------------------------------

function build(state) {
  const { root } = state;
  const picture = make("div", "picture");
  state.stage = make("div", "stage");
  state.stage.tabIndex = 0;
  state.stage.setAttribute("role", "application");
  state.stage.setAttribute("aria-roledescription", words.map);
  state.over = make("canvas", "over");
  state.over.setAttribute("aria-hidden", "true");
  state.stage.append(state.over);
  const zoom = make("div", "zoom");
  for (const [title, spoken, act] of [
    ["+", words.nearer, () => zoomBy(state, 1.6)], ["−", words.farther, () => zoomBy(state, 1 / 1.6)],
    [words.whole, "", () => wholeMap(state)],
  ]) {
    const node = button(title, () => state.pack && act());
    if (spoken) node.setAttribute("aria-label", spoken);
    zoom.append(node);
  }
  state.waiting = make("p", "waiting", words.waiting);
  state.waiting.setAttribute("role", "status");
  picture.append(state.stage, zoom, state.waiting);
  state.legend = make("div", "legend");
  state.swatches = [];
  state.remark = make("p", "remark");
  state.told = make("section", "told");
  state.told.dataset.told = "";
  state.told.setAttribute("aria-label", words.focus);
  const files = make("div", "files");
  for (const format of ["svg", "png"])
    files.append(button(filled(words.file, { form: format.toUpperCase() }), () => state.pack && saveSheet(sheetOf(state), "vocabulary", format, state.remark.textContent)));
  root.replaceChildren(makeSearch(state), picture, state.legend, state.remark, state.told, files);
  listen(state);
}

function makeLegend(state) {
  const { bounds, near } = state.pack.head, { legend } = state;
  legend.replaceChildren();
  state.inks = null;
  state.swatches = [];
  if (bounds) {
    legend.append(make("span", "", filled(words.legend, { count: near })));
    bounds.forEach((bound, i) => {
      const swatch = make("span", "swatch"), entry = make("span", "entry");
      const text = !i ? words.crowded : i === bounds.length - 1 ? words.alone : words.to;
      entry.append(swatch, make("span", "", filled(text, { distance: written(bound) })));
      state.swatches.push(swatch);
      legend.append(entry);
    });
  }
  state.data.pair.forEach((word) => {
    const entry = make("span", "entry"), mark = make("span", "mark", word.mark === "circle" ? "●" : "◆");
    mark.style.color = word.colour;
    mark.setAttribute("aria-hidden", "true");
    entry.append(mark, make("span", "", filled(words.pair, { word: word.name })));
    legend.append(entry);
  });
}

// A new canvas for the points: one that had WebGL cannot get another context.
function makePainter(state, webgl) {
  if (state.under) state.under.remove();
  state.under = make("canvas", "under");
  state.under.setAttribute("aria-hidden", "true");
  state.stage.prepend(state.under);
  state.painter = webgl ? webglPainter(state.under, state.pack) : canvasPainter(state.under, state.pack);
  if (!state.painter) return makePainter(state, false);
  state.under.addEventListener("webglcontextlost", () => makePainter(state, false));
  state.root.dataset.painter = state.painter.kind;
  state.width = 0;
  sizeUp(state);
}

async function receive(state) {
  const bytes = window.dpcoreVocabulary;
  if (!bytes || state.unpacking === bytes) return;
  state.unpacking = bytes;
  if (typeof DecompressionStream === "undefined") {
    state.waiting.textContent = words["too old"];
    return;
  }
  const pack = await unpack(bytes);
  if (!state.root.isConnected || pack.head.name !== state.data.packet) return;
  for (const map of Object.values(pack.maps)) Object.assign(map, { grid: indexed(map.points), levels: new Uint8Array(pack.count).fill(NEVER), ready: 0 });
  const { fontFamily } = getComputedStyle(state.stage);
  const [plain, wide] = ["12px", REGION].map((style) => {
    const widths = new Float32Array(pack.count), context = make("canvas").getContext("2d");
    context.font = `${style} ${fontFamily}`;
    return (row) => widths[row] || (widths[row] = context.measureText(pack.names[row]).width + 0.01);
  });
  state.widthOf = (row, region) => (region ? wide : plain)(row);
  state.pack = pack;
  state.map = state.before = null;
  state.waiting.hidden = true;
  show(state);
}

// Message of the server about the words, ε and the map.
function show(state) {
  const { data, pack } = state;
  state.stage.setAttribute("aria-label", filled(words.keys, data));
  if (!pack || pack.head.name !== data.packet) {
    state.waiting.hidden = false;
    const known = window.dpcoreVocabulary;
    // Sent to a map that is gone, or cut short: the waiting map asks again.
    clearTimeout(state.asking);
    state.asking = setTimeout(() => {
      if (state.root.isConnected && (!state.pack || state.pack.head.name !== state.data.packet)) state.send("lack", state.data.packet);
    }, known ? 400 : 1500);
    return;
  }
  const map = pack.maps[data.map];
  if (state.map !== map) {
    const first = !state.map;
    state.before = first || calm() ? null : state.map;
    state.map = map;
    state.turn = state.before ? performance.now() : 0;
    state.mix = 0;
    if (first) makePainter(state, true);
    else {
      setView(state, 0, 0, 1);
      if (state.look >= 0) approach(state, state.look);
      placeNames(state);
    }
  }
  makeLegend(state);
  if (data.look && (state.look < 0 || !state.shown)) {
    state.look = data.look.row;
    if (!state.shown) approach(state, state.look);
  }
  state.shown = true;
  tell(state);
  state.root.dataset.map = data.map;
  const parked = pack.head.parked[data.map];
  state.remark.textContent = [
    parked && filled(words.parked, { count: written(parked) }),
    state.painter.kind !== "webgl" && words["no webgl"],
  ].filter(Boolean).join(" ");
  request(state);
}

const states = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  speakAs(data);
  let state = states.get(parentElement);
  if (!state) {
    state = { root: make("div", "vocabulary"), look: -1, hover: -1, pending: -1, width: 0, frame: 0, turn: 0, flight: null };
    parentElement.append(state.root);
    state.data = data;
    build(state);
    state.arrived = () => receive(state);
    window.addEventListener("dpcore:vocabulary", state.arrived);
    state.watch = new ResizeObserver(() => sizeUp(state));
    state.watch.observe(state.stage);
    states.set(parentElement, state);
  }
  state.send = setTriggerValue;
  const content = JSON.stringify(data);
  if (content !== state.content) {
    state.content = content;
    state.data = data;
    show(state);
    receive(state);
  }
  return () => {
    cancelAnimationFrame(state.frame);
    clearTimeout(state.placing);
    clearTimeout(state.asking);
    window.removeEventListener("dpcore:vocabulary", state.arrived);
    window.removeEventListener("wheel", state.wheel);
    state.watch.disconnect();
    state.root.remove();
    states.delete(parentElement);
  };
}
