// A picture for slides: below it its finding, and the address that shows it. This file is prepended
// to scripts that save pictures.

// In quotes: a name with a number in it is no name of a font without them.
const LETTERS = "'Source Sans Pro', 'Source Sans 3', Helvetica, Arial, sans-serif";
const SCALE = 3;
const MARGIN = 12;

// Lines of a text that are at most `width` long; an address breaks at its separators.
function wrapped(pen, text, width) {
  const lines = [""];
  for (const piece of text.split(/(?<=[\s&/?])/)) {
    if (lines.at(-1) && pen.measureText(lines.at(-1) + piece).width > width) lines.push("");
    lines[lines.length - 1] += piece;
  }
  return lines;
}

// The data address of a PNG. `picture` is an image, drawn `width` × `height` large.
function captioned(picture, width, height, finding) {
  const { backgroundColor, color } = getComputedStyle(document.querySelector("[data-testid=stApp]"));
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  const write = (size) => { pen.font = `${size}px ${LETTERS}`; };
  const rows = [[finding, 15], [location.href, 10]].filter(([text]) => text).flatMap(([text, size]) => {
    write(size);
    return wrapped(pen, text, width - 2 * MARGIN).map((line) => [line, size, 1.4 * size]);
  });
  canvas.width = SCALE * width;
  canvas.height = SCALE * (height + rows.reduce((sum, row) => sum + row[2], 2 * MARGIN));
  pen.scale(SCALE, SCALE); // a canvas forgets its settings when its size is set
  pen.fillStyle = backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(picture, 0, 0, width, height);
  pen.fillStyle = color;
  pen.textBaseline = "top";
  let top = height + MARGIN;
  for (const [line, size, step] of rows) {
    write(size);
    pen.fillText(line, MARGIN, top);
    top += step;
  }
  return canvas.toDataURL("image/png");
}

function hand(address, name, format) {
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.${format}`;
  link.click();
}
