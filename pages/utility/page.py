"""Utility: what private text still teaches a classifier, and what the classifier gives away."""

import streamlit as st

from pages.shared.footer import footer
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import choose_lexicon, choose_mechanisms
from pages.utility.running import run_of_ones_own
from pages.utility.views import run_views

START = ("madlib", "tem")

st.title("What does private text still teach?", anchor=False)
st.markdown(
    "A classifier is trained on rewritten text: how often is it right, and can an attacker tell "
    "from it which texts it was trained on?"
)
st.page_link(
    "pages/papers/page.py",
    label="Recorded experiments",
    icon=":material/arrow_forward:",
    query_params={"experiment": "teaching-corpus"},
)
with st.sidebar:
    chosen = choose_mechanisms(START, "use_")
    name = choose_lexicon()
words = lexicon_or_stop(name)
run = run_of_ones_own(mechanisms_or_stop(words, chosen), dict(chosen), name)
if run is not None and run.rows is not None:
    run_views(run, run.rows)
footer(words, 0, "trials and texts as set above")
