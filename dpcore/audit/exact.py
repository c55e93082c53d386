"""Exact privacy loss of finite laws, and exact audits of mechanisms.

For laws P(·|w) over a finite set of outputs,

    ε_eff = max over w ≠ w′ and y of |ln P(y|w) − ln P(y|w′)| / d(w, w′),
    δ(ε)  = max over ordered pairs of Σ_y (P(y|w) − e^{ε·d(w,w′)}·P(y|w′))₊,

d the metric of the claim, or 1 for a claim between any two words. The largest difference of two
rows of logarithms is their Chebyshev distance, which SciPy computes in one compiled pass. All in
float64 logarithms: denominators of e^−3500 occur.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import a_whole
from dpcore.arrays import FloatArray, IntArray, largest
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import ELEMENTARY, UNIT, distance_error, gamma
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import (
    MAX_AUDIT_DELTA_PAIRS,
    MAX_AUDIT_ENTRIES,
    MAX_AUDIT_PAIRS,
    MAX_AUDIT_TEM_WORDS,
    MAX_AUDIT_WORDS,
)
from dpcore.mechanisms.mechanism import LossSearch, Mechanism
from dpcore.noise.streams import generator
from dpcore.written import Filled

_NEVER = -1e300  # in place of ln 0: its difference from any real logarithm is beyond _INFINITE
_INFINITE = 1e299
_RESOLVED = -600.0  # a bound on ln P below it may have underflowed
_BLOCK_ENTRIES = 4_000_000
_ROUNDING = 1e-12  # a loss is beyond ε·d only by more than this part of it
SUM_TOLERANCE = 1e-3
"""How far the probabilities of a row may sum from 1 before it is no law."""


@dataclass(frozen=True)
class Triple:
    """Two words and an output that tells them apart.

    Attributes:
        word: index of w, under which the output is the likelier.
        other: index of w′.
        output: index of y.
        distance: d(w, w′).
        log_probability: ln P(y|w).
        other_log_probability: ln P(y|w′); −∞ for an impossible output.
    """

    word: int
    other: int
    output: int
    distance: float
    log_probability: float
    other_log_probability: float

    @property
    def loss(self) -> float:
        """ln P(y|w) − ln P(y|w′)."""
        return self.log_probability - self.other_log_probability


@dataclass(frozen=True)
class ExactAudit:
    """Exact losses of some pairs of words, summarised.

    Attributes:
        epsilon: the claimed ε.
        epsilon_effective: the smallest ε that is true of these pairs; ∞ if an output is possible
            under one word and impossible under another.
        worst: the triple that attains it; None if all laws are equal.
        delta: the smallest δ that is true of these pairs at the claimed ε.
        delta_pair: the ordered pair (w, w′) that attains it, if δ > 0.
        delta_complete: True if δ was computed for every pair beyond ε·d, and not only for the
            `limits.MAX_AUDIT_DELTA_PAIRS` furthest beyond.
        pairs: unordered pairs of words.
        outputs: outputs of each law.
        unknown: logarithms below the floor of the computation, counted as if they were at the
            floor: then ε_eff is a lower bound of the true one (and never a spurious ∞).
        largest_log: the largest |ln P| of a possible output, on which rounding errors depend.
        least_distance: the smallest positive distance of two of the words, 1 for a claim between
            any two words.
    """

    epsilon: float
    epsilon_effective: float
    worst: Triple | None
    delta: float
    delta_pair: tuple[int, int] | None
    delta_complete: bool
    pairs: int
    outputs: int
    unknown: int
    largest_log: float = 0.0
    least_distance: float = 1.0

    @property
    def holds(self) -> bool:
        """True if no pair is beyond ε·d."""
        return self.epsilon_effective <= self.epsilon * (1 + _ROUNDING)


def check_logs(logs: FloatArray, floor: float | None = None) -> tuple[FloatArray, int]:
    """Check rows of log-probabilities, and prepare them for subtraction.

    Args:
        logs: ln P(y|w), shape (m, n); −∞ for an impossible output.
        floor: if given, −∞ means "below this, not computed": such entries are put at the floor,
            and so are all lower values. As x ↦ max(x, floor) brings no two numbers further
            apart, losses are then bounded from below.

    Returns:
        A float64 array in which −∞ is a very low number, and how many entries are not computed.

    Raises:
        ParameterError: a NaN or a positive logarithm, or a row that does not sum to 1.
    """
    values = np.asarray(logs, dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise ParameterError(f"log-probabilities have shape (words, outputs), got {values.shape}")
    for w, row in enumerate(values):
        if not row.max() <= 1e-9:  # NaN fails too
            raise ParameterError(f"the log-probabilities of row {w} hold NaN or a number above 0")
        total = float(np.exp(row).sum())
        if not abs(total - 1.0) <= SUM_TOLERANCE:
            raise ParameterError(f"the probabilities of row {w} sum to {total:.6g}, not to 1")
    if floor is None:
        return np.maximum(values, _NEVER), 0
    return np.maximum(values, floor), int(np.isneginf(values).sum())


def audit_laws(
    logs: FloatArray,
    distances: FloatArray | None,
    epsilon: float,
    *,
    floor: float | None = None,
    progress: Progress = silent,
) -> ExactAudit:
    """Audit all pairs of the rows of a matrix of log-probabilities.

    Args:
        logs: ln P(y|w), shape (m, n).
        distances: d(w, w′), shape (m, m), symmetric; None for a claim between any two words. Two
            words at distance 0 need one law: if theirs differ, ε_eff is ∞.
        epsilon: the claimed ε, per unit of distance.
        floor: see `check_logs`.
        progress: called with ("losses", rows done, m) and ("delta", pairs done, pairs).

    Raises:
        ParameterError: as `check_logs`; or ε is not finite and positive, or the distances do not
            fit.
        ComputationError: a distance is NaN.
    """
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be a finite number > 0, got {epsilon}")
    rows, unknown = check_logs(logs, floor)
    m = len(rows)
    _check_distances(distances, m)
    worst, best = None, 0.0
    beyond: list[tuple[FloatArray, IntArray, IntArray]] = []
    # Row blocks against themselves and all later rows: the upper triangle, and little memory.
    step = max(1, min(m, _BLOCK_ENTRIES // m))
    for start in range(0, m, step):
        stop = min(start + step, m)
        loss = _losses(rows[start:stop], rows[start:])
        apart = np.ones_like(loss) if distances is None else distances[start:stop, start:]
        # Each pair once: only words after the row's own.
        later = np.arange(m - start) > np.arange(stop - start)[:, None]
        # Two words at distance 0 need one law: a loss between them divided by 0 is then ∞.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(later & (loss > 0), loss / apart, 0.0)
        place, most = largest(ratio, "a privacy loss")
        if most > best:
            best = most
            i, j = divmod(place, m - start)
            worst = _triple(rows, start + i, start + j, float(apart[i, j]))
        beyond = _furthest(beyond, loss - epsilon * apart, ratio > epsilon * (1 + _ROUNDING), start)
        progress("losses", stop, m)
    excess, left, right = beyond[0] if beyond else (np.empty(0), np.empty(0), np.empty(0))
    delta, pair = _largest_delta(
        rows, left.astype(int), right.astype(int), distances, epsilon, progress
    )
    return ExactAudit(
        epsilon=epsilon,
        epsilon_effective=best,
        worst=worst,
        delta=delta,
        delta_pair=pair,
        delta_complete=excess.size < MAX_AUDIT_DELTA_PAIRS,
        pairs=m * (m - 1) // 2,
        outputs=rows.shape[1],
        unknown=unknown,
        largest_log=float(-np.min(rows, where=rows > _NEVER, initial=0.0)),
        least_distance=_least(distances),
    )


def _check_distances(distances: FloatArray | None, m: int) -> None:
    if distances is not None and distances.shape != (m, m):
        raise ParameterError(f"distances must have shape ({m}, {m}), got {distances.shape}")


def _least(distances: FloatArray | None) -> float:
    """Return the smallest positive distance; 1 where no distance counts."""
    if distances is None:
        return 1.0
    least = float(np.min(distances, where=distances > 0, initial=math.inf))
    return least if math.isfinite(least) else 1.0


def audit_bounds(
    low: FloatArray,
    high: FloatArray,
    distances: FloatArray | None,
    epsilon: float,
    *,
    progress: Progress = silent,
) -> tuple[ExactAudit, float]:
    """Audit all pairs of laws of which only bounds are known.

    A loss is at least ln low(y|w) − ln high(y|w′), and at most ln high(y|w) − ln low(y|w′).

    Args:
        low: lower bounds on ln P(y|w), shape (m, n); −∞ where none is known.
        high: upper bounds, shape (m, n).
        distances: as for `audit_laws`.
        epsilon: the claimed ε, per unit of distance.
        progress: called with ("losses", rows done, m).

    Returns:
        An audit whose ε_eff and δ are lower bounds, and an upper bound on the true ε: ∞ where an
        output may be possible under one word alone.

    Raises:
        ParameterError: as `audit_laws`, or a lower bound lies above its upper bound.
    """
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be a finite number > 0, got {epsilon}")
    m = len(low)
    _check_distances(distances, m)
    if not (low.shape == high.shape and np.all(low <= high)):  # NaN fails too
        raise ParameterError("lower bounds of a law must not lie above its upper bounds")
    above = np.maximum(high, _RESOLVED)  # upwards: a bound that underflowed shows no loss
    worst, best, most, delta, delta_pair = None, 0.0, 0.0, 0.0, None
    for w in range(m):
        apart = np.ones(m) if distances is None else distances[w]
        others = np.flatnonzero(np.arange(m) != w)
        gaps = low[w] - above
        with np.errstate(divide="ignore", invalid="ignore"):
            least = gaps.max(axis=1)
            ratio = np.where(least > 0, least / apart, 0.0)
            # Both bounds −∞: the output is impossible under both words.
            upper = np.where(np.isneginf(high[w]), -math.inf, high[w] - low).max(axis=1)
            largest_ratio = np.where(upper > 0, upper / apart, 0.0)
        if others.size:
            most = max(most, float(largest_ratio[others].max()))
            v = int(others[ratio[others].argmax()])
            if ratio[v] > best:
                best, y = float(ratio[v]), int(gaps[v].argmax())
                worst = Triple(w, v, y, float(apart[v]), float(low[w, y]), float(above[v, y]))
            beyond = others[least[others] > epsilon * apart[others]]
            if beyond.size:
                deltas = hockey_stick(low[[w]], above[beyond], epsilon * apart[beyond])
                if deltas.max() > delta:
                    delta, delta_pair = float(deltas.max()), (w, int(beyond[deltas.argmax()]))
        progress("losses", w + 1, m)
    audit = ExactAudit(
        epsilon=epsilon,
        epsilon_effective=best,
        worst=worst,
        delta=delta,
        delta_pair=delta_pair,
        delta_complete=True,
        pairs=m * (m - 1) // 2,
        outputs=low.shape[1],
        unknown=int(np.isneginf(low).sum()),
        largest_log=float(-np.min(low, where=np.isfinite(low), initial=0.0)),
        least_distance=_least(distances),
    )
    return audit, most


def _losses(some: FloatArray, others: FloatArray) -> FloatArray:
    """Return largest |differences| of rows, shape (k, m); ∞ if one rules an output out."""
    from scipy.spatial.distance import cdist

    loss = np.asarray(cdist(some, others, "chebyshev"))
    loss[loss > _INFINITE] = math.inf
    return loss


def _triple(rows: FloatArray, w: int, other: int, distance: float) -> Triple:
    difference = rows[w] - rows[other]
    y = int(np.abs(difference).argmax())
    if difference[y] < 0:
        w, other = other, w
    first, second = (float(rows[i, y]) for i in (w, other))
    return Triple(w, other, y, distance, first, -math.inf if second <= _NEVER else second)


def _furthest(
    kept: list[tuple[FloatArray, IntArray, IntArray]],
    excess: FloatArray,
    chosen: NDArray[np.bool_],
    start: int,
) -> list[tuple[FloatArray, IntArray, IntArray]]:
    """Return the pairs furthest beyond ε·d, at most `MAX_AUDIT_DELTA_PAIRS` of them."""
    left, right = np.nonzero(chosen)
    if not left.size:
        return kept
    # A δ takes a pass over two laws; where many pairs are beyond ε·d, only the furthest get it.
    parts = [*kept, (excess[left, right], left + start, right + start)]
    values, left, right = (np.concatenate([part[i] for part in parts]) for i in range(3))
    if values.size > MAX_AUDIT_DELTA_PAIRS:
        first = np.argpartition(-values, MAX_AUDIT_DELTA_PAIRS - 1)[:MAX_AUDIT_DELTA_PAIRS]
        values, left, right = values[first], left[first], right[first]
    return [(values, left, right)]


def hockey_stick(log_p: FloatArray, log_q: FloatArray, exponent: FloatArray | float) -> FloatArray:
    """Compute Σ_y (P(y) − e^x·Q(y))₊ along the last axis from logarithms; x broadcasts."""
    # (P − e^x Q)₊ = −P·expm1(min(x + ln Q − ln P, 0)): nothing overflows, nothing cancels.
    with np.errstate(invalid="ignore"):
        gap = np.asarray(exponent)[..., None] + (log_q - log_p)
    gap = np.where(np.isneginf(log_p), 0.0, np.minimum(gap, 0.0))
    return np.asarray(-(np.exp(log_p) * np.expm1(gap)).sum(axis=-1))


def _largest_delta(
    rows: FloatArray,
    left: IntArray,
    right: IntArray,
    distances: FloatArray | None,
    epsilon: float,
    progress: Progress,
) -> tuple[float, tuple[int, int] | None]:
    """Return the largest δ of these pairs in both orders."""
    best, pair = 0.0, None
    step = max(1, _BLOCK_ENTRIES // rows.shape[1])
    for start in range(0, left.size, step):
        i, j = left[start : start + step], right[start : start + step]
        exponent = epsilon * (np.ones(i.size) if distances is None else distances[i, j])
        for w, other in ((i, j), (j, i)):  # δ is that of an ordered pair
            deltas = hockey_stick(rows[w], rows[other], exponent)
            place, most = largest(deltas, "a δ")
            if most > best:
                best, pair = most, (int(w[place]), int(other[place]))
        progress("delta", min(start + step, left.size), left.size)
    return best, pair


# Exact audits of the mechanisms of the registry, over all words or over a declared sample.
#
# Every word of the vocabulary stays a possible output; the private words (or pairs of them) that
# are compared are sampled. A sample bounds the true ε from below.


@dataclass(frozen=True)
class LawAudit:
    """Exact audit of a mechanism, and its extent.

    Attributes:
        losses: of its pairs of words.
        words: how many private words were compared.
        vocabulary: n, the outputs.
        complete: True if all pairs of the vocabulary were compared; else ε_eff is a lower bound.
        method: how the laws were computed and the pairs chosen, in words.
        error: of ε_eff, from that of the logarithms of the worst triple: for a closed form over
            Euclidean distances a bound, for a quadrature an estimate (`Mechanism.log_estimate`).
            Where bounds on the laws were compared, ε_eff is the least ε that they leave, and the
            error is the distance to the largest.
        most: a bound on the true ε of these pairs from above; ∞ where none is known.
        bounded: True if bounds on the laws were compared.
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
        selection: str = Filled(
            "{pairs:,} pairs of words drawn with seed {seed}", pairs=pairs, seed=seed
        )
        return _described(mechanism, losses, 2 * pairs, False, selection, most)
    if words is None and (search := mechanism.loss_search) is not None:
        return _audit_whole(mechanism, search, value, progress)
    indices, selection = _choose(mechanism, words, seed)
    if mechanism.law_bounded:
        low, high = (np.empty((indices.size, n)) for _ in range(2))
        for i, word in enumerate(indices.tolist()):
            low[i], high[i] = _bounds(mechanism, word, value)
            progress("laws", i + 1, indices.size)
        apart = mechanism.promised_distances(indices, value)
        local, most = audit_bounds(low, high, apart, value, progress=progress)
        losses = _renamed(local, indices)
        return _described(mechanism, losses, indices.size, indices.size == n, selection, most)
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
    return _described(
        mechanism, _renamed(local, indices), indices.size, indices.size == n, selection
    )


def _audit_whole(
    mechanism: Mechanism, search: LossSearch, epsilon: float, progress: Progress
) -> LawAudit:
    """Compare all pairs of the vocabulary in n² steps; where ε holds for every pair, δ is 0."""
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
    selection = Filled("all pairs of the {words:,} words", words=n)
    method = _method(search.method, selection)
    return LawAudit(audit, n, n, True, method, loss.error, loss.epsilon + loss.error)


def _bounds(mechanism: Mechanism, word: int, epsilon: float) -> tuple[FloatArray, FloatArray]:
    bounds = mechanism.log_bounds(word, epsilon)
    if bounds is None:
        raise ParameterError(f"{mechanism.short} says that its law is bounded, and has no bounds")
    return bounds


def _choose(mechanism: Mechanism, words: int | IntArray | None, seed: int) -> tuple[IntArray, str]:
    """Return ascending word indices, and how they were chosen."""
    n = len(mechanism.lexicon)
    largest = min(n, MAX_AUDIT_ENTRIES // n)
    if words is None:
        if n > MAX_AUDIT_WORDS:
            raise ParameterError(
                f"all pairs are compared up to {MAX_AUDIT_WORDS:,} words, this lexicon has {n:,}: "
                f"audit a sample of 2 to {largest:,} words, or of up to {MAX_AUDIT_PAIRS:,} pairs"
            )
        return np.arange(n), Filled("all pairs of the {words:,} words", words=n)
    if not isinstance(words, Iterable) or not np.ndim(words):
        words = a_whole(words, "the number of words of a sample")
        if not 2 <= words <= largest:
            raise ParameterError(
                f"a sample has 2 to {largest:,} words of this lexicon, got {words}"
            )
        drawn = generator(seed, "audit", "words").choice(n, words, replace=False)
        return np.sort(drawn), Filled(
            "all pairs of {words:,} words drawn with seed {seed}", words=words, seed=seed
        )
    indices = np.unique(mechanism.check_words(words))
    if not 2 <= indices.size <= largest:
        raise ParameterError(
            f"a sample has 2 to {largest:,} different words of this lexicon, got {indices.size}"
        )
    return indices, Filled("all pairs of {words:,} chosen words", words=indices.size)


def _method(law: str, chosen: str, unknown: int = 0) -> str:
    """Say how laws were computed and pairs chosen, and how many probabilities are missing."""
    method = Filled("{law}, {chosen}, every word as output", law=law, chosen=chosen)
    if not unknown:
        return method
    return Filled(
        "{method}; {unknown:,} probabilities too small to compute", method=method, unknown=unknown
    )


def _audit_pairs(
    mechanism: Mechanism,
    epsilon: float,
    pairs: int,
    seed: int,
    progress: Progress,
) -> tuple[ExactAudit, float | None]:
    """Audit a sample of pairs, one pair at a time; δ is the largest of these pairs."""
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
        if mechanism.law_bounded:
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
    """Replace the rows of an audit by the words' own indices."""
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
    """Bound the error of two logarithms of softmax probabilities whose sizes add up to `size`.

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
    """Return the audit with its method and errors; `bound` is on the true ε, for bounded laws."""
    estimate, law = mechanism.log_estimate, mechanism.law_method
    if estimate is not None:
        law = Filled("{law} in log space", law=law)
    error, most = 0.0, math.inf
    if bound is not None:
        law, error, most = (
            Filled("bounds on a {law}", law=law),
            bound - losses.epsilon_effective,
            bound,
        )
    elif estimate is None and not losses.unknown:
        # Rounding may have made another triple the worst one: at most by the errors of the deepest.
        deepest = _rounding(mechanism.lexicon, 2.0 * losses.largest_log)
        most = losses.epsilon_effective + deepest / losses.least_distance
    if bound is None and losses.worst is not None and math.isfinite(losses.epsilon_effective):
        logs = (losses.worst.log_probability, losses.worst.other_log_probability)
        size = sum(abs(log) for log in logs)
        slack = _rounding(mechanism.lexicon, size) if estimate is None else estimate * size
        error = slack / losses.worst.distance  # ε is a loss per distance
    return LawAudit(
        losses=losses,
        words=words,
        vocabulary=len(mechanism.lexicon),
        complete=complete,
        method=_method(law, chosen, losses.unknown),
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
