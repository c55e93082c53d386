"""Attacker page: one output, a game against Bayes, sentences, and the least protected words."""

import streamlit as st

from pages.attacker.board import board, old_link, open_view
from pages.attacker.game_view import keep_apart
from pages.attacker.scene import GAME
from pages.shared import link
from pages.shared.frame import heading_row
from pages.shared.language import say
from pages.shared.messages import footer
from pages.shared.needed import lexicon_or_stop, mechanisms_or_stop
from pages.shared.sidebar import choose_lexicon, choose_mechanism

_STYLE = """
[data-testid=stMainBlockContainer] { padding-top: 3.5rem; }
.st-key-title_row h1 { font-size: 1.75rem; }
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
}
"""

old_link()
controls = heading_row(say("What can someone infer from one output?"), _STYLE)
keep_apart(playing=open_view() == GAME)
dial_place = st.container()
with st.sidebar:
    chosen = choose_mechanism(
        say(
            "Where the probabilities of its outputs can be computed, the attacker is the best "
            "possible one for one output and the chosen prior; for the other mechanisms it is the "
            "nearest-neighbour attacker."
        ),
        controls,
    )
    name = choose_lexicon()
words = lexicon_or_stop(name)
(mechanism,) = mechanisms_or_stop(words, [chosen])
board(mechanism, name, dial_place)
footer(
    words,
    # Only some views draw the field of the seed; all others use the default.
    st.session_state.get("seed", link.SEED),
    say("each number says whether it is exact or from how many draws"),
)
