// Trade-off: one or two charts and the sentences under them, all at the step of the dial. Every number and
// every word is in the data; here they are only placed. Texts are set as textContent.
// marked_words.js and svg_files.js are prepended.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = {
  solid: "", dot: "2 4", dash: "9 5", longdash: "16 6", dashdot: "9 4 2 4", longdashdot: "16 5 2 5",
};

const shape = (tag, attributes, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

// Plotly's dashes by name, or a list of lengths.
const dashes = (name) =>
  name in DASHES ? DASHES[name] : name.replaceAll("px", "").replaceAll(",", " ");

// -- the charts: side by side, or one below the other where there is no room

const GAP = 24; // between two charts

// One chart in a box of the drawing; all its coordinates are those of the drawing.
function plane(frame, box, right) {
  const area = {
    left: box.x + 58, right: box.x + box.width - right,
    top: box.y + 12, bottom: box.y + box.height - 48,
  };
  const share = (axis, value) => (value - axis.low) / (axis.high - axis.low);
  return {
    box, area,
    x: (value) => area.left + (area.right - area.left) * share(frame.x, value),
    y: (value) => area.bottom - (area.bottom - area.top) * share(frame.y, value),
  };
}

function planes(frames, data, width) {
  const narrow = width < 520;
  const beside = frames.length > 1 && width >= 760;
  const longest = Math.max(...data.lines.map((line) => line.label.length));
  const names = narrow ? 16 : 34 + 6.8 * longest; // room for the names, at the last chart
  const each = beside ? (width - GAP - names + 16) / frames.length : width;
  const height = narrow ? Math.max(300, 0.8 * width) : Math.min(beside ? 460 : 580, 0.85 * each);
  const made = frames.map((frame, i) => {
    const named = !beside || i === frames.length - 1;
    const box = {
      x: beside ? i * (each + GAP) : 0, y: beside ? 0 : i * (height + GAP),
      width: each + (beside && named ? names - 16 : 0), height,
    };
    return { ...plane(frame, box, named ? names : 16), named: named && !narrow };
  });
  return { made, height: beside ? height : frames.length * (height + GAP) - GAP };
}

const route = (points, at) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${at.x(x).toFixed(1)},${at.y(y).toFixed(1)}`).join("");

function axes(frame, at) {
  const parts = [];
  const { left, right, top, bottom } = at.area;
  for (const [value, text] of frame.x.ticks) {
    const x = at.x(value);
    parts.push(shape("line", { class: "gridline", x1: x, x2: x, y1: top, y2: bottom }));
    parts.push(shape("text", { class: "tick", x, y: bottom + 18, "text-anchor": "middle" }, text));
  }
  for (const [value, text] of frame.y.ticks) {
    const y = at.y(value);
    parts.push(shape("line", { class: "gridline", x1: left, x2: right, y1: y, y2: y }));
    parts.push(shape("text", { class: "tick", x: left - 8, y: y + 4, "text-anchor": "end" }, text));
  }
  const middle = (left + right) / 2;
  parts.push(shape("text", { class: "axis", x: middle, y: bottom + 40, "text-anchor": "middle" },
    `${frame.x.title} →`));
  const [across, centre] = [at.box.x + 14, (top + bottom) / 2];
  parts.push(shape("text", {
    class: "axis", x: across, y: centre, "text-anchor": "middle",
    transform: `rotate(-90 ${across} ${centre})`,
  }, `${frame.y.title} →`));
  return parts;
}

function guides(frame, at) {
  const parts = [];
  for (const guide of frame.guides) {
    if (guide.kind === "bound") {
      const [first, last] = [guide.points[0], guide.points[guide.points.length - 1]];
      const over = [...guide.points, [last[0], frame.y.high], [first[0], frame.y.high]];
      parts.push(shape("path", { class: "beyond", d: `${route(over, at)}Z` }));
    }
    const kind = guide.kind === "loose" ? "guide loose" : "guide";
    parts.push(shape("path", { class: kind, d: route(guide.points, at) }));
    const [x, y] = guide.points[guide.place];
    const [above, anchor] = [at.y(y) - 7, guide.place ? "end" : "start"];
    parts.push(shape("text", { class: "tick", x: at.x(x), y: above, "text-anchor": anchor }, guide.label));
  }
  return parts;
}

function curve(line, { points, bars }, at) {
  const parts = [];
  for (const [i, [left, right, low, high]] of bars.entries()) {
    const [x, y] = points[i];
    const bar = { class: "bar", stroke: line.colour };
    parts.push(shape("line", { ...bar, x1: at.x(left), x2: at.x(right), y1: at.y(y), y2: at.y(y) }));
    parts.push(shape("line", { ...bar, x1: at.x(x), x2: at.x(x), y1: at.y(low), y2: at.y(high) }));
  }
  parts.push(shape("path", {
    class: "curve", d: route(points, at), stroke: line.colour,
    "stroke-dasharray": dashes(line.dash),
  }));
  return parts;
}

// Names at the right ends, pushed apart until they are legible; a thin line leads to a moved one.
function names(frame, lines, curves, at) {
  const gap = 16;
  const ends = lines
    .map((line, i) => ({ line, points: curves[i].points }))
    .filter(({ points }) => points.length)
    .map(({ line, points }) => {
      const inside = points.filter(([x, y]) => x <= frame.x.high && y <= frame.y.high);
      const [x, y] = inside[inside.length - 1] ?? points[0];
      return { line, x: at.x(x), y: at.y(y), place: at.y(y) };
    })
    .sort((one, other) => one.place - other.place);
  const top = at.area.top + 6;
  ends.forEach((end, i) => {
    end.place = Math.max(end.place, i ? ends[i - 1].place + gap : top);
  });
  for (let i = ends.length - 1; i >= 0; i -= 1) {
    const most = i === ends.length - 1 ? at.area.bottom : ends[i + 1].place - gap;
    ends[i].place = Math.min(ends[i].place, most);
  }
  const right = at.area.right + 10;
  const parts = [];
  for (const { line, x, y, place } of ends) {
    parts.push(shape("path", {
      d: `M${x + 4},${y}L${right - 3},${place}`, stroke: line.colour, "stroke-width": 0.75,
      opacity: 0.6, fill: "none",
    }));
    const text = shape("text", { class: "end", x: right, y: place + 4 });
    const glyph = shape("tspan", { fill: line.colour }, line.glyph);
    text.append(glyph, shape("tspan", {}, ` ${line.label}`));
    parts.push(text);
  }
  return parts;
}

function drawOne(data, chart, frame, at, number) {
  const clip = shape("clipPath", { id: `inside${number}` });
  const { left, right, top, bottom } = at.area;
  clip.append(shape("rect", {
    x: left, y: top - 4, width: right - left + 4, height: bottom - top + 8,
  }));
  const inside = shape("g", { "clip-path": `url(#inside${number})` });
  const curves = data.lines.flatMap((line, i) => curve(line, chart.curves[i], at));
  inside.append(...guides(frame, at), ...curves);
  const level = shape("line", { class: "level", y1: top, y2: bottom });
  // The mark of each mechanism, as beside its name.
  const marks = data.lines.map(
    (line) => shape("text", { class: "mark", style: `fill: ${line.colour}` }, line.glyph));
  const ends = at.named ? names(frame, data.lines, chart.curves, at) : [];
  return { at, level, marks, parts: [clip, ...axes(frame, at), inside, ...ends, level, ...marks] };
}

function drawChart(state) {
  const { data, svg } = state;
  const width = Math.max(280, Math.round(state.figure.clientWidth || 640));
  state.width = width;
  state.frame = data.frame[state.step];
  const frames = data.charts.map((chart) => chart.frames[state.frame]);
  const { made, height } = planes(frames, data, width);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  state.charts = made.map((at, i) => drawOne(data, data.charts[i], frames[i], at, i));
  svg.replaceChildren(...state.charts.flatMap(({ parts }) => parts));
}

function moveChart(state) {
  const { data, step } = state;
  state.charts.forEach(({ at, level, marks }, number) => {
    const chart = data.charts[number];
    const { high } = chart.frames[state.frame].x;
    const place = chart.level[step];
    level.style.display = place === null ? "none" : "";
    if (place !== null) {
      level.setAttribute("x1", at.x(place));
      level.setAttribute("x2", at.x(place));
    }
    marks.forEach((mark, i) => {
      const here = chart.curves[i].at[step];
      mark.style.display = here === null || here[0] > high ? "none" : "";
      if (here === null) return;
      mark.setAttribute("x", at.x(here[0]));
      mark.setAttribute("y", at.y(here[1]));
    });
  });
}

// -- the sentences

function buildRows(state) {
  const { data, list } = state;
  state.rows = data.rows.map((row) => {
    const line = data.lines[row.line];
    const item = node("li", "row");
    const head = node("div", "head");
    const glyph = node("span", "glyph", line.glyph);
    glyph.style.color = line.colour;
    glyph.setAttribute("aria-hidden", "true");
    const name = node("span", "name");
    name.append(glyph, line.label);
    const left = node("span", "left");
    const promise = node("span", "promise");
    head.append(name, left, promise);
    const words = node("p", "words");
    words.dir = "auto";
    item.append(head, words);
    return { item, left, promise, words };
  });
  list.replaceChildren(...state.rows.map(({ item }) => item));
}

function moveRows(state) {
  const { data, step } = state;
  state.rows.forEach(({ item, left, promise, words }, i) => {
    const row = data.rows[i];
    const absent = row.words[step] === null;
    item.classList.toggle("absent", absent);
    left.replaceChildren();
    if (row.left[step]) left.append(node("b", "", row.left[step]), ` ${data.left}`);
    promise.textContent = row.promise[step];
    if (absent) words.textContent = "";
    else fillWords(words, row.words[step], data.texts);
  });
}

function move(state) {
  state.waiting = 0;
  if (state.data.frame[state.step] !== state.frame) drawChart(state);
  moveChart(state);
  moveRows(state);
  state.finding.textContent = state.data.findings[state.step];
}

function go(state, step) {
  state.step = Math.max(0, Math.min(step, state.data.findings.length - 1));
  // Of several steps in one frame only the last is drawn.
  if (!state.waiting) state.waiting = requestAnimationFrame(() => move(state));
}

const states = new WeakMap();

function begin(parentElement) {
  const root = node("div", "board");
  const figure = node("figure");
  const svg = shape("svg", { role: "img" });
  const finding = node("p", "finding");
  const caption = node("figcaption");
  caption.append(finding);
  figure.append(svg, caption);
  const list = node("ul", "rows");
  root.append(figure, list);
  parentElement.append(root);
  const state = { root, figure, svg, finding, list, step: 0, waiting: 0 };
  state.hear = ({ detail }) => {
    if (state.data && detail.group === state.data.group) go(state, detail.step);
  };
  window.addEventListener("dpcore:dial", state.hear);
  state.save = ({ detail }) => {
    if (detail.name === "tradeoff") saveSvg(svg, detail.name, detail.format, finding.textContent);
  };
  window.addEventListener("dpcore:save", state.save);
  state.watch = new ResizeObserver(() => {
    if (!state.data || Math.round(figure.clientWidth) === state.width) return;
    drawChart(state);
    go(state, state.step);
  });
  state.watch.observe(figure);
  return state;
}

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
    const first = !state.shown;
    state.shown = shown;
    state.data = data;
    state.svg.setAttribute("aria-label", data.alt);
    state.root.classList.toggle("pair", data.charts.length > 1);
    if (first || data.group !== state.group) state.step = step;
    state.group = data.group;
    drawChart(state);
    buildRows(state);
    go(state, state.step);
  }
  return () => {
    window.removeEventListener("dpcore:dial", state.hear);
    window.removeEventListener("dpcore:save", state.save);
    cancelAnimationFrame(state.waiting);
    state.watch.disconnect();
    state.root.remove();
    states.delete(parentElement);
  };
}
