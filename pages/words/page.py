"""Words: a dense and a sparse word under the same ε, and what becomes of them."""

import streamlit as st

from dpcore.errors import DpcoreError
from pages.shared.footer import footer
from pages.shared.messages import refuse
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.pair import write_pair
from pages.shared.presets import CURVE_MECHANISMS
from pages.shared.sidebar import choose_lexicon, choose_mechanisms
from pages.words.bench import RUNS, SEED
from pages.words.board import board
from pages.words.choosing import shown_mechanism
from pages.words.moving import first_dial
from pages.words.scene import Scene
from pages.words.session import bench_for, default_words, shown_words
from pages.words.words import search_boxes

# On a phone the panes come before what is chosen, under a title of one line.
_STYLE = """
.st-key-words_controls > :last-child { flex: 1 1 20rem !important; min-width: 0; }
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
  :has(> .st-key-words_controls) { order: 1; }
  .st-key-words_controls { gap: 0.5rem !important; }
  .st-key-words_controls > * { flex: 1 1 28% !important; min-width: 0; }
  .st-key-words_controls > :last-child { flex-basis: 100% !important; }
}
"""

st.html(f"<style>{_STYLE}</style>")
st.title("Does your word have company?", anchor=False)
dial_place = st.container()

with st.sidebar:
    chosen = choose_mechanisms(CURVE_MECHANISMS, "curve_")
    name = choose_lexicon()
words = lexicon_or_stop(name)
defaults = default_words(words)
first, second = shown_words(words)
first_place = st.container(key="words_first")
with first_place, st.container(horizontal=True, vertical_alignment="top", key="words_controls"):
    search_boxes(words, (first, second))
    mechanism = shown_mechanism(words, chosen)
write_pair(first, second, defaults)
try:
    bench = bench_for(words, first, second)
except DpcoreError as error:
    refuse("These two words cannot be compared.", error)
    st.stop()
compared = mechanisms_or_stop(words, chosen) if chosen else []
scene = Scene(bench, mechanism, compared, name)

with dial_place:
    first_dial(mechanism, scene.members)
board(scene, first_place)
footer(words, SEED, f"R = {RUNS} runs, 400 noise directions where a law is not exact")
