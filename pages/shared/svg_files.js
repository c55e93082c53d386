// Saves drawings of a component as files. The rules of style sheets are written into a copy, which
// is self-contained. This file is prepended to a component that has such drawings.

const WRITTEN = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linejoin", "opacity", "font-size", "font-weight", "font-style", "text-anchor", "display",
  "paint-order",
];
const LETTERS = "Source Sans Pro, Source Sans 3, Helvetica, Arial, sans-serif";

// A copy of a drawing that needs no style sheet.
function styled(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of WRITTEN) part.style.setProperty(name, style.getPropertyValue(name));
    part.removeAttribute("class");
  });
  copy.setAttribute("font-family", LETTERS);
  return copy;
}

function hand(address, name, format) {
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.${format}`;
  link.click();
}

// A sheet with its width and height: as SVG, or as PNG in three times the size.
function saveSheet(sheet, name, format) {
  const text = new XMLSerializer().serializeToString(sheet);
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  if (format === "svg") {
    hand(address, name, format);
    return;
  }
  const picture = new Image();
  picture.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 3 * Number(sheet.getAttribute("width"));
    canvas.height = 3 * Number(sheet.getAttribute("height"));
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    hand(canvas.toDataURL("image/png"), name, format);
  };
  picture.src = address;
}

// One drawing by itself, on the background of its page.
function saveSvg(svg, name, format) {
  const sheet = styled(svg);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  sheet.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  sheet.setAttribute("width", width);
  sheet.setAttribute("height", height);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", width);
  ground.setAttribute("height", height);
  const host = svg.getRootNode().host ?? svg;
  const colour = getComputedStyle(host).getPropertyValue("--st-background-color");
  ground.setAttribute("fill", colour || "#fff");
  sheet.prepend(ground);
  saveSheet(sheet, name, format);
}
