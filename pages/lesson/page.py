"""Lesson page: nine steps in everyday words, each with a guess that the app checks."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.lesson.lesson import lesson, open_step, source
from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.messages import footer, refuse
from pages.shared.needed import lexicon_or_stop

heading(say("Private words in nine steps"))
st.markdown(
    say("For people who have never heard of ε. Every answer is calculated here, not quoted.")
)
# Exercises are made for the bundled words, whatever lexicon the other pages use.
words = lexicon_or_stop("default")
key = open_step()
try:
    lesson(key)
except DpcoreError as error:
    refuse(say("This step could not be calculated."), error)
footer(words, *source(key))
