"""Nearest-neighbour attacker, and the leakage of noisy vectors.

The attacker is for mechanisms whose law cannot be computed. It guesses the released word itself or,
if it knows that only some words are possible, the nearest of them. The Bayes attacker does at least
as well, so its success is a lower bound of the leakage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.prior import Prior
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.neighbours import rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS
from dpcore.measure.deniability import STANDARD_ERRORS
from dpcore.measure.directions import output_blocks, outputs_of
from dpcore.measure.probability_intervals import MeanTally, Tally
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.samplers import Radial
from dpcore.noise.streams import generator
from dpcore.outwards import safe_end

_DIRECTIONS = 200


@dataclass(frozen=True, eq=False)
class NearestSuccess:
    """Success of the nearest-neighbour attacker; arrays of shape (E,).

    Attributes:
        epsilons: shape (E,).
        value: the mean over words, estimated unless `exact`.
        error: its standard error: of the noise, and of the draw of words if they are drawn.
        low: lower end of an interval of level 95 % for that mean, including the draw of words.
        high: upper end.
        words: number of words that were tried.
        drawn: True if they were drawn from the prior; else every possible word was tried.
        exact: True if the laws are exact (then an error comes only from the draw).
        detail: how laws were found.
    """

    epsilons: FloatArray
    value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    words: int
    drawn: bool
    exact: bool
    detail: str


def nearest_guess(lexicon: Lexicon, output: int, candidates: Sequence[int] | IntArray) -> int:
    """Return the candidate nearest to a released word, of equally near ones the lowest index."""
    words = np.unique(np.asarray(candidates, dtype=np.int64))
    if not words.size:
        raise ParameterError("the attacker needs at least one possible word")
    far = distances(lexicon.vectors[words], lexicon.vectors[[output]])[0]
    return int(words[far.argmin()])


def nearest_success(
    mechanism: Mechanism,
    prior: Prior,
    epsilons: FloatArray | Sequence[float],
    *,
    words: int = 40,
    seed: int = 0,
    progress: Progress = silent,
) -> NearestSuccess:
    """Try the attacker on words of the prior.

    With at most `limits.MAX_ATTACK_PRIOR_WORDS` possible words all are tried, and the attacker
    guesses among them; else `words` are drawn and the attacker guesses the released word.

    Args:
        mechanism: any mechanism.
        prior: prior over words; the attacker knows which are possible, not how likely.
        epsilons: admissible, shape (E,).
        words: number of words to draw, at least 2.
        seed: seed of the draws.
        progress: called with ("attacks", done, all).

    Raises:
        ParameterError: `words` is out of range.
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    lexicon = mechanism.lexicon
    listed = prior.support.size <= MAX_ATTACK_PRIOR_WORDS
    if not 2 <= words <= MAX_ATTACK_PRIOR_WORDS:
        raise ParameterError(f"words to draw must be 2 to {MAX_ATTACK_PRIOR_WORDS}, got {words}")
    if listed:
        tried, weights = prior.support, prior.probability[prior.support]
    else:
        drawn = prior.draw(generator(seed, "nearest attack"), words)
        tried, counts = np.unique(drawn, return_counts=True)
        weights = counts / words
    shared = SharedDirections(Effort(_DIRECTIONS))
    right = np.empty((tried.size, values.size))
    counted: MeanTally | None = None
    detail = ""
    for i, (word, ranking) in enumerate(
        zip(tried.tolist(), rank(lexicon.vectors, lexicon.vectors[tried]), strict=True)
    ):
        if mechanism.exact_law or listed:
            outputs = outputs_of(mechanism, word, values, ranking, shared)
            guess = _guesses(lexicon, outputs.output, tried) if listed else outputs.output
            hits = outputs.each(guess == word).T
            blocks = np.ones(outputs.rays)
            detail = outputs.detail
        else:
            hits, blocks = output_blocks(mechanism, word, word, values, ranking, shared)
            detail = f"{len(blocks):,} directions or draws, and others towards each word"
        if mechanism.exact_law:
            right[i] = hits[0]
        else:
            tally = Tally.of(hits, blocks)
            right[i] = tally.value
            counted = counted or MeanTally(blocks.size, values.size)
            counted.add(float(weights[i]), hits, blocks, tally)
        progress("attacks", i + 1, tried.size)
    mean = weights @ right
    error, low, high = np.zeros(mean.shape), mean, mean
    if counted is not None:
        noise, unseen = counted.tally()
        error, (low, high) = noise.error, noise.interval(unseen)
    if not listed:
        # For the mean of `words` independent words. Noise and draw are independent of each
        # other, so their squares add up.
        spread = np.sqrt((weights @ np.square(right - mean)) / max(words - 1, 1))
        error = np.hypot(error, spread)
        low = np.maximum(mean - np.hypot(mean - low, STANDARD_ERRORS * spread), 0.0)
        high = np.minimum(mean + np.hypot(high - mean, STANDARD_ERRORS * spread), 1.0)
    exact = mechanism.exact_law
    return NearestSuccess(
        values, mean, error, low, high, int(tried.size), not listed, exact, detail
    )  # fmt: skip


def _guesses(lexicon: Lexicon, outputs: IntArray, candidates: IntArray) -> IntArray:
    """Apply `nearest_guess` to many outputs."""
    distinct, places = np.unique(outputs, return_inverse=True)
    best = np.empty(distinct.size, dtype=np.int64)
    step = max(1, math.floor(2**22 / candidates.size))
    for start in range(0, distinct.size, step):
        part = distinct[start : start + step]
        far = distances(lexicon.vectors[candidates], lexicon.vectors[part])
        best[start : start + step] = candidates[far.argmin(axis=1)]
    return best[places]


# Leakage of a noisy vector: to an attacker who computes the likeliest word, and to any decoder.
#
# `likeliest_words` is the attacker who sees the vector itself, as a decoder does, and knows the law
# of the noise. `kept_at_most` bounds every decoder, even one that reads the whole sentence and
# knows the language: no more than that share of words can be recovered.


_BLOCK = 64  # noisy vectors that are compared with every word at a time
_SLACK = 1e-5  # for float32 words: relative widening of the cut, so that no true word is lost


def likeliest_words(mechanism: Mechanism, noisy: FloatArray, epsilon: float) -> IntArray:
    """Return the word under which each noisy vector is most likely, under a uniform prior.

    Gaussian noise: the nearest word. Laplace noise: the nearest in the L1 norm. Truncated noise:
    the same among the few words whose support holds the vector.

    Args:
        mechanism: clips, then adds Gaussian, Laplace or truncated Laplace noise.
        noisy: shape (t, d), as `Mechanism.noisy_vectors` gives it.
        epsilon: ε of the noise.

    Returns:
        Lexicon indices, shape (t,).

    Raises:
        ParameterError: the mechanism has other noise.
    """
    from scipy.spatial.distance import cdist

    noise = mechanism.vector_noise(epsilon)
    if noise is None or noise.norm is None:
        raise ParameterError(
            f"the likeliest word is known for Gaussian and Laplace noise, not for {mechanism.short}"
        )
    metric: Literal["cityblock", "euclidean"] = "cityblock" if noise.independent else "euclidean"
    cut = noise.cut
    words = noise.origins.astype(np.float64)
    likeliest = np.empty(len(noisy), dtype=np.int64)
    for start in range(0, len(noisy), _BLOCK):
        some = noisy[start : start + _BLOCK]
        distances = cdist(some, words, metric)
        if cut < math.inf:
            inside = cdist(some, words, "chebyshev") <= cut * (1 + _SLACK)
            # If rounding leaves no word inside the support, none is excluded.
            distances[~inside & inside.any(axis=1, keepdims=True)] = math.inf
        likeliest[start : start + _BLOCK] = distances.argmin(axis=1)
    return likeliest


def information(mechanism: Mechanism, epsilon: float) -> float:
    """Return the nats that a word's noisy vector can tell about it at most; infinite if unbounded.

    The largest divergence KL(P_w ‖ P_w′) of two clipped vectors 2C apart bounds the mutual
    information for every law of the word. Gaussian: (2C)²/(2σ²). Laplace of scale b: a coordinate
    moved by b·t costs t − 1 + e^(−t). That is concave in t², so for vectors clipped in the L2
    norm equal coordinates are worst, t = 2C/(√d·b) in each; and convex in t, so for vectors
    clipped in the L1 norm a single coordinate is worst, t = 2C/b. Truncated noise: infinite, as
    its support moves with the word.
    """
    value = mechanism.check_epsilon(epsilon)
    noise = mechanism.vector_noise(value)
    if noise is None or noise.norm is None or noise.cut < math.inf:
        return math.inf
    if noise.family is Radial.GAUSSIAN:
        return 0.5 * (noise.sensitivity / noise.scale) ** 2
    if not noise.independent:
        return math.inf
    moved = 1 if noise.power == 1 else noise.dimension
    # b is the sensitivity over ε: 2C√d for `laplace`, where t = ε/d.
    t = 2.0 * math.sqrt(moved) * noise.norm / noise.sensitivity * value / moved
    # The series, for small t, where the two terms agree in most digits.
    step = t * t * (0.5 - t / 6) if t < 1e-5 else t + math.expm1(-t)
    return moved * step


def kept_at_most(nats: float, guess: float) -> float:
    """Return the largest share s of positions that any decoder can get right.

    The decoder sees noisy vectors of whole sentences, which tell at most `nats` about the word of a
    position: the sum of `information` over the words of its sentence. Without them it would be
    right with probability `guess` at most. By the data-processing inequality kl(s ‖ guess) ≤ nats,
    and kl is jointly convex, so both may be means over positions (Cover and Thomas 2006, Section
    2.7).

    Raises:
        ParameterError: `nats` is below 0 or NaN, or `guess` is not a probability above 0.
    """
    if not nats >= 0:
        raise ParameterError(f"information is a number of nats >= 0, got {nats}")
    if not 0 < guess <= 1:
        raise ParameterError(f"a guess is right with probability above 0 to 1, got {guess}")
    if nats >= -math.log(guess):
        return 1.0

    def beyond(s: FloatArray) -> bool:
        return not divergence(float(s), guess) <= nats

    return float(safe_end(beyond, 1.0, guess))


def divergence(s: float, guess: float) -> float:
    """Return kl(s ‖ guess) of two coins, in nats, for guess ≤ s < 1; inverts `kept_at_most`."""
    return s * math.log(s / guess) + (1 - s) * math.log1p((guess - s) / (1 - guess))
