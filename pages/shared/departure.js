// Browser side of leaving a page: the fields send their values before the link is followed, and the
// Back button leads from page to page. departure.py says why the order matters. frame.js is prepended.
//
// A field sends its value when it loses the focus: Streamlit collects the changes and sends them
// from a timer. A click on a link takes the focus away and is sent at once, before that. So the
// click is held until the timers that were set before it have run, and is then made again.
//
// Streamlit writes the settings of the controls into the address, and makes a new entry of the
// history each time: the Back button would lead through every draw and every chosen word. Here only
// a link makes an entry; where a page redirects to another, Back would only lead there again.
// Between the click and the next page the address is still that of the page that is left, and stays
// as it is: settings written then belong to the next page, and are written into its entry too.
//
// A page that is empty or broken while nothing runs is requested once more, by its address, as the
// Back button would; if Streamlit's own frontend has ended, the document is loaded again. That
// happens once for each change of page. If it does not help, the page says so and offers a link. A
// link that led nowhere, while nothing runs, is followed once more.

const LINKS = "a[data-testid=stPageLink-NavLink], a[data-testid=stTopNavLink], "
  + "a[data-testid=stSidebarNavLink], a[data-testid=stTopNavDropdownLink]";

const NARROW = matchMedia("(max-width: 768px)"); // where Streamlit lays the sidebar over the page

const path = (address) => new URL(address ?? location.href, location.href).pathname;

const linkTo = (href) =>
  [...document.querySelectorAll(LINKS)].find((link) => link.href === href);

function keepOrder(state) {
  let leaving = false;
  const passing = new WeakSet();

  document.addEventListener("click", (event) => {
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const link = event.target.closest?.(LINKS);
    if (!link || !plain) return;
    if (passing.delete(link)) {
      leaving = path(link.href) !== location.pathname;
      state.goal = leaving ? link.href : "";
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    // The first turn lets React draw the effects of the lost focus, the second lets them be sent.
    setTimeout(() => setTimeout(() => {
      // The effects of the lost focus may have drawn the link again.
      follow(link.isConnected ? link : linkTo(link.href) ?? link);
    }));
  }, true);
  const follow = (link) => {
    passing.add(link);
    link.click();
    // On a phone the menu covers the page that it led to.
    if (link.dataset.testid === "stSidebarNavLink" && NARROW.matches) {
      document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
    }
  };
  state.follow = (goal) => {
    const link = linkTo(goal);
    if (link) follow(link);
    else location.assign(goal);
  };
  window.addEventListener("popstate", () => {
    leaving = false;
    state.goal = "";
  });

  const push = history.pushState.bind(history);
  history.pushState = (entry, title, address) => {
    if (!leaving) {
      history.replaceState(entry, title, address);
    } else if (path(address) !== location.pathname) {
      leaving = false;
      state.goal = "";
      push(entry, title, address);
    }
  };
}

const LOOK_MS = 300;
const LOOKS = 5; // number of looks in a row for which a fault must last
const ASKED = "departure_asked"; // survives a reload
const ERRORS = /Bad delta path|Cannot set a node|'setIn' cannot|no anchor to set node|encountered an error/;

function fault() {
  const app = document.querySelector("[data-testid=stApp]");
  if (!app) return "ended";
  const { testScriptState: script, testConnectionState: connection } = app.dataset;
  if (script !== "notRunning" || connection !== "CONNECTED") return "";
  const main = app.querySelector("[data-testid=stMain]");
  const told = app.querySelectorAll(
    "[data-testid=stException], [data-testid=stAlert], [data-testid=stErrorElement]");
  const dialog = document.querySelector("[data-testid=stDialog]");
  if ([...told, dialog].some((node) => ERRORS.test(node?.textContent ?? ""))) return "broken";
  return main?.querySelector("h1") ? "" : "empty";
}

function heal(state) {
  const asked = () => JSON.parse(sessionStorage.getItem(ASKED) ?? "null");
  let page = location.pathname, seen = 0, waited = 0, followed = "";
  const say = () => {
    if (document.querySelector("#departure-broken")) return;
    const alert = Object.assign(document.createElement("div"), { id: "departure-broken" });
    const link = Object.assign(document.createElement("a"),
      { href: location.href, textContent: state.data.again });
    alert.setAttribute("role", "alert");
    alert.style.cssText = "position: fixed; inset: 4rem 1rem auto; z-index: 2147483647; padding: 1rem; "
      + "background: Canvas; color: CanvasText; border: 2px solid currentColor;";
    alert.append(`${state.data.broken} `, link);
    document.body.append(alert);
  };
  setInterval(() => {
    const what = fault();
    const before = asked();
    if (page !== location.pathname) {
      page = location.pathname;
      seen = 0;
    }
    if (!what) {
      seen = 0;
      document.querySelector("#departure-broken")?.remove();
      const resting = document.querySelector("[data-test-script-state=notRunning]");
      waited = resting && state.goal && path(state.goal) !== location.pathname ? waited + 1 : 0;
      if (!resting) return;
      if (waited === LOOKS && followed !== state.goal) {
        followed = state.goal;
        state.follow(state.goal);
        return;
      }
      if (followed && !state.goal) { // its page is there
        followed = "";
        state.send("healed", "vain");
      }
      if (before && !before.told) {
        sessionStorage.setItem(ASKED, JSON.stringify({ ...before, told: true }));
        state.send("healed", before.what);
      } else if (before && before.page !== page) {
        sessionStorage.removeItem(ASKED);
      }
    } else if (++seen === LOOKS) {
      if (before?.page === page) {
        say();
      } else {
        const goal = what === "ended" && state.goal ? state.goal : location.href;
        sessionStorage.setItem(ASKED, JSON.stringify({ page: path(goal), what }));
        seen = 0;
        if (what !== "ended") window.dispatchEvent(new PopStateEvent("popstate"));
        else if (goal === location.href) location.reload();
        else location.assign(goal);
      }
    }
  }, LOOK_MS);
}

export default function ({ data, setTriggerValue }) {
  document.documentElement.lang = data.language;
  const first = !window.__departure;
  const state = window.__departure ??= {};
  Object.assign(state, { data, send: setTriggerValue });
  if (!first) return state.name();
  leadToMenu(state);
  keepOrder(state);
  heal(state);
  tellChanges();
  keepFocus();
  keepOverlays();
  leaveFullScreen();
}
