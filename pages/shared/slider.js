// Prepended to components with a slider. A finger that scrolls the page sets the value where it
// touches the slider, and only then does the browser tell that it scrolls: the value goes back.

function undoWhenScrolled(input, value, setBack) {
  let touched;
  input.addEventListener("pointerdown", () => (touched = value()));
  input.addEventListener("pointercancel", () => setBack(touched));
}
