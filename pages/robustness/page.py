"""Robustness page: certificates of classifiers, and attacks on ordinary ones."""

import streamlit as st

from pages.robustness.pictures_view import pictures_view
from pages.robustness.views import PICTURES, VIEWS
from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.link import pick

# The picture follows closely; on a phone the title takes one line.
_STYLE = """
.st-key-robust_row { margin-bottom: -0.75rem; }
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
}
"""

heading(say("What withstands an attack?"), _STYLE)
# A block of its own: only there the dial sticks to the top.
dial_place = st.container()
row = st.container(horizontal=True, vertical_alignment="bottom", key="robust_row")
with row:
    view = pick(
        say("View"),
        (PICTURES, *VIEWS),
        "robust_view",
        say(
            "Pictures, Words and Attack are computed now; the others were recorded beforehand, "
            "because they train neural networks; “Find the utterance” of ADePT is computed now."
        ),
        width=165,
    )
# The only view with a dial, and so the only one that draws outside its own part of the page.
if view == PICTURES:
    pictures_view(dial_place, row)
else:
    VIEWS[view]()
