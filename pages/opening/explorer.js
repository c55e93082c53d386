// Any word, in the page alone: its nearest words, and what a mechanism makes of it, from vectors with
// few levels a coordinate. They are loaded when a word is asked for.

lab.vectorsOf = () => {
  const { words, codes, steps, least } = lab.vectors;
  const names = words.split("\n");
  const values = new Float32Array(codes.length);
  for (let i = 0; i < values.length; i++) {
    const code = codes.charCodeAt(i);
    // One letter, the backslash, is left out.
    values[i] = least[i % steps.length] + steps[i % steps.length] * (code - 35 - (code > 92 ? 1 : 0));
  }
  return { names, values, places: new Map(names.map((name, i) => [name, i])) };
};

// Rounding moves two vectors apart by `excess` on average, in squares.
lab.distancesFrom = ({ names, values }, word) => {
  const { steps, excess } = lab.vectors;
  const size = steps.length;
  const own = values.subarray(word * size, (word + 1) * size);
  const distances = new Float64Array(names.length);
  for (let other = 0, at = 0; other < names.length; other++) {
    let square = 0;
    for (let i = 0; i < size; i++, at++) {
      const gap = values[at] - own[i];
      square += gap * gap;
    }
    distances[other] = Math.sqrt(Math.max(square - excess, 0));
  }
  distances[word] = 0;
  return distances;
};

// Laws of a word over all words, from its distances, at one step of a dial.
lab.formulas = {
  // P(y | w) = exp(−min(ε·d/2, c)) / Z (Carvalho et al. 2021; without c Yue et al. 2021).
  capped: ({ rates, cap }, step, { distances }) => {
    const most = cap ?? Infinity;
    const weights = distances.map((distance) => Math.exp(-Math.min(rates[step] * distance, most)));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  },
  // All other words are equally likely.
  alike: ({ others }, step, { distances, at }) => {
    const total = 1 + (distances.length - 1) * others[step];
    const law = new Float64Array(distances.length).fill(others[step] / total);
    law[at] = 1 / total;
    return law;
  },
  // The i-th nearest word: e^(−s·d_i)·Σ_(k ≥ i) P(K = k)/Z_k, Z_k the sum over the k nearest.
  counted: ({ strengths, counts, all }, step, { distances, order }) => {
    const law = distances.map((distance) => Math.exp(-strengths[step] * distance));
    const whole = all / law.reduce((sum, weight) => sum + weight, 0);
    const tails = [];
    let partial = 0;
    counts.forEach((count, i) => tails.push(count / (partial += law[order[i]])));
    for (let i = tails.length - 2; i >= 0; i--) tails[i] += tails[i + 1];
    order.forEach((other, i) => law[other] *= whole + (tails[i] ?? 0));
    return law;
  },
};

lab.explore = (place) => {
  const { laws, texts, shown, apart } = JSON.parse(place.dataset.explorer);
  const [word, dial] = place.querySelectorAll("input");
  const menu = place.querySelector("select");
  const [said, rows] = [place.querySelector("[role=status]"), place.querySelector("tbody")];
  const language = document.documentElement.lang;
  const written = (number) => number.toLocaleString(language, { maximumSignificantDigits: 3 });
  // No digit is finer than what the number may be off by; one below that may be twice as large.
  const told = (number, off) => {
    const digits = Math.max(0, Math.ceil(-Math.log10(off)));
    if (number < off) return `< ${written(2 * off)}`;
    return number.toLocaleString(language, { maximumFractionDigits: digits });
  };
  const filled = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
  let loading;
  let table;
  let last = { at: -1 };

  const load = () => loading ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = place.dataset.vectors;
    script.onload = () => done(lab.vectorsOf());
    document.head.append(script);
  });

  const show = () => {
    const settings = laws[menu.value];
    const epsilon = written(settings.epsilons[dial.value]);
    dial.setAttribute("aria-valuetext", `ε = ${epsilon}`);
    if (!table) return;
    const name = word.value.trim();
    const at = table.places.get(name.toLowerCase()) ?? table.places.get(name) ?? -1;
    rows.replaceChildren();
    if (at < 0) {
      said.textContent = name ? filled(texts.unknown, { count: written(table.names.length) }) : "";
      return;
    }
    if (at !== last.at) {
      const distances = lab.distancesFrom(table, at);
      const order = [...distances.keys()].sort((a, b) => distances[a] - distances[b] || a - b);
      const others = order.slice(0, shown + 1).filter((other) => other !== at);
      last = { at, distances, order, near: others.slice(0, shown) };
    }
    const off = settings.off[dial.value];
    const law = lab.formulas[settings.formula](settings, dial.value, last);
    said.textContent = filled(texts.stays, {
      mechanism: menu.value,
      word: table.names[at],
      epsilon,
      stays: told(100 * law[at], off),
    });
    for (const other of last.near) {
      const row = rows.insertRow();
      const cells = [table.names[other], told(last.distances[other], apart), told(100 * law[other], off)];
      for (const cell of cells) row.insertCell().textContent = cell;
    }
  };

  const hear = async () => {
    if (!table) {
      said.textContent = texts.waiting;
      table = await load();
    }
    show();
  };
  const choose = () => {
    dial.max = laws[menu.value].epsilons.length - 1;
    dial.value = Math.floor(laws[menu.value].epsilons.length / 2);
    show();
  };
  word.addEventListener("change", hear);
  menu.addEventListener("change", choose);
  dial.addEventListener("input", show);
  choose();
};
