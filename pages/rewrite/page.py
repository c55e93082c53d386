"""Rewrite: a sentence, the mechanisms side by side, and what each of them promises."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.rewrite.workbench import workbench
from pages.shared.footer import footer
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.session import bench_for
from pages.shared.sidebar import sidebar
from pages.shared.text_box import text_box

st.title("What is left of your words?", anchor=False)
st.markdown(
    "Chance decides what comes out for every word, the word itself or another: how much an output "
    "tells of its word has a limit, and ε sets it. "
    "**Changed words** are underlined and carry the sign ↻; choose a word to see what else it "
    "could have become. Mechanisms in one group mean the same kind of ε, and still differ in "
    "how many words they have to change for it."
)

choices = sidebar()
text = text_box()
words = lexicon_or_stop(choices.lexicon)
try:
    bench = bench_for(text, words, choices)
except DpcoreError as error:
    refuse("This could not be rewritten.", error)
    st.stop()
mechanisms = mechanisms_or_stop(words, choices.mechanisms)

workbench(bench, mechanisms, choices, text)
footer(words, st.session_state["seed"], "one draw of noise for each word and mechanism")
