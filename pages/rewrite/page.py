"""Rewrite page: a sentence, the mechanisms side by side, and the guarantee of each."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.rewrite.dials import dials
from pages.rewrite.redactors import choose_redactors
from pages.rewrite.workbench import workbench
from pages.shared.footer import footer
from pages.shared.language import say
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.session import bench_for
from pages.shared.sidebar import sidebar
from pages.shared.text_box import choose_draw, draw_again, text_box

# On a phone the title takes one line, so that the rows are in sight.
_STYLE = """
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
}
"""

st.html(f"<style>{_STYLE}</style>")
st.title(say("What is left of your words?"), anchor=False)
dial_place, grid_place, text_place = st.container(), st.container(), st.container()

choices = sidebar()
redactors = choose_redactors()
with text_place:
    text = text_box()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_again()
        seed, number = choose_draw()
words = lexicon_or_stop(choices.lexicon)
mechanisms = mechanisms_or_stop(words, choices.mechanisms)
with dial_place:
    dials(mechanisms)
try:
    bench = bench_for(text, words, choices)
except DpcoreError as error:
    refuse(say("This could not be rewritten."), error)
    st.stop()

workbench(bench, mechanisms, choices, text, seed, number, redactors, grid_place)
footer(words, seed, say("one draw of noise for each word and mechanism"))
