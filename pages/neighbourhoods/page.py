"""Neighbourhoods: a dense and a sparse word under the same ε, and where their outputs fall."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.neighbourhoods.bench import RUNS, SEED
from pages.neighbourhoods.board import board
from pages.neighbourhoods.density import density_of
from pages.neighbourhoods.session import bench_for, default_words, shown_words
from pages.neighbourhoods.words import facts, search_boxes
from pages.shared.footer import footer
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.pair import write_pair
from pages.shared.presets import CURVE_MECHANISMS
from pages.shared.sidebar import choose_lexicon, choose_mechanisms

st.title("Does your word have company?", anchor=False)
st.markdown(
    "A word in a crowd hides easily: a small push makes it another word. A word that stands "
    "alone stays what it is more often, on average. Here two words get **the same ε**; the table "
    "says which mechanism treats them alike, and how often an attacker finds out which word it was."
)

with st.sidebar:
    chosen = choose_mechanisms(CURVE_MECHANISMS, "curve_")
    name = choose_lexicon()
words = lexicon_or_stop(name)
defaults = default_words(words)
first, second = shown_words(words)
search_boxes(words, (first, second))
write_pair(first, second, defaults)
try:
    bench = bench_for(words, first, second)
except DpcoreError as error:
    refuse("These two words cannot be compared.", error)
    st.stop()
facts(bench, density_of(words))
mechanisms = mechanisms_or_stop(words, chosen)

board(bench, mechanisms, name)
footer(words, SEED, f"R = {RUNS} runs, 400 noise directions where a law is not exact")
