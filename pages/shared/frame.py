"""Frame around every page: the list of pages, the menu, and the settings of a link."""

from __future__ import annotations

import math

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.mechanisms.registry import MECHANISMS
from pages.shared import link
from pages.shared.contents import CONTENTS, MOVED, NAME
from pages.shared.departure import mind_links
from pages.shared.dial import GROUPS
from pages.shared.fragments import begin_page
from pages.shared.language import LANGUAGE, begin_language, language, say

_OPEN, _MOVED = "open_page", "moved_on"

_MAY_BE_EMPTY = frozenset({"drawn", "curves", *(group.name for group in GROUPS)})
"""Last parts of the names of choices that may be empty."""

_SHARED = frozenset(
    {"lexicon", "unknown", "stop", "case", "attacked", "seed", "draw", "preset", LANGUAGE}
)
"""Names of choices that mean the same on every page, besides every ε and the settings."""

# Legible on both themes, since it is a picture and cannot adapt to them.
_WORDMARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="190" height="28" viewBox="0 0 190 28">'
    '<text x="0" y="20" font-family="Source Sans Pro, Source Sans 3, Helvetica, Arial, sans-serif" '
    f'font-size="19" font-weight="700" fill="#3A86B8">{NAME}</text></svg>'
)

# The moving part should be in sight when the page opens: less air above and smaller titles. The
# ends of a slider, which show under the pointer, are too faint on the dark ground, and so are words
# on a chosen button or a badge for people with low vision (7 to 1). A link's words are not cut off.
# The keyboard passes by the fields of a folded sidebar. One ring, which both themes show (at least
# 3.6 to 1), is around what has the focus; inside where what is around would cut it off.
_STYLE = """
[data-testid=stMainBlockContainer] { padding-top: 4rem; }
[data-testid=stMainBlockContainer] h1 { font-size: 2.1rem; padding: 0 0 0.25rem; }
[data-testid=stMainBlockContainer] h2 { font-size: 1.5rem; padding: 0.5rem 0 0.25rem; }
:is([data-testid^=stBaseButton-][data-testid$=Active], .stMarkdownBadge) {
  color: inherit !important;
}
[data-testid=stPageLink] a :is(span, p) { white-space: normal; overflow: visible; }
[data-testid=stSidebar][data-collapsed=true] > * { display: none; }
#to-menu { position: fixed; top: -9rem; left: 0.5rem; z-index: 2147483647; padding: 0.5rem 1rem;
  background: Canvas; color: LinkText; border: 2px solid currentColor; }
#to-menu:focus { top: 0.5rem; }
@media print { #to-menu { display: none; } }
:focus-visible { outline: 3px solid #2F81C0 !important; outline-offset: 2px !important; }
:is([role=tab], summary, main, [role=dialog], [role=gridcell], [role=option]):focus-visible {
  outline-offset: -3px !important;
}
/* Boxes cut off what stands over their edge: the ring is around the whole box. */
:is(.stSelectbox, .stMultiSelect) [role=group]:has(input:focus-visible),
[data-testid=stNumberInputContainer]:has(input:focus-visible),
:is(.stTextInput, .stTextArea) :has(> :is(input, textarea):focus-visible),
.stCheckbox label:has(:focus-visible) {
  outline: 3px solid #2F81C0; outline-offset: 2px;
}
:is(.stSelectbox, .stMultiSelect, .stNumberInput, .stTextInput, .stTextArea)
  :is(input, textarea):focus-visible { outline: none !important; }
:is(.stSelectbox, .stMultiSelect, .stNumberInput) button:focus-visible {
  outline-offset: -3px !important;
}
[data-testid=stElementToolbar]:focus-within { opacity: 1; top: -44px; z-index: 1; }
.stSlider [data-focus-visible=true] { outline: 3px solid #2F81C0; outline-offset: 2px; }
[role=tab] { margin-inline: -6px; padding-inline: 6px !important; }
#told { position: fixed; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[data-testid=stSliderTickBar] { color: inherit !important; transition: none !important; }
.st-key-title_row > :first-child { flex: 0 1 auto; }
.st-key-title_row > :last-child { flex: 1 1 18rem; min-width: 0; }
@media (min-width: 641px) { .st-key-title_row { margin-bottom: -0.5rem; } }
@media (max-width: 640px) {
  .st-key-title_row { gap: 0.25rem !important; }
  .st-key-title_controls { gap: 0.5rem !important; }
  /* A chosen mechanism or an example names itself: its label is for screen readers here. */
  .st-key-title_controls > :not(.st-key-figure) [data-testid=stSelectbox] label {
    position: absolute; width: 1px; height: 1px; min-height: 0; clip-path: inset(50%);
  }
}
"""


def page_list() -> list[st.Page]:
    """Return all pages in the order of the menu.

    The first one has the address `/`, and no other: its name in links is kept by a hidden entry. So
    are the former addresses of pages. No page has a Material icon: browsers would fetch it from a
    third party as the tab's icon.
    """
    first, *others = CONTENTS
    return [
        st.Page(first.file, title=say(first.title), default=True, url_path="first"),
        st.Page(first.file, title=say(first.title), url_path=first.address, visibility="hidden"),
        *(
            st.Page(
                page.file,
                title=say(page.title),
                url_path=page.address,
                visibility="visible" if page.listed else "hidden",
            )
            for page in others
        ),
        *(
            st.Page(page.file, title=say(page.title), url_path=old, visibility="hidden")
            for old, new in MOVED.items()
            for page in others
            if page.address == new
        ),
    ]


def heading(question: str, style: str = "") -> None:
    """Draw the title of a page.

    Args:
        question: the title, translated.
        style: style sheet of the page, without its element; it comes first, so that nothing jumps.
    """
    if style:
        st.html(f"<style>{style}</style>")
    st.title(question, anchor=False)


def heading_row(question: str, style: str = "") -> DeltaGenerator:
    """Draw the title of a page; return a row for controls beside it, on a phone below it.

    Args:
        question: the title, translated.
        style: as in `heading`.
    """
    if style:
        st.html(f"<style>{style}</style>")
    with st.container(horizontal=True, vertical_alignment="bottom", key="title_row"):
        st.title(question, anchor=False, width="content")
        return st.container(horizontal=True, vertical_alignment="top", key="title_controls")


def open_frame() -> st.Page:
    """Draw the menu and return the page to run; called by `app.py` alone."""
    begin_language()
    mind_links(language())
    pages = page_list()
    page = st.navigation(pages, position="top")
    if page.url_path in MOVED:
        address = MOVED[page.url_path]
        link.turn_to(next(each for each in pages if each.url_path == address))
    _mend_link()  # reruns this page, which is known only now
    _take_along(page.url_path)
    link.begin_settings()
    begin_page()
    folded = any(each.folded and say(each.title) == page.title for each in CONTENTS)
    st.set_page_config(
        page_title=f"{page.title} – {NAME}",
        page_icon="🔏",
        layout="wide",
        initial_sidebar_state="collapsed" if folded else "auto",
    )
    st.logo(_WORDMARK, size="medium")
    st.html(f"<style>{_STYLE}</style>")
    return page


def _mend_link() -> None:
    """Rerun the page without the link settings that no field can hold.

    Streamlit checks the values of a link against its fields, but an infinite number breaks a field
    of whole numbers, and an empty value empties a choice that must not be empty.
    """
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    broken = [n for n, values in given.items() if not all(_usable(n, value) for value in values)]
    if broken:
        link.drop(*broken)
        st.rerun()


def _take_along(address: str) -> None:
    """Begin a page reached by the menu with the settings that it shares with the page before.

    Streamlit keeps the values of fields from the second run of a page on; a value that a link set
    in the first run would be forgotten on the next page, and be back on the page after it.
    """
    before, runs, given = st.session_state.get(_OPEN, (address, 0, None))
    if before != address:
        st.session_state[_MOVED] = True
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    if before == address:
        st.session_state[_OPEN] = address, runs + 1, None
    elif runs > 1:
        st.session_state[_OPEN] = address, 1, None
    else:
        st.session_state[_OPEN] = address, 0, asked
        st.rerun()  # to read the whole link of the previous page
    if given is not None:
        kept = {name: values for name, values in asked.items() if _shared(name)}
        link.put(dict.fromkeys(asked, ()) | kept | given)


def open_address() -> str:
    """Return the address of the open page."""
    return str(st.session_state[_OPEN][0])


def arrived_by_address() -> bool:
    """Return True if this is the page on which the visit began, so that its link came from outside.

    On a page reached by the menu, the link also holds settings of earlier pages.
    """
    return _MOVED not in st.session_state


def _shared(name: str) -> bool:
    first, _, rest = name.partition("_")
    setting = bool(rest) and any(kind.short == first for kind in MECHANISMS.values())
    return name in _SHARED or first == "eps" or setting


def _usable(name: str, value: str) -> bool:
    if not value:
        return name.rpartition("_")[2] in _MAY_BE_EMPTY
    try:
        return math.isfinite(float(value))
    except ValueError:
        return True  # not a number; its field checks if it is a valid choice
