"""Utility: what private text still teaches a classifier, and what the classifier gives away."""

import streamlit as st

from pages.shared.footer import footer
from pages.shared.linking import choose_one
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.recorded import recorded_footer
from pages.shared.sidebar import choose_lexicon, choose_mechanisms
from pages.utility.recorded import choose_recorded
from pages.utility.running import run_of_ones_own
from pages.utility.views import recorded_views, run_views

RECORDED, OWN = "recorded", "own"
SOURCES = {RECORDED: "Recorded results", OWN: "A run of your own"}
START = ("madlib", "tem")

st.title("What does private text still teach?", anchor=False)
st.markdown(
    "A classifier is trained on rewritten text: how often is it right, and can an attacker tell "
    "from it which texts it was trained on? Look at recorded experiments, or run one."
)
source = choose_one(
    st.segmented_control,
    "Show",
    SOURCES,
    "use_source",
    required=True,
    help="Recorded: experiments of papers and on our teaching corpus, measured beforehand. Your "
    "own: mechanisms, ε and texts of your choice, computed now.",
)
if source == RECORDED:
    record = choose_recorded()
    if record is not None:
        recorded_views(record)
        recorded_footer(record)
else:
    with st.sidebar:
        chosen = choose_mechanisms(START, "use_")
        name = choose_lexicon()
    words = lexicon_or_stop(name)
    run = run_of_ones_own(mechanisms_or_stop(words, chosen), dict(chosen), name)
    if run is not None and run.rows is not None:
        run_views(run, run.rows)
    footer(words, 0, "trials and texts as set above")
