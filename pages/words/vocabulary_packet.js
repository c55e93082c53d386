// Hands the packet of a vocabulary's maps to the map, and leaves it where a map that is drawn again
// finds it. It has no visible part.

export default function ({ data }) {
  window.dpcoreVocabulary = data;
  window.dispatchEvent(new CustomEvent("dpcore:vocabulary"));
}
