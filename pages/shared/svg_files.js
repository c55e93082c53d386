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

// What a component shows as elements, as a drawing: grounds, lines, words where they stand, marks.
function pictured(root) {
  const edge = 12, box = root.getBoundingClientRect();
  const [width, height] = [Math.ceil(box.width) + 2 * edge, Math.ceil(box.height) + 2 * edge];
  const make = (tag, values) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  };
  const seen = (part) => part.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const place = (rect) => ({ x: rect.left - box.left + edge, y: rect.top - box.top + edge });
  const sheet = make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height });
  const app = getComputedStyle(document.querySelector("[data-testid=stApp]"));
  sheet.append(make("rect", { width, height, fill: app.backgroundColor }));
  for (const part of [root, ...root.querySelectorAll("*")]) {
    if (!seen(part) || part.closest("svg") && !part.matches("svg")) continue;
    const rect = part.getBoundingClientRect(), style = getComputedStyle(part);
    const size = { width: rect.width, height: rect.height };
    if (part.matches("svg")) {
      const copy = styled(part);
      for (const [key, value] of Object.entries({ ...place(rect), ...size })) copy.setAttribute(key, value);
      sheet.append(copy);
    } else if (!/, 0\)$|transparent/.test(style.backgroundColor)) {
      sheet.append(make("rect", { ...place(rect), ...size, rx: parseFloat(style.borderRadius) || 0, fill: style.backgroundColor }));
    }
    if (parseFloat(style.borderBottomWidth) > 0 && style.borderBottomStyle !== "none" && !part.matches("svg")) {
      const { x, y } = place(rect);
      sheet.append(make("line", { x1: x, x2: x + rect.width, y1: y + rect.height, y2: y + rect.height, stroke: style.borderBottomColor }));
    }
  }
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode, holder = node.parentElement;
    if (holder.closest("svg, style, .unseen") || !seen(holder)) continue;
    const style = getComputedStyle(holder), size = parseFloat(style.fontSize);
    const under = style.textDecorationLine.includes("underline") ? "underline" : "none";
    for (const piece of node.textContent.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, piece.index);
      range.setEnd(node, piece.index + piece[0].length);
      const rect = range.getBoundingClientRect();
      if (!rect.width) continue;
      const text = make("text", {
        x: place(rect).x, y: place(rect).y + rect.height / 2 + 0.35 * size, fill: style.color,
        "font-size": size, "font-weight": style.fontWeight, "font-family": LETTERS, "text-decoration": under,
        // A file may be drawn in other letters: each word is as wide as here.
        textLength: rect.width, lengthAdjust: "spacingAndGlyphs",
      });
      text.textContent = piece[0];
      sheet.append(text);
    }
  }
  return sheet;
}

// Saves a drawing when the drawer of the page asks for it by name. Returns how to stop that.
function offerPicture(name, draw, finding) {
  const save = ({ detail }) => {
    if (detail.name === name) saveSheet(draw(), detail.name, detail.format, finding());
  };
  window.addEventListener("dpcore:save", save);
  return () => window.removeEventListener("dpcore:save", save);
}
