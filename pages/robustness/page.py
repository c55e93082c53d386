"""Robustness: what a classifier provably withstands, and what attacks do to an ordinary one."""

import streamlit as st

from pages.robustness.views import VIEWS

st.title("What does a classifier withstand?", anchor=False)
st.markdown(
    "An attacker changes a picture a little, or exchanges some words, until a classifier is wrong. "
    "What can be proved against that, and what does an attack do where nothing is proved?"
)
view = st.segmented_control(
    "View",
    list(VIEWS),
    default=next(iter(VIEWS)),
    required=True,
    key="robust_view",
    bind="query-params",
    help="The first three are computed now; the others were recorded beforehand, because they "
    "train neural networks; “Find the utterance” of ADePT is computed now.",
)
VIEWS[view]()
