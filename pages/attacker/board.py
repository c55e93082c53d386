"""The slider of ε and the views; a step of the slider runs the open view alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.measure.density.density import neighbourhood
from dpcore.plots.captions import epsilon_reading
from pages.attacker.budget_view import budget_view
from pages.attacker.choosing import output_now
from pages.attacker.exposed_view import exposed_view
from pages.attacker.game_view import game_view
from pages.attacker.output_view import output_view
from pages.attacker.scene import Scene
from pages.attacker.sentence_view import sentence_view
from pages.shared.groups import START_EPSILON, group_of
from pages.shared.memo import session_memo
from pages.shared.messages import inform, note
from pages.shared.slider import epsilon_slider
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

OPEN_VIEW = "view"
OUTPUT, GAME, SENTENCE, BUDGET, EXPOSED = (
    "One output",
    "Guess the word",
    "A sentence",
    "Budget",
    "Least protected",
)
_VIEWS = {
    OUTPUT: output_view,
    GAME: game_view,
    SENTENCE: sentence_view,
    BUDGET: budget_view,
    EXPOSED: exposed_view,
}


@st.fragment
def board(mechanism: Mechanism, lexicon: str) -> None:
    """Draw the slider and the open view."""
    group = group_of(mechanism.meaning)
    defined = [epsilon for epsilon in group.grid if epsilon in mechanism.admissible]
    if not defined:
        inform(
            "With these settings the mechanism is defined at no ε of the slider: change them in "
            "the sidebar."
        )
        return
    usual = START_EPSILON.get(group.name, group.start)
    start = min(defined, key=lambda epsilon: abs(math.log(epsilon / usual)))
    with st.container(gap=None):
        epsilon = epsilon_slider(group, [mechanism], start=start, grid=defined)
        near = _nearest(mechanism.lexicon, output_now(mechanism.lexicon))
        note(epsilon_reading(mechanism.meaning, epsilon, near))
    scene = Scene(mechanism, epsilon, lexicon)
    tabs(_VIEWS, OPEN_VIEW, scene)


def _nearest(words: Lexicon, name: str) -> float:
    """Distance of a word to its nearest neighbour."""
    return session_memo(
        "attack_nearest",
        (words.fingerprint, name),
        lambda: neighbourhood(words, words.index(name), 1).nearest,
    )
