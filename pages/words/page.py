"""Words page: a dense and a sparse word under the same ε, and their outputs."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.shared.frame import heading_row
from pages.shared.language import say
from pages.shared.messages import footer, refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.session import CURVE_MECHANISMS
from pages.shared.sidebar import choose_lexicon, choose_mechanisms
from pages.shared.words import write_pair
from pages.words.bench import RUNS, SEED
from pages.words.board import board, first_dial
from pages.words.maps import old_link
from pages.words.scene import WordsScene, begin, bench_for, shown_words
from pages.words.words import search_boxes, shown_mechanism

# The panes should be in sight: the choices are in one row, and what the panes show is chosen over
# the right end of their heads.
_STYLE = """
[data-testid=stMainBlockContainer] { padding-top: 3.5rem; }
[data-testid=stLayoutWrapper]:has(
  > :is(.st-key-words_missing, .st-key-words_found):not(:has(*))
) { display: none; }
.st-key-title_row h1 { font-size: 1.75rem; }
/* The views hold dials of their own, and only the dial above the panes stays in sight. */
[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
  > :has([class*="st-key-dial_place"]):has([role=tablist]) {
  position: static; z-index: auto;
}
@media (min-width: 801px) {
  [data-testid=stLayoutWrapper]:has(> .st-key-words_view) { z-index: 1; margin: -0.5rem 0 -2.5rem; }
  .st-key-words_view { align-items: flex-end; }
}
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] { gap: 0.3rem; }
  .st-key-title_controls > * { flex: 1 1 45% !important; min-width: 0; }
  /* The choice of what the panes show comes after them: the verdict takes its room in the first
     screen. */
  [data-testid=stLayoutWrapper]:has(> .st-key-words_view) { order: 1; }
  [data-testid=stLayoutWrapper]:has(> .st-key-words_view) ~ * { order: 2; }
  [data-testid=stLayoutWrapper]:has(> .st-key-words_view) + * { order: 0; }
}
"""

old_link()
controls = heading_row(say("Does your word have company?"), _STYLE)
# A block of its own: only there the dial sticks to the top.
dial_place = st.container()
found_place = st.container(key="words_found")

with st.sidebar:
    chosen = choose_mechanisms(CURVE_MECHANISMS, "curve_")
    name = choose_lexicon()
words = lexicon_or_stop(name)
begin(words)
# The words before the boxes: a box shows its word as a placeholder.
first, second = shown_words(words)
with controls:
    search_boxes(words, (first, second), found_place)
    mechanism = shown_mechanism(words, chosen)
# The link names both words: an address that names none is the opening view.
write_pair(first, second, ("", ""))
try:
    bench = bench_for(words, first, second)
except DpcoreError as error:
    refuse(say("These two words cannot be compared."), error)
    st.stop()
# None may be chosen: the panes have a mechanism of their own.
compared = mechanisms_or_stop(words, chosen) if chosen else []
scene = WordsScene(bench, mechanism, compared, name)

with dial_place:
    first_dial(mechanism, scene.members)
board(scene)
draws = say("R = {runs} runs, 400 noise directions where a law is not exact", runs=RUNS)
footer(words, SEED, draws)
