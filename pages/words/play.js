// Draws, shown as they happened: the word's point, the noise, the landing, the snap to a word. The
// mechanism drew the outputs; the browser only shows them. A draw without noise on a vector leads
// from word to word.

const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const GROW = 550, REST = 250, SNAP = 450; // milliseconds
const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

function stopPlay(state) {
  cancelAnimationFrame(state.frame);
  if (!state.playing) return;
  state.playing = false;
  for (const pane of state.panes) pane.layers.play.replaceChildren();
  say(state, state.status, "");
}

// The place of the output of a draw at a row: 0 is the word itself.
function outputOf(pane, draw, row) {
  const path = pane.shown.paths[draw];
  let code = path[1];
  for (let i = 0; i < path.length && path[i] <= row; i += 2) code = path[i + 1];
  return code;
}

// One draw in a pane: where its noise ends in the drawing, and where the output is.
function landing(state, pane, draw, row) {
  const code = outputOf(pane, draw, row);
  const shown = code < pane.words.length;
  const [name, distance, angle] = shown
    ? [pane.words[code].name, pane.words[code].far, pane.words[code].angle]
    : pane.shown.others[code - pane.words.length];
  const length = pane.shown.lengths && !state.data.map ? pane.shown.lengths[draw] * pane.shown.scales[row] : null;
  const towards = code ? angle : (draw + 1.5) * GOLDEN; // arbitrary where the noise has no effect
  const rim = pane.reach;
  const end = shown ? at(pane, Math.min(distance, rim), angle) : at(pane, rim * 1.03, angle);
  const tip = length === null ? end : at(pane, Math.min(length, rim), towards);
  return { code, name, distance, length, end, tip, shown, beyond: length !== null && length > rim };
}

const ease = (t) => (t <= 0 ? 0 : t >= 1 ? 1 : t * t * (3 - 2 * t));
const between = (a, b, t) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];

function run(state, paint, total) {
  cancelAnimationFrame(state.frame);
  state.playing = true;
  if (still()) return paint(total);
  const begin = performance.now();
  const tick = (now) => {
    paint(Math.min(now - begin, total));
    if (now - begin < total) state.frame = requestAnimationFrame(tick);
  };
  state.frame = requestAnimationFrame(tick);
}

const told = (pane, draw) => {
  const from = pane.shown.word;
  const noise = draw.length === null ? "" : filled(words.long, { length: rounded(draw.length, 3) });
  return filled(draw.code ? words.became : words.stayed, { word: from, output: draw.name, noise });
};

function playOne(state) {
  const row = state.data.rows[state.step];
  stopPlay(state);
  if (row === null) return;
  const number = state.number++ % state.panes[0].shown.paths.length;
  const scenes = state.panes.map((pane) => {
    const draw = landing(state, pane, number, row);
    const arrow = shape("path", "flight"), head = shape("path", "tip");
    const ball = shape("circle", "ball", { r: 5 }), mark = shape("circle", "mark", { r: 11 });
    const text = shape("text", "told");
    const long = shape("text", "far");
    pane.layers.play.append(arrow, head, mark, ball, long, text);
    if (draw.beyond) {
      const left = draw.tip[0] < pane.x;
      const room = pane.width / 2 - Math.abs(draw.tip[0] - pane.x) > 60;
      long.textContent = left ? `← ${rounded(draw.length, 3)}` : `${rounded(draw.length, 3)} →`;
      long.setAttribute("x", draw.tip[0] + (left === room ? -12 : 12));
      long.setAttribute("y", draw.tip[1] + (room ? 4 : -10));
      long.setAttribute("text-anchor", left === room ? "end" : "start");
    }
    if (!draw.shown || !pane.words[draw.code].named) {
      const left = draw.end[0] > pane.x;
      text.textContent = draw.name;
      text.setAttribute("x", draw.end[0] + (left ? -14 : 14));
      text.setAttribute("y", draw.end[1] + 4);
      text.setAttribute("text-anchor", left ? "end" : "start");
    }
    return { pane, draw, arrow, head, ball, mark, text, long };
  });
  say(state, state.status, scenes.map(({ pane, draw }) => told(pane, draw)).join("; ") + ".");
  run(state, (time) => {
    for (const { pane, draw, arrow, head, ball, mark, text, long } of scenes) {
      const noisy = draw.length !== null;
      const middle = [pane.x, pane.y];
      const tip = between(middle, draw.tip, ease(time / GROW));
      const home = ease((time - GROW - REST) / SNAP);
      const ballAt = noisy ? between(tip, draw.end, home) : between(middle, draw.end, ease(time / (GROW + REST)));
      ball.setAttribute("cx", ballAt[0]);
      ball.setAttribute("cy", ballAt[1]);
      const reached = noisy ? tip : ballAt;
      arrow.setAttribute("d", `M${middle}L${reached}${noisy && home > 0 ? `M${tip}L${ballAt}` : ""}`);
      const turn = Math.atan2(reached[1] - pane.y, reached[0] - pane.x);
      const wing = (by) => [reached[0] - 9 * Math.cos(turn + by), reached[1] - 9 * Math.sin(turn + by)];
      const moved = Math.hypot(reached[0] - pane.x, reached[1] - pane.y) > 10;
      head.setAttribute("d", moved ? `M${wing(0.45)}L${reached}L${wing(-0.45)}` : "");
      long.setAttribute("opacity", time >= GROW ? 1 : 0);
      mark.setAttribute("cx", draw.end[0]);
      mark.setAttribute("cy", draw.end[1]);
      mark.setAttribute("opacity", home >= 1 ? 1 : 0);
      text.setAttribute("opacity", home > 0 ? 1 : 0);
    }
  }, GROW + REST + SNAP);
}

// Each of a hundred draws ends as a grain in the disc of its word: the more grains, the larger the
// disc.
function playHundred(state) {
  const row = state.data.rows[state.step];
  stopPlay(state);
  if (row === null) return;
  const sums = [];
  const grains = state.panes.flatMap((pane) => {
    const count = new Map();
    const draws = pane.shown.paths.map((_, i) => landing(state, pane, i, row));
    for (const draw of draws) count.set(draw.code, (count.get(draw.code) || 0) + 1);
    const away = draws.filter((draw) => !draw.shown).length;
    sums.push(filled(away ? words["times away"] : words.times, { word: pane.shown.word, count: count.get(0) || 0, away }));
    const grown = new Map(), unit = pane.whole / Math.sqrt(draws.length);
    return draws.map((draw, i) => {
      const place = grown.get(draw.code) || 0;
      grown.set(draw.code, place + 1);
      const r = unit * Math.sqrt(place + 0.5), turn = place * GOLDEN;
      const end = [draw.end[0] + r * Math.cos(turn), draw.end[1] + r * Math.sin(turn)];
      const grain = shape("circle", "grain", { r: Math.max(1.4, 0.62 * unit).toFixed(2) });
      pane.layers.play.append(grain);
      return { pane, grain, tip: draw.tip, end, late: (i % 25) * 12 };
    });
  });
  const times = state.panes[0].shown.paths.length;
  say(state, state.status, filled(words.sum, { count: times, sums: sums.join("; ") }));
  const total = GROW + REST + SNAP + 300;
  run(state, (time) => {
    for (const { pane, grain, tip, end, late } of grains) {
      const own = time - late;
      const out = between([pane.x, pane.y], tip, ease(own / GROW));
      const [x, y] = time >= total ? end : between(out, end, ease((own - GROW - REST * 0.5) / SNAP));
      grain.setAttribute("cx", x.toFixed(1));
      grain.setAttribute("cy", y.toFixed(1));
    }
  }, total);
}
