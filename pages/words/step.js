// Says where the slider of ε stands, for whatever on the page moves with it.
export default function ({ data }) {
  window.dispatchEvent(new CustomEvent("dpcore:dial", { detail: { ...data } }));
}
