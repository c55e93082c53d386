// Saves a figure as it appears on the page. The parts that change with a slider are not in the
// figure: they are laid over it (dpcore.plots.mark), so the saved figure gets a shape for each of
// these parts. captioned.js is prepended.

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

function save(name, format) {
  const plot = document.querySelector(`${keyed(`figure_${name}`)} .js-plotly-plot`);
  if (!plot || !plot._fullLayout || !window.Plotly) return; // not drawn yet
  const over = `${keyed(`still_${name}`)} [data-testid=stHtml] [aria-hidden] > div`;
  const marks = [...document.querySelectorAll(over)].map((part) => shape(part, plot));
  const { width, height } = plot._fullLayout;
  const shapes = [...(plot.layout.shapes || []), ...marks];
  const layout = { ...plot.layout, shapes, template: legible(plot) };
  const drawn = { data: plot.data, layout };
  if (format !== "png") {
    window.Plotly.downloadImage(drawn, { format, filename: name, width, height });
    return;
  }
  const finding = document.querySelector(keyed(`finding_${name}`))?.textContent ?? "";
  window.Plotly.toImage(drawn, { format, width, height, scale: SCALE }).then((address) => {
    const picture = new Image();
    picture.onload = () => hand(captioned(picture, width, height, finding), name, format);
    picture.src = address;
  });
}

export default function (component) {
  const { data, parentElement } = component;
  if (parentElement.querySelector(".files")) return; // a figure keeps its name
  const row = document.createElement("div");
  row.className = "files";
  for (const [format, label, title] of data.formats) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = title;
    const icon = document.createElement("span");
    icon.className = "icon";
    icon.textContent = "download";
    icon.setAttribute("aria-hidden", "true");
    button.append(icon, label);
    button.addEventListener("click", () => save(data.name, format));
    row.append(button);
  }
  parentElement.append(row);
  return () => row.remove();
}
