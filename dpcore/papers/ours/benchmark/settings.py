"""What the benchmark measures, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.attack.trade.levels import Outputs
from dpcore.guarantee import MetricPrivacy, Status

if TYPE_CHECKING:
    from dpcore.guarantee import Guarantee
    from dpcore.study.plan import Settings

LEVELS = (0.05, 0.10, 0.25)
"""Shares of the words that are guessed."""
LADDER = (0.02, 0.05, 0.10, 0.25, 0.50)
"""The same and more: a curve of each mechanism, between whose points an AUC is met."""
ATTACK_LEVELS = (0.55, 0.60, 0.70)
"""AUC of the attacker on membership; .5 is a coin."""
METRIC, LOCAL = "metric", "local"
"""What a promised ε bounds: the loss per unit of Euclidean distance, or of any two words."""
HOLDS = (Status.PROVED, Status.CERTIFIED)
UNIT = "k-ary"
"""Whose cost a word is 1."""
VARIANTS: tuple[tuple[str, Settings], ...] = (
    ("neighbour-response", (("k", 3),)),
    ("neighbour-response", (("k", 30),)),
)
"""Beside the default settings: k is the dial between the word itself and a word like it."""
SEARCH = Outputs(100, 60, 2_000)
FINAL = Outputs(200, 300, 4_000)
"""Outputs while ε is looked for, and of what is recorded: columns that are closed forms say the
share to one or two percent of it, pairs of word and output to a tenth of it where it is .05."""


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        trials: of the texts, each divided anew.
        part: of the texts of the teaching corpus that are used.
        compared: test texts of each trial whose meaning is compared, by the encoder.
        timed: texts whose rewriting is timed.
        outputs: of a lexicon's words, while ε is looked for and at the ε that were found.
        calibrate: whether noise is certified for a lexicon first, where that takes minutes.
    """

    trials: int = 4
    part: float = 0.4
    compared: int = 4
    timed: int = 60
    outputs: tuple[Outputs, Outputs] = (SEARCH, FINAL)
    calibrate: bool = True

    @property
    def options(self) -> Settings:
        """For a plan."""
        found = [(o.columns, o.laws, o.draws) for o in self.outputs]
        return (
            ("trials", self.trials), ("part", self.part), ("compared", self.compared),
            ("timed", self.timed), ("outputs", tuple(found)),
        )  # fmt: skip


WHOLE = Size()
QUICK = Size(
    trials=2, part=0.2, compared=0, timed=10, calibrate=False,
    outputs=(Outputs(100, 60, 1_000), Outputs(100, 200, 2_000)),
)  # fmt: skip
"""Minutes in place of an hour: for a first look, not for a ranking."""


def promise_of(guarantee: Guarantee) -> tuple[str, float]:
    """What a guarantee bounds, and its ε: per unit of Euclidean distance, whatever its metric."""
    if isinstance(guarantee, MetricPrivacy):
        return METRIC, guarantee.epsilon * guarantee.euclidean_factor
    return LOCAL, guarantee.epsilon
