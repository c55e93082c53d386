// For the keyboard and for screen readers, on every page. departure.js, which runs it, is appended.

// Fields of the sidebar, some twenty on Rewrite, come before the menu in the order of the keyboard.
// This link, which is visible while it has the focus, leads past them; the menu has no name of its
// own that an address could have.
function leadToMenu() {
  const link = Object.assign(document.createElement("a"), { id: "to-menu", href: "#to-menu" });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    document.querySelector("[data-testid=stTopNavLink], [data-testid=stExpandSidebarButton]")?.focus();
  });
  document.body.prepend(link);
  return link;
}

// Sentences that say what a page shows, and change with it.
const TOLD = ".finding, [class*=st-key-finding_], [data-told]";
const TOLD_MS = 300;

function read(node) {
  const copy = node.cloneNode(true);
  for (const hidden of copy.querySelectorAll("[aria-hidden=true]")) hidden.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

function sentences() {
  const main = document.querySelector("[data-testid=stMain]");
  const components = main?.querySelectorAll("[data-testid=stBidiComponentIsolated]") ?? [];
  const roots = [main, ...[...components].map((node) => node.shadowRoot)].filter(Boolean);
  return roots.flatMap((root) => [...root.querySelectorAll(TOLD)])
    .filter((node) => node.checkVisibility?.() ?? true).map(read);
}

// A page has one live region. It says the sentences that changed, once they and the page rest: a
// dial that is dragged through forty steps says one.
function tellChanges() {
  const region = Object.assign(document.createElement("div"), { id: "told" });
  // A tree of its own, closed: a script that looks for a sentence of the page finds it once.
  const words = document.createElement("p");
  words.setAttribute("role", "status");
  region.attachShadow({ mode: "closed" }).append(words);
  document.body.append(region);
  let page = "", said = null, before = "";
  setInterval(() => {
    if (page !== location.pathname) [page, said] = [location.pathname, null];
    if (!document.querySelector("[data-test-script-state=notRunning]")) return;
    const now = sentences();
    if (!said) { // the first sentences are read with the page
      if (now.length) [said, region.dataset.page] = [now, page];
      return;
    }
    const rests = before === (before = now.join("\n"));
    if (!rests) return;
    const news = now.filter((sentence) => sentence && !said.includes(sentence));
    if (news.length) words.textContent = region.dataset.said = news.join(" ");
    said = now;
  }, TOLD_MS);
}
