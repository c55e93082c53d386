"""Exact audits of the mechanisms of the registry, over all words or over a declared sample.

Every word of the vocabulary stays a possible output; what is sampled are the private words (or
pairs of them) that are compared. A sample bounds the true ε from below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arguments import a_whole
from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.exact.exact import (
    ExactAudit,
    Triple,
    audit_bounds,
    audit_laws,
    hockey_stick,
)
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import distance_error
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.rounding import ELEMENTARY, UNIT, gamma
from dpcore.limits import (
    MAX_AUDIT_ENTRIES,
    MAX_AUDIT_PAIRS,
    MAX_AUDIT_TEM_WORDS,
    MAX_AUDIT_WORDS,
)
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.hooks import LossSearch
    from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class LawAudit:
    """An exact audit of a mechanism, and over what.

    Attributes:
        losses: of its pairs of words.
        words: how many private words were compared.
        vocabulary: n, the outputs.
        complete: whether all pairs of the vocabulary were compared; else ε_eff is a lower bound.
        method: how the laws were computed and the pairs chosen, in words.
        error: of ε_eff, from that of the logarithms of the worst triple: for a closed form over
            Euclidean distances a bound, for a quadrature an estimate (`Mechanism.log_estimate`).
            Where bounds on the laws were compared, ε_eff is the least ε that they leave, and the
            error is the distance to the largest.
        most: a bound on the true ε of these pairs from above; ∞ where none is known.
        bounded: whether bounds on the laws were compared.
    """

    losses: ExactAudit
    words: int
    vocabulary: int
    complete: bool
    method: str
    error: float
    most: float
    bounded: bool = False

    @property
    def least(self) -> float:
        """The least ε that the error leaves."""
        found = self.losses.epsilon_effective
        return found if self.bounded else found - self.error


def audit_mechanism(
    mechanism: Mechanism,
    epsilon: float,
    *,
    words: int | IntArray | None = None,
    pairs: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> LawAudit:
    """Compare the exact laws of pairs of words.

    Args:
        mechanism: one with an exact law.
        epsilon: the claimed ε.
        words: the private words: indices; or how many to draw without replacement, keyed by the
            seed; or None for all, up to `limits.MAX_AUDIT_WORDS` (with a quick search for the
            largest loss, `Mechanism.loss_search`: `limits.MAX_AUDIT_TEM_WORDS`).
        pairs: instead, how many pairs to draw, keyed by the seed.
        seed: of the sample.
        progress: called with (stage, done, total).

    Raises:
        ParameterError: no exact law, too many words for all pairs (the message says what to do),
            or a sample that is too small or too large.
    """
    check_exact(mechanism)
    value = mechanism.check_epsilon(epsilon)
    n = len(mechanism.lexicon)
    if pairs is not None:
        if words is not None:
            raise ParameterError("give a number of words or a number of pairs, not both")
        losses, most = _audit_pairs(mechanism, value, pairs, seed, progress)
        chosen = f"{pairs:,} pairs of words drawn with seed {seed}"
        return _described(mechanism, losses, 2 * pairs, False, chosen, most)
    if words is None and (search := mechanism.loss_search) is not None:
        return _audit_whole(mechanism, search, value, progress)
    indices, chosen = _choose(mechanism, words, seed)
    if _bounded(mechanism):
        low, high = (np.empty((indices.size, n)) for _ in range(2))
        for i, word in enumerate(indices.tolist()):
            low[i], high[i] = _bounds(mechanism, word, value)
            progress("laws", i + 1, indices.size)
        apart = mechanism.promised_distances(indices, value)
        local, most = audit_bounds(low, high, apart, value, progress=progress)
        losses = _renamed(local, indices)
        return _described(mechanism, losses, indices.size, indices.size == n, chosen, most)
    rows = np.empty((indices.size, n))
    floors: list[float] = []
    for i, word in enumerate(indices.tolist()):
        rows[i], floor = mechanism.floored_log_law(word, value)
        floors += [] if floor is None else [floor]
        progress("laws", i + 1, indices.size)
    apart = mechanism.promised_distances(indices, value)
    # One floor for all rows, the highest: max(x, floor) brings no two logarithms further apart, but
    # two floors could.
    local = audit_laws(rows, apart, value, floor=max(floors, default=None), progress=progress)
    return _described(mechanism, _renamed(local, indices), indices.size, indices.size == n, chosen)


def _audit_whole(
    mechanism: Mechanism, search: LossSearch, epsilon: float, progress: Progress
) -> LawAudit:
    """All pairs of the vocabulary in n² steps; where ε holds for every pair, δ is 0."""
    n = len(mechanism.lexicon)
    if n > MAX_AUDIT_TEM_WORDS:
        raise ParameterError(
            f"all pairs of {mechanism.short} are compared up to {MAX_AUDIT_TEM_WORDS:,} words, "
            f"this lexicon has {n:,}: audit a sample of 2 to {MAX_AUDIT_ENTRIES // n:,} words"
        )
    loss = search.find(epsilon, progress)
    pair = loss.word, loss.other
    # δ is 0 if every loss is at most ε·d; else that of the worst pair bounds it from below, since
    # the pair with the largest loss need not have the largest δ.
    holds = loss.epsilon <= epsilon
    delta = 0.0
    if not holds:
        first, second = (mechanism.log_law(word, epsilon) for word in pair)
        delta = float(hockey_stick(first, second, epsilon * loss.distance))
    audit = ExactAudit(
        epsilon=epsilon,
        epsilon_effective=loss.epsilon,
        worst=Triple(*pair, loss.output, loss.distance, loss.log_word, loss.log_other),
        delta=delta,
        delta_pair=None if holds else pair,
        delta_complete=holds,
        pairs=n * (n - 1) // 2,
        outputs=n,
        unknown=0,
    )
    method = f"{search.method}, all pairs of the {n:,} words, every word as output"
    return LawAudit(audit, n, n, True, method, loss.error, loss.epsilon + loss.error)


def _bounded(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, ExactMechanism) and mechanism.law_bounded


def _bounds(mechanism: Mechanism, word: int, epsilon: float) -> tuple[FloatArray, FloatArray]:
    bounds = mechanism.log_bounds(word, epsilon)
    if bounds is None:
        raise ParameterError(f"{mechanism.short} says that its law is bounded, and has no bounds")
    return bounds


def _choose(mechanism: Mechanism, words: int | IntArray | None, seed: int) -> tuple[IntArray, str]:
    """Ascending word indices, and how they were chosen."""
    n = len(mechanism.lexicon)
    largest = min(n, MAX_AUDIT_ENTRIES // n)
    if words is None:
        if n > MAX_AUDIT_WORDS:
            raise ParameterError(
                f"all pairs are compared up to {MAX_AUDIT_WORDS:,} words, this lexicon has {n:,}: "
                f"audit a sample of 2 to {largest:,} words, or of up to {MAX_AUDIT_PAIRS:,} pairs"
            )
        return np.arange(n), f"all pairs of the {n:,} words"
    if not isinstance(words, Iterable) or not np.ndim(words):
        words = a_whole(words, "the number of words of a sample")
        if not 2 <= words <= largest:
            raise ParameterError(
                f"a sample has 2 to {largest:,} words of this lexicon, got {words}"
            )
        drawn = generator(seed, "audit", "words").choice(n, words, replace=False)
        return np.sort(drawn), f"all pairs of {words:,} words drawn with seed {seed}"
    indices = np.unique(mechanism.check_words(words))
    if not 2 <= indices.size <= largest:
        raise ParameterError(
            f"a sample has 2 to {largest:,} different words of this lexicon, got {indices.size}"
        )
    return indices, f"all pairs of {indices.size:,} chosen words"


def _audit_pairs(
    mechanism: Mechanism,
    epsilon: float,
    pairs: int,
    seed: int,
    progress: Progress,
) -> tuple[ExactAudit, float | None]:
    """Losses of a sample of pairs, one pair at a time; δ is the largest of these pairs."""
    pairs = a_whole(pairs, "the number of pairs of a sample", 1, MAX_AUDIT_PAIRS)
    n = len(mechanism.lexicon)
    rng = generator(seed, "audit", "pairs")
    first = rng.integers(n, size=pairs)
    second = (first + rng.integers(1, n, size=pairs)) % n  # never the same word
    best: ExactAudit | None = None
    delta, delta_pair, unknown, deepest, nearest = 0.0, None, 0, 0.0, math.inf
    most: float | None = None
    for i in range(pairs):
        both = np.array([first[i], second[i]])
        apart = mechanism.promised_distances(both, epsilon)
        if _bounded(mechanism):
            bounds = [_bounds(mechanism, int(word), epsilon) for word in both]
            low, high = (np.stack([pair[side] for pair in bounds]) for side in (0, 1))
            losses, upper = audit_bounds(low, high, apart, epsilon)
            most = max(most or 0.0, upper)
        else:
            laws = [mechanism.floored_log_law(int(word), epsilon) for word in both]
            rows = np.stack([logs for logs, _ in laws])
            floor = max((floor for _, floor in laws if floor is not None), default=None)
            losses = audit_laws(rows, apart, epsilon, floor=floor)
        unknown += losses.unknown
        deepest = max(deepest, losses.largest_log)
        nearest = min(nearest, losses.least_distance)
        if losses.delta > delta:
            delta, delta_pair = losses.delta, _renamed(losses, both).delta_pair
        if best is None or losses.epsilon_effective > best.epsilon_effective:
            best = _renamed(losses, both)
        progress("pairs", i + 1, pairs)
    assert best is not None  # noqa: S101 - pairs ≥ 1
    whole = replace(
        best,
        delta=delta,
        delta_pair=delta_pair,
        delta_complete=True,
        pairs=pairs,
        unknown=unknown,
        largest_log=deepest,
        least_distance=nearest,
    )
    return whole, most


def _renamed(losses: ExactAudit, indices: IntArray) -> ExactAudit:
    """The same audit with the words' own indices in place of their rows."""
    worst, pair = losses.worst, losses.delta_pair
    if worst is not None:
        worst = Triple(
            int(indices[worst.word]),
            int(indices[worst.other]),
            worst.output,
            worst.distance,
            worst.log_probability,
            worst.other_log_probability,
        )
    if pair is not None:
        pair = (int(indices[pair[0]]), int(indices[pair[1]]))
    return replace(losses, worst=worst, delta_pair=pair)


def _rounding(lexicon: Lexicon, size: float) -> float:
    """Bound on the error of two logarithms of softmax probabilities whose sizes add up to `size`.

    An exponent is no larger than −ln P and is off by the error of its distance; ln Z as in
    `tem_loss`, where its error is derived, once for each of the (at most two) sums in a law.
    """
    exponents = distance_error(lexicon.dimension) + 4.0 * UNIT
    n = len(lexicon)
    sums = exponents * math.log(n) + gamma(n + 8.0) + 4.0 * ELEMENTARY * (1.0 + math.log(n))
    return 1.01 * ((exponents + 4.0 * ELEMENTARY) * size + 4.0 * sums)


def _described(
    mechanism: Mechanism,
    losses: ExactAudit,
    words: int,
    complete: bool,
    chosen: str,
    bound: float | None = None,
) -> LawAudit:
    """The audit with its method and errors; `bound` is on the true ε, where laws are bounded."""
    estimate, law = mechanism.log_estimate, mechanism.law_method
    if estimate is not None:
        law += " in log space"
    error, most = 0.0, math.inf
    if bound is not None:
        law, error, most = f"bounds on a {law}", bound - losses.epsilon_effective, bound
    elif estimate is None and not losses.unknown:
        # Rounding may have made another triple the worst one: at most by the errors of the deepest.
        deepest = _rounding(mechanism.lexicon, 2.0 * losses.largest_log)
        most = losses.epsilon_effective + deepest / losses.least_distance
    if bound is None and losses.worst is not None and math.isfinite(losses.epsilon_effective):
        logs = (losses.worst.log_probability, losses.worst.other_log_probability)
        size = sum(abs(log) for log in logs)
        slack = _rounding(mechanism.lexicon, size) if estimate is None else estimate * size
        error = slack / losses.worst.distance  # ε is a loss per distance
    note = f"; {losses.unknown:,} probabilities too small to compute" if losses.unknown else ""
    return LawAudit(
        losses=losses,
        words=words,
        vocabulary=len(mechanism.lexicon),
        complete=complete,
        method=f"{law}, {chosen}, every word as output{note}",
        error=error,
        most=most,
        bounded=bound is not None,
    )


def check_exact(mechanism: Mechanism) -> None:
    """Refuse a mechanism without an exact law.

    Raises:
        ParameterError: it has none; the message says how it is audited instead.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"{mechanism.short} has no exact law, so no exact audit: its noise is audited by its "
            "privacy profile, its outputs by Monte Carlo"
        )
