"""Channels of mechanisms: the likelihood of an output under every word.

For a short list of words, the exact law of each is computed, for any mechanism that has one. For a
whole lexicon one *column* P(y | ·) is computed instead of n laws: for every word it needs the
distance to y and the normaliser, which come from one product with the `Spectrum` of the lexicon,
prepared once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.output.prior import Prior
from dpcore.attack.output.spectrum import Spectrum, spectrum_of
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, distances, paired_distances
from dpcore.lexicon.neighbours import rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS, MAX_ATTACK_WORDS
from dpcore.mechanisms.distances import RELATIVE_ERROR, Normalisers, near_distances
from dpcore.mechanisms.gumbel.log_law import log_few_candidates
from dpcore.mechanisms.gumbel.repaired import heads
from dpcore.mechanisms.mechanism import (
    ColumnForm,
    ExponentialForm,
    Mechanism,
    NearestForm,
    NoisyNearestForm,
)
from dpcore.noise.samplers import (
    candidate_weights,
    log_survival_and_density,
    whole_vocabulary_weight,
)

_NEVER = -700.0  # ln of the smallest probability that counts
_MOVED = -_NEVER * RELATIVE_ERROR  # of such a logarithm by the error of a distance

# Likelihood of one output under every word: the input of a Bayes attacker.


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Log-likelihoods ln P(y | w) of one output y and many words w; read-only arrays.

    Attributes:
        output: y.
        epsilon: privacy parameter.
        words: w, ascending, shape (m,).
        logs: ln P(y | w), shape (m,); −∞ where it is 0 or too small for the computation.
        errors: bound on the absolute error of each entry of `logs`, shape (m,); for an entry of −∞
            0 where the probability is known to be 0.
        method: method of the computation, as text.
    """

    output: int
    epsilon: float
    words: IntArray
    logs: FloatArray
    errors: FloatArray
    method: str

    def __post_init__(self) -> None:
        for array in (self.words, self.logs, self.errors):
            array.setflags(write=False)

    @property
    def impossible(self) -> BoolArray:
        """True for words that are known never to give y, shape (m,)."""
        return np.asarray(np.isneginf(self.logs) & (self.errors == 0))

    def of(self, word: int) -> float:
        """Return ln P(y | w) of one word.

        Raises:
            ParameterError: the word is not among those of this channel.
        """
        place = int(np.searchsorted(self.words, word))
        if not (place < self.words.size and self.words[place] == word):
            raise ParameterError(f"word {word} is not among the {self.words.size:,} that are known")
        return float(self.logs[place])


Columns = Callable[[float, slice], tuple[FloatArray, FloatArray | float]]
"""Maps ε and some of the prepared outputs to ln P(y | w) of these outputs y and all words w of the
channel, shape (outputs, m), and to bounds on their errors: one for each, or one for all that count
beside the largest of an output."""


@dataclass(frozen=True)
class Observation:
    """One output, prepared for any ε.

    Attributes:
        column: its likelihood as a function of ε.
    """

    column: Callable[[float], Likelihood]

    def at(self, epsilon: float) -> Likelihood:
        """Return its likelihood under every word at ε.

        Raises:
            EpsilonError: ε is not admissible.
        """
        return self.column(epsilon)


class Channel(ABC):
    """A mechanism from the attacker's view: likelihoods of outputs under words.

    Attributes:
        mechanism: the mechanism.
        words: words with a known likelihood, ascending, shape (m,).
    """

    mechanism: Mechanism
    words: IntArray

    @abstractmethod
    def seen(self, output: int) -> Observation:
        """Prepare one output.

        Raises:
            ParameterError: there is no such word.
        """

    def seen_all(self, outputs: Sequence[int]) -> list[Observation]:
        """Prepare several outputs, faster than one by one if they can share work."""
        return [self.seen(output) for output in outputs]

    def columns(self, outputs: IntArray) -> Columns:
        """Prepare a block of outputs, for sums over all words."""
        observations = self.seen_all(outputs.tolist())

        def at(epsilon: float, some: slice) -> tuple[FloatArray, FloatArray | float]:
            columns = [output.at(epsilon) for output in observations[some]]
            return (
                np.stack([column.logs for column in columns]),
                np.stack([column.errors for column in columns]),
            )

        return at

    def prepare(self, epsilons: Sequence[float]) -> None:  # noqa: B027 - most share nothing
        """Do work that the next few ε share, at once; results are the same without it."""

    def staying(self, epsilon: float) -> FloatArray:
        """Return P(w | w) of every word of the channel, shape (m,).

        Raises:
            ParameterError: the mechanism would need a law for every word of a whole lexicon.
        """
        raise ParameterError(
            f"{self.mechanism.short} needs a law of its own for each of the {self.words.size:,} "
            "words: list the words to compare, or take tem or truncated-gumbel-repaired"
        )

    def agreeing(self, epsilon: float) -> FloatArray | None:
        """Return Σ_y P(y | w)² of every word, shape (m,); None if columns have to be summed."""
        return None

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int] | None:
        """Return S of `dpcore.attack.output.success` from all outputs, its error, their number.

        None if outputs have to be drawn.

        Raises:
            ParameterError: the prior holds words possible that are not in this channel.
        """
        return None


# Channel of a short list of words: the exact law of each, for any mechanism that has one.


class Rows(Channel):
    """Laws of at most `limits.MAX_ATTACK_PRIOR_WORDS` words; caches those at the last ε."""

    def __init__(self, mechanism: Mechanism, words: IntArray) -> None:
        distinct = np.unique(words)
        if not 1 <= distinct.size <= MAX_ATTACK_PRIOR_WORDS:
            raise ParameterError(
                f"a list of possible words holds 1 to {MAX_ATTACK_PRIOR_WORDS} words, got "
                f"{distinct.size:,}"
            )
        self.mechanism, self.words = mechanism, distinct
        vectors = mechanism.lexicon.vectors
        self._rankings = rank(vectors, vectors[distinct])
        self._last: tuple[float, FloatArray, FloatArray, str] | None = None

    def laws(self, epsilon: float) -> tuple[FloatArray, FloatArray, str]:
        """Return ln P(y | w) for all outputs, shape (m, n), bounds on its errors, the method."""
        value = self.mechanism.check_epsilon(epsilon)
        last = self._last
        if last is None or last[0] != value:
            last = self._last = (value, *self._laws(value))
        return last[1:]

    def _laws(self, epsilon: float) -> tuple[FloatArray, FloatArray, str]:
        mechanism = self.mechanism
        logs = np.empty((self.words.size, len(mechanism.lexicon)))
        errors = np.empty_like(logs)
        method = ""
        for i, (word, ranking) in enumerate(zip(self.words.tolist(), self._rankings, strict=True)):
            logs[i], errors[i], how = mechanism.doubted_log_law(word, epsilon, ranking)
            method = f"exact laws of {self.words.size:,} words ({how})"
        return logs, errors, method

    def staying(self, epsilon: float) -> FloatArray:
        """Return P(w | w) of every word of the list, shape (m,)."""
        logs = self.laws(epsilon)[0]
        return np.asarray(np.exp(logs[np.arange(self.words.size), self.words]))

    def agreeing(self, epsilon: float) -> FloatArray:
        """Sum the squares of each law."""
        return np.asarray(np.exp(2.0 * self.laws(epsilon)[0]).sum(axis=1))

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int]:
        """Sum the largest prior times likelihood over all outputs."""
        if not np.isin(prior.support, self.words).all():
            raise ParameterError("the prior holds words possible that are not in this channel")
        logs = self.laws(epsilon)[0] + prior.logs[self.words][:, None]
        return float(np.exp(logs.max(axis=0)).sum()), 0.0, logs.shape[1]

    def seen(self, output: int) -> Observation:
        """Prepare one output."""
        return Observation(partial(self._column, int(self.mechanism.check_words([output])[0])))

    def _column(self, output: int, epsilon: float) -> Likelihood:
        """Return a column of the laws."""
        logs, errors, method = self.laws(epsilon)
        return Likelihood(
            output,
            float(epsilon),
            self.words,
            logs[:, output].copy(),
            errors[:, output].copy(),
            method,
        )


# Columns of the mechanisms whose law is a closed form: TEM, calibrated TEM, repaired Gumbel.
#
# TEM:       ln P(y | w) = −min(η·D(w, y), c) − ln Z_w,  Z_w = Σ_y exp(−min(η·D(w, y), c))
# repaired:  ln P(y | w) = −s·d + ln(Σ_{i ≤ k < n} π_k/Z_k(w) + π_n/Z_n(w)), y the i-th nearest of w
#
# The distances to y and those of the nearest words are exact; Z_w and Z_n come from the spectrum.


Near = tuple[IntArray, IntArray, FloatArray]

_ROUNDING = 1e-11  # of a logarithm: exponents up to 1e3 from distances accurate to 1e-13


def log_normalisers(
    spectrum: Spectrum, strengths: FloatArray, cap: float
) -> tuple[FloatArray, FloatArray]:
    """Compute ln Σ_y exp(−min(s·D(w, y), c)) of every word, y = w included, and error bounds.

    Args:
        spectrum: of the distances D of n words.
        strengths: s, shape (E,).
        cap: c.

    Returns:
        Two arrays of shape (n, E).
    """

    def weight(distance: FloatArray) -> FloatArray:
        return np.exp(-np.minimum(np.multiply.outer(distance, strengths), cap))

    sums, errors = spectrum.sums(weight)
    # The 1 is the word itself, at distance 0. Sums are positive, even if rounding of their terms
    # of both signs makes them negative.
    total = 1.0 + np.maximum(sums, 0.0)
    logs = np.log(total)
    below = logs - np.log(np.maximum(total - errors, 1.0))  # no normaliser is below 1
    return logs, np.maximum(below, np.log1p(errors / total))


def _with_errors(spectrum: Spectrum, cap: float, strengths: list[float]) -> FloatArray:
    """Return `log_normalisers` and their errors, shape (E, 2, n)."""
    both = np.stack(log_normalisers(spectrum, np.array(strengths), cap))
    return np.moveaxis(both, 2, 0)


def _far(mechanism: Mechanism, outputs: IntArray, metric: Metric) -> FloatArray:
    """Return the distances of outputs from all words, shape (outputs, n), off by `_MOVED` at most.

    That is of an exponent of at most `_NEVER`: a logarithm that counts moves no more.
    """
    vectors = mechanism.lexicon.vectors
    rows = vectors[mechanism.check_words(outputs)].astype(np.float64)
    away = near_distances(rows, vectors, metric)
    away[np.arange(len(rows)), outputs] = 0.0
    return away


class PlainColumns(Channel):
    """Channel of a mechanism that computes its columns itself, over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: ColumnForm) -> None:
        self.mechanism, self.form = mechanism, form
        self.words = np.arange(len(mechanism.lexicon))

    def prepare(self, epsilons: Sequence[float]) -> None:
        """Do what the law's own form does for some ε at once."""
        if self.form.prepare is not None:
            self.form.prepare(list(epsilons))

    def seen(self, output: int) -> Observation:
        """Prepare one output."""
        return self.seen_all([output])[0]

    def seen_all(self, outputs: Sequence[int]) -> list[Observation]:
        """Prepare several outputs: their distances from all words, if the law uses distances."""
        words = self.mechanism.check_words(list(outputs))
        vectors = self.mechanism.lexicon.vectors
        away: Sequence[FloatArray | None] = [None] * words.size
        if self.form.metric is not None:
            away = list(distances(vectors, vectors[words], self.form.metric))
        return [
            Observation(partial(self._column, word, row))
            for word, row in zip(words.tolist(), away, strict=True)
        ]

    def columns(self, outputs: IntArray) -> Columns:
        """Prepare a block of outputs: their distances serve every ε."""
        words = self.mechanism.check_words(outputs)
        away: Sequence[FloatArray | None] = [None] * words.size
        if self.form.metric is not None:
            away = list(_far(self.mechanism, words, self.form.metric))

        def at(epsilon: float, some: slice) -> tuple[FloatArray, FloatArray | float]:
            logs = np.empty((words[some].size, self.words.size))
            for row, word, far in zip(logs, words[some].tolist(), away[some], strict=True):
                row[:] = self.form.column(word, far, epsilon)
            return logs, self.form.error * max(1.0, -_NEVER) + _MOVED

        return at

    def _column(self, output: int, away: FloatArray | None, epsilon: float) -> Likelihood:
        logs = self.form.column(output, away, epsilon)
        # An impossible output has no error.
        size = np.where(np.isneginf(logs), 0.0, np.maximum(np.abs(logs), 1.0))
        errors = self.form.error * size
        method = self.mechanism.law_method
        return Likelihood(output, float(epsilon), self.words, logs, errors, method)


class ExponentialColumns(Channel):
    """Channel of TEM and calibrated TEM over their whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: ExponentialForm, progress: Progress) -> None:
        self.mechanism, self.form = mechanism, form
        self.words = np.arange(len(mechanism.lexicon))
        self.spectrum = spectrum_of(mechanism.lexicon, form.metric, progress)
        self._normalisers = Normalisers(partial(_with_errors, self.spectrum, form.cap))

    def prepare(self, epsilons: Sequence[float]) -> None:
        """Compute the normalisers of some ε at once."""
        self._normalisers.all_at([self.form.strength(epsilon) for epsilon in epsilons])

    def normalisers(self, strength: float) -> tuple[FloatArray, FloatArray]:
        """Return ln Z of every word at η and bounds on the errors; caches the last few η."""
        logs, errors = self._normalisers.at(strength)
        return logs, errors

    def staying(self, epsilon: float) -> FloatArray:
        """Return P(w | w) = 1/Z_w of every word, shape (n,)."""
        return np.asarray(np.exp(-self.normalisers(self.form.strength(epsilon))[0]))

    def agreeing(self, epsilon: float) -> FloatArray:
        """Return Z_w(2η, 2c)/Z_w(η, c)²: squares have twice the strength and twice the cap."""
        strength = self.form.strength(epsilon)
        twice = log_normalisers(self.spectrum, np.array([2.0 * strength]), 2.0 * self.form.cap)[0]
        return np.asarray(np.exp(twice[:, 0] - 2.0 * self.normalisers(strength)[0]))

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int] | None:
        """Return S under a uniform prior, where the output is the best guess (see `success`)."""
        if prior.probability.max() != prior.probability.min():
            return None
        logs, errors = self.normalisers(self.form.strength(epsilon))
        mean = float(np.exp(-logs).mean())
        return mean, mean * float(np.expm1(errors.max())), logs.size

    def seen(self, output: int) -> Observation:
        """Prepare one output: its distance from every word."""
        return self.seen_all([output])[0]

    def seen_all(self, outputs: Sequence[int]) -> list[Observation]:
        """Prepare several outputs."""
        words = self.mechanism.check_words(list(outputs))
        vectors = self.mechanism.lexicon.vectors
        away = distances(vectors, vectors[words], self.spectrum.metric)
        prepared = zip(words.tolist(), away, strict=True)
        return [Observation(partial(self._column, output, row)) for output, row in prepared]

    def columns(self, outputs: IntArray) -> Columns:
        """Prepare a block of outputs: their distances serve every ε."""
        away = _far(self.mechanism, outputs, self.form.metric)

        def at(epsilon: float, some: slice) -> tuple[FloatArray, FloatArray | float]:
            strength = self.form.strength(epsilon)
            normalisers, errors = self.normalisers(strength)
            logs = away[some] * strength
            np.minimum(logs, self.form.cap, out=logs)
            np.negative(logs, out=logs)
            logs -= normalisers
            return logs, float(errors.max()) + _ROUNDING + _MOVED

        return at

    def _column(self, output: int, away: FloatArray, epsilon: float) -> Likelihood:
        """Evaluate the closed form from the distances of the output."""
        strength = self.form.strength(epsilon)
        normalisers, errors = self.normalisers(strength)
        logs = -np.minimum(strength * away, self.form.cap) - normalisers
        return Likelihood(
            output, float(epsilon), self.words, logs, errors + _ROUNDING, "closed form"
        )


class NearColumns(Channel):
    """Channel of a mechanism that treats the nearest words of each word separately.

    Args:
        mechanism: over the lexicon.
        count: number of nearest words, each word itself included.
        progress: of the spectrum and of the table of neighbours, if they are not cached yet.
    """

    def __init__(self, mechanism: Mechanism, count: int, progress: Progress) -> None:
        self.mechanism = mechanism
        lexicon = mechanism.lexicon
        self.words = np.arange(len(lexicon))
        self.spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN, progress)
        self.table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(count, progress)

    def seen(self, output: int) -> Observation:
        """Prepare one output: its distance from every word, and the words that have it near."""
        return self.seen_all([output])[0]

    def seen_all(self, outputs: Sequence[int]) -> list[Observation]:
        """Prepare several outputs."""
        words = self.mechanism.check_words(list(outputs))
        vectors = self.mechanism.lexicon.vectors
        away = distances(vectors, vectors[words])
        return [
            Observation(partial(self._column, word, row, self._near(word)))
            for word, row in zip(words.tolist(), away, strict=True)
        ]

    @abstractmethod
    def _column(self, output: int, away: FloatArray, near: Near, epsilon: float) -> Likelihood:
        """Return the likelihood, from the distances of the output and the result of `_near`."""

    def _near(self, output: int) -> Near:
        """Return the words that have `output` among their nearest.

        Returns:
            Words w, shape (m,); the index of the output in the order of distance from w (of equal
            distances the lowest index first), shape (m,); the distances of the nearest words of
            w in that order, shape (m, count).
        """
        vectors = self.mechanism.lexicon.vectors
        words = np.flatnonzero((self.table.indices == output).any(axis=1))
        near = self.table.indices[words].astype(np.int64)
        # The table has float32 distances; a law needs more.
        left = np.repeat(words, near.shape[1])
        far = paired_distances(vectors[left], vectors[near.reshape(-1)]).reshape(near.shape)
        order = np.lexsort((near, far), axis=-1)
        places = (np.take_along_axis(near, order, axis=1) == output).argmax(axis=1)
        return words, places, np.take_along_axis(far, order, axis=1)


class RepairedColumns(NearColumns):
    """Channel of the repaired truncated Gumbel mechanism over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: NearestForm, progress: Progress) -> None:
        n = len(mechanism.lexicon)
        super().__init__(mechanism, heads(n), progress)
        self.form = form
        self.weights = candidate_weights(n)[: heads(n)]
        self.whole = whole_vocabulary_weight(n)
        self._normalisers = Normalisers(partial(_with_errors, self.spectrum, math.inf))

    def prepare(self, epsilons: Sequence[float]) -> None:
        """Compute the normalisers of some ε at once."""
        self._normalisers.all_at([self.form.strength(epsilon) for epsilon in epsilons])

    def staying(self, epsilon: float) -> FloatArray:
        """Return P(w | w) of every word, shape (n,); of words that coincide, that of the first."""
        strength = self.form.strength(epsilon)
        whole = self.whole * np.exp(-self._normalisers.at(strength)[0])
        # The table's float32 distances, accurate to 1e-7, suffice for a probability here.
        near = self.table.distances.astype(np.float64)
        partial_sums = np.cumsum(np.exp(-strength * near), axis=1)
        return np.asarray((self.weights / partial_sums).sum(axis=1) + whole)

    def _column(self, output: int, away: FloatArray, near: Near, epsilon: float) -> Likelihood:
        """Evaluate the closed form."""
        strength = self.form.strength(epsilon)
        normalisers, errors = self._normalisers.at(strength)
        tails = math.log(self.whole) - normalisers
        words, places, gaps = near
        partial_sums = np.cumsum(np.exp(-strength * gaps), axis=1)
        # The i-th nearest word is a candidate whenever there are at least i: sums over π_k/Z_k
        # from the end.
        few = np.cumsum((self.weights / partial_sums)[:, ::-1], axis=1)[:, ::-1]
        with_few = few[np.arange(words.size), places]
        tails[words] = np.logaddexp(tails[words], np.log(with_few))
        return Likelihood(
            output,
            float(epsilon),
            self.words,
            tails - strength * away,
            errors + _ROUNDING,
            "closed form",
        )


# Columns of the published truncated Gumbel mechanism.
#
# With few candidates, K < n, an output comes only from words that have it among their nearest:
# those are integrated one by one. With K = n, of weight π_n ≈ 1/n, every word gives every output,
#
#     P(y | w, K = n) = ∫ f(t − d)/S(t − d) · Π_j S(t − d_j) dt,    d = D(w, y),
#
# and the product over all words is a sum over distances in the exponent, which the spectrum gives
# for all w at once. Probabilities below 1e-18 are not resolved; the stated errors say so.


_LEFT_OUT = 1e-18
"""Bound on the probability lost to omitted counts of candidates, and to the end of the integral."""
_DEPTH = 45.0  # e^−45 is below 1e-19
_TAIL = 60.0  # where e^{−t/b} exceeds this, every survival function is 1
_COARSE = 64
_RULE = np.polynomial.legendre.leggauss(6)
_PANELS = 20
_FEW_ERROR = 1e-5  # of a logarithm by quadrature, as the tests measure it
_ZERO = np.zeros(1)


class GumbelColumns(NearColumns):
    """Channel of the truncated Gumbel mechanism over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: NoisyNearestForm, progress: Progress) -> None:
        lexicon = mechanism.lexicon
        self.form, self.weights = form, candidate_weights(len(lexicon))
        super().__init__(mechanism, self.weights.size, progress)
        self.log_whole = math.log(whole_vocabulary_weight(len(lexicon)))
        self.bound = lexicon.with_metric(Metric.EUCLIDEAN).extent.diameter
        self._last: tuple[float, FloatArray, FloatArray] | None = None

    def nodes(self, b: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes t and weights of the integrals with K = n; caches those of the last b."""
        last = self._last  # read once: other sessions use the same channel with another b
        if last is None or last[0] != b:
            last = self._last = (b, *self._nodes(b))
        return last[1:]

    def _nodes(self, b: float) -> tuple[FloatArray, FloatArray]:
        # Far left every S is 1 and nothing is lost; far right the product is below e^−45.
        low = max(-self.bound, -b * math.log(_TAIL))
        high = min(self.bound, low + self.bound + _DEPTH * b)
        for _ in range(2):  # first coarsely, then again between the ends that were found
            coarse = np.linspace(low, high, _COARSE, endpoint=False)
            most = np.concatenate([p.max(axis=0) for _, p in self._products(b, coarse)])
            most = most.reshape(-1, _COARSE).max(axis=0)
            high = float(np.append(coarse, high)[min((most > -_DEPTH).sum() + 1, _COARSE)])
        x, w = _RULE
        half = 0.5 * (high - low) / _PANELS
        middles = low + half * (2.0 * np.arange(_PANELS) + 1.0)
        return (middles[:, None] + half * x).ravel(), np.tile(half * w, _PANELS)

    def _products(self, b: float, t: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield some words w, and ln Π_j S(t − d_j) over all words j for them, shape (words, T)."""
        points = self._log_survival(self.spectrum.points, t, b)
        itself = self._log_survival(_ZERO, t, b)
        for rows, sums in self.spectrum.blocks(points):
            # No sum of ln S is above 0, but rounded moments may give one.
            yield rows, np.minimum(sums, 0.0) + itself

    def _log_survival(self, distance: FloatArray, t: FloatArray, b: float) -> FloatArray:
        """Return ln S(t − d), shape (distances, T)."""
        return log_survival_and_density(t - distance[:, None], b, self.bound)[0]

    def whole(self, distance: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
        """Return ln P(y | w, K = n) at these distances from all words, with errors, (n,)."""
        t, weights = self.nodes(b)
        doubt = self.spectrum.errors(lambda d: self._log_survival(d, t, b))
        logs, errors = np.empty(distance.size), np.empty(distance.size)
        peak = math.exp(float(log_survival_and_density(t, b, self.bound)[1].max()))
        for part, product in self._products(b, t):
            survival, density = log_survival_and_density(t - distance[part, None], b, self.bound)
            lost = self._lost(distance[part], t, weights, product)
            product += density - survival
            top = product.max(axis=1)
            top[~np.isfinite(top)] = 0.0
            product -= top[:, None]
            terms = np.exp(product, out=product) * weights
            with np.errstate(divide="ignore", invalid="ignore"):
                total = terms.sum(axis=1)
                logs[part] = np.log(total) + top
                change = np.minimum(doubt[part], _DEPTH)
                # The largest possible integral: every product off by its bound, and the panel
                # with the jump lost as a whole.
                upper = (terms * np.exp(change)).sum(axis=1) + peak * np.exp(lost - top)
                errors[part] = np.log(upper / total)
        return logs, np.nan_to_num(errors, nan=_DEPTH)

    def _lost(
        self, distance: FloatArray, t: FloatArray, weights: FloatArray, product: FloatArray
    ) -> FloatArray:
        """Bound ln of the loss in the panel where the density jumps from 0, t = d − C, per density.

        The product falls with t: its value at the first node of the panel bounds it.
        """
        nodes = _RULE[0].size
        width = float(weights[:nodes].sum())
        start = float(t[:nodes].mean()) - 0.5 * width
        panel = np.floor((distance - self.bound - start) / width).astype(np.int64)
        first = np.clip(panel, 0, _PANELS - 1) * nodes
        most = product[np.arange(distance.size), first] + math.log(width)
        return np.where((panel >= 0) & (panel < _PANELS), most, -math.inf)

    def _column(self, output: int, away: FloatArray, near: Near, epsilon: float) -> Likelihood:
        """Compute the likelihood by quadrature."""
        b = self.form.noise_scale(epsilon)
        whole, errors = self.whole(away, b)
        logs = self.log_whole + whole
        for word, place, gaps in zip(*near, strict=True):
            few = log_few_candidates(gaps, self.weights, b, self.bound)[place]
            both = np.logaddexp(logs[word], few)
            # Only the part with all candidates has this error.
            errors[word] = np.log1p(np.exp(logs[word] - both) * np.expm1(errors[word]))
            logs[word] = both
        errors += _FEW_ERROR + np.log1p(_LEFT_OUT * np.exp(-np.maximum(logs, -700.0)))
        return Likelihood(output, float(epsilon), self.words, logs, errors, "quadrature")


def open_channel(
    mechanism: Mechanism, words: Sequence[int] | IntArray | None = None, progress: Progress = silent
) -> Channel:
    """Open the channel of a mechanism with a finite exact law.

    Args:
        mechanism: over any lexicon.
        words: the only possible words, at most `limits.MAX_ATTACK_PRIOR_WORDS`; None for all
            words of the lexicon: immediate for the bundled one, for another one prepared once
            (25,000 words: some fifteen seconds) and stored in the cache folder.
        progress: of that preparation.

    Raises:
        ParameterError: the mechanism has no exact law, or there are too many words.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"{mechanism.short} has no exact law, so no exact posterior: take the "
            "nearest-neighbour attacker (`attack --nearest`), or a mechanism such as tem"
        )
    n = len(mechanism.lexicon)
    if words is None and n <= MAX_ATTACK_PRIOR_WORDS:
        words = np.arange(n)
    if words is not None:
        return Rows(mechanism, mechanism.check_words(words))
    if not n <= MAX_ATTACK_WORDS:
        raise ParameterError(
            f"the lexicon has {n:,} words, and all of them can be weighed up to "
            f"{MAX_ATTACK_WORDS:,}: list the possible words instead "
            f"(at most {MAX_ATTACK_PRIOR_WORDS})"
        )
    form = mechanism.column_form
    if form is None:
        raise ParameterError(
            f"{mechanism.short} cannot be attacked over a whole lexicon of {n:,} words: list the "
            f"possible words (at most {MAX_ATTACK_PRIOR_WORDS})"
        )
    if isinstance(form, ColumnForm):
        return PlainColumns(mechanism, form)
    if isinstance(form, ExponentialForm):
        return ExponentialColumns(mechanism, form, progress)
    if isinstance(form, NearestForm):
        return RepairedColumns(mechanism, form, progress)
    return GumbelColumns(mechanism, form, progress)
