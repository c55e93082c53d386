"""Privacy loss of a whole text: the losses of its positions composed, not only added up.

Words are released with independent noise, so the loss between two texts of one length is a sum of
independent losses, one for each position, and the sum of their largest values is hardly ever
reached. With L the loss of an output, drawn from the first text, the least δ that is true of the
two at E is

    δ(E) = P(L = ∞) + E[(1 − e^(E − L))₊]

(the hockey-stick divergence). The same law says how well a test can do that claims “the first text”
and is wrong of the second one with probability α: the best test claims it where L is largest
(Neyman and Pearson 1933), and 1 − its power is the trade-off function of f-differential privacy
(Dong, Roth, Su 2022, Definition 2.1).

The losses of each position go up to the next point of a grid, which can only raise δ and the power;
the laws of sums come by FFT, and a bound on the error of the FFT is added. So both are bounds, and
sharp but for the width of the grid.

Bounds for all texts at once are in `dpcore.audit.composition`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import FloatArray, a_number
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import UNIT
from dpcore.mechanisms.mechanism import Mechanism

POINTS = 20_000
"""Points of the grid of losses between the least and the largest sum of all positions."""
_RARE = 1e-6  # probability of an error below which two tests are not compared
_NEGLIGIBLE = 1e-15  # mass of the least likely losses that counts as infinite, in all


@dataclass(frozen=True, eq=False)
class Losses:
    """Law of a privacy loss on a grid, rounded up.

    Attributes:
        step: h, the width of the grid, > 0.
        first: the loss of the first mass, in steps.
        masses: P(L = (first + i)·h), shape (m,), from below or above by at most `error` in all.
        infinite: P(L = ∞).
        error: bound on the sum of the errors of `masses`.
    """

    step: float
    first: int
    masses: FloatArray
    infinite: float
    error: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Bound δ at ε, by at most 1."""
        points = (self.first + np.arange(self.masses.size)) * self.step
        above = points > epsilon
        gain = -np.expm1(epsilon - points[above])
        total = float(self.masses[above] @ gain) + self.infinite
        # An error counts for at most the largest gain: beyond the largest loss for nothing.
        total += self.error * float(gain.max(initial=0.0))
        return min(1.0, a_number(total * (1.0 + 1e-9), "δ of a text"))

    def epsilon(self, delta: float) -> float:
        """Return the least ε of the grid at which δ is at most this; ∞ if there is none."""
        if not self.infinite + self.error <= delta:
            return math.inf
        low, high = self.first - 1, self.first + self.masses.size
        while high - low > 1:  # δ falls as ε rises
            middle = (low + high) // 2
            if self.delta(middle * self.step) <= delta:
                high = middle
            else:
                low = middle
        return high * self.step

    def best_tests(self) -> BestTests:
        """Return the best tests between the two texts, their powers rounded up."""
        largest_first = np.arange(self.masses.size)[::-1]
        points = (self.first + largest_first) * self.step
        masses = self.masses[largest_first]
        with np.errstate(divide="ignore"):
            of_second = np.exp(np.minimum(np.log(masses) - points, 0.0))
        # An error of masses moves every line δ(E) + e^E·α by no more than itself.
        powers = (np.cumsum(masses) + self.infinite + self.error) * (1.0 + 1e-9)
        start = self.infinite + self.error
        rates = np.minimum(np.cumsum(of_second) * (1.0 - 1e-9), 1.0)
        return BestTests(
            np.concatenate(([0.0], rates, [1.0])),
            np.minimum(np.concatenate(([start], powers, [1.0])), 1.0),
        )

    @property
    def mean(self) -> float:
        """Mean of a finite loss: the Kullback-Leibler divergence, rounded up by a step."""
        points = (self.first + np.arange(self.masses.size)) * self.step
        return float(self.masses @ points)


@dataclass(frozen=True, eq=False)
class BestTests:
    """Best tests of one text against another; between two points the power is linear.

    Attributes:
        rates: false-positive rates α, from 0 to 1, shape (m,).
        powers: true-positive rates that no test with α exceeds, shape (m,): 1 − f(α), f the
            trade-off function.
    """

    rates: FloatArray
    powers: FloatArray

    def power(self, rates: ArrayLike) -> FloatArray:
        """Return the most that a test finds whose false-positive rate is at most this."""
        return np.interp(np.asarray(rates, dtype=np.float64), self.rates, self.powers)

    @property
    def auc(self) -> float:
        """Area under the curve: of two outputs, one of each text, the right one is named."""
        return float(np.trapezoid(self.powers, self.rates))

    @property
    def gaussian(self) -> float:
        """Least μ whose Gaussian test is as good wherever both errors are `_RARE` or more.

        It is that of Gaussian differential privacy but for the ends, where bounded losses are far
        from a Gaussian, and an error of computation counts as an infinite one.
        """
        from scipy.special import ndtri

        # At the points alone: the power of a Gaussian is concave, a chord lies below it.
        most = min(1.0 - _RARE, float(self.power(_RARE)))
        rates = np.concatenate(([_RARE], self.rates))
        powers = np.concatenate(([most], self.powers))
        inside = (rates >= _RARE) & (powers <= 1.0 - _RARE)
        return float((ndtri(powers[inside]) - ndtri(rates[inside])).max(initial=0.0))


def place_losses(log_first: FloatArray, log_second: FloatArray, step: float) -> Losses:
    """Compute the law of the loss of one position.

    Args:
        log_first: ln P(y | w) of every output, or bounds from above, shape (n,); −∞ for one that
            never comes out. Masses and losses rise with it, and so does δ.
        log_second: ln P(y | w′), or bounds from below, shape (n,).
        step: width of the grid.
    """
    possible = log_first > -math.inf
    mass = np.exp(log_first[possible])
    with np.errstate(invalid="ignore"):
        loss = log_first[possible] - log_second[possible]
    finite = loss < math.inf
    # Up to the next point; a loss that is on one but for rounding may go one further.
    places = np.ceil(loss[finite] / step * (1.0 + 4.0 * UNIT) + 1e-9).astype(np.int64)
    first = int(places.min(initial=0))
    masses = np.zeros(int(places.max(initial=first)) - first + 1)
    np.add.at(masses, places - first, mass[finite])
    return Losses(step, first, masses, float(mass[~finite].sum()), mass.size * UNIT)


def compose_losses(parts: Sequence[Losses]) -> Losses:
    """Compose independent losses: return the law of their sum. All are on one grid.

    Raises:
        ParameterError: there are none, or their grids differ.
    """
    from scipy.signal import fftconvolve

    if not parts or len({part.step for part in parts}) > 1:
        raise ParameterError("losses can be composed only if there are some, on one grid")
    todo = sorted(parts, key=lambda part: part.masses.size)
    while len(todo) > 1:
        left, right = todo.pop(0), todo.pop(0)
        size = left.masses.size + right.masses.size - 1
        masses = np.maximum(fftconvolve(left.masses, right.masses), 0.0)
        # Each of the transforms is off by at most 5·log2(N)·u in the Euclidean norm, relative
        # (Higham 2002, Theorem 24.2), a sum of N errors by √N times that.
        transforms = 3.0 * 5.0 * math.log2(2.0 * size + 2.0) * UNIT * math.sqrt(2.0 * size)
        norms = float(np.linalg.norm(left.masses) * np.linalg.norm(right.masses))
        joined = Losses(
            left.step,
            left.first + right.first,
            masses,
            1.0 - (1.0 - left.infinite) * (1.0 - right.infinite),
            left.error + right.error + transforms * norms,
        )
        joined = _trimmed(joined)
        place = next(
            (i for i, other in enumerate(todo) if other.masses.size > joined.masses.size),
            len(todo),
        )
        todo.insert(place, joined)
    return todo[0]


def _trimmed(losses: Losses) -> Losses:
    """Cut off the improbable ends: the upper counts as infinite, the lower moves up."""
    ends = np.cumsum(losses.masses)
    begin = int(np.searchsorted(ends, _NEGLIGIBLE))
    tail = np.cumsum(losses.masses[::-1])
    stop = losses.masses.size - int(np.searchsorted(tail, _NEGLIGIBLE))
    if stop <= begin:
        return losses
    masses = losses.masses[begin:stop].copy()
    masses[0] += float(losses.masses[:begin].sum())
    infinite = losses.infinite + float(losses.masses[stop:].sum())
    return Losses(losses.step, losses.first + begin, masses, min(1.0, infinite), losses.error)


def document_losses(
    mechanism: Mechanism,
    epsilon: float,
    first: Sequence[int | str] | NDArray[np.int64],
    second: Sequence[int | str] | NDArray[np.int64],
    points: int = POINTS,
) -> Losses:
    """Compute the loss of a whole text between two, seen from the first one.

    Args:
        mechanism: with a computed law; each position gets independent noise.
        epsilon: of every word.
        first: the words of the text that is released, shape (k,).
        second: as many words of the other text.
        points: of the grid, over the sum of the largest losses.

    Raises:
        ParameterError: the texts differ in length or not at all, the law is not computed, or no
            bound on its error is known.
        UnknownWordError: a word is not in the vocabulary.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"the law of {mechanism.short} is estimated, and losses need one that is computed; "
            "`dpcore.audit.profiles` has those of noise added to vectors"
        )
    one_text, other_text = mechanism.check_words(first), mechanism.check_words(second)
    if one_text.size != other_text.size:
        raise ParameterError(
            f"the two texts must have the same number of words, got {one_text.size} and "
            f"{other_text.size}"
        )
    differ = one_text != other_text
    pairs, counts = np.unique(
        np.stack((one_text[differ], other_text[differ])), axis=1, return_counts=True
    )
    if not counts.size:
        raise ParameterError("the two texts are the same: there is nothing to tell apart")
    bounds: dict[int, tuple[FloatArray, FloatArray]] = {}
    for word in np.unique(pairs).tolist():
        known = mechanism.log_bounds(word, epsilon)
        if known is None:
            raise ParameterError(
                f"no bound on the error of the law of {mechanism.short} is known, and an unknown "
                "error is not 0: losses of a text are not composed from it"
            )
        bounds[word] = known
    spans = [_span(bounds[w][1], bounds[v][0]) for w, v in pairs.T.tolist()]
    width = float(np.dot(spans, counts))
    step = max(width / points, 1e-9)
    parts: list[Losses] = []
    for (w, v), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        parts += [place_losses(bounds[w][1], bounds[v][0], step)] * count
    return compose_losses(parts)


def _span(log_first: FloatArray, log_second: FloatArray) -> float:
    """Return the largest finite |loss| of one position."""
    with np.errstate(invalid="ignore"):
        losses = np.abs(log_first - log_second)
    return float(losses[np.isfinite(losses)].max(initial=0.0))
