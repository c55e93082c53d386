"""What a function under test is said to promise, and what its outputs are counted by."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.blackbox.function import Refusal
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.metric import Metric, distance_error, distances

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.audit.blackbox.function import Output
    from dpcore.lexicon.lexicon import Lexicon

ANY = "any"
"""In place of a metric: the promise holds between any two words, whatever their distance."""


@dataclass(frozen=True)
class Promise:
    """P(S|w) ≤ e^(ε·d(w, w′))·P(S|w′) + δ for every set S of outputs; d = 1 without a metric.

    Attributes:
        epsilon: ε.
        metric: of the lexicon's vectors; None: between any two words.
        delta: δ.
    """

    epsilon: float
    metric: Metric | None = Metric.EUCLIDEAN
    delta: float = 0.0

    @classmethod
    def of(cls, epsilon: float, metric: str | Metric, delta: float) -> Promise:
        """Check what was given.

        Raises:
            EpsilonError: ε is not a finite number > 0.
            ParameterError: an unknown metric, or δ outside [0, 1).
        """
        values = []
        for value in (epsilon, delta):
            try:
                values.append(float(value))
            except (TypeError, ValueError, OverflowError):
                values.append(math.nan)
        if not 0 < values[0] < math.inf:
            raise EpsilonError(f"epsilon must be a finite number > 0, got {str(epsilon)[:40]}")
        if not 0 <= values[1] < 1:
            raise ParameterError(f"delta must be in [0, 1), got {str(delta)[:40]}")
        name = str(metric).strip().lower()
        if name == ANY:
            return cls(values[0], None, values[1])
        try:
            return cls(values[0], Metric.parse(name), values[1])
        except ParameterError as error:
            raise ParameterError(f"{error}, or {ANY!r} for any two words") from None

    @property
    def name(self) -> str:
        """Of the metric, as it was given."""
        return ANY if self.metric is None else str(self.metric)

    @property
    def sentence(self) -> str:
        """What is claimed, in words."""
        between = per_unit(self.name)
        delta = f", δ = {self.delta:.6g}" if self.delta else ""
        return f"ε = {self.epsilon:.6g} {between}{delta}"

    def units(self, apart: FloatArray) -> FloatArray:
        """What ε is multiplied by at these distances."""
        return np.ones_like(apart) if self.metric is None else apart

    def apart(self, lexicon: Lexicon, words: IntArray, others: IntArray) -> FloatArray:
        """Distances of words from others, shape (words, others), rounded up to where they hold.

        Without a metric they are Euclidean, and serve to choose words and to tell outputs apart.
        """
        chosen, rows = lexicon.vectors[words], lexicon.vectors[others]
        metric = self.metric or Metric.EUCLIDEAN
        # A distance that is rounded down would make a promise smaller than it is.
        error = distance_error(lexicon.dimension)
        apart = distances(rows, chosen, metric)
        return apart + error if metric is Metric.ANGULAR else apart * (1.0 + error)


def per_unit(metric: str) -> str:
    """What ε is per, in words, for the name of a metric or "any"."""
    if metric == ANY:
        return "between any two words"
    name = metric if metric == Metric.ANGULAR else metric.capitalize()  # others are people
    return f"per unit of {name} distance"


class Outputs:
    """Outputs as numbers: words of the lexicon by their index, all else after them."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._others: dict[str | None, int] = {}

    def numbers(self, outputs: Iterable[Output]) -> IntArray:
        """The numbers of some outputs; everything that is no word is one and the same output."""
        known, n = self._lexicon, len(self._lexicon)
        numbers = []
        for output in outputs:
            if output in known:
                numbers.append(known.index(str(output)))
                continue
            name = None if isinstance(output, Refusal) else output
            numbers.append(self._others.setdefault(name, n + len(self._others)))
        return np.array(numbers, dtype=np.int64)

    def names(self, numbers: Iterable[int]) -> list[str]:
        """The outputs of some numbers, as they are shown."""
        others = list(self._others)
        n = len(self._lexicon)
        return [
            self._lexicon.words[i] if i < n else others[i - n] or str(Refusal("no word"))
            for i in numbers
        ]
