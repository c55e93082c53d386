"""Robustness page: certificates of classifiers, and attacks on ordinary ones."""

import streamlit as st

from pages.robustness.pictures_view import pictures_view
from pages.robustness.views import PICTURES, VIEWS
from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.link import segments

# On a phone the title takes one line and the views two.
_STYLE = """
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
  .st-key-robust_views button { padding: 0 0.4rem; }
  .st-key-robust_views button p { font-size: 0.8rem; }
}
"""

heading(say("What withstands an attack?"), _STYLE)
with st.container(key="robust_views"):
    view = segments(
        say("View"),
        (PICTURES, *VIEWS),
        "robust_view",
        say(
            "Pictures, Words and Attack are computed now; the others were recorded beforehand, "
            "because they train neural networks; “Find the utterance” of ADePT is computed now."
        ),
        label_visibility="collapsed",
    )
# A block of its own: only there the dial sticks to the top.
dial_place = st.container()
# The only view with a dial, and so the only one that draws outside its own part of the page.
if view == PICTURES:
    pictures_view(dial_place)
else:
    VIEWS[view]()
