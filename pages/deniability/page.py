"""Deniability: how often a word stays, and how many words it may become, over ε."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.deniability.board import board
from pages.deniability.choosing import choose_words
from pages.deniability.corpus import say_text
from pages.deniability.curves import measured_curves
from pages.deniability.measuring import Work
from pages.deniability.pinning import pin_words
from pages.deniability.views import How, Scene
from pages.shared.footer import footer
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.presets import CURVE_MECHANISMS
from pages.shared.sidebar import choose_lexicon, choose_mechanisms
from pages.shared.words import say_unknown

st.title("Could it have been another word?", anchor=False)
st.markdown(
    "**Nw** is the chance that a word comes out unchanged: at 0.9 whoever reads it may as well "
    "believe it. **Sw** counts how many different words one word becomes when it is rewritten many "
    "times: at 1 there is nothing to deny. Low Nw and high Sw leave you room to say: "
    "*I never wrote that.*"
)

with st.sidebar:
    chosen = choose_mechanisms(CURVE_MECHANISMS, "curve_")
    name = choose_lexicon()
words = lexicon_or_stop(name)
typed, runs, seed = choose_words()
try:
    selection = typed.selection(words, seed)
except DpcoreError as error:
    refuse("These words could not be measured.", error)
    st.stop()
say_text(selection)
pinned = pin_words(words, selection, typed.public)
say_unknown(words)
mechanisms = mechanisms_or_stop(words, chosen)

curves = measured_curves(words, mechanisms, Work(selection, runs, seed, typed.public), pinned)
if curves:
    board(Scene(curves, pinned, selection, typed, words, How(name, runs, seed)))
footer(words, seed, f"R = {runs:,} runs or noise directions where a law is not exact")
