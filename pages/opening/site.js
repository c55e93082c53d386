// A page without a server: mounts the components of the app, with what the framework would give them.
// A page that is opened as a file loads scripts and no modules, so each component registers itself.

const lab = {
  made: {}, styles: {}, numbers: [], shared: {}, packed: {}, contents: [], steps: {},
};

lab.component = (name, make) => {
  lab.made[name] = make;
};

// What only an answer of the engine could follow. A dial at rest needs none: all steps are here.
lab.answers = {
  dial: () => true,
  turning: () => true,
  listing: ({ chosen }) => lab.open("papers", chosen?.key),
};

lab.open = (page, part) => {
  const suffix = document.documentElement.lang === "en" ? "" : `-${document.documentElement.lang}`;
  if (!part) return false;
  window.location.href = `${page}-${part}${suffix}.html`;
  return true;
};

lab.needsTheLab = (place) => {
  let note = place.nextElementSibling;
  if (!note?.classList.contains("needs")) {
    note = document.createElement("p");
    note.className = "needs note";
    note.setAttribute("role", "status");
    place.after(note);
  }
  note.textContent = document.querySelector("main").dataset.needs;
};

lab.whole = (data) => {
  const entries = Object.entries(data);
  return Object.fromEntries(entries.map(([key, value]) => [key, lab.shared[value?.shared] ?? value]));
};

// A text that is at least four times as long without packing.
lab.unpack = async (name) => {
  const bytes = Uint8Array.from(atob(lab.packed[name]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

lab.mount = (place) => {
  const { name, numbers } = place.dataset;
  const root = place.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  style.textContent = `:host { display: block } ${lab.styles[name] ?? ""}`;
  root.append(style);
  const hear = (what, value) => {
    const answer = lab.answers[name];
    if (!answer || !answer({ [what]: value })) lab.needsTheLab(place);
  };
  const start = lab.made[name]();
  place.show = (number) => start({
    name,
    key: name,
    data: lab.whole(lab.numbers[number]),
    parentElement: root,
    setTriggerValue: hear,
    setStateValue: hear,
  });
  place.show(numbers);
};

// What stands beside a dial at its step.
lab.follow = () => {
  for (const place of document.querySelectorAll(".follows")) {
    const { group, contents } = place.dataset;
    const content = lab.contents[contents]?.[lab.steps[group]];
    if (content !== undefined) place.innerHTML = content;
  }
};

// An answer that is opened shows what a guess shows in the app.
lab.answered = (answer) => {
  answer.addEventListener("toggle", () => {
    const turning = document.querySelector('.part[data-name="turning"]');
    if (answer.open) turning?.show(answer.dataset.after);
  });
};

lab.draw = (place) => {
  const { data, layout } = lab.numbers[place.dataset.chart];
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const ground = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
  const font = { ...layout.font, color: dark ? "#E9EEF2" : "#1B2229" };
  Plotly.newPlot(place, data, { ...layout, ...ground, font, autosize: true }, {
    responsive: true,
    displaylogo: false,
  });
};

lab.drawAll = (charts, library) => {
  const script = document.createElement("script");
  script.textContent = library;
  document.head.append(script);
  charts.forEach(lab.draw);
};

lab.begin = () => {
  window.addEventListener("dpcore:dial", ({ detail }) => {
    lab.steps[detail.group] = detail.step;
    lab.follow();
  });
  // A part that listens is there before the dial says where it stands.
  const parts = [...document.querySelectorAll(".part")];
  const dials = parts.filter((place) => place.dataset.name === "dial");
  for (const place of parts) if (!dials.includes(place)) lab.mount(place);
  for (const place of dials) lab.mount(place);
  document.querySelectorAll("[data-after]").forEach(lab.answered);
  document.querySelectorAll("[data-explorer]").forEach((place) => lab.explore(place));
  const charts = document.querySelectorAll(".chart");
  if (charts.length) lab.unpack("plotly").then((library) => lab.drawAll(charts, library));
  if (lab.packed.contents) {
    lab.unpack("contents").then((text) => {
      lab.contents = JSON.parse(text);
      lab.follow();
    });
  }
};
