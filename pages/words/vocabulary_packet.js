// Hands the packet of a vocabulary's maps to the map, and leaves it where a map that is drawn anew
// finds it. Nothing is seen of this.

export default function ({ data }) {
  window.dpcoreVocabulary = data;
  window.dispatchEvent(new CustomEvent("dpcore:vocabulary"));
}
