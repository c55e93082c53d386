"""Columns of the published truncated Gumbel mechanism.

With few candidates, K < n, an output comes only from words that have it among their nearest: those
are integrated one by one. With K = n, of weight π_n ≈ 1/n, every word gives every output,

    P(y | w, K = n) = ∫ f(t − d)/S(t − d) · Π_j S(t − d_j) dt,    d = D(w, y),

and the product over all words is a sum over distances in the exponent, which the spectrum gives
for all w at once. Probabilities below 1e-18 are not resolved; the stated errors say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.columns import Near, NearColumns
from dpcore.attack.output.likelihood import Likelihood
from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.gumbel.log_law import log_few_candidates
from dpcore.noise.gumbel import log_survival_and_density
from dpcore.noise.poisson import candidate_weights, whole_vocabulary_weight

if TYPE_CHECKING:
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.hooks import NoisyNearestForm
    from dpcore.mechanisms.mechanism import Mechanism

_LEFT_OUT = 1e-18
"""Of a probability: by counts of candidates that are left out, and by the end of the integral."""
_DEPTH = 45.0  # e^−45 is below 1e-19
_TAIL = 60.0  # where e^{−t/b} passes this, no survival function differs from 1
_COARSE = 64
_RULE = np.polynomial.legendre.leggauss(6)
_PANELS = 20
_FEW_ERROR = 1e-5  # of a logarithm by quadrature, as the tests find it
_ZERO = np.zeros(1)


class GumbelColumns(NearColumns):
    """The truncated Gumbel mechanism over its whole lexicon."""

    def __init__(self, mechanism: Mechanism, form: NoisyNearestForm, progress: Progress) -> None:
        lexicon = mechanism.lexicon
        self.form, self.weights = form, candidate_weights(len(lexicon))
        super().__init__(mechanism, self.weights.size, progress)
        self.log_whole = math.log(whole_vocabulary_weight(len(lexicon)))
        self.bound = lexicon.with_metric(Metric.EUCLIDEAN).extent.diameter
        self._last: tuple[float, FloatArray, FloatArray] | None = None

    def nodes(self, b: float) -> tuple[FloatArray, FloatArray]:
        """Places t and weights of the integrals with K = n; those of the last b are kept."""
        last = self._last  # looked up once: other sessions ask the same channel for their own b
        if last is None or last[0] != b:
            last = self._last = (b, *self._nodes(b))
        return last[1:]

    def _nodes(self, b: float) -> tuple[FloatArray, FloatArray]:
        # Far left no S differs from 1 and nothing is lost; far right the product is below e^−45.
        low = max(-self.bound, -b * math.log(_TAIL))
        high = min(self.bound, low + self.bound + _DEPTH * b)
        for _ in range(2):  # first roughly, then again between the points that were found
            coarse = np.linspace(low, high, _COARSE, endpoint=False)
            most = np.concatenate([p.max(axis=0) for _, p in self._products(b, coarse)])
            most = most.reshape(-1, _COARSE).max(axis=0)
            high = float(np.append(coarse, high)[min((most > -_DEPTH).sum() + 1, _COARSE)])
        x, w = _RULE
        half = 0.5 * (high - low) / _PANELS
        middles = low + half * (2.0 * np.arange(_PANELS) + 1.0)
        return (middles[:, None] + half * x).ravel(), np.tile(half * w, _PANELS)

    def _products(self, b: float, t: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """ln Π_j S(t − d_j) over all words j: some words w, and theirs of shape (words, T)."""
        points = self._log_survival(self.spectrum.points, t, b)
        itself = self._log_survival(_ZERO, t, b)
        for rows, sums in self.spectrum.blocks(points):
            # No sum of ln S is above 0; the rounded moments may say so.
            yield rows, np.minimum(sums, 0.0) + itself

    def _log_survival(self, distance: FloatArray, t: FloatArray, b: float) -> FloatArray:
        """ln S(t − d), shape (distances, T)."""
        return log_survival_and_density(t - distance[:, None], b, self.bound)[0]

    def whole(self, distance: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
        """ln P(y | w, K = n) of an output at these distances from all words, with errors, (n,)."""
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
                # The most that the integral can be: every product off by its bound, and the panel
                # with the jump lost as a whole.
                upper = (terms * np.exp(change)).sum(axis=1) + peak * np.exp(lost - top)
                errors[part] = np.log(upper / total)
        return logs, np.nan_to_num(errors, nan=_DEPTH)

    def _lost(
        self, distance: FloatArray, t: FloatArray, weights: FloatArray, product: FloatArray
    ) -> FloatArray:
        """ln of what a panel may lose in which the density jumps from 0, at t = d − C, per density.

        The product falls with t: its value at the first place of the panel bounds it.
        """
        nodes = _RULE[0].size
        width = float(weights[:nodes].sum())
        start = float(t[:nodes].mean()) - 0.5 * width
        panel = np.floor((distance - self.bound - start) / width).astype(np.int64)
        first = np.clip(panel, 0, _PANELS - 1) * nodes
        most = product[np.arange(distance.size), first] + math.log(width)
        return np.where((panel >= 0) & (panel < _PANELS), most, -math.inf)

    def _column(self, output: int, away: FloatArray, near: Near, epsilon: float) -> Likelihood:
        """By quadrature."""
        b = self.form.noise_scale(epsilon)
        whole, errors = self.whole(away, b)
        logs = self.log_whole + whole
        for word, place, gaps in zip(*near, strict=True):
            few = log_few_candidates(gaps, self.weights, b, self.bound)[place]
            both = np.logaddexp(logs[word], few)
            # Only the part with all candidates is in doubt.
            errors[word] = np.log1p(np.exp(logs[word] - both) * np.expm1(errors[word]))
            logs[word] = both
        errors += _FEW_ERROR + np.log1p(_LEFT_OUT * np.exp(-np.maximum(logs, -700.0)))
        return Likelihood(output, float(epsilon), self.words, logs, errors, "quadrature")
