"""What is said below a figure, and sentences under sliders and tallies, which have none."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.attack.words import limit_text
from dpcore.plots.layout import number

MOST_WORDS = 25
"""Of a finding."""


@dataclass(frozen=True)
class Caption:
    """What is said of a figure, from the table that it is drawn from.

    Attributes:
        finding: what there is to see, in at most `MOST_WORDS` words.
        how: all numbers that are read from it, and how they were computed.
    """

    finding: str
    how: str

    @property
    def alternative(self) -> str:
        """The figure in words, for who does not see it."""
        return f"{self.finding} {self.how}"


def epsilon_reading(meaning: EpsilonMeaning, epsilon: float, nearest: float | None) -> str:
    """What a value of ε claims to bound, in numbers: by what one output may multiply odds.

    Args:
        meaning: of ε.
        epsilon: its value.
        nearest: typical distance of a word of the text to its nearest neighbour; None if unknown.
    """
    if meaning in (EpsilonMeaning.LOCAL, EpsilonMeaning.LOCAL_APPROXIMATE):
        return (
            f"ε = {number(epsilon)}: one output may multiply the odds between any two words by "
            f"e^{number(epsilon)}: {limit_text(epsilon)}."
        )
    if nearest is None:
        return f"ε = {number(epsilon)} per unit of distance."
    near = float(f"{nearest:.3g}")  # so that the reader's calculator comes to the same
    return (
        f"ε = {number(epsilon)}: one output may multiply the odds by e^({number(epsilon)} × "
        f"{near:g}) against a nearest word {near:g} away: {limit_text(epsilon * near)}."
    )


def tally_caption(word: str, kept: int, different: int, draws: int, title: str) -> str:
    """What many draws show: in how many the word stayed, and how many different outputs came."""
    outputs = "1 different word" if different == 1 else f"{different} different words"
    return f"{title}: in {draws} draws “{word}” stayed {kept} times and became {outputs}."
