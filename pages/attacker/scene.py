"""What every view of the Attacker page is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pages.shared.groups import group_of
from pages.shared.language import say

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism


def defined_steps(mechanism: Mechanism) -> list[float]:
    """The steps of the dial: ε of the group's grid at which the mechanism is defined."""
    return [e for e in group_of(mechanism.meaning).grid if e in mechanism.admissible]


@dataclass(frozen=True)
class Scene:
    """One mechanism at one ε.

    Attributes:
        mechanism: under attack.
        epsilon: of the slider.
        lexicon: its name in the catalogue.
    """

    mechanism: Mechanism
    epsilon: float
    lexicon: str

    @property
    def steps(self) -> list[Scene]:
        """The same at every step of the dial."""
        return [replace(self, epsilon=epsilon) for epsilon in defined_steps(self.mechanism)]

    @property
    def words(self) -> Lexicon:
        """The vocabulary."""
        return self.mechanism.lexicon

    @property
    def reading(self) -> str:
        """The mechanism and ε in words."""
        return say(
            "{mechanism} at {reading}",
            mechanism=self.mechanism.short,
            reading=group_of(self.mechanism.meaning).reading(self.epsilon),
        )
