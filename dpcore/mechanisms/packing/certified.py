"""Weights and exponents of the optimal mechanism with the ε that each is certified to keep.

For P(y | w) = a_y·e^(−η·d(w, y))/Z_w, Z = K_η·a, the loss of an output between two words is at
most η·d + |ln Z_w − ln Z_v| by the triangle inequality, so that the largest of (that/d) over all
pairs is an ε that holds (`exponential.tem_loss`, where it is computed for a = 1). Where a = K⁻¹·1
is not negative Z is 1 but for rounding, and ε = η; elsewhere a is the minimum over a ≥ 0 of
`packing.programme`, Z differs a little from word to word, and η is a little below ε (on the bundled
words a tenth of a percent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.progress import silent
from dpcore.mechanisms.exponential.tem_loss import log_normalisers, worst_losses
from dpcore.mechanisms.packing.kernel import Kernel
from dpcore.mechanisms.packing.programme import Solution, solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.arrays import FloatArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.metric import Metric
    from dpcore.lexicon.progress import Progress

NORMALISER_ERROR = 1e-6
"""Bound on the absolute error of a stored ln Z."""
_ROUNDED = 2.5e-7  # relative: by how much weights in float32 may raise the certified ε, and more
_TURNS = 8  # of approaching a wanted ε from below where the certificate is not ε itself
_CAUTION = 0.01  # by how much more than was missed the exponent is lowered, a turn


@dataclass(frozen=True, eq=False)
class CertifiedWeights:
    """For several wanted ε the weights and the exponent of a mechanism that keeps it.

    Attributes:
        wanted: ε, ascending, shape (E,).
        upper: at each of them a bound on the share of words that anybody can guess right, under
            any mechanism that keeps it and a uniform prior, shape (E,).
        epsilons: certified, at most the wanted ones, shape (E,).
        strengths: η, shape (E,).
        weights: a, shape (E, n), float32, in [0, 1].
        normalisers: ln Z, shape (E, n), float32; 0 where it is below `NORMALISER_ERROR` in size.
    """

    wanted: FloatArray
    upper: FloatArray
    epsilons: FloatArray
    strengths: FloatArray
    weights: NDArray[np.float32]
    normalisers: NDArray[np.float32]

    @property
    def lower(self) -> FloatArray:
        """The share of words that come out as themselves under these weights, shape (E,).

        A stranger who repeats what he sees guesses as many right. Rounded down by more than float32
        and the stored normalisers can be off.
        """
        kept = self.weights.astype(np.float64) * np.exp(-self.normalisers.astype(np.float64))
        return np.asarray(kept.mean(axis=1) * (1.0 - 2.0 * NORMALISER_ERROR))


def certified_weights(
    lexicon: Lexicon, metric: Metric, wanted: Sequence[float], progress: Progress = silent
) -> CertifiedWeights:
    """Weights for each wanted ε: minutes for 25,000 words, most of them for small ε.

    Args:
        lexicon: words and vectors.
        metric: d.
        wanted: ε > 0, in any order.
        progress: called with (stage, done, all); several rounds.
    """
    targets = np.unique(np.asarray(wanted, dtype=np.float64))
    diameter = lexicon.with_metric(metric).extent.diameter
    kernel, everyone = Kernel(lexicon.vectors, metric), np.ones(len(lexicon))
    bound = solve(kernel, targets, everyone, diameter, progress)
    upper = bound.upper(everyone) / len(lexicon)
    strengths = targets * (1.0 - _ROUNDED)
    weights = bound.weights.astype(np.float32)
    epsilons, normalisers = _certify(lexicon, metric, strengths, weights, progress)
    for turn in range(1, _TURNS + 1):
        missed = np.flatnonzero(epsilons > targets)
        if not missed.size:
            break
        # What the normalisers add changes slowly with η, but words come and go: aim a little
        # below, and the lower the oftener that has failed.
        excess = epsilons[missed] / strengths[missed] - 1.0
        excess *= 1.0 + _CAUTION * turn**2
        strengths[missed] = targets[missed] / (1.0 + excess) * (1.0 - _ROUNDED)
        closer: Solution = solve(
            kernel, strengths[missed], everyone, diameter, progress, weights[missed].astype(float)
        )
        weights[missed] = closer.weights.astype(np.float32)
        epsilons[missed], normalisers[missed] = _certify(
            lexicon, metric, strengths[missed], weights[missed], progress
        )
    return CertifiedWeights(targets, upper, epsilons, strengths, weights, stored(normalisers))


def stored(normalisers: FloatArray) -> NDArray[np.float32]:
    """ln Z as it is kept: nothing where it is nothing but rounding."""
    return np.where(np.abs(normalisers) < 0.9 * NORMALISER_ERROR, 0.0, normalisers).astype(
        np.float32
    )


def _certify(
    lexicon: Lexicon,
    metric: Metric,
    strengths: FloatArray,
    weights: NDArray[np.float32],
    progress: Progress,
) -> tuple[FloatArray, FloatArray]:
    """The ε that these weights and exponents keep, beyond doubt, shape (E,), and ln Z, (E, n)."""
    uncapped = np.full(strengths.size, np.inf)
    normalisers = log_normalisers(
        lexicon, metric, strengths, uncapped, progress, weights.astype(np.float64)
    )
    losses = worst_losses(lexicon, metric, strengths, uncapped, normalisers, progress)
    epsilons = np.nextafter([loss.epsilon + loss.error for loss in losses], np.inf)
    return epsilons, normalisers.logs
