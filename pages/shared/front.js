// Explains why the page stays empty when the app cannot do so: its web socket has not opened.
(() => {
  const SECONDS = 10
  const box = document.getElementById("blocked")
  const wanted = [new URLSearchParams(location.search).get("lang"), ...navigator.languages]
  const texts = [...box.querySelectorAll("[lang]")]
  const own = (language) => texts.find((text) => text.lang === (language ?? "").slice(0, 2))
  const text = wanted.map(own).find(Boolean) ?? texts[0]
  for (const place of box.querySelectorAll("code")) place.textContent = location.host

  const show = setTimeout(() => {
    text.hidden = false
    box.hidden = false
  }, SECONDS * 1000)

  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given)
      this.addEventListener("open", () => {
        clearTimeout(show)
        box.hidden = true
      })
    }
  }
})()
