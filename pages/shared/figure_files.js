// Saves a figure as it appears on the page. The parts that change with a slider are not in the
// figure: they are laid over it (dpcore.plots.mark), so the saved figure gets a shape for each of
// these parts. captioned.js and svg_files.js are prepended.

const clear = (colour) => colour === "rgba(0, 0, 0, 0)";

// A part as Plotly draws it, in shares of the area inside the axes.
function shape(part, plot) {
  const { l, t, w, h } = plot._fullLayout._size;
  const from = plot.getBoundingClientRect();
  const box = part.getBoundingClientRect();
  const x = (place) => (place - from.left - l) / w;
  const y = (place) => 1 - (place - from.top - t) / h;
  const style = getComputedStyle(part);
  const width = parseFloat(style.borderLeftWidth);
  const line = { color: style.borderLeftColor, width };
  const where = { xref: "paper", yref: "paper" };
  const middle = y((box.top + box.bottom) / 2);
  if (style.borderLeftStyle === "dotted") {
    const across = x(box.left + width / 2);
    line.dash = "dot";
    return { ...where, type: "line", line, x0: across, x1: across, y0: y(box.top), y1: y(box.bottom) };
  }
  if (parseFloat(style.borderTopWidth) && clear(style.borderTopColor)) { // an arrow
    const leftward = !width;
    const [tip, base] = leftward ? [box.left, box.right] : [box.right, box.left];
    const path = `M${x(tip)},${middle}L${x(base)},${y(box.top)}L${x(base)},${y(box.bottom)}Z`;
    const fillcolor = leftward ? style.borderRightColor : style.borderLeftColor;
    return { ...where, type: "path", path, fillcolor, line: { width: 0 } };
  }
  const back = width / 2; // a border lies inside its box, a stroke on both sides of its line
  return {
    ...where,
    type: style.borderTopLeftRadius === "50%" ? "circle" : "rect",
    x0: x(box.left + back),
    x1: x(box.right - back),
    y0: y(box.bottom - back),
    y1: y(box.top + back),
    line,
    fillcolor: style.backgroundColor,
  };
}

// The theme with its axes in the colour of the text: Streamlit's light theme has them in a grey of
// 3.7:1, which a style of the page corrects on the screen only.
function legible(plot) {
  const { template } = plot.layout;
  const grey = template?.layout?.font?.color;
  if (!grey) return template;
  const ink = getComputedStyle(plot).color;
  return JSON.parse(JSON.stringify(template).replaceAll(JSON.stringify(grey), JSON.stringify(ink)));
}

// The element with this Streamlit key.
const keyed = (key) => `.st-key-${key.replaceAll(/[^a-zA-Z0-9_-]/g, "-")}`;

// What Plotly needs to draw a figure again; null if it is not drawn yet.
function drawn(name) {
  const plot = document.querySelector(`${keyed(`figure_${name}`)} .js-plotly-plot`);
  if (!plot || !plot._fullLayout || !window.Plotly) return null;
  const over = `${keyed(`still_${name}`)} [data-testid=stHtml] [aria-hidden] > div`;
  const marks = [...document.querySelectorAll(over)].map((part) => shape(part, plot));
  const { width, height } = plot._fullLayout;
  const shapes = [...(plot.layout.shapes || []), ...marks];
  const layout = { ...plot.layout, shapes, template: legible(plot) };
  return { figure: { data: plot.data, layout }, width, height };
}

// A figure as an element. Plotly cuts a legend off at the width that it has in the font of the page,
// which may be another one where the file is opened.
async function element({ figure, width, height }) {
  const address = await window.Plotly.toImage(figure, { format: "svg", width, height });
  const markup = decodeURIComponent(address.slice(address.indexOf(",") + 1));
  const svg = new DOMParser().parseFromString(markup, "image/svg+xml").documentElement;
  for (const part of svg.querySelectorAll(".legend [clip-path]")) part.removeAttribute("clip-path");
  return svg;
}

async function save({ name, panels, text }, format) {
  if (panels) return saveAll(name, panels, text, format);
  const made = drawn(name);
  if (!made) return;
  const { figure, width, height } = made;
  if (format !== "png") {
    saveSheet(await element(made), name, format);
    return;
  }
  const finding = document.querySelector(keyed(`finding_${name}`))?.textContent ?? "";
  window.Plotly.toImage(figure, { format, width, height, scale: SCALE }).then((address) => {
    const picture = new Image();
    picture.onload = () => hand(captioned(picture, width, height, finding), name, format);
    picture.src = address;
  });
}

const SVG = "http://www.w3.org/2000/svg";
const TITLE = 34;
const LINE = 18;

function written(sheet, line, x, y, size) {
  const style = { x, y, "font-family": LETTERS, "font-size": size, fill: sheet.dataset.ink };
  const node = document.createElementNS(SVG, "text");
  for (const [name, value] of Object.entries(style)) node.setAttribute(name, value);
  node.textContent = line;
  sheet.append(node);
}

// All panels of a figure as one drawing: two in a row, each below its title, then the text.
async function saveAll(name, panels, text, format) {
  const all = panels.map(([key, title]) => ({ title, ...drawn(key) }));
  if (all.some(({ figure }) => !figure)) return;
  const wide = Math.max(...all.map(({ width }) => width));
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `16px ${LETTERS}`;
  const titles = all.map(({ title }) => wrapped(pen, title, wide - 2 * MARGIN));
  const head = TITLE + 20 * (Math.max(...titles.map((lines) => lines.length)) - 1);
  const tall = Math.max(...all.map(({ height }) => height)) + head;
  const { backgroundColor, color } = getComputedStyle(document.querySelector("[data-testid=stApp]"));
  const sheet = document.createElementNS(SVG, "svg");
  sheet.dataset.ink = color;
  const across = Math.min(2, all.length) * wide;
  pen.font = `13px ${LETTERS}`;
  const lines = text.flatMap((paragraph) => wrapped(pen, paragraph, across - 2 * MARGIN));
  const top = Math.ceil(all.length / 2) * tall + MARGIN;
  const high = top + lines.length * LINE + MARGIN;
  sheet.setAttribute("xmlns", SVG);
  for (const [side, size] of [["width", across], ["height", high]]) sheet.setAttribute(side, size);
  const ground = document.createElementNS(SVG, "rect");
  for (const [side, size] of [["width", across], ["height", high], ["fill", backgroundColor]]) {
    ground.setAttribute(side, size);
  }
  sheet.append(ground);
  for (const [i, made] of all.entries()) {
    const panel = await element(made);
    const [x, y] = [(i % 2) * wide, Math.floor(i / 2) * tall];
    panel.setAttribute("x", x);
    panel.setAttribute("y", y + head);
    titles[i].forEach((line, j) => {
      written(sheet, line, x + MARGIN, y + head - MARGIN - 20 * (titles[i].length - 1 - j), 16);
    });
    sheet.append(panel);
  }
  lines.forEach((line, i) => written(sheet, line, MARGIN, top + (i + 0.8) * LINE, 13));
  saveSheet(sheet, name, format);
}

// The figure whose sentence the choice beside the buttons shows: it may have been chosen a moment
// ago, before the page has drawn the buttons of that figure in place of these.
function chosen({ name, choice, sentences }) {
  const shown = choice && document.querySelector(`${keyed(choice)} input`)?.value;
  return { name: sentences?.[shown] ?? name };
}

export default function (component) {
  const { data, parentElement } = component;
  const before = parentElement.querySelector(".files");
  if (before) { // of another figure, where one is chosen
    before.newest = data;
    return;
  }
  const row = document.createElement("div");
  row.className = "files";
  row.newest = data;
  for (const [format, label, title] of data.formats) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = title;
    const icon = document.createElement("span");
    icon.className = "icon";
    icon.textContent = "download";
    icon.setAttribute("aria-hidden", "true");
    button.append(icon, label);
    button.addEventListener("click", () => {
      save(row.newest.panels ? row.newest : chosen(row.newest), format);
    });
    row.append(button);
  }
  parentElement.append(row);
  return () => row.remove();
}
