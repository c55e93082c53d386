"""What a noisy vector gives away: to one who computes the likeliest word, and to anyone at all.

`likeliest_words` is the attacker who sees the vector itself, as a decoder does, and knows the law
of the noise. `kept_at_most` bounds every decoder, also one that reads the whole sentence and knows
the language: that many words can come out as they went in, and no more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.bisection import safe_end
from dpcore.errors import ParameterError
from dpcore.noise.radial import Radial

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


_BLOCK = 64  # noisy vectors that are compared with every word at a time
_SLACK = 1e-5  # float32 words: this much of the cut is added to it, so that no true word is lost


def likeliest_words(mechanism: Mechanism, noisy: FloatArray, epsilon: float) -> IntArray:
    """The word under which each noisy vector is most likely, every word alike before.

    Gaussian noise: the nearest word. Laplace noise: the nearest in the L1 norm. Truncated noise:
    the same among the words that can have given the vector at all, which are few.

    Args:
        mechanism: clips, then adds Gaussian, Laplace or truncated Laplace noise.
        noisy: shape (t, d), as `Mechanism.noisy_vectors` gives it.
        epsilon: at which it was drawn.

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
            # Where rounding leaves no word inside the support, none is excluded.
            distances[~inside & inside.any(axis=1, keepdims=True)] = math.inf
        likeliest[start : start + _BLOCK] = distances.argmin(axis=1)
    return likeliest


def information(mechanism: Mechanism, epsilon: float) -> float:
    """Nats that the noisy vector of a word can tell about it at most; infinite if not bounded.

    The largest divergence KL(P_w ‖ P_w′) of two clipped vectors 2C apart bounds the mutual
    information for every law of the word. Gaussian: (2C)²/(2σ²). Laplace of scale b: a coordinate
    moved by b·t costs t − 1 + e^(−t). That is concave in t², so that of vectors clipped in the L2
    norm equal coordinates are worst, t = 2C/(√d·b) in each; and convex in t, so that of vectors
    clipped in the L1 norm one coordinate alone is, t = 2C/b. Truncated noise: infinite, as its
    support moves with the word.
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
    # The series where the two terms agree in most digits.
    step = t * t * (0.5 - t / 6) if t < 1e-5 else t + math.expm1(-t)
    return moved * step


def kept_at_most(nats: float, guess: float) -> float:
    """The largest share s of places that any decoder can get right, given what it can know.

    The decoder sees noisy vectors of whole sentences, which tell at most `nats` about the word of a
    place: the sum of `information` over the words of its sentence. Without them it would be right
    with probability `guess` at most. By the data-processing inequality kl(s ‖ guess) ≤ nats, and kl
    is jointly convex, so both may be means over places (Cover and Thomas 2006, Section 2.7).

    Raises:
        ParameterError: `nats` is below 0 or NaN, or `guess` is no probability above 0.
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
    """kl(s ‖ guess) of two coins, in nats, for guess ≤ s < 1: the inverse of `kept_at_most`."""
    return s * math.log(s / guess) + (1 - s) * math.log1p((guess - s) / (1 - guess))
