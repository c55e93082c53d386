// Saves drawings of a component as one file. What a style sheet says of them is written into the
// copy, which stands alone. This text is put before that of a component that has such drawings.

const WRITTEN = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-size", "font-weight", "font-style", "text-anchor", "display",
];
const FONT = "Source Sans Pro, Helvetica, Arial, sans-serif";

function standalone(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of WRITTEN) part.style.setProperty(name, style.getPropertyValue(name));
    part.removeAttribute("class");
  });
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("font-family", FONT);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", width);
  ground.setAttribute("height", height);
  const root = svg.getRootNode().host ?? svg;
  ground.setAttribute("fill", getComputedStyle(root).getPropertyValue("--st-background-color") || "#fff");
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function hand(address, name, format) {
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.${format}`;
  link.click();
}

// As SVG, or as PNG in three times the size.
function saveSvg(svg, name, format) {
  const { text, width, height } = standalone(svg);
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  if (format === "svg") return hand(address, name, format);
  const picture = new Image();
  picture.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 3 * width;
    canvas.height = 3 * height;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    hand(canvas.toDataURL("image/png"), name, format);
  };
  picture.src = address;
  return undefined;
}
