"""Rewrite page: a sentence, the mechanisms side by side, and the guarantee of each."""

import streamlit as st

from pages.rewrite.board import board, dials
from pages.rewrite.redactors import choose_redactors
from pages.rewrite.scene import choose_compared
from pages.shared.frame import heading
from pages.shared.language import say
from pages.shared.messages import footer
from pages.shared.needed import bench_or_stop, lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import sidebar
from pages.shared.text_box import choose_draw, draw_again, text_box

# On a phone the title takes one line, so that the rows are in sight.
_STYLE = """
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
}
"""

heading(say("How does each mechanism rewrite your words?"), _STYLE)
choose_compared()
# The dials and the grid come first on the screen, but need the choices that are drawn after them.
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
bench = bench_or_stop(text, words, choices)

board(bench, mechanisms, choices, text, seed, number, redactors, grid_place)
footer(words, seed, say("one draw of noise for each word and mechanism"))
