"""What may be asked of ε: goals about what is learned, what is left, and words of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.papers.written import Filled
from pages.shared.language import later
from pages.tradeoff.quantities import LEAKAGES, UTILITIES


@dataclass(frozen=True)
class Goal:
    """What may be asked for.

    Attributes:
        key: in links.
        title: in the list.
        quantity: of a recorded curve, of `Target`, or "accuracy".
        unit: behind the number.
        most: whether the number is the most that is allowed; else the least that is wanted.
        start: the number of a fresh visit.
        ends: smallest and largest number.
    """

    key: str
    title: str
    quantity: str
    unit: str
    most: bool
    start: float
    ends: tuple[float, float] = (0.0, 100.0)

    @property
    def measured(self) -> bool:
        """Whether it is about words of one's own, and so is measured now."""
        return self.quantity in {"nw", "sw", "effective"}


BOUND = later("Bound")
"""What stands above a number without a unit."""
TAUGHT = {one.name: (one.title, *one.data) for one in UTILITIES if one.data is not None}
"""By name in links: title, record, and labels or corpus."""


def _learned() -> tuple[Goal, ...]:
    """At most so much of what a stranger learns."""
    return tuple(
        Goal(
            one.key,
            Filled("{learned} at most", learned=Filled(one.counted[0])),
            one.key,
            one.counted[1],
            True,
            100 * one.start,
        )
        for one in LEAKAGES
        if one.key != "auc"
    )


def _taught() -> tuple[Goal, ...]:
    """At most so much less of what texts teach."""
    return tuple(
        Goal(
            name,
            Filled("{title}: accuracy lost, at most", title=Filled(title)),
            "accuracy",
            later("points"),
            True,
            5.0,
        )
        for name, (title, _, _) in TAUGHT.items()
    )


GOALS = (
    *_learned(),
    Goal(
        "meaning",
        later("Meaning left, at least"),
        "meaning",
        later("% of the meaning"),
        False,
        30.0,
    ),
    Goal("kept", later("Words that stay, at least"), "kept", later("of 100 words"), False, 20.0),
    *_taught(),
    Goal("nw", later("Nw of words of yours, at most"), "nw", "", True, 0.5, (0.0, 1.0)),
    Goal(
        "sw",
        later("Sw of words of yours, at least"),
        "sw",
        later("outputs in 1,000"),
        False,
        10.0,
        (1.0, 1e3),
    ),
    Goal(
        "effective",
        later("Effective number of outputs, at least"),
        "effective",
        "",
        False,
        10.0,
        (1.0, 1e6),
    ),
)
