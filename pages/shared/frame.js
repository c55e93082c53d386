// For the keyboard and for screen readers, on every page. departure.js, which runs it, is appended.

// Fields of the sidebar, some twenty on Rewrite, come before the menu in the order of the keyboard.
// This link, which is visible while it has the focus, leads past them; the menu has no name of its
// own that an address could have.
function leadToMenu(state) {
  const link = Object.assign(document.createElement("a"), { id: "to-menu", href: "#to-menu" });
  const menu = () => one("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]");
  // On a narrow window the menu is in the sidebar.
  state.name = () => {
    link.textContent = menu() || !one(EXPAND) ? state.data.menu : state.data.opener;
  };
  link.addEventListener("focus", state.name);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    (menu() ?? one(EXPAND))?.focus();
  });
  state.name();
  document.body.prepend(link);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-testid=stSkipToContent]")) return;
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  }, true);
}

// ---- where the keyboard is ---------------------------------------------------------------------

// Streamlit draws an element again by replacing it, or disables it, and the focus falls to the
// body: the next Tab would begin at the top. So the place of the last focus is remembered, and the
// focus returns to it when the page rests; only if the last input was a key, so that nothing moves
// under a pointer.
const REST_LOOK_MS = 100;
const LONG = 15; // looks until something comes in its place; twice as many while a run goes on
const BEFORE = 4; // stops of the Tab key before an element, by which its place is found again
const HEADINGS = "h1, h2, h3, h4, h5, h6";
const WHOLE = "[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]";
const BLOCKS = "[data-testid=stVerticalBlock], [data-testid=stExpander], [role=tabpanel], "
  + "[role=dialog]";
const RESTS = "[data-test-script-state=notRunning]";
const POPOVER = "[data-testid=stPopoverBody]", OPENER = "[data-testid=stPopoverButton]";
const REGIONS = [POPOVER, "main", "#stSidebar", "header", "body"];
const SKELETON = "[data-testid=stSkeleton]";
const EXPAND = "[data-testid=stExpandSidebarButton]";
const COLLAPSE = "[data-testid=stSidebarCollapseButton] button";
const CELL = "[data-testid=stDataFrame] :is(canvas, td)";
const FULL = "[data-testid=stFullScreenFrame]", LEAVE = "button[aria-label^='Close fullscreen']";

const hand = { byKey: false, key: "" }; // the last input

const visible = (node) => node?.isConnected && node.getClientRects().length > 0
  && node.checkVisibility({ visibilityProperty: true });
const usable = (node) => visible(node) && !node.matches(":disabled, [aria-disabled=true]");
const parent = (node) => node.parentElement ?? node.getRootNode().host;
const around = (node, selector) => {
  let up = node;
  while (up && !up.matches(selector)) up = parent(up);
  return up ?? null;
};
const one = (selector) => [...document.querySelectorAll(selector)].find(visible);
const kind = (node) => node.tagName + (node.getAttribute("role") ?? "");
const name = (node) => node.ariaLabel || read(node);
const keyOf = (node) => [...node.classList].find((name) => name.startsWith("st-key-"));

const keysOf = (node) => {
  const keys = [];
  for (let up = node; up; up = parent(up)) keys.push(keyOf(up));
  return keys.filter(Boolean);
};
const sign = (node) => `${keysOf(node)[0]} ${kind(node)} ${name(node)}`;

function focused() {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node === document.body ? null : node;
}

function* within(root) {
  for (const node of root.querySelectorAll("*")) {
    yield node;
    if (node.shadowRoot) yield* within(node.shadowRoot);
  }
}

// What the Tab key reaches; of radio buttons with one name it is the chosen one.
function stops(root) {
  const all = [...within(root)].filter((node) => node.tabIndex >= 0 && usable(node));
  const chosen = new Set(all.filter((node) => node.type === "radio" && node.checked)
    .map((node) => node.name));
  return all.filter((node) => node.type !== "radio" || node.checked || !chosen.has(node.name));
}

const alike = (scope, node) =>
  [...within(scope)].filter((other) => other.tabIndex >= 0 && kind(other) === kind(node));

function place(node) {
  const chain = [];
  for (let up = node; up; up = parent(up)) chain.push(up);
  const keys = keysOf(node);
  const region = REGIONS.find((selector) => around(node, selector));
  const opener = region === POPOVER && one(`${OPENER}[aria-expanded=true]`);
  const all = stops(around(node, region));
  const same = alike(around(node, keys[0] ? `.${CSS.escape(keys[0])}` : region), node);
  return {
    node, chain, keys, region, page: location.pathname, name: name(node),
    order: same.filter((other) => name(other) === name(node)).indexOf(node),
    opener: opener && place(opener),
    headings: new Set([...document.querySelectorAll(HEADINGS)].map(read)),
    before: all.slice(0, Math.max(0, all.indexOf(node))).slice(-BEFORE).map(sign),
  };
}

// The element itself, or the one that is now in its place.
function again(spot) {
  if (usable(spot.node)) return spot.node;
  for (const [i, key] of [...spot.keys, ""].entries()) {
    const scope = document.querySelector(key ? `.${CSS.escape(key)}` : spot.region);
    const all = scope ? alike(scope, spot.node).filter(usable) : [];
    const same = all.filter((node) => name(node) === spot.name);
    if (same.length) return same[i ? 0 : Math.max(0, spot.order)] ?? same.at(-1);
    if (!i && key && all.length === 1) return all[0]; // "Start" became "Stop"
  }
  return null;
}

// What came in its place: a new heading in its block; the block, if it is in sight at once, or what
// follows in it where the element is there but disabled; else the next new heading, or the next stop
// of the Tab key.
function near(spot) {
  const left = spot.chain.find(visible);
  if (!left) return null;
  const follows = (node) => left.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING;
  const fresh = () => [...document.querySelectorAll(HEADINGS)].find((node) =>
    around(node, "main") && visible(node) && !spot.headings.has(read(node)) && follows(node));
  const block = around(left, BLOCKS);
  const done = left === spot.node || alike(block ?? left, spot.node).some((node) =>
    name(node) === spot.name);
  const small = block && read(block) && block.getBoundingClientRect().height < 0.8 * innerHeight;
  const all = stops(document.querySelector(spot.region) ?? document.body);
  const signs = all.map(sign);
  const before = spot.before.findLast((one) => signs.includes(one));
  const at = signs.lastIndexOf(before);
  const [key] = at < 0 ? [] : keysOf(all[at]); // of one field, where this is another one
  const next = at < 0 ? null
    : all.slice(at + 1).find((node) => !key || key === spot.keys[0] || keysOf(node)[0] !== key);
  const title = fresh();
  if (small && !block.contains(title)) return (done && stops(block).find(follows)) || block;
  return title || next || (block?.matches(WHOLE) ? null : block);
}

function give(node) {
  if (!node) return;
  if (node.tabIndex < 0 && !node.hasAttribute("tabindex")) {
    node.tabIndex = -1;
    node.addEventListener("blur", () => node.removeAttribute("tabindex"), { once: true });
  }
  node.focus({ preventScroll: true });
  const { top, bottom, height } = node.getBoundingClientRect();
  const high = height > innerHeight / 2;
  if (top < 0 || (high ? top : bottom) > innerHeight) {
    node.scrollIntoView({ block: high ? "start" : "nearest" });
  }
  uncover(node);
}

// Streamlit's bar and the dial, which stays in sight, lie over what scrolls. Returns how far down they
// reach, or will once it is scrolled; 0 if the node is in the dial.
function reach(node, scrolled = false) {
  let low = document.querySelector("[data-testid=stHeader]")?.getBoundingClientRect().bottom ?? 0;
  for (const dial of document.querySelectorAll("[class*=st-key-dial_place]")) {
    let bar = dial;
    while (bar && getComputedStyle(bar).position !== "sticky") bar = bar.parentElement;
    if (!bar) continue;
    for (let up = node; up; up = parent(up)) if (up === bar) return 0;
    const { top, bottom, height } = bar.getBoundingClientRect();
    if (scrolled) low = Math.max(low, parseFloat(getComputedStyle(bar).top) + height);
    else if (top <= low + 1) low = Math.max(low, bottom);
  }
  return low;
}

function uncover(node) {
  const main = around(node, "[data-testid=stMain]");
  if (!main || node === main) return;
  const low = reach(node);
  const { top, height } = node.getBoundingClientRect();
  if (low && top < low + 8 && height < innerHeight) main.scrollBy(0, top - low - 8);
}

// A page of scrolling is what is in sight below them.
function shorten(event) {
  const main = document.querySelector("[data-testid=stMain]");
  if (main && ["PageDown", "PageUp", " "].includes(event.key)) main.style.scrollPaddingTop = `${reach(null, true)}px`;
}

// Gives the focus to what comes, or to a part of it; not if it has been moved in the meantime: on a
// busy machine that may be to the next field, and text is being typed there.
function lead(find, part = (node) => node, looks = 40) {
  const from = focused();
  const look = () => {
    const node = find(), now = focused();
    if (!node) return looks-- && setTimeout(look, 50);
    if (!now || now === from || now === node) give(part(node));
  };
  look();
}

// Streamlit names the handle of a slider by its group and by itself, both of which are its label.
function nameOnce(node) {
  const ids = node.getAttribute("aria-labelledby")?.split(" ") ?? [];
  const names = ids.map((id) => node.getRootNode().getElementById(id)).map((by) => by && name(by));
  if (ids.length > 1 && new Set(names).size === 1) node.setAttribute("aria-labelledby", ids[0]);
}

function keepFocus() {
  let last = null, fallen = 0, rested = 0;
  const pointer = () => { hand.byKey = false; };
  for (const event of ["pointerdown", "wheel", "touchstart"]) {
    addEventListener(event, pointer, { capture: true, passive: true });
  }
  addEventListener("keydown", shorten, true);
  addEventListener("keydown", (event) => {
    if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
    [hand.byKey, hand.key] = [true, event.key];
    const node = focused();
    if (node && (node !== last?.node || ["Enter", " "].includes(event.key))) last = place(node);
  }, true);
  addEventListener("focusin", (event) => {
    const node = event.composedPath()[0];
    nameOnce(node);
    if (!hand.byKey) return;
    last = place(node);
    requestAnimationFrame(() => focused() === node && uncover(node));
    const left = NARROW.matches && hand.key === "Tab" && !around(node, `#stSidebar, ${POPOVER}`);
    if (left) one(COLLAPSE)?.click();
  }, true);
  setInterval(() => {
    const fell = hand.byKey && last && !focused() && document.hasFocus();
    const rests = document.querySelector(RESTS) && !document.querySelector("[data-stale=true]");
    [fallen, rested] = [fell ? fallen + 1 : 0, fell && rests ? rested + 1 : 0];
    const long = fallen >= (rests ? LONG : 2 * LONG);
    if (rested < 2 && (!long || last.page !== location.pathname)) return;
    const title = one("main h1");
    if (last.page !== location.pathname) return give(title);
    if (hand.key === "Tab" && usable(last.node)) return; // past the end of the page
    const closed = last.opener && !one(POPOVER);
    give(again(closed ? last.opener : last) ?? (long ? near(last) ?? title : null));
  }, REST_LOOK_MS);
}

// A popover is the last element of the document, far from its button; the sidebar lies over a narrow
// page. Opened by a key, they take the focus; Tab leads from the end of a popover to what follows
// its button, and Escape back to the button.
function toExpand({ isTrusted }) { // a click of a script follows a link or another stop
  if (isTrusted) lead(() => one(EXPAND));
}

// A table takes Escape for itself, even where it fills the screen.
function leaveFullScreen() {
  document.addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape" || !target.matches?.(CELL)) return;
    target.closest(FULL)?.querySelector(LEAVE)?.click();
  }, true);
}

// Some controls are loaded when they are first shown.
const whole = () => [one(POPOVER)].find((body) => body && !body.querySelector(SKELETON));

function keepOverlays() {
  document.addEventListener("click", (event) => {
    if (!hand.byKey) return;
    const button = event.target.closest?.(`${OPENER}, ${EXPAND}, ${COLLAPSE}`);
    if (!button) return;
    if (button.matches(EXPAND)) lead(() => one(COLLAPSE));
    else if (button.matches(COLLAPSE)) toExpand(event);
    else if (button.ariaExpanded !== "true") {
      lead(whole, (body) => stops(body)[0] ?? body, 200);
    }
  }, true);
  document.addEventListener("keydown", (event) => {
    const body = one(POPOVER), node = focused();
    if (!node || event.defaultPrevented) return;
    if (event.key === "Escape" && !body && NARROW.matches && around(node, "#stSidebar")) {
      one(COLLAPSE)?.click();
      lead(() => one(EXPAND));
    }
    const opener = one(`${OPENER}[aria-expanded=true]`);
    if (event.key !== "Tab" || !body || !opener) return;
    const all = stops(body);
    if (!whole() && (node === opener || body.contains(node))) event.preventDefault();
    else if (node === opener && !event.shiftKey) {
      event.preventDefault();
      give(all[0] ?? body);
    } else if ((event.shiftKey ? [all[0], body] : [all.at(-1)]).includes(node)) {
      opener.focus(); // from there the browser goes on
      if (event.shiftKey) event.preventDefault();
      else setTimeout(() => opener.ariaExpanded === "true" && opener.click(), LOOK_MS);
    }
  });
}

// ---- what is said -------------------------------------------------------------------------------

// Sentences that say what a page shows, and change with it.
const TOLD = ".finding, [class*=st-key-finding_], [data-told], [data-testid=stFileChipName]";
// Streamlit says its own error; here, the engine's sentence below it.
const WRONG = "[data-testid=stElementContainer]:has("
  + "[data-testid=stAlertContentError], [data-testid=stAlertContentWarning])"
  + " + [data-testid=stElementContainer] [data-testid=stText]";
const TOLD_MS = 300;
const QUIET_MS = 800; // since a dial moved or came to rest: a key may follow, or the server's answer
const ICONS = "[data-testid=stIconMaterial], [role=img][aria-label$=icon], .icon";

function read(node) {
  const copy = node.cloneNode(true);
  // The text of an icon is its name.
  for (const hidden of copy.querySelectorAll(`[aria-hidden=true], ${ICONS}`)) hidden.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

function sentences(selector) {
  const components = document.querySelectorAll("[data-testid=stBidiComponentIsolated]");
  const roots = [document, ...[...components].map((node) => node.shadowRoot)].filter(Boolean);
  return roots.flatMap((root) => [...root.querySelectorAll(selector)])
    .filter((node) => node.checkVisibility?.() ?? true).map(read);
}

function say(role) {
  // A tree of its own, closed: a script that looks for a sentence of the page finds it once.
  const words = document.createElement("p");
  words.setAttribute("role", role);
  return words;
}

// A page has one live region. It says the page that was opened, and the sentences that changed,
// once they, the dials and the page rest: a dial that is moved through forty steps says one, with what
// the server knows of the last. What follows an error is an alert.
function tellChanges() {
  const region = Object.assign(document.createElement("div"), { id: "told" });
  const [words, alarm] = ["status", "alert"].map(say);
  region.attachShadow({ mode: "closed" }).append(words, alarm);
  document.body.append(region);
  let page = "", title = "", said = null, before = "", waited = 0, moved = -QUIET_MS;
  window.addEventListener("dpcore:dial", () => { moved = performance.now(); });
  setInterval(() => {
    if (page !== location.pathname) [page, said, before, waited] = [location.pathname, null, "", 0];
    if (!document.querySelector(RESTS) || !one("main h1")) return;
    if (performance.now() - moved < QUIET_MS) return;
    const wrong = sentences(WRONG), now = [...sentences(TOLD), ...wrong];
    const rests = before === (before = now.join("\n") + document.title);
    if (!rests) return;
    const tell = (news, where) => { if (news) where.textContent = region.dataset.said = news; };
    if (!said) { // the first sentences are read with the page
      if (title === document.title && ++waited < LONG) return; // of the page before
      if (title) tell(document.title, words);
      [said, region.dataset.page, title] = [now, page, document.title];
      return;
    }
    const news = now.filter((sentence) => sentence && !said.includes(sentence));
    tell(news.filter((sentence) => wrong.includes(sentence)).join(" "), alarm);
    tell(news.filter((sentence) => !wrong.includes(sentence)).join(" "), words);
    said = now;
  }, TOLD_MS);
}
