"""Reading aids of every page: its language, explanations in everyday words, large letters."""

from __future__ import annotations

import streamlit as st

from pages.shared.language import LANGUAGE, LANGUAGES, say
from pages.shared.link import choose_one
from pages.shared.messages import note_english

EXPLAIN, LARGE = "explain", "large"

# Nothing moves if the system asks for reduced motion. Streamlit's light theme writes the letters of
# charts in a grey of 3.7:1, too faint to read; only that grey is replaced.
_ALWAYS = """
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after {
    transition-duration: 0s !important;
    animation-duration: 0s !important;
    scroll-behavior: auto !important;
  }
}
.js-plotly-plot text[style*="rgb(128, 132, 149)"] { fill: currentColor !important; }
"""
_LARGE = """
html { font-size: 22px; }
[data-testid=stMarkdownContainer] p, [data-testid=stText], [data-testid=stMarkdownContainer] li
{ font-size: 1.1rem; }
@media (min-width: 1000px) { [data-collapsed=false]#stSidebar { min-width: 19rem; } }
"""


def reading_aids() -> bool:
    """Draw the language and two switches into the sidebar, and the letters that they choose.

    Returns:
        True if the page should be explained in everyday words.
    """
    with st.sidebar, st.expander(say("Reading aids")):
        choose_one(
            st.segmented_control,
            say("Language"),
            LANGUAGES,
            LANGUAGE,
            required=True,
            format_func=LANGUAGES.__getitem__,  # readers without German look for "English"
            help=say("Language of the pages. A link opens in the language in which it was made."),
        )
        note_english()
        explain = st.toggle(
            say("Explain in everyday words"),
            key=EXPLAIN,
            bind="query-params",
            help=say("Shows the lesson's explanation above each page."),
        )
        large = st.toggle(
            say("Large letters"),
            key=LARGE,
            bind="query-params",
            help=say("For a projector, or for tired eyes. Charts have larger letters too."),
        )
    st.html(f"<style>{_ALWAYS}{_LARGE if large else ''}</style>")
    return explain
