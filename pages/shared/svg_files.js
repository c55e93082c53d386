// Saves drawings of a component as files. The rules of style sheets are written into a copy, which
// is self-contained. This file is prepended to a component that has such drawings, after captioned.js.

const WRITTEN = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linejoin", "opacity", "font-size", "font-weight", "font-style", "text-anchor", "display",
  "paint-order",
];

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

// A sheet with its width and height: as SVG, or as PNG with its finding.
function saveSheet(sheet, name, format, finding = "") {
  const text = new XMLSerializer().serializeToString(sheet);
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  if (format === "svg") {
    hand(address, name, format);
    return;
  }
  const picture = new Image();
  picture.onload = () => {
    const [width, height] = ["width", "height"].map((side) => Number(sheet.getAttribute(side)));
    hand(captioned(picture, width, height, finding), name, format);
  };
  picture.src = address;
}

// One drawing by itself, on the background of its page.
function saveSvg(svg, name, format, finding) {
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
  saveSheet(sheet, name, format, finding);
}
