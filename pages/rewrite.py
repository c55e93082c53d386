"""Rewrite: a sentence, the mechanisms side by side, and what each of them promises."""

from pages.shared.frame import require_frame

require_frame()

import streamlit as st  # noqa: E402

from dpcore.errors import DpcoreError  # noqa: E402
from pages.shared.footer import footer  # noqa: E402
from pages.shared.messages import refuse  # noqa: E402
from pages.shared.resources import lexicon, mechanism  # noqa: E402
from pages.shared.session import bench_for  # noqa: E402
from pages.shared.sidebar import sidebar  # noqa: E402
from pages.shared.text_box import text_box  # noqa: E402
from pages.shared.workbench import workbench  # noqa: E402

st.title("What is left of your words?", anchor=False)
st.markdown(
    "Every word is exchanged at random, so that nobody can be sure which one stood there. "
    "**Changed words** are underlined and carry the sign ↻; choose a word to see what else it "
    "could have become."
)

choices = sidebar()
text = text_box()
try:
    words = lexicon(choices.lexicon)
    bench = bench_for(text, words, choices)
except DpcoreError as error:
    refuse("This could not be rewritten.", error)
    st.stop()
mechanisms = []
for key, settings in choices.mechanisms:
    try:
        mechanisms.append(mechanism(words, key, settings))
    except DpcoreError as error:
        refuse("A mechanism is left out: change its settings in the sidebar.", error)
if not mechanisms:
    st.info("Choose at least one mechanism in the sidebar.", icon=":material/info:")
    st.stop()

workbench(bench, mechanisms, choices, text)
footer(words, st.session_state["seed"], "one draw of noise for each word and mechanism")
