"""Claims about the truncated Gumbel mechanism (Xu et al. 2021): Theorem 1 and Lemma 1.

Theorem 1 is refuted twice: on a crafted vocabulary with three different distances, where every
figure can be followed by hand, and on the vocabulary at hand. Both refutations rest on bounds of
the two probabilities (`gumbel.bounds`), not on the quadrature that found the pair.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.exact import audit_mechanism
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.gumbel.algorithm import lowest_epsilon, published_condition, scale
from dpcore.mechanisms.gumbel.law import law_from_distances
from dpcore.mechanisms.gumbel.log_law import PairBounds, certify
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.papers.claim import judged
from dpcore.written import Filled

CRAFTED_WORDS = 1000


def crafted_rows(m: int = CRAFTED_WORDS) -> FloatArray:
    """Return D(w, ·) and D(w′, ·) of a vocabulary of m + 2 words, shape (2, m + 2).

    m words at mutual distance 1 (scaled unit vectors), w among them; w′ and y at distance 1 from
    each other and 2 from all of those. Order: w, the other m − 1, w′, y. Δ₀ = 1, Δ = 2.
    """
    near = np.ones(m)
    near[0] = 0.0
    return np.stack([np.append(near, [2.0, 2.0]), np.append(np.full(m, 2.0), [0.0, 1.0])])


def crafted(edge: float, m: int = CRAFTED_WORDS) -> tuple[float, PairBounds]:
    """Return the claimed ε at this multiple of the lowest, and the pair that refutes it."""
    rows = crafted_rows(m)
    n = m + 2
    epsilon = edge * lowest_epsilon(n, 1.0)
    b = scale(epsilon, n, 1.0, 2.0)
    return epsilon, certify(rows[1], rows[0], n - 1, 2.0, b, 2.0)


def xu_theorem_1(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check Theorem 1: εd-privacy of Algorithm 2."""
    mechanism = TruncatedGumbel(lexicon=lexicon)
    extent = lexicon.with_metric(Metric.EUCLIDEAN).extent
    n, epsilon = len(lexicon), settings.edge * mechanism.admissible.low
    count, fewer = settings.sample(lexicon)
    audit = audit_mechanism(mechanism, epsilon, words=count, seed=settings.seed, progress=progress)
    worst = audit.losses.worst
    crafted_epsilon, example = crafted(settings.edge)
    # The proof bounds P(u_i | K = n) from below by one number for each of the n words: if these sum
    # to more than 1, no law has such a bound.
    together = n * math.exp(-math.exp(2 * extent.diameter / mechanism.noise_scale(epsilon)))
    numbers: dict[str, Number] = {
        "crafted: claimed epsilon": crafted_epsilon,
        "crafted: true epsilon, at least": example.epsilon,
        "claimed epsilon": epsilon,
        "true epsilon among these words": audit.losses.epsilon_effective,
        "true delta at epsilon·d": audit.losses.delta,
        "pairs": audit.losses.pairs,
        "lowest epsilon, published": published_condition(n, extent.separation),
        "lowest epsilon, with a positive scale": mechanism.admissible.low,
        "b": mechanism.noise_scale(epsilon),
        "n·exp(−e^(2Δ/b))": together,
    }
    here = False
    if worst is not None:
        pair = worst.word, worst.other
        proof = mechanism.certified(epsilon, *pair, worst.output, worst.distance)
        here = proof.epsilon > epsilon
        numbers |= {
            "true epsilon, at least": proof.epsilon,
            "w": lexicon.words[worst.word],
            "w′": lexicon.words[worst.other],
            "y": lexicon.words[worst.output],
            "distance": worst.distance,
            "ln P(y|w), at least": proof.low,
            "ln P(y|w′), at most": proof.other_high,
        }
    by_hand = example.epsilon > crafted_epsilon
    return judged(
        "xu-theorem-1",
        lexicon,
        settings,
        Outcome.REFUTED if by_hand or here else Outcome.NOT_REFUTED,
        mechanism=mechanism,
        parameters={
            "epsilon": epsilon,
            "edge": settings.edge,
            "words": count,
            "seed": settings.seed,
        },
        numbers=numbers,
        fails=True,
        epsilon=epsilon,
        n=n,
        crafted=CRAFTED_WORDS + 2,
        count=count,
        fewer=fewer,
        pairs=audit.losses.pairs,
        contradicts=_contradicts(by_hand, here),
        together=(
            Filled(
                "; and P(u_i | K = n) ≥ exp(−e^(2Δ/b)) cannot hold for all n words at once, since "
                "n times that is above 1."
            )
            if together > 1
            else Filled(", so the bound P(u_i | K = n) ≥ exp(−e^(2Δ/b)) does not follow.")
        ),
    )


def _contradicts(crafted_words: bool, these_words: bool) -> str:
    """Name the vocabularies that contradict the theorem at this ε."""
    if crafted_words and these_words:
        return Filled("Both contradict the claim.")
    if crafted_words:
        return Filled("The crafted vocabulary contradicts the claim; these words do not.")
    if these_words:
        return Filled("These words contradict the claim.")
    return Filled("Neither contradicts the claim.")


def xu_lemma_1(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check Lemma 1: for any fixed k at least 1 − exp(−e^{−2Δ/b}) of the words are modified."""
    mechanism = TruncatedGumbel(lexicon=lexicon)
    extent = lexicon.with_metric(Metric.EUCLIDEAN).extent
    epsilon = settings.edge * mechanism.admissible.low
    b = mechanism.noise_scale(epsilon)
    claimed = -math.expm1(-math.exp(-2.0 * extent.diameter / b))
    # Two certain candidates: the word itself, and a neighbour at the least or largest distance.
    both = np.array([0.0, 1.0])
    near, far = (
        1.0 - law_from_distances(np.array([0.0, apart]), both, b, extent.diameter)[0]
        for apart in (extent.separation, extent.diameter)
    )
    return judged(
        "xu-lemma-1",
        lexicon,
        settings,
        Outcome.REFUTED,
        mechanism=mechanism,
        parameters={"epsilon": epsilon, "edge": settings.edge},
        numbers={
            "b": b,
            "claimed share modified, at least": claimed,
            "share modified, k = 1": 0.0,
            "share modified, k = 2, neighbour at the smallest distance": near,
            "share modified, k = 2, neighbour at the largest distance": far,
        },
        claimed=claimed,
    )
