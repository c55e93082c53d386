// Rewritten text at the steps of a dial: its words, and which of them changed. Typed text is only
// ever set as text. This file is prepended to a component that shows such a text.

const node = (tag, className, text) => {
  const fresh = document.createElement(tag);
  if (className) fresh.className = className;
  if (text !== undefined) fresh.textContent = text;
  return fresh;
};

// `words`: [index into `texts`, whether it changed, the gap before it] of each token.
function fillWords(place, words, texts) {
  const pieces = [];
  for (const [index, changed, gap] of words) {
    if (gap) pieces.push(gap);
    pieces.push(changed ? node("span", "changed", texts[index]) : texts[index]);
  }
  place.replaceChildren(...pieces);
}
