"""The three groups of mechanisms, each with a slider of its own: their ε are not one quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.layout import number
from pages.shared.language import ENGLISH, later, numeral, speaking

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcore.mechanisms.mechanism import Mechanism

# Finer where a decade begins, so that neighbouring steps differ by 11 to 25 % all the way.
_STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)


def _decades(first: int, last: int) -> tuple[float, ...]:
    grid = [float(f"{step:g}e{power}") for power in range(first, last) for step in _STEPS]
    return (*grid, float(f"1e{last}"))


@dataclass(frozen=True)
class Group:
    """Mechanisms whose ε means the same.

    Attributes:
        name: in links: the slider is `eps_<name>`, the choice of mechanisms `<name>`.
        title: for people.
        explanation: one sentence on what ε bounds.
        meanings: of ε.
        grid: the steps of the slider: ε, whatever is shown of it.
        start: where the slider begins, a value of `grid`.
        logarithm: whether ln ε is shown and stands in links. The slider hands over ε: nobody behind
            it converts anything.
    """

    name: str
    title: str
    explanation: str
    meanings: tuple[EpsilonMeaning, ...]
    grid: tuple[float, ...]
    start: float
    logarithm: bool = False

    def label(self, epsilon: float) -> str:
        """A step of the slider as it is shown and as it stands in links."""
        return f"{math.log(epsilon) if self.logarithm else epsilon:g}"

    def reading(self, epsilon: float) -> str:
        """A step of the slider in running text: ε, and ln ε where that is what is shown."""
        if self.logarithm:
            return f"ln ε = {numeral(self.label(epsilon))} (ε = {numeral(number(epsilon))})"
        return f"ε = {numeral(f'{epsilon:,g}')}"

    def finding(self, epsilon: float) -> str:
        """The same for a finding, which is in English in every language."""
        with speaking(ENGLISH):
            return self.reading(epsilon)


GROUPS = (
    Group(
        "metric",
        later("Metric privacy: ε per distance"),
        later(
            "The odds between two words are bounded by e^(ε × their distance): near words are "
            "harder to tell apart than far ones."
        ),
        (EpsilonMeaning.METRIC,),
        _decades(-1, 3),
        12.0,
    ),
    Group(
        "log",
        later("Metric privacy, huge ε: ln ε"),
        later(
            "The claim is the same, e^(ε × distance), but these mechanisms change so slowly "
            "with ε that papers give it in thousands and millions; so the slider shows its "
            "logarithm."
        ),
        (EpsilonMeaning.METRIC_LOG,),
        tuple(math.exp(quarters / 4) for quarters in range(8, 81)),
        math.exp(10.0),
        logarithm=True,
    ),
    Group(
        "local",
        later("Local privacy: ε for any two words"),
        later(
            "The odds between any two words of the vocabulary, near or far, are bounded by e^ε; "
            "where a δ is shown, probabilities may exceed that bound by δ."
        ),
        (EpsilonMeaning.LOCAL, EpsilonMeaning.LOCAL_APPROXIMATE),
        _decades(-1, 4),
        60.0,
    ),
)

START_EPSILON = {"metric": 2.5}
"""By group, where an attacker of the bundled lexicon learns something and not everything."""


def group_of(meaning: EpsilonMeaning) -> Group:
    """The group that a meaning of ε belongs to."""
    return next(group for group in GROUPS if meaning in group.meanings)


def grouped(mechanisms: Iterable[Mechanism]) -> list[tuple[Group, list[Mechanism]]]:
    """The groups that have a mechanism, each with its own, in their order."""
    every = list(mechanisms)
    parts = [(group, [m for m in every if m.meaning in group.meanings]) for group in GROUPS]
    return [(group, members) for group, members in parts if members]


def admissible_grid(group: Group, mechanisms: Iterable[Mechanism]) -> tuple[float, ...]:
    """The steps of a group's slider at which at least one of its mechanisms is defined.

    The grid is the same for everybody except that A4-like mechanisms begin at the low end of
    their domain, which depends on the lexicon.
    """
    if not group.logarithm:
        return group.grid
    low = min((mechanism.admissible.low for mechanism in mechanisms), default=0.0)
    inside = tuple(epsilon for epsilon in group.grid if epsilon > low)
    return inside or group.grid[-1:]
