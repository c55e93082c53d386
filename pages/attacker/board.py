"""The dial and the views; when the dial rests only the open view runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.attacker.budget_view import budget_view
from pages.attacker.exposed_view import exposed_view
from pages.attacker.game_view import game_view
from pages.attacker.output_view import output_view
from pages.attacker.scene import Scene, defined_steps
from pages.attacker.sentence_view import sentence_view
from pages.shared.epsilon_dial import epsilon_dial, epsilon_of
from pages.shared.fragments import fragment, run_parts
from pages.shared.groups import group_of
from pages.shared.language import later, say
from pages.shared.messages import inform
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from dpcore.mechanisms.mechanism import Mechanism

OPEN_VIEW = "view"
OUTPUT, GAME, SENTENCE, BUDGET, EXPOSED = (
    later("One output"),
    later("Guess the word"),
    later("A sentence"),
    later("Budget"),
    later("Least protected"),
)
_VIEWS = {
    OUTPUT: output_view,
    GAME: game_view,
    SENTENCE: sentence_view,
    BUDGET: budget_view,
    EXPOSED: exposed_view,
}


TURNING, VIEW = "attack_turning", "attack_view"
"""The fragments: of the dial, and the one that runs when it rests."""


def board(mechanism: Mechanism, lexicon: str, dial_place: DeltaGenerator) -> None:
    """Draw the dial and the open view.

    Args:
        mechanism: under attack.
        lexicon: its name in the catalogue.
        dial_place: where the dial stands.
    """
    defined = defined_steps(mechanism)
    if not defined:
        inform(
            say(
                "With these settings the mechanism is defined at no ε of the dial: change them "
                "in the sidebar."
            )
        )
        return
    with dial_place:
        fragment(_turning, mechanism, defined, key=TURNING)
    fragment(_view, mechanism, lexicon, key=VIEW)


def _turning(mechanism: Mechanism, defined: list[float]) -> None:
    group = group_of(mechanism.meaning)
    epsilon_dial(group, [mechanism], lambda: run_parts(VIEW), grid=defined)


def _view(mechanism: Mechanism, lexicon: str) -> None:
    scene = Scene(mechanism, epsilon_of(group_of(mechanism.meaning)), lexicon)
    tabs(_VIEWS, OPEN_VIEW, scene)
