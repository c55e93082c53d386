"""The exact privacy loss of a finite law: which ε is true, and who shows it.

For laws P(·|w) over a finite set of outputs,

    ε_eff = max over w ≠ w′ and y of |ln P(y|w) − ln P(y|w′)| / d(w, w′),
    δ(ε)  = max over ordered pairs of Σ_y (P(y|w) − e^{ε·d(w,w′)}·P(y|w′))₊,

d the metric of the claim, or 1 for a claim between any two words. The largest difference of two
rows of logarithms is their Chebyshev distance, which SciPy computes in one compiled pass. All in
float64 logarithms: denominators of e^−3500 occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray, largest
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_DELTA_PAIRS

_NEVER = -1e300  # stands for ln 0: its difference from any real logarithm is beyond _INFINITE
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
    """What the exact losses of some pairs of words say.

    Attributes:
        epsilon: the claimed ε.
        epsilon_effective: the smallest ε that is true of these pairs; ∞ if an output is possible
            under one word and impossible under another.
        worst: the triple that attains it; None if all laws are equal.
        delta: the smallest δ that is true of these pairs at the claimed ε.
        delta_pair: the ordered pair (w, w′) that attains it, if δ > 0.
        delta_complete: whether δ was computed for every pair beyond ε·d, or only for the
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
        """Whether no pair is beyond ε·d."""
        return self.epsilon_effective <= self.epsilon * (1 + _ROUNDING)


def check_logs(logs: FloatArray, floor: float | None = None) -> tuple[FloatArray, int]:
    """Rows of log-probabilities, made ready for subtraction.

    Args:
        logs: ln P(y|w), shape (m, n); −∞ for an impossible output.
        floor: if given, −∞ means "below this, not computed": such entries are put at the floor,
            and so is whatever lies below it. As x ↦ max(x, floor) brings no two numbers further
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
        # Two words at distance 0 need one law: a loss between them divided by 0 is ∞, rightly.
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
    """The smallest positive distance; 1 where no distance counts."""
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
    """Largest |difference| of two rows, shape (k, m); ∞ where an impossible output shows."""
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
    """The pairs furthest beyond ε·d, at most `MAX_AUDIT_DELTA_PAIRS` of them."""
    left, right = np.nonzero(chosen)
    if not left.size:
        return kept
    # A δ takes a pass over two laws; where pairs beyond ε·d are many, the furthest ones have it.
    parts = [*kept, (excess[left, right], left + start, right + start)]
    values, left, right = (np.concatenate([part[i] for part in parts]) for i in range(3))
    if values.size > MAX_AUDIT_DELTA_PAIRS:
        first = np.argpartition(-values, MAX_AUDIT_DELTA_PAIRS - 1)[:MAX_AUDIT_DELTA_PAIRS]
        values, left, right = values[first], left[first], right[first]
    return [(values, left, right)]


def hockey_stick(log_p: FloatArray, log_q: FloatArray, exponent: FloatArray | float) -> FloatArray:
    """Σ_y (P(y) − e^x·Q(y))₊ along the last axis, from logarithms; x broadcasts over the rest."""
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
    """The largest δ of these pairs in both orders."""
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
