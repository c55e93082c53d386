"""The second half of the budget: new outputs of the last words, and what they prove.

Each event was chosen before any of these outputs was drawn, so its counts are binomial, and the
bounds of Clopper and Pearson hold; those of all events together but for the error that is stated
(union bound). The function is taken to answer every call independently of all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.blackbox.events import Sample
from dpcore.audit.montecarlo import clopper_pearson, loss_bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcore.arrays import IntArray
    from dpcore.audit.blackbox.promise import Outputs, Promise
    from dpcore.audit.blackbox.search import Finalist
    from dpcore.lexicon.lexicon import Lexicon

_SHOWN = 5  # outputs of an event that are named


@dataclass(frozen=True)
class Evidence:
    """One event, how often it happened for either word, and what follows.

    Attributes:
        word: w, for which it was expected more often.
        other: w′.
        distance: d(w, w′) in the metric of the promise, rounded up; None without one.
        outputs: the most frequent outputs in the event, at most five.
        size: of how many outputs it consists; by distance, how many of them were seen.
        by_distance: whether it is all outputs within some bounds of distance from the two words,
            and not a list of outputs.
        count: calls with w in which it happened, of `draws`.
        draws: see `count`.
        other_count: calls with w′, of `other_draws`.
        other_draws: see `other_count`.
        allowed: ln of the factor that the promise allows: ε·d, or ε.
        loss: lower bound on ln[(P(S|w) − δ)/P(S|w′)]; −∞ if nothing is shown.
        epsilon: the same per unit of distance: no smaller ε is true.
        delta: lower bound on P(S|w) − e^allowed·P(S|w′): no smaller δ is true at the claimed ε.
    """

    word: str
    other: str
    distance: float | None
    outputs: tuple[str, ...]
    size: int
    by_distance: bool
    count: int
    draws: int
    other_count: int
    other_draws: int
    allowed: float
    loss: float
    epsilon: float
    delta: float

    @property
    def broken(self) -> bool:
        """Whether the promise is refuted by it, but for the error."""
        return self.loss > self.allowed

    @property
    def event(self) -> str:
        """The event in words."""
        named = ", ".join(f"“{output}”" for output in self.outputs)
        if self.by_distance:
            return f"an output about as far from both words as {named or 'no other'}"
        if self.size == 1:
            return f"the output {named}" if named else "an output that then never came"
        more = ", …" if self.size > len(self.outputs) else ""
        return f"one of {self.size:,} outputs ({named}{more})"

    @property
    def sentence(self) -> str:
        """What was counted."""
        return (
            f"“{self.word}” gives {self.event} in {self.count:,} of {self.draws:,} calls, "
            f"“{self.other}” in {self.other_count:,} of {self.other_draws:,}"
        )


def evidence(
    finalists: Sequence[Finalist],
    outputs: Mapping[int, IntArray],
    promise: Promise,
    error: float,
    lexicon: Lexicon,
    names: Outputs,
) -> tuple[Evidence, ...]:
    """What new outputs of the finalists' words show, best first.

    Args:
        finalists: events that were chosen on other outputs.
        outputs: of each of their words, in order, none of them empty.
        promise: what is claimed.
        error: probability with which any of the bounds may be wrong.
        lexicon: names of words.
        names: names of outputs.
    """
    shown = [
        _evidence(finalist, outputs, promise, error / len(finalists), lexicon, names)
        for finalist in finalists
    ]
    return tuple(sorted(shown, key=lambda e: (-e.broken, -e.epsilon, -e.delta)))


def _evidence(
    finalist: Finalist,
    outputs: Mapping[int, IntArray],
    promise: Promise,
    error: float,
    lexicon: Lexicon,
    names: Outputs,
) -> Evidence:
    first, second = outputs[finalist.word], outputs[finalist.other]
    likely, unlikely = (Sample.of(part, finalist.classes) for part in (first, second))
    count, other = likely.inside(finalist.event), unlikely.inside(finalist.event)
    loss = loss_bound(count, len(first), other, len(second), delta=promise.delta, error=error)
    # The same two bounds say what follows for δ, so no more error is spent.
    low = clopper_pearson(count, len(first), 0.5 * error)[0]
    high = clopper_pearson(other, len(second), 0.5 * error)[1]
    beyond = low - float(np.exp(min(finalist.allowed, 700.0))) * high
    both = np.concatenate((first, second))
    within = both[np.isin(finalist.classes(both), finalist.event)]
    seen, often = np.unique(within, return_counts=True)
    frequent = seen[np.argsort(-often, kind="stable")][:_SHOWN]
    return Evidence(
        word=lexicon.words[finalist.word],
        other=lexicon.words[finalist.other],
        distance=None if promise.metric is None else finalist.units,
        outputs=tuple(names.names(frequent.tolist())),
        size=len(seen) if finalist.by_distance else len(finalist.event),
        by_distance=finalist.by_distance,
        count=count,
        draws=len(first),
        other_count=other,
        other_draws=len(second),
        allowed=finalist.allowed,
        loss=loss,
        epsilon=max(loss / finalist.units, 0.0),
        delta=max(beyond, 0.0),
    )
