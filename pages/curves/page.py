"""Curves: how often a word stays, and how many words it may become, over ε."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.curves.board import board, pin_words
from pages.curves.choosing import choose_words, say_text
from pages.curves.curves import Work, go_on, measured_curves
from pages.curves.papers import MEASURED, choose_figure, papers_view
from pages.curves.scene import CurvesScene, How
from pages.shared.frame import heading_row
from pages.shared.language import say
from pages.shared.messages import footer, refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.session import CURVE_MECHANISMS
from pages.shared.sidebar import choose_lexicon, choose_mechanisms
from pages.shared.words import say_unknown

# The help of the choice beside the title is to its right, in place of a label above it. On a phone
# the dials are stacked, with no gap through which the page would show.
_STYLE = """
.st-key-figure [data-testid=stSelectbox] { display: flex; flex-flow: row-reverse; gap: 0.5rem; }
.st-key-figure [data-testid=stSelectbox] > :last-child { flex: 1; }
.st-key-figure [data-testid=stWidgetLabel] { flex: none; width: auto; margin: 0; }
.st-key-figure [data-testid=stWidgetLabel] [data-testid=stMarkdownContainer] { display: none; }
[class*=st-key-group_title] { margin-bottom: -1.25rem; }
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.3rem; padding: 0; }
  .st-key-deny_dials [data-testid=stHorizontalBlock] { gap: 0; }
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] { gap: 0.5rem; }
}
"""

with heading_row(say("Could it have been another word?"), _STYLE):
    figure = choose_figure()
if figure != MEASURED:
    papers_view(figure)
    st.stop()
# Dials and picture come first on the screen, but need the words chosen below them.
dial_place = st.container(key="deny_dials")
# Progress is seen where the curves will be.
progress_place, picture_place = st.container(), st.container()
how_place = st.container()

with st.sidebar:
    chosen = choose_mechanisms(CURVE_MECHANISMS, "curve_")
    name = choose_lexicon()
words = lexicon_or_stop(name)
with how_place:
    st.markdown(
        say(
            "**Nw**: the chance that a word comes out unchanged. **Sw**: how many different "
            "words one word becomes in many runs. Low Nw and high Sw leave room to say: *I "
            "never wrote that.*"
        )
    )
typed, runs, seed = choose_words()
try:
    selection = typed.selection(words, seed)
except DpcoreError as error:
    # Below the choice of words, so that the reader can mend it; without words there is nothing else
    # to show.
    refuse(say("These words could not be measured."), error)
    st.stop()
say_text(selection)
pinned = pin_words(words, selection, typed.public)
say_unknown(words)
mechanisms = mechanisms_or_stop(words, chosen, on_dial=True)

work = Work(selection, runs, seed, typed.public)
with progress_place:
    curves = measured_curves(words, mechanisms, work, pinned)
if curves:
    scene = CurvesScene(curves, pinned, selection, typed, words, How(name, runs, seed))
    board(scene, dial_place, picture_place, how_place)
draws = say("R = {runs:,} runs or noise directions where a law is not exact", runs=runs)
footer(words, seed, draws)
# The curves so far are drawn: now the rest.
with progress_place:
    go_on(words, mechanisms, work, pinned)
