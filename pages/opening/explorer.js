// Any word, in the page alone: its nearest words, and what TEM makes of it, from vectors with few levels
// a coordinate. They are loaded when a word is asked for.

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

// P(y | w) = exp(−min(ε·d/2, c)) / Z (Carvalho et al. 2021).
lab.temLaw = (distances, epsilon, cap) => {
  const weights = distances.map((distance) => Math.exp(-Math.min((epsilon * distance) / 2, cap)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
};

lab.explore = (place) => {
  const { epsilons, cap, texts, shown } = JSON.parse(place.dataset.explorer);
  const [word, dial] = place.querySelectorAll("input");
  const [said, rows] = [place.querySelector("[role=status]"), place.querySelector("tbody")];
  const language = document.documentElement.lang;
  const written = (number) => number.toLocaleString(language, { maximumSignificantDigits: 3 });
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
    const name = word.value.trim().toLowerCase();
    const at = table.places.get(name) ?? table.places.get(word.value.trim()) ?? -1;
    const epsilon = epsilons[dial.value];
    dial.setAttribute("aria-valuetext", `ε = ${written(epsilon)}`);
    rows.replaceChildren();
    if (at < 0) {
      said.textContent = name ? filled(texts.unknown, { count: written(table.names.length) }) : "";
      return;
    }
    if (at !== last.at) {
      const distances = lab.distancesFrom(table, at);
      const order = [...distances.keys()].sort((a, b) => distances[a] - distances[b] || a - b);
      last = { at, distances, near: order.filter((other) => other !== at).slice(0, shown) };
    }
    const law = lab.temLaw(last.distances, epsilon, cap);
    const gaps = { word: table.names[at], epsilon: written(epsilon), stays: written(100 * law[at]) };
    said.textContent = filled(texts.stays, gaps);
    for (const other of last.near) {
      const row = rows.insertRow();
      const cells = [table.names[other], written(last.distances[other]), written(100 * law[other])];
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
  word.addEventListener("change", hear);
  dial.addEventListener("input", () => table && show());
};
