"""Events that tell two words apart: chosen on some outputs, bounded on others.

An event is a set of classes of outputs. A class is a single output, or all outputs whose distances
from the two words lie between the same bounds: of a law that is spread over thousands of words each
comes out once or never, and only such classes are seen often enough to be learned. Classes are put
in the order of their likelihood ratio, of which the first few are the event (the lemma of Neyman
and Pearson 1933 says that no other event of its probability tells more).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.arrays import BoolArray, FloatArray, IntArray

_SHARES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997, 0.999)
"""Of the outputs that were seen, where distances are cut; finer in the tail, where laws break."""

Classes = Callable[["IntArray"], "IntArray"]
"""From outputs to the classes in which they are, for one pair of words."""


def single(outputs: IntArray) -> IntArray:
    """Every output is a class of its own."""
    return outputs


@dataclass(frozen=True, eq=False)
class ByDistance:
    """Classes of outputs by their distances from both words of a pair.

    Attributes:
        distances: from outputs of the lexicon, shape (k,), to their distances from the two words,
            shape (2, k).
        edges: where each of the two is cut.
        words: of the lexicon; outputs from there on are a class of their own.
    """

    distances: Callable[[IntArray], FloatArray]
    edges: tuple[FloatArray, FloatArray]
    words: int

    @classmethod
    def learned(
        cls, distances: Callable[[IntArray], FloatArray], seen: IntArray, words: int
    ) -> ByDistance:
        """Cut where the outputs that were seen under both words lie."""
        inside = seen[seen < words]
        if not inside.size:
            return cls(distances, (np.empty(0), np.empty(0)), words)
        first, second = (np.unique(np.quantile(row, _SHARES)) for row in distances(inside))
        return cls(distances, (first, second), words)

    def __call__(self, outputs: IntArray) -> IntArray:
        """The class of each output, at least 0."""
        classes = np.zeros(outputs.shape, dtype=np.int64)
        inside = outputs < self.words
        distinct, back = np.unique(outputs[inside], return_inverse=True)
        if distinct.size:
            apart = self.distances(distinct)
            cells = [np.searchsorted(e, a) for e, a in zip(self.edges, apart, strict=True)]
            classes[inside] = (1 + cells[0] * (len(self.edges[1]) + 1) + cells[1])[back]
        return classes


@dataclass(frozen=True, eq=False)
class Sample:
    """Outputs of one word: the classes that were seen, ascending, and how often."""

    classes: IntArray
    counts: IntArray
    draws: int

    @classmethod
    def of(cls, outputs: IntArray, classes: Classes = single) -> Sample:
        """Count outputs by their class."""
        seen, counts = np.unique(classes(outputs), return_counts=True)
        return cls(seen, counts, len(outputs))

    def count(self, classes: IntArray) -> IntArray:
        """How often each of these classes was seen."""
        if not self.classes.size:
            return np.zeros(classes.shape, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.classes, classes), self.classes.size - 1)
        return np.where(self.classes[place] == classes, self.counts[place], 0)

    def inside(self, event: IntArray) -> int:
        """How many of the outputs are in an event, a sorted array of classes."""
        within: BoolArray = np.isin(self.classes, event)
        return int(self.counts[within].sum())


@dataclass(frozen=True, eq=False)
class Promising:
    """The best events of one pair of words, by three measures; for choosing, they bound nothing.

    Attributes:
        beyond: standard errors by which ln[(P(S|w) − δ)/P(S|w′)] seems to exceed what is allowed.
        event: the classes of that S, sorted.
        loss: about the largest such logarithm that the sample is sure of.
        loss_event: of that S.
        delta: about the largest P(S|w) − e^allowed·P(S|w′) that the sample is sure of.
        delta_event: of that S.
    """

    beyond: float
    event: IntArray
    loss: float
    loss_event: IntArray
    delta: float
    delta_event: IntArray


def promising(
    likely: tuple[Sample, Sample],
    unlikely: tuple[Sample, Sample],
    allowed: float,
    delta: float,
    deviations: float,
) -> Promising:
    """The best events of a pair, by the order of the likelihood ratio.

    Args:
        likely: outputs of the word under which the event should be likelier, in two parts: the
            first puts classes in order, the second says how many of them are worth taking. By the
            same outputs, all that came out once would seem to belong to the event.
        unlikely: of the other word.
        allowed: ε·d, the loss that the promise allows.
        delta: the δ that it allows.
        deviations: how many standard deviations are taken off where something is to be sure: the
            bounds are those of two Poisson counts on the scale of square roots, where their
            deviation is 1/2. That is quick, and near enough for a choice.
    """
    classes, count = likely[0].classes, likely[0].counts
    # Half a count more under the other word: a class it never gave by chance is not a proof.
    order = np.lexsort((classes, -count / (unlikely[0].count(classes) + 0.5)))
    ordered = classes[order]
    first = np.cumsum(likely[1].count(ordered))
    second = np.cumsum(unlikely[1].count(ordered))
    p, q = first / likely[1].draws, (second + 0.5) / unlikely[1].draws
    factor = np.exp(min(allowed, 700.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # To first order the variance of ln p is (1 − p)/(n·p); an event of all outputs has none,
        # and shows nothing however sure it is.
        spread = (1.0 - p) * p / likely[1].draws / np.square(p - delta)
        spread += np.maximum(1.0 - q, 0.0) / (second + 0.5)
        error = np.maximum(np.sqrt(spread), 1.0 / likely[1].draws)
        seeming = np.log(np.maximum(p - delta, 0.0)) - np.log(q)
        beyond = np.where(p > delta, (seeming - allowed) / error, -np.inf)
        low = np.square(np.maximum(np.sqrt(first) - 0.5 * deviations, 0.0)) / likely[1].draws
        high = np.square(np.sqrt(second + 1.0) + 0.5 * deviations) / unlikely[1].draws
        high = np.minimum(high, 1.0)
        loss = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
    most = low - factor * high
    ends = [int(measure.argmax()) for measure in (beyond, loss, most)]
    events = [np.sort(ordered[: end + 1]) for end in ends]
    return Promising(
        float(beyond[ends[0]]),
        events[0],
        float(loss[ends[1]]),
        events[1],
        float(most[ends[2]]),
        events[2],
    )
