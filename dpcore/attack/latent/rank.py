"""Whose utterance is it? Ranking public candidates by the likelihood of a noisy latent vector.

Habernal 2021, Appendix C, sketches the attack and leaves it there: the attacker has the encoder
and a corpus of utterances, and looks for those whose latent vector is near the noisy one. The law
of the noise is public, so "near" can be exact. With m candidates, all equally likely, the posterior
of candidate j after the noisy vector z is

    p_j ∝ exp(−‖z − c_j‖ / scale)

in the norm of the noise (L1 for Laplace coordinates, L2 for round noise). To name the largest is
the best that anybody can do, and it succeeds with probability E[max_j p_j]: the Bayes optimum.
Under ε-differential privacy it is at most e^ε / (e^ε + m − 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.clipped.adept_latent import LatentForm

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.mechanisms.clipped.adept_latent import NoisyLatents


_ONE_SIDED = 0.025
_ROWS = 256  # noisy vectors at a time


@dataclass(frozen=True, eq=False)
class Ranking:
    """Where the true candidate stands for each of k noisy vectors.

    Attributes:
        ranks: from 1; the mean over the orders of candidates that are equally likely, shape (k,).
        first: probability that it is named, 1 or 0 but for ties, shape (k,).
        best: posterior of the candidate that is named, shape (k,).
        candidates: m.
        epsilon: true ε of the noise.
        claimed_epsilon: the ε that was asked for.
    """

    ranks: FloatArray
    first: FloatArray
    best: FloatArray
    candidates: int
    epsilon: float
    claimed_epsilon: float

    @property
    def mean_rank(self) -> float:
        """Mean rank; (m + 1)/2 by guessing."""
        return float(self.ranks.mean())

    @property
    def success(self) -> float:
        """Share of the noisy vectors whose utterance is named."""
        return float(self.first.mean())

    @property
    def bayes(self) -> float:
        """Mean posterior of the candidate that is named: the Bayes optimum without its luck.

        Its expectation is that of `success` if each candidate is the true one equally often.
        """
        return float(self.best.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper–Pearson interval of 95 % for `success`; ties count as misses in `low`."""
        sure, possible = int((self.first == 1.0).sum()), int((self.first > 0.0).sum())
        low = clopper_pearson(sure, self.first.size, _ONE_SIDED)[0]
        return low, clopper_pearson(possible, self.first.size, _ONE_SIDED)[1]


def success_bound(epsilon: float, candidates: int) -> float:
    """Largest probability to name one of m equally likely candidates under ε-privacy.

    e^ε/(e^ε + m − 1): the posterior odds of one candidate against each other are at most e^ε.
    """
    return 1.0 / (1.0 + (candidates - 1) * math.exp(-epsilon))


def posterior(
    noisy: ArrayLike, candidates: ArrayLike, form: LatentForm, scale: float
) -> FloatArray:
    """Posterior of every candidate under equal priors, shape (k, m), float64.

    Args:
        noisy: shape (k, n).
        candidates: clipped latent vectors, shape (m, n).
        form: whose noise it is.
        scale: of the noise (`NoisyLatents.scale`), > 0.

    Raises:
        ParameterError: a shape or the scale is refused.
    """
    weights = _weights(_distances(noisy, candidates, form), scale)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def rank_candidates(
    noisy: NoisyLatents, candidates: ArrayLike, true: ArrayLike, form: LatentForm
) -> Ranking:
    """Rank the candidates for each noisy vector, and look where the true one stands.

    Args:
        noisy: k released vectors.
        candidates: clipped latent vectors of distinct public utterances, shape (m, n).
        true: place of the true candidate of each vector, shape (k,).
        form: whose noise it is.

    Raises:
        ParameterError: a shape or a place is refused.
    """
    public = np.asarray(candidates, dtype=np.float64)
    places = np.asarray(true, dtype=np.int64)
    if places.shape != (len(noisy.vectors),) or not places.size:
        raise ParameterError(
            f"each noisy vector needs the place of its candidate: got {len(noisy.vectors):,} "
            f"vectors and {places.size:,} places"
        )
    if not (places.min() >= 0 and places.max() < len(public)):
        raise ParameterError(f"places of candidates are from 0 to {len(public) - 1:,}")
    ranks, first, best = np.empty((3, places.size))
    for start in range(0, places.size, _ROWS):
        part = slice(start, start + _ROWS)
        away = _distances(noisy.vectors[part], public, form)
        # Ranked by distance, not by posterior: far away that is 0 for all. Equal candidates have
        # equal bits, so that they tie.
        true_away = away[np.arange(len(away)), places[part]][:, None]
        nearer, equal = (away < true_away).sum(axis=1), (away == true_away).sum(axis=1)
        # Of e equal candidates the true one is (e + 1)/2-th on average, and named once in e.
        ranks[part] = nearer + 0.5 * (equal + 1)
        first[part] = (nearer == 0) / equal
        best[part] = 1.0 / _weights(away, noisy.scale).sum(axis=1)
    for array in (ranks, first, best):
        array.setflags(write=False)
    return Ranking(ranks, first, best, len(public), noisy.epsilon, noisy.claimed_epsilon)


def _weights(away: FloatArray, scale: float) -> FloatArray:
    """Likelihoods over the largest of each row, shape (k, m); `away` is overwritten."""
    if not 0 < scale < math.inf:
        raise ParameterError(f"the scale of the noise must be a finite number > 0, got {scale}")
    away -= away.min(axis=1, keepdims=True)
    away *= -1.0 / scale
    return np.exp(away, out=away)


def _distances(noisy: ArrayLike, candidates: ArrayLike, form: LatentForm) -> FloatArray:
    points, public = (np.asarray(rows, dtype=np.float64) for rows in (noisy, candidates))
    if (
        points.ndim != 2
        or public.ndim != 2
        or points.shape[1] != public.shape[1]
        or not len(public)
    ):
        raise ParameterError(
            f"noisy vectors (k, n) and candidates (m, n) need one n and a candidate, got shapes "
            f"{points.shape} and {public.shape}"
        )
    metric = Metric.EUCLIDEAN if form is LatentForm.ROUND else Metric.MANHATTAN
    return distances(public, points, metric)
