"""Start: what this is, a sentence that is already rewritten, the verdicts, and the ways on."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.audit.store import recorded_verdicts
from pages.shared.drawing import seed_and_draw
from pages.shared.footer import footer
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.resources import lexicon_names
from pages.shared.session import bench_for
from pages.shared.sidebar import carried_choices, choose_lexicon
from pages.shared.text_box import text_box
from pages.start.links import follow_old_link
from pages.start.sentence import rewritten_sentence, shown_mechanisms
from pages.start.verdicts import small_verdicts
from pages.start.ways import lesson_steps, other_pages

follow_old_link()

st.title("Could anybody tell what you wrote?", anchor=False)
st.markdown(
    "Here chance decides what comes out for every word of a text, the word itself or another, "
    "and how much one output tells of its word has a limit, set by ε: that is word-level "
    "differential privacy. Type a sentence and see what three published "
    "methods make of it, what each of them promises, and which promises are true."
)
name = "default"
if len(lexicon_names()) > 1:  # else there is no choice, and the page is lighter without it
    with st.sidebar:
        name = choose_lexicon()
text = text_box()
words = lexicon_or_stop(name)
mechanisms = mechanisms_or_stop(words, shown_mechanisms())
try:
    rewritten_sentence(bench_for(text, words, carried_choices(name)), mechanisms)
except DpcoreError as error:
    refuse("This could not be rewritten.", error)
st.page_link(
    "pages/rewrite/page.py",
    label="Move ε, draw again, compare all mechanisms: the page Rewrite",
    icon=":material/arrow_forward:",
)

st.subheader("Which promises are true?", anchor=False)
try:
    small_verdicts(recorded_verdicts())
except DpcoreError as error:
    refuse("The recorded verdicts are missing; the page Audit computes them one by one.", error)

st.subheader("Learn it in a quarter of an hour", anchor=False)
lesson_steps()
st.subheader("What each page answers", anchor=False)
other_pages()
footer(words, seed_and_draw()[0], "one draw of noise for each word and mechanism")
