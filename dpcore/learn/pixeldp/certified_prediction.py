"""Prediction under noise, with a certificate: Monte Carlo scores, their bounds, the attack's size.

What is predicted is the class of the largest *expected* score, which no one can compute; n draws
of the noise bound every class's expectation at once, and a prediction is made only where the
bounds tell two classes apart (else it abstains). All statements about one input are true together
but with probability `error`, over the draws; the certificate itself is not a matter of chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.certified_size import Condition, certified_size, tight_size
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_NOISE_DRAWS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.learn.pixeldp.noise_layer import NoiseLayer


Scorer = Callable[["FloatArray"], "FloatArray"]
"""Outputs of a noise layer, shape (k, m), to probabilities of K classes, shape (k, K)."""

ABSTAINED = -1
_BLOCK = 2_000_000  # noisy coordinates held at a time: 16 MB


class Bound(StrEnum):
    """How an expected score is bounded."""

    HOEFFDING = "hoeffding"
    """On the mean probability of each class; holds for any scores in [0, 1]."""
    CLOPPER_PEARSON = "clopper-pearson"
    """On how often each class is the most probable one, which is then the score."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What n draws of the noise gave for k inputs and K classes; read-only.

    Attributes:
        means: mean probability of each class, shape (k, K).
        votes: draws in which it was the most probable, shape (k, K).
        draws: n.
    """

    means: FloatArray
    votes: IntArray
    draws: int

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.means.setflags(write=False)
        self.votes.setflags(write=False)

    def part(self, rows: ArrayLike) -> Scores:
        """The scores of some of the inputs, in the order of `rows`."""
        places = np.asarray(rows, dtype=np.int64)
        return Scores(self.means[places], self.votes[places], self.draws)


@dataclass(frozen=True, eq=False)
class ScoreBounds:
    """Bounds on all expected scores of each input, which hold together; shapes (k, K)."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Certified:
    """Predictions of k inputs, each with the size of attack that cannot change it.

    Attributes:
        classes: predicted class, or `ABSTAINED`, shape (k,).
        low: lower bound on its expected score, shape (k,).
        high: upper bound on the largest expected score of another class, shape (k,).
        sizes: L by PixelDP's condition, shape (k,); 0 where it abstained.
        tight: the largest L that follows from `low` and `high`, shape (k,).
        slides: L by the slides' condition, which is not proved, shape (k,).
    """

    classes: IntArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray
    tight: FloatArray
    slides: FloatArray


def draw_scores(
    scorer: Scorer,
    layer: NoiseLayer,
    inputs: ArrayLike,
    draws: int,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Scores:
    """Scores of each input under independent noise.

    Args:
        scorer: what follows the noise.
        layer: the noise.
        inputs: shape (k, d).
        draws: n, 1 to `limits.MAX_NOISE_DRAWS`.
        rng: of the noise.
        progress: called with ("noise", inputs done, k).

    Raises:
        ParameterError: an argument is outside its range, there is no input, or what the scorer
            gives is no probabilities of two classes or more.
    """
    if not 1 <= draws <= MAX_NOISE_DRAWS:
        raise ParameterError(f"draws of the noise: 1 to {MAX_NOISE_DRAWS:,}, got {draws}")
    clean = layer.clean(inputs)
    if not len(clean):
        raise ParameterError("there is no input to predict")
    # All draws of some inputs at a time, and where one input has too many, some of its draws.
    step = max(1, _BLOCK // (draws * clean.shape[1]))
    means, votes = [], []
    for start in range(0, len(clean), step):
        part = clean[start : start + step]
        rest = draws
        total: FloatArray | float = 0.0
        counts: IntArray | int = 0
        while rest:
            count = min(rest, max(1, _BLOCK // part.size))
            shares = _probabilities(scorer, layer.noisy(np.repeat(part, count, axis=0), rng))
            shares = shares.reshape(len(part), count, -1)
            total = total + shares.sum(axis=1)
            chosen = shares.argmax(axis=2)[..., None] == np.arange(shares.shape[2])
            counts = counts + chosen.sum(axis=1)
            rest -= count
        means.append(np.asarray(total) / draws)
        votes.append(np.asarray(counts, dtype=np.int64))
        progress("noise", min(start + step, len(clean)), len(clean))
    return Scores(np.concatenate(means), np.concatenate(votes), draws)


def _probabilities(scorer: Scorer, outputs: FloatArray) -> FloatArray:
    scores = np.asarray(scorer(outputs), dtype=np.float64)
    if not (scores.ndim == 2 and len(scores) == len(outputs) and scores.shape[1] >= 2):
        raise ParameterError(
            "a classifier gives the probabilities of at least two classes for each input, got "
            f"shape {scores.shape} for {len(outputs)} inputs"
        )
    if not bool((np.abs(scores.sum(axis=1) - 1.0) < 1e-6).all() and (scores >= 0).all()):
        raise ParameterError("the scores of a classifier must be probabilities that sum to 1")
    return scores


def hoeffding_width(draws: int, error: float, statements: int) -> float:
    """t with |mean − expectation| < t for values in [0, 1] (Hoeffding 1963, Theorem 1).

    Args:
        draws: n.
        error: all statements hold together but with this probability.
        statements: one-sided bounds, 2K for both sides of K classes; with 2 in place of 2K, as
            lecture slides have it, only the bounds of one class hold with that probability.
    """
    return math.sqrt(math.log(statements / error) / (2.0 * draws))


def score_bounds(scores: Scores, error: float, bound: Bound) -> ScoreBounds:
    """Bounds on every class's expected score, of each input all together.

    Both sides of all K classes share `error` equally. As the scores sum to 1, a class has at most
    what the lower bounds of the others leave.

    Args:
        scores: of the draws.
        error: in (0, 1), for each input.
        bound: which.

    Raises:
        ParameterError: the error is not between 0 and 1.
    """
    if not 0 < error < 1:
        raise ParameterError(f"an error probability must be between 0 and 1, got {error}")
    statements = 2 * scores.means.shape[1]
    if Bound(bound) is Bound.HOEFFDING:
        width = hoeffding_width(scores.draws, error, statements)
        low = np.maximum(scores.means - width, 0.0)
        high = np.minimum(scores.means + width, 1.0)
    else:
        # An interval depends on the number of votes alone: each is computed once.
        counts, where = np.unique(scores.votes, return_inverse=True)
        ends = [clopper_pearson(int(c), scores.draws, error / statements) for c in counts]
        both = np.array(ends)[where.reshape(scores.votes.shape)]
        low, high = both[..., 0], both[..., 1]
    # `max` with `low`: rounding must not put the upper end below the lower one.
    left = 1.0 - (low.sum(axis=1, keepdims=True) - low)
    return ScoreBounds(low, np.minimum(high, np.maximum(left, low)))


def certify(layer: NoiseLayer, bounds: ScoreBounds) -> Certified:
    """Predictions with certificates.

    Args:
        layer: the noise under which the scores were drawn.
        bounds: on the expected scores.

    Returns:
        The class whose lower bound is above all other upper bounds, or `ABSTAINED`.
    """
    rows = np.arange(len(bounds.low))
    classes = bounds.low.argmax(axis=1)
    low = bounds.low[rows, classes]
    # If two classes had lower bounds above all other upper bounds, each would be above the other.
    others = bounds.high.copy()
    others[rows, classes] = -np.inf
    high = others.max(axis=1)
    return Certified(
        classes=np.where(low > high, classes, ABSTAINED),
        low=low,
        high=high,
        sizes=certified_size(layer, low, high),
        tight=tight_size(layer, low, high),
        slides=certified_size(layer, low, high, Condition.SLIDES),
    )


def certified_accuracy(
    certified: Certified, labels: ArrayLike, sizes: ArrayLike, limits: FloatArray | None = None
) -> FloatArray:
    """Share of inputs that are predicted right, whatever an attack of each size does, shape (r,).

    An abstention counts as wrong. At size 0 it is the accuracy of the certified predictions.

    Args:
        certified: the predictions.
        labels: the true classes, shape (k,).
        sizes: L ≥ 0 to ask about, shape (r,).
        limits: certified sizes to use in place of `certified.sizes`, such as `certified.tight`.

    Raises:
        ParameterError: the labels are not one an input, or a size is not a number ≥ 0.
    """
    truth, asked = np.asarray(labels), np.asarray(sizes, dtype=np.float64)
    if not (truth.shape == certified.classes.shape and truth.size):
        raise ParameterError(
            f"each of {certified.classes.size} predictions needs a label, got {truth.size}"
        )
    if not bool((asked >= 0).all()):
        raise ParameterError("the size of an attack must be a number >= 0")
    reach = certified.sizes if limits is None else limits
    # A wrong or withheld answer withstands no attack, not even that of size 0.
    reach = np.where(certified.classes == truth, reach, -1.0)
    return np.asarray((reach >= asked[:, None]).mean(axis=1))
