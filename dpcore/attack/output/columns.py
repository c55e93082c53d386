"""Columns of the mechanisms whose law is a closed form: TEM, calibrated TEM, repaired Gumbel.

TEM:       ln P(y | w) = −min(η·D(w, y), c) − ln Z_w,  Z_w = Σ_y exp(−min(η·D(w, y), c))
repaired:  ln P(y | w) = −s·d + ln(Σ_{i ≤ k < n} π_k/Z_k(w) + π_n/Z_n(w)), y the i-th nearest of w

The distances to y and those of the nearest words are exact; Z_w and Z_n come from the spectrum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.output.channel import Channel, FloatArray, Likelihood, Seen
from dpcore.attack.output.near_words import NearWords
from dpcore.attack.output.spectrum import Spectrum, spectrum_of
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.gumbel.repaired import heads
from dpcore.mechanisms.hooks import ColumnForm, ExponentialForm, NearestForm
from dpcore.noise.poisson import candidate_weights, whole_vocabulary_weight

if TYPE_CHECKING:
    from dpcore.attack.output.prior import Prior
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.hooks import Form
    from dpcore.mechanisms.mechanism import Mechanism

_KEPT = 8  # η whose normalisers a channel keeps
_ROUNDING = 1e-11  # of a logarithm: exponents up to 1e3 from distances right to 1e-13


def columns_of(mechanism: Mechanism, form: Form, progress: Progress) -> Channel:
    """The channel over a whole lexicon of a mechanism with a law of this form."""
    from dpcore.attack.output.gumbel_columns import GumbelColumns

    if isinstance(form, ColumnForm):
        return PlainColumns(mechanism, form)
    if isinstance(form, ExponentialForm):
        return ExponentialColumns(mechanism, form, progress)
    if isinstance(form, NearestForm):
        return RepairedColumns(mechanism, form, progress)
    return GumbelColumns(mechanism, form, progress)


def log_normalisers(
    spectrum: Spectrum, strength: float, cap: float
) -> tuple[FloatArray, FloatArray]:
    """ln Σ_y exp(−min(s·D(w, y), c)) of every word, y = w included, and bounds on the errors."""

    def weight(distance: FloatArray) -> FloatArray:
        return np.exp(-np.minimum(strength * distance, cap))

    sums, errors = spectrum.sums(weight)
    # Sums are positive whatever the rounding of their terms of both signs says.
    total = 1.0 + np.maximum(sums, 0.0)
    logs = np.log(total)
    below = logs - np.log(np.maximum(total - errors, 1.0))  # no normaliser is below 1
    return logs, np.maximum(below, np.log1p(errors / total))


class PlainColumns(Channel):
    """A mechanism that gives its columns itself, over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: ColumnForm) -> None:
        """Remember the way to a column."""
        self.mechanism, self.form = mechanism, form
        self.words = np.arange(len(mechanism.lexicon))

    def seen(self, output: int) -> Seen:
        """Prepare for one output."""
        return _SeenPlain(self, int(self.mechanism.check_words([output])[0]))


class _SeenPlain(Seen):
    def __init__(self, channel: PlainColumns, output: int) -> None:
        self._channel, self._output = channel, output

    def at(self, epsilon: float) -> Likelihood:
        """The column that the mechanism gives."""
        channel = self._channel
        logs = channel.form.column(self._output, epsilon)
        errors = channel.form.error * np.maximum(np.abs(logs), 1.0)
        method = channel.mechanism.law_method
        return Likelihood(self._output, float(epsilon), channel.words, logs, errors, method)


class ExponentialColumns(Channel):
    """TEM and calibrated TEM over their whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: ExponentialForm, progress: Progress) -> None:
        """Prepare the spectrum in the mechanism's metric."""
        self.mechanism, self.form = mechanism, form
        self.words = np.arange(len(mechanism.lexicon))
        self.spectrum = spectrum_of(mechanism.lexicon, form.metric, progress)
        self._kept = lru_cache(_KEPT)(partial(log_normalisers, self.spectrum, cap=form.cap))

    def normalisers(self, strength: float) -> tuple[FloatArray, FloatArray]:
        """`log_normalisers` at η; those of the last few η are kept."""
        return self._kept(strength)

    def staying(self, epsilon: float) -> FloatArray:
        """P(w | w) = 1/Z_w of every word, shape (n,)."""
        return np.asarray(np.exp(-self.normalisers(self.form.strength(epsilon))[0]))

    def success(self, prior: Prior, epsilon: float) -> tuple[float, float, int] | None:
        """Under a uniform prior the best guess is the output itself (see `overall`)."""
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
        found = distances(vectors, vectors[words], self.spectrum.metric)
        return [_SeenExponential(self, y, d) for y, d in zip(words.tolist(), found, strict=True)]


class _SeenExponential(Seen):
    def __init__(self, channel: ExponentialColumns, output: int, distance: FloatArray) -> None:
        self._channel, self._output, self._distances = channel, output, distance

    def at(self, epsilon: float) -> Likelihood:
        """The closed form."""
        channel = self._channel
        strength, cap = channel.form.strength(epsilon), channel.form.cap
        logs, errors = channel.normalisers(strength)
        logs = -np.minimum(strength * self._distances, cap) - logs
        return Likelihood(
            self._output, float(epsilon), channel.words, logs, errors + _ROUNDING, "closed form"
        )


class RepairedColumns(Channel):
    """The repaired truncated Gumbel mechanism over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: NearestForm, progress: Progress) -> None:
        """Prepare the spectrum and the nearest words of every word."""
        self.mechanism, self.form = mechanism, form
        lexicon = mechanism.lexicon
        n = len(lexicon)
        self.words = np.arange(n)
        self.spectrum = spectrum_of(lexicon, Metric.EUCLIDEAN, progress)
        self.near = NearWords(lexicon, heads(n), progress)
        self.weights = candidate_weights(n)[: heads(n)]
        self.whole = whole_vocabulary_weight(n)

    def seen(self, output: int) -> Seen:
        """Prepare for one output."""
        return _SeenRepaired(self, int(self.mechanism.check_words([output])[0]))

    def staying(self, epsilon: float) -> FloatArray:
        """P(w | w) of every word, shape (n,); of words that coincide, that of the first."""
        strength = self.form.strength(epsilon)
        whole = self.whole * np.exp(-log_normalisers(self.spectrum, strength, math.inf)[0])
        partial = np.cumsum(np.exp(-strength * self.near.distances), axis=1)
        return np.asarray((self.weights / partial).sum(axis=1) + whole)


class _SeenRepaired(Seen):
    def __init__(self, channel: RepairedColumns, output: int) -> None:
        self._channel, self._output = channel, output
        vectors = channel.mechanism.lexicon.vectors
        self._distances = distances(vectors, vectors[[output]])[0]
        self._near = channel.near.of(output)

    def at(self, epsilon: float) -> Likelihood:
        """The closed form."""
        channel = self._channel
        strength = channel.form.strength(epsilon)
        normalisers, errors = log_normalisers(channel.spectrum, strength, math.inf)
        tails = math.log(channel.whole) - normalisers
        words, places, near = self._near
        partial = np.cumsum(np.exp(-strength * near), axis=1)
        few = np.cumsum((channel.weights / partial)[:, ::-1], axis=1)[:, ::-1]
        own = few[np.arange(words.size), places]
        tails[words] = np.logaddexp(tails[words], np.log(own))
        return Likelihood(
            self._output,
            float(epsilon),
            channel.words,
            tails - strength * self._distances,
            errors + _ROUNDING,
            "closed form",
        )
