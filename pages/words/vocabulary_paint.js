// Points of a vocabulary's map: by WebGL, and without it on an ordinary canvas. A picture is { x,
// y, scale, width, height, ratio, from, to, mix, size, tones }: the middle in steps of the map,
// pixels per step, the size of the canvas, two maps and how far the points have moved from one to
// the other, and a colour for each class as [red, green, blue], 0 to 1.

const VERTEX = `
attribute vec2 origin, target;
attribute float class_;
uniform vec2 middle, zoom;
uniform float mixed;
uniform mediump float size; // of one precision in both programs, or they do not fit together
uniform vec3 tones[5];
varying vec3 tone;
void main() {
  gl_Position = vec4((mix(origin, target, mixed) - middle) * zoom, 0.0, 1.0);
  gl_PointSize = size;
  tone = tones[int(class_ + 0.5)];
}`;
const FRAGMENT = `
precision mediump float;
varying vec3 tone;
uniform float size;
void main() {
  float far = length(gl_PointCoord - 0.5) * size;
  float ink = 0.85 * clamp(size / 2.0 - far + 0.5, 0.0, 1.0);
  gl_FragColor = vec4(tone * ink, ink);
}`;

// Painters have `kind` and `paint(picture)`; null where the browser has no WebGL.
function webglPainter(canvas, pack) {
  const gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const stored = (values) => {
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    return buffer;
  };
  const buffers = new Map(Object.values(pack.maps).map((map) => [map, stored(map.points)]));
  const classes = stored(pack.classes);
  const uniform = Object.fromEntries(
    ["middle", "zoom", "mixed", "size", "tones"].map((name) => [name, gl.getUniformLocation(program, name)]));
  const feed = (name, buffer, parts, kind) => {
    const place = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, parts, kind, false, 0, 0);
  };
  feed("class_", classes, 1, gl.UNSIGNED_BYTE);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const paint = (picture) => {
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    feed("origin", buffers.get(picture.from), 2, gl.SHORT);
    feed("target", buffers.get(picture.to), 2, gl.SHORT);
    gl.uniform2f(uniform.middle, picture.x, picture.y);
    gl.uniform2f(uniform.zoom, (2 * picture.scale) / picture.width, (2 * picture.scale) / picture.height);
    gl.uniform1f(uniform.mixed, picture.mix);
    gl.uniform1f(uniform.size, picture.size * picture.ratio);
    gl.uniform3fv(uniform.tones, picture.tones.flat());
    gl.drawArrays(gl.POINTS, 0, pack.count);
  };
  return { kind: "webgl", paint };
}

function canvasPainter(canvas, pack) {
  const context = canvas.getContext("2d");
  const paint = (picture) => {
    const { width, height, ratio, scale, mix, size } = picture;
    const from = picture.from.points, to = picture.to.points;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.globalAlpha = 0.85;
    picture.tones.forEach((tone, kind) => {
      context.fillStyle = `rgb(${tone.map((part) => Math.round(255 * part))})`;
      for (let i = 0; i < pack.count; i++) {
        if (pack.classes[i] !== kind) continue;
        const x = width / 2 + (from[2 * i] + (to[2 * i] - from[2 * i]) * mix - picture.x) * scale;
        const y = height / 2 - (from[2 * i + 1] + (to[2 * i + 1] - from[2 * i + 1]) * mix - picture.y) * scale;
        if (x > -size && x < width + size && y > -size && y < height + size)
          context.fillRect(x - size / 2, y - size / 2, size, size);
      }
    });
  };
  return { kind: "canvas", paint };
}

// The outline of a word's mark: a circle, or a diamond.
function outline(context, mark, x, y, r) {
  context.beginPath();
  if (mark === "circle") context.arc(x, y, r, 0, 2 * Math.PI);
  else {
    context.moveTo(x, y - 1.2 * r);
    for (const [across, down] of [[1.2, 0], [0, 1.2], [-1.2, 0]]) context.lineTo(x + across * r, y + down * r);
    context.closePath();
  }
}

// A name above its point, with a rim in the background colour so that points do not disturb it.
function letter(context, text, x, y, ink, ground) {
  context.strokeStyle = ground;
  context.lineWidth = 3;
  context.strokeText(text, x, y);
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

const WHOLE = 34; // pixels: radius of the disc of a probability of 1
const ABOVE = 7; // pixels from a point up to its name
const BOLD = "650 14px", REGION = "italic 600 16px"; // names of words in focus, and of regions
const WIDEST = 0.4; // share of the frame: a region with a larger half is all around, and needs no large name

// Everything above the points: outputs, the words in focus, and names.
function paintOver(context, scene) {
  const { width, height, ratio, view, map, pack, ink, ground, pair, mass, look, hover } = scene;
  const across = (row) => width / 2 + (map.points[2 * row] - view.x) * view.scale;
  const down = (row) => height / 2 - (map.points[2 * row + 1] - view.y) * view.scale;
  const shown = (row) => {
    const x = across(row), y = down(row);
    return x > -40 && x < width + 40 && y > -20 && y < height + 20;
  };
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.lineJoin = "round";
  pair.forEach((word, i) => {
    context.fillStyle = context.strokeStyle = word.colour;
    context.lineWidth = 1.5;
    for (const [row, share] of mass[i] || []) {
      if (!shown(row)) continue;
      outline(context, "circle", across(row), down(row), WHOLE * Math.sqrt(share));
      context.globalAlpha = 0.22;
      context.fill();
      context.globalAlpha = 1;
      context.stroke();
    }
    for (const row of word.near) {
      if (!shown(row)) continue;
      outline(context, word.mark, across(row), down(row), 4.5);
      context.lineWidth = 4;
      context.strokeStyle = ground;
      context.stroke();
      context.lineWidth = 2;
      context.strokeStyle = word.colour;
      context.stroke();
    }
  });
  const near = look && look.near ? look.near.map(([row]) => row).filter((row) => row !== null) : [];
  if (look) {
    context.strokeStyle = ink;
    context.lineWidth = 1;
    context.beginPath();
    for (const row of near) {
      context.moveTo(across(look.row), down(look.row));
      context.lineTo(across(row), down(row));
    }
    context.stroke();
    for (const row of near) {
      outline(context, "circle", across(row), down(row), 4);
      context.fillStyle = ground;
      context.fill();
      context.stroke();
    }
  }
  for (const row of [look && look.row, hover]) {
    if (row === null || row < 0) continue;
    outline(context, "circle", across(row), down(row), 7);
    context.lineWidth = 2.5;
    context.strokeStyle = ink;
    context.stroke();
  }
  for (const word of pair) {
    if (word.row === null || !shown(word.row)) continue;
    outline(context, word.mark, across(word.row), down(word.row), 8);
    context.fillStyle = word.colour;
    context.strokeStyle = ground;
    context.lineWidth = 2;
    context.fill();
    context.stroke();
  }
  return paintNames(context, scene, { across, down, shown, near });
}

// First the names of the words in focus, then those that have room at this zoom. Returns how many.
function paintNames(context, scene, { across, down, shown, near }) {
  const { width, height, view, map, pack, ink, ground, pair, look, hover, font } = scene;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  const done = new Set();
  // The marks of the two words leave no room for a name.
  const taken = pair.filter((word) => word.row !== null)
    .map(({ row }) => [across(row) - 9, down(row) - 7, across(row) + 9, down(row) + 9]);
  const put = (row, style, raised) => {
    if (row === null || row < 0 || done.has(row) || !shown(row)) return;
    context.font = `${style} ${font}`;
    const wide = context.measureText(pack.names[row]).width / 2 + 3;
    const x = Math.max(wide, Math.min(width - wide, across(row))), y = Math.max(LINE + 2, down(row) - raised);
    const box = [x - wide, y - LINE, x + wide, y + 4];
    if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
    taken.push(box);
    done.add(row);
    letter(context, pack.names[row], x, y, ink, ground);
  };
  put(hover, BOLD, ABOVE + 5);
  if (look) put(look.row, BOLD, ABOVE + 5);
  for (const word of pair) put(word.row, BOLD, ABOVE + 5);
  for (const row of near) put(row, "12px", ABOVE);
  const level = Math.min(Math.floor(STEPS * Math.log2(view.k) + 1e-6), map.ready - 1);
  const widest = WIDEST * Math.min(width, height);
  const half = [width / view.scale / 2, height / view.scale / 2];
  let count = done.size;
  if (scene.quiet) return count;
  within(map.grid, view.x - half[0], view.y - half[1], view.x + half[0], view.y + half[1], (row) => {
    if (map.levels[row] > level || done.has(row)) return;
    const x = across(row), y = down(row) - ABOVE;
    if (y < 0 || y > height + LINE || x < -40 || x > width + 40) return;
    const named = map.regions.get(row) * view.scale; // NaN for a word that names no region
    const region = named > NARROW && named < widest, wide = scene.widthOf(row, region) / 2;
    if (taken.some((box) => x - wide < box[2] && box[0] < x + wide && y - LINE < box[3] && box[1] < y + 4)) return;
    count += 1;
    context.font = `${region ? REGION : "12px"} ${font}`;
    letter(context, pack.names[row], x, y, ink, ground);
  });
  return count;
}
