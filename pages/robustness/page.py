"""Robustness: what a classifier provably withstands, and what attacks do to an ordinary one."""

import streamlit as st

from pages.robustness.views import VIEWS
from pages.shared.fields import segments

st.title("What does a classifier withstand?", anchor=False)
st.markdown(
    "An attacker changes a picture a little, or exchanges some words, until a classifier is wrong. "
    "What can be proved against that, and what does an attack do where nothing is proved?"
)
view = segments(
    "View",
    VIEWS,
    "robust_view",
    "The first three are computed now; the others were recorded beforehand, because they "
    "train neural networks; “Find the utterance” of ADePT is computed now.",
)
VIEWS[view]()
