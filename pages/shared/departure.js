// What the browser does when a page is left: the fields speak before the link, and the Back button
// leads from page to page. departure.py says why the order matters.
//
// A field sends its value when it loses the focus: Streamlit collects what changed and sends it from
// a timer. A click on a link takes the focus away and is sent at once, before that. So the click is
// held until the timers that were set before it have run, and is then made again.
//
// Streamlit writes what the controls are set to into the address, and makes a new entry of the
// history each time: the Back button would lead through every draw and every chosen word. Here only
// a link makes an entry; where a page sends people on to another, Back would only lead them there
// again. Between the click and the next page the address is still that of the page that is left, and
// stays as it is: what is written then is about the next page, and is written into its entry too.

const LINKS = "a[data-testid=stPageLink-NavLink], a[data-testid=stTopNavLink], "
  + "a[data-testid=stSidebarNavLink], a[data-testid=stTopNavDropdownLink]";

function keepOrder() {
  let leaving = false;
  const passing = new WeakSet();
  const path = (address) => new URL(address ?? location.href, location.href).pathname;

  document.addEventListener("click", (event) => {
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const link = event.target.closest?.(LINKS);
    if (!link || !plain) return;
    if (passing.delete(link)) {
      leaving = path(link.href) !== location.pathname;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    // The first turn lets React draw what the lost focus changed, the second lets it be sent.
    setTimeout(() => setTimeout(() => {
      // What the lost focus changed may have drawn the link anew.
      const same = link.isConnected ? link
        : [...document.querySelectorAll(LINKS)].find((other) => other.href === link.href) ?? link;
      passing.add(same);
      same.click();
    }));
  }, true);
  window.addEventListener("popstate", () => { leaving = false; });

  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    if (!leaving) {
      history.replaceState(state, title, address);
    } else if (path(address) !== location.pathname) {
      leaving = false;
      push(state, title, address);
    }
  };
}

export default function ({ data }) {
  document.documentElement.lang = data.language;
  if (window.__departure) return;
  window.__departure = true;
  keepOrder();
}
