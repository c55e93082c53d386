"""Dial and views of the Attacker page; when the dial rests, only the open view runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamlit.delta_generator import DeltaGenerator

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from pages.attacker.exposed_view import exposed_view
from pages.attacker.game_view import game_view
from pages.attacker.output_view import output_view
from pages.attacker.sentence_view import budget_view, sentence_view
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_dial, epsilon_of
from pages.shared.fragments import fragment, run_parts
from pages.shared.language import later, say
from pages.shared.link import tabs
from pages.shared.messages import inform

# State that every view of the Attacker page shows.


def defined_steps(mechanism: Mechanism) -> list[float]:
    """Return the ε of the group's grid at which the mechanism is defined: the steps of the dial."""
    return [e for e in group_of(mechanism.meaning).grid if e in mechanism.admissible]


@dataclass(frozen=True)
class Scene:
    """One mechanism at one ε.

    Attributes:
        mechanism: the mechanism under attack.
        epsilon: ε of the slider.
        lexicon: its name in the catalogue.
    """

    mechanism: Mechanism
    epsilon: float
    lexicon: str

    @property
    def steps(self) -> list[Scene]:
        """The same mechanism at every step of the dial."""
        return [replace(self, epsilon=epsilon) for epsilon in defined_steps(self.mechanism)]

    @property
    def words(self) -> Lexicon:
        """The vocabulary."""
        return self.mechanism.lexicon

    @property
    def reading(self) -> str:
        """Mechanism and ε in words."""
        return say(
            "{mechanism} at {reading}",
            mechanism=self.mechanism.short,
            reading=group_of(self.mechanism.meaning).reading(self.epsilon),
        )


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
"""Fragments of the dial and of the part that runs when it rests."""


def board(mechanism: Mechanism, lexicon: str, dial_place: DeltaGenerator) -> None:
    """Draw the dial and the open view.

    Args:
        mechanism: the mechanism under attack.
        lexicon: its name in the catalogue.
        dial_place: place of the dial.
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
