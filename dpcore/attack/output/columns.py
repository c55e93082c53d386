"""Columns of the mechanisms whose law is a closed form: TEM, calibrated TEM, repaired Gumbel.

TEM:       ln P(y | w) = −min(η·D(w, y), c) − ln Z_w,  Z_w = Σ_y exp(−min(η·D(w, y), c))
repaired:  ln P(y | w) = −s·d + ln(Σ_{i ≤ k < n} π_k/Z_k(w) + π_n/Z_n(w)), y the i-th nearest of w

The distances to y and those of the nearest words are exact; Z_w and Z_n come from the spectrum.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.likelihood import Channel, Likelihood, Seen
from dpcore.attack.output.spectrum import Spectrum, spectrum_of
from dpcore.lexicon.metric import Metric, distances, paired_distances
from dpcore.mechanisms.gumbel.repaired import heads
from dpcore.mechanisms.hooks import ColumnForm, ExponentialForm, NearestForm
from dpcore.noise.poisson import candidate_weights, whole_vocabulary_weight

if TYPE_CHECKING:
    from dpcore.attack.output.prior import Prior
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.mechanism import Mechanism

Near = tuple[IntArray, IntArray, FloatArray]

_KEPT = 16  # η whose normalisers a channel keeps
_ROUNDING = 1e-11  # of a logarithm: exponents up to 1e3 from distances right to 1e-13


def log_normalisers(
    spectrum: Spectrum, strengths: FloatArray, cap: float
) -> tuple[FloatArray, FloatArray]:
    """ln Σ_y exp(−min(s·D(w, y), c)) of every word, y = w included, and bounds on the errors.

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
    # A word itself, at distance 0, is the 1. Sums are positive whatever the rounding of their
    # terms of both signs says.
    total = 1.0 + np.maximum(sums, 0.0)
    logs = np.log(total)
    below = logs - np.log(np.maximum(total - errors, 1.0))  # no normaliser is below 1
    return logs, np.maximum(below, np.log1p(errors / total))


class _Normalisers:
    """`log_normalisers` of one cap by η; those of the last few η are kept.

    Args:
        spectrum: of the distances.
        cap: of the exponents.
    """

    def __init__(self, spectrum: Spectrum, cap: float = math.inf) -> None:
        self.spectrum, self.cap = spectrum, cap
        self._known: dict[float, tuple[FloatArray, FloatArray]] = {}

    def at(self, strength: float) -> tuple[FloatArray, FloatArray]:
        """Logarithms and bounds on their errors at one η, each of shape (n,)."""
        return self.all_at([strength])[strength]

    def all_at(self, strengths: Sequence[float]) -> dict[float, tuple[FloatArray, FloatArray]]:
        """The same at several η: the moments are read once for all of them."""
        known = self._known
        new = [strength for strength in dict.fromkeys(strengths) if strength not in known]
        if new:
            logs, errors = log_normalisers(self.spectrum, np.array(new), self.cap)
            # A copy of each, so that one may be forgotten without the others.
            fresh = {
                strength: (logs[:, i].copy(), errors[:, i].copy()) for i, strength in enumerate(new)
            }
            known = known | fresh
            # Put in place at once: people share a channel.
            self._known = dict(list(known.items())[-_KEPT:])
        return known


class PlainColumns(Channel):
    """A mechanism that gives its columns itself, over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: ColumnForm) -> None:
        self.mechanism, self.form = mechanism, form
        self.words = np.arange(len(mechanism.lexicon))

    def seen(self, output: int) -> Seen:
        """Prepare for one output."""
        return self.seen_all([output])[0]

    def seen_all(self, outputs: Sequence[int]) -> list[Seen]:
        """Prepare for several outputs: their distances from all words, if the law goes by any."""
        words = self.mechanism.check_words(list(outputs))
        vectors = self.mechanism.lexicon.vectors
        away: Sequence[FloatArray | None] = [None] * words.size
        if self.form.metric is not None:
            away = list(distances(vectors, vectors[words], self.form.metric))
        return [
            Seen(partial(self._column, word, row))
            for word, row in zip(words.tolist(), away, strict=True)
        ]

    def _column(self, output: int, away: FloatArray | None, epsilon: float) -> Likelihood:
        logs = self.form.column(output, away, epsilon)
        # What is impossible is so without an error.
        size = np.where(np.isneginf(logs), 0.0, np.maximum(np.abs(logs), 1.0))
        errors = self.form.error * size
        method = self.mechanism.law_method
        return Likelihood(output, float(epsilon), self.words, logs, errors, method)


class ExponentialColumns(Channel):
    """TEM and calibrated TEM over their whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: ExponentialForm, progress: Progress) -> None:
        self.mechanism, self.form = mechanism, form
        self.words = np.arange(len(mechanism.lexicon))
        self.spectrum = spectrum_of(mechanism.lexicon, form.metric, progress)
        self._normalisers = _Normalisers(self.spectrum, form.cap)

    def prepare(self, epsilons: Sequence[float]) -> None:
        """The normalisers of some ε, together."""
        self._normalisers.all_at([self.form.strength(epsilon) for epsilon in epsilons])

    def normalisers(self, strength: float) -> tuple[FloatArray, FloatArray]:
        """ln Z of every word at η and bounds on the errors; those of the last few η are kept."""
        return self._normalisers.at(strength)

    def staying(self, epsilon: float) -> FloatArray:
        """P(w | w) = 1/Z_w of every word, shape (n,)."""
        return np.asarray(np.exp(-self.normalisers(self.form.strength(epsilon))[0]))

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int] | None:
        """Under a uniform prior the best guess is the output itself (see `bayes_success`)."""
        if prior.probability.max() != prior.probability.min():
            return None
        logs, errors = self.normalisers(self.form.strength(epsilon))
        mean = float(np.exp(-logs).mean())
        return mean, mean * float(np.expm1(errors.max())), logs.size

    def seen(self, output: int) -> Seen:
        """Prepare for one output: its distance from every word."""
        return self.seen_all([output])[0]

    def seen_all(self, outputs: Sequence[int]) -> list[Seen]:
        """Prepare for several outputs."""
        words = self.mechanism.check_words(list(outputs))
        vectors = self.mechanism.lexicon.vectors
        away = distances(vectors, vectors[words], self.spectrum.metric)
        prepared = zip(words.tolist(), away, strict=True)
        return [Seen(partial(self._column, output, row)) for output, row in prepared]

    def _column(self, output: int, away: FloatArray, epsilon: float) -> Likelihood:
        """The closed form, from the distances of the output."""
        strength = self.form.strength(epsilon)
        normalisers, errors = self.normalisers(strength)
        logs = -np.minimum(strength * away, self.form.cap) - normalisers
        return Likelihood(
            output, float(epsilon), self.words, logs, errors + _ROUNDING, "closed form"
        )


class NearColumns(Channel):
    """A mechanism that treats the nearest words of each word by themselves, over its lexicon.

    Args:
        mechanism: over the lexicon.
        count: how many nearest words, each word itself included.
        progress: of the spectrum and of the table of neighbours, where they are not kept yet.
    """

    def __init__(self, mechanism: Mechanism, count: int, progress: Progress) -> None:
        self.mechanism = mechanism
        lexicon = mechanism.lexicon
        self.words = np.arange(len(lexicon))
        self.spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN, progress)
        self.table = lexicon.with_metric(Metric.EUCLIDEAN).neighbours(count, progress)

    def seen(self, output: int) -> Seen:
        """Prepare for one output: its distance from every word, and who has it near."""
        word = int(self.mechanism.check_words([output])[0])
        vectors = self.mechanism.lexicon.vectors
        away = distances(vectors, vectors[[word]])[0]
        return Seen(partial(self._column, word, away, self._near(word)))

    @abstractmethod
    def _column(self, output: int, away: FloatArray, near: Near, epsilon: float) -> Likelihood:
        """The likelihood, from the distances of the output and what `_near` says of it."""

    def _near(self, output: int) -> Near:
        """The words that have `output` among their nearest.

        Returns:
            Words w, shape (m,); the place of the output in the order of distance from w (of equal
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
    """The repaired truncated Gumbel mechanism over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: NearestForm, progress: Progress) -> None:
        n = len(mechanism.lexicon)
        super().__init__(mechanism, heads(n), progress)
        self.form = form
        self.weights = candidate_weights(n)[: heads(n)]
        self.whole = whole_vocabulary_weight(n)
        self._normalisers = _Normalisers(self.spectrum)

    def prepare(self, epsilons: Sequence[float]) -> None:
        """The normalisers of some ε, together."""
        self._normalisers.all_at([self.form.strength(epsilon) for epsilon in epsilons])

    def staying(self, epsilon: float) -> FloatArray:
        """P(w | w) of every word, shape (n,); of words that coincide, that of the first."""
        strength = self.form.strength(epsilon)
        whole = self.whole * np.exp(-self._normalisers.at(strength)[0])
        # The table's float32 distances, right to 1e-7, are exact enough for a probability here.
        near = self.table.distances.astype(np.float64)
        partial_sums = np.cumsum(np.exp(-strength * near), axis=1)
        return np.asarray((self.weights / partial_sums).sum(axis=1) + whole)

    def _column(self, output: int, away: FloatArray, near: Near, epsilon: float) -> Likelihood:
        """The closed form."""
        strength = self.form.strength(epsilon)
        normalisers, errors = self._normalisers.at(strength)
        tails = math.log(self.whole) - normalisers
        words, places, gaps = near
        partial_sums = np.cumsum(np.exp(-strength * gaps), axis=1)
        # The i-th nearest word takes part wherever there are at least i candidates: sums over
        # π_k/Z_k from the end.
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
