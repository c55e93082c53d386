// Words of a vocabulary's map: unpacking them, finding one by its beginning, finding the point at a
// place, and the zoom from which each name has room.

const CELLS = 128, SPAN = 65536 / CELLS; // a grid over the steps of a map, −32,768 to 32,767
const STEPS = 2; // levels of names for each doubling of the zoom
const LEVELS = 18;
const NEVER = 255;
const NARROW = 16; // pixels: half of a region from which its name goes first
const LINE = 14, AIR_X = 12, AIR_Y = 7; // pixels: height of a name, and the free space around it

// The packet as `pages/words/vocabulary.py` writes it.
async function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const body = new Blob([bytes.slice(4 + length)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const plain = await new Response(body).arrayBuffer();
  const count = head.words;
  const maps = {};
  let place = 0;
  for (const name of head.maps) {
    maps[name] = { name, points: new Int16Array(plain, place, 2 * count), regions: new Map(head.regions[name]) };
    place += 4 * count;
  }
  let classes = new Uint8Array(count);
  if (head.bounds) {
    classes = new Uint8Array(plain, place, count);
    place += count;
  }
  const names = new TextDecoder().decode(new Uint8Array(plain, place)).split("\n");
  return { head, count, maps, classes, names, lower: names.map((name) => name.toLowerCase()) };
}

// The word itself, then words that begin with the typed text, then words that contain it; frequent
// ones first.
function findWords(pack, typed, most) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return [];
  const same = [], begin = [], hold = [];
  for (let i = 0; i < pack.count; i++) {
    const place = pack.lower[i].indexOf(wanted);
    if (place < 0) continue;
    const group = place > 0 ? hold : pack.lower[i].length === wanted.length ? same : begin;
    if (group.length < most) group.push(i);
  }
  return [...same, ...begin, ...hold].slice(0, most);
}

// Rows in each cell of the grid, the most frequent first.
function indexed(points) {
  const starts = new Uint32Array(CELLS * CELLS + 1), cells = new Uint16Array(points.length / 2);
  let right = 1, top = 1;
  for (let i = 0; i < cells.length; i++) {
    const x = points[2 * i], y = points[2 * i + 1];
    right = Math.max(right, Math.abs(x));
    top = Math.max(top, Math.abs(y));
    cells[i] = cellOf(y) * CELLS + cellOf(x);
    starts[cells[i] + 1] += 1;
  }
  for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
  const rows = new Uint32Array(cells.length), next = starts.slice();
  for (let i = 0; i < cells.length; i++) rows[next[cells[i]]++] = i;
  return { starts, rows, right, top };
}

const cellOf = (step) => Math.max(0, Math.min(CELLS - 1, Math.floor((step + 32768) / SPAN)));

// Calls `visit` with every row in a rectangle of the map, and with some just outside it.
function within(grid, left, bottom, right, top, visit) {
  const first = cellOf(left), last = cellOf(right);
  for (let line = cellOf(bottom); line <= cellOf(top); line++) {
    const end = grid.starts[line * CELLS + last + 1];
    for (let i = grid.starts[line * CELLS + first]; i < end; i++) visit(grid.rows[i]);
  }
}

// The row nearest to a place of the map, within a reach in steps; −1 if there is none.
function nearestRow(map, x, y, reach) {
  let best = -1, least = reach * reach;
  within(map.grid, x - reach, y - reach, x + reach, y + reach, (row) => {
    const across = map.points[2 * row] - x, up = map.points[2 * row + 1] - y;
    const far = across * across + up * up;
    if (far < least) [best, least] = [row, far];
  });
  return best;
}

// Level from which each name is shown. Regions that are wide enough choose first, the widest before
// the others; then words, the frequent ones before the others. A name that has room keeps it while
// zooming in, since only the gaps grow: so names neither flicker while the map is moved, nor depend
// on what is in view. This is a generator, so that it can be done bit by bit.
function* levelsOf(map, count, scale, widthOf) {
  const { points, regions } = map, wide = (row) => widthOf(row, regions.has(row));
  map.levels = new Uint8Array(count).fill(NEVER);
  map.ready = 0;
  const named = [];
  for (let level = 0; level < LEVELS; level++) {
    const zoom = scale * 2 ** (level / STEPS);
    const taken = new Map();
    for (const row of named) occupy(taken, points, row, zoom, wide(row));
    const place = (row) => {
      if (map.levels[row] !== NEVER || !isFree(taken, points, row, zoom, wide(row), wide)) return;
      map.levels[row] = level;
      named.push(row);
      occupy(taken, points, row, zoom, wide(row));
    };
    for (const [row, half] of regions) if (half * zoom > NARROW) place(row);
    for (let row = 0; row < count; row++) {
      place(row);
      if (row % 256 === 255) yield;
    }
    map.ready = level + 1;
    yield;
  }
}

const WIDE = 96, HIGH = LINE + AIR_Y; // of a cell of occupied room, in pixels
const keyOf = (column, line) => column * 65536 + line;

function spanOf(points, row, zoom, width) {
  const half = (width + AIR_X) / 2, x = points[2 * row] * zoom, y = points[2 * row + 1] * zoom;
  return [
    Math.floor((x - half) / WIDE), Math.floor((x + half) / WIDE),
    Math.floor((y - HIGH / 2) / HIGH), Math.floor((y + HIGH / 2) / HIGH),
  ];
}

function occupy(taken, points, row, zoom, width) {
  const [left, right, bottom, top] = spanOf(points, row, zoom, width);
  for (let column = left; column <= right; column++)
    for (let line = bottom; line <= top; line++) {
      const key = keyOf(column, line), rows = taken.get(key);
      if (rows) rows.push(row);
      else taken.set(key, [row]);
    }
}

function isFree(taken, points, row, zoom, width, widthOf) {
  const [left, right, bottom, top] = spanOf(points, row, zoom, width);
  for (let column = left; column <= right; column++)
    for (let line = bottom; line <= top; line++)
      for (const other of taken.get(keyOf(column, line)) || []) {
        const across = Math.abs(points[2 * row] - points[2 * other]) * zoom;
        const up = Math.abs(points[2 * row + 1] - points[2 * other + 1]) * zoom;
        if (across < (width + widthOf(other)) / 2 + AIR_X && up < HIGH) return false;
      }
  return true;
}
