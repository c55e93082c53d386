"""The frame around every page: the list of pages, and the guard against a page without a frame.

Streamlit's older convention runs `pages/x.py` directly when the first session after a start opens
the link `/x`: `app.py` is then never run. So each page begins by asking for the frame.
"""

from __future__ import annotations

import math

import streamlit as st

from pages.shared.groups import GROUPS

_FLAG = "framed"

TITLE = "Word Privacy Lab"

_MAY_BE_EMPTY = frozenset({"drawn", *(group.name for group in GROUPS)})
"""Ends of the names of choices of which nothing may be chosen."""

# What moves should be in sight when the page opens: less air above and smaller titles. The ends of
# a slider, which show under the pointer, are too faint on the dark ground.
_STYLE = """
[data-testid=stMainBlockContainer] { padding-top: 4rem; }
[data-testid=stMainBlockContainer] h1 { font-size: 2.1rem; padding: 0 0 0.25rem; }
[data-testid=stSliderTickBar] { color: inherit !important; transition: none !important; }
"""


def page_list() -> list[st.Page]:
    """All pages in the order of the menu.

    The landing page has the address `/`; the hidden second entry keeps the link `/rewrite` alive.
    No page has a Material icon: browsers would fetch it from a third party as the tab's icon.
    """
    rewrite = "pages/rewrite.py"
    return [
        st.Page(rewrite, title="Rewrite", default=True, url_path="start"),
        st.Page(rewrite, title="Rewrite", url_path="rewrite", visibility="hidden"),
        st.Page("pages/lesson.py", title="Lesson", url_path="lesson"),
        st.Page("pages/deniability.py", title="Deniability", url_path="deniability"),
        st.Page("pages/neighbourhoods.py", title="Neighbourhoods", url_path="neighbourhoods"),
        st.Page("pages/utility.py", title="Utility", url_path="utility"),
        st.Page("pages/audit.py", title="Audit", url_path="audit"),
        st.Page("pages/attacker.py", title="Attacker", url_path="attacker"),
        st.Page("pages/robustness.py", title="Robustness", url_path="robustness"),
    ]


def open_frame() -> st.Page:
    """Draw the menu and return the page to run; called by `app.py` alone."""
    st.session_state[_FLAG] = True
    _mend_link()
    page = st.navigation(page_list(), position="top")
    st.set_page_config(page_title=f"{page.title} – {TITLE}", page_icon="🔏", layout="wide")
    st.html(f"<style>{_STYLE}</style>")
    return page


def _mend_link() -> None:
    """Start over without those settings of a link that no field can hold.

    Streamlit checks the values of a link against its fields, but an endless number breaks a field
    of whole numbers, and an empty value empties a choice that must not be empty.
    """
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    broken = [n for n, values in given.items() if not all(_usable(n, value) for value in values)]
    for name in broken:
        del st.query_params[name]
    if broken:
        st.rerun()


def _usable(name: str, value: str) -> bool:
    if not value:
        return name.rpartition("_")[2] in _MAY_BE_EMPTY
    try:
        return math.isfinite(float(value))
    except ValueError:
        return True  # no number; whether it is a choice, its field knows


def require_frame() -> None:
    """Start over through `app.py` if this page was reached without it; the link is kept."""
    if _FLAG not in st.session_state:
        st.navigation(page_list(), position="top")
        st.rerun()
