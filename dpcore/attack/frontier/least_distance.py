"""How near to the words the outputs can be: the least expected distance at any mechanism.

The counterpart of `frontier.meter` for what is left of a text: `low` is a bound that no mechanism
with the promise goes below, `high` what a mechanism that keeps it attains (`docs/optimal.md`,
Theorems 5 and 6). Words are equally likely, and outputs are words.

Both bounds are Lagrangian. Let λ_w be a price for each word. If for every output y and every column
c = P(y | ·) that the promise allows Σ_w c_w·(d(w, y) − λ_w) ≥ 0, then the sum over all y says
Σ_w Σ_y P(y | w)·d(w, y) ≥ Σ_w λ_w, since rows sum to 1. With d₁(w) the distance of the nearest
other word and λ_w ≤ d₁(w), only w = y can have a negative term, and c_w ≥ K_wy·c_y: the condition
is K·λ ≤ h with h_y = Σ_w K_wy·d(w, y). So with λ = d₁ − b every b ≥ 0 with K·b ≥ K·d₁ − h is a
certificate: the dual of the packing programme with another right-hand side.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arguments import epsilons
from dpcore.attack.frontier.local_distance import CONSTANT, local_bounds
from dpcore.errors import ComputationError
from dpcore.lexicon.bundled import bundled_data
from dpcore.lexicon.cache import Kept, keep, recall, write_text
from dpcore.lexicon.damage import FIELDS, refuse_of_the_system
from dpcore.lexicon.lexicon import check_lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import silent
from dpcore.lexicon.rounding import gamma
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.all_pairs import AllPairs
from dpcore.mechanisms.distance_blocks import RELATIVE_ERROR
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.packing.kernel import Kernel
from dpcore.mechanisms.packing.programme import solve
from dpcore.mechanisms.packing.weights import known_weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from dpcore.arrays import FloatArray
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

_FILE = "least_distance.json"
_OUTWARDS = 1e-11  # relative: more than a few roundings, and than a distance is off
_LOCAL = (
    *(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0, 10.5, 11.0),
    *(11.5, 12.0, 13.0, 14.0, 16.0),
)
"""The ε of the bundled bounds for any two words."""
_OPTIMAL = Optimal.short
_RESPONSE = "neighbour-response, k = {k:,}"
_CONSTANT = "the word nearest to all, whatever the word was"


@dataclass(frozen=True)
class Nearness:
    """How near outputs can be at one ε.

    Attributes:
        epsilon: ε.
        low: no mechanism with this promise has a smaller expected distance; rounded down.
        high: the expected distance of some mechanism with this promise; rounded up.
        attained_by: that mechanism.
    """

    epsilon: float
    low: float
    high: float
    attained_by: str


@dataclass(frozen=True)
class LeastDistance:
    """The least expected distance at several ε.

    Attributes:
        lexicon: its name.
        fingerprint: of the lexicon.
        meaning: "local", or the metric that ε multiplies.
        rows: one for each ε, in the order asked for.
    """

    lexicon: str
    fingerprint: str
    meaning: str
    rows: tuple[Nearness, ...]

    def to_pandas(self) -> pd.DataFrame:
        """One row for each ε: epsilon, low, high, attained_by."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def least_distance(
    lexicon: Lexicon,
    epsilon: float | Sequence[float] | FloatArray,
    *,
    local: bool = False,
    metric: Metric | str = Metric.EUCLIDEAN,
    compute: bool = True,
    progress: Progress = silent,
) -> LeastDistance:
    """The least expected distance of an output from its word under any mechanism that keeps ε.

    Words are equally likely. What is known of a lexicon is looked up; at other ε it is computed
    (25,000 words: minutes) and kept, unless `compute` is off: then `low` is that of the next larger
    ε that is known, and `high` that of the next smaller one.

    Args:
        lexicon: words and vectors.
        epsilon: one ε or several, > 0.
        local: whether ε bounds the loss of any two words, and not the loss per distance.
        metric: d: of the distances, and what ε multiplies if it is not local.
        compute: whether to compute what is not known.
        progress: called with (stage, done, all).

    Raises:
        EpsilonError: an ε is not a finite number > 0.
    """
    check_lexicon(lexicon)
    values = epsilons(epsilon)
    chosen = Metric.parse(metric)
    table, kept_as = _known(lexicon, chosen, local), _kept_as(lexicon, chosen, local)
    missing = np.setdiff1d(values, table.epsilons)
    if missing.size and compute:
        fresh = (_local if local else _metric)(lexicon, missing, chosen, progress)
        table = _joined(table, fresh)
        keep(lexicon.fingerprint, kept_as, Kept(vars(table), {}))
    rows = tuple(_reading(table, value, lexicon, chosen, local) for value in values.tolist())
    return LeastDistance(lexicon.name, lexicon.fingerprint, "local" if local else str(chosen), rows)


@dataclass(frozen=True, eq=False)
class Bounds:
    """What is known of one lexicon and promise, at ascending ε; shape (E,) each.

    Attributes:
        epsilons: ε.
        low: as in `Nearness`.
        high: as in `Nearness`.
        by: k of the response that attains `high`, `CONSTANT`, or for metric privacy 1: `optimal`.
    """

    epsilons: FloatArray
    low: FloatArray
    high: FloatArray
    by: FloatArray


_NOTHING = Bounds(*(np.empty(0) for _ in range(4)))


def _joined(*tables: Bounds) -> Bounds:
    """All that is known; whoever keeps a smaller ε keeps a larger one too."""
    epsilons = np.concatenate([table.epsilons for table in tables])
    _, first = np.unique(epsilons, return_index=True)
    columns = (
        np.concatenate([getattr(table, name) for table in tables])[first]
        for name in ("epsilons", "low", "high", "by")
    )
    return Bounds(*columns)


def _reading(
    table: Bounds, epsilon: float, lexicon: Lexicon, metric: Metric, local: bool
) -> Nearness:
    below = table.epsilons <= epsilon
    low = float(table.low[table.epsilons >= epsilon].max(initial=0.0))
    if not below.any():
        # Any word at all is no further away than the diameter.
        return Nearness(epsilon, low, lexicon.with_metric(metric).extent.diameter, _CONSTANT)
    best = int(np.where(below, table.high, np.inf).argmin())
    high, k = float(table.high[best]), int(table.by[best])
    if not low <= high * (1.0 + 1e-9):
        raise ComputationError(
            f"at epsilon = {epsilon:g} a mechanism comes within {high} where none comes nearer "
            f"than {low}: please report this, with the lexicon's fingerprint"
        )
    name = _CONSTANT if k == CONSTANT else _RESPONSE.format(k=k) if local else _OPTIMAL
    return Nearness(epsilon, min(low, high), high, name)


def _local(lexicon: Lexicon, epsilons: FloatArray, metric: Metric, progress: Progress) -> Bounds:
    bounds = local_bounds(lexicon.vectors, metric, epsilons, progress)
    return Bounds(epsilons, bounds.low, bounds.high, bounds.k.astype(np.float64))


def _metric(lexicon: Lexicon, epsilons: FloatArray, metric: Metric, progress: Progress) -> Bounds:
    """Theorem 6 from below, and what is known of Theorem 5 for ε times the diameter."""
    kernel = Kernel(lexicon.vectors, metric)
    extent = lexicon.with_metric(metric).extent
    nearest, mean = _looked_at(lexicon, metric, progress)
    columns = np.repeat(nearest[None], epsilons.size, axis=0)
    errors = kernel.error(epsilons, extent.diameter)[:, None]
    # A distance is off by a part of itself, an angle by as much in radians; K has entries up to 1.
    spans = kernel.exact(epsilons, np.ones_like(columns), progress, away=True)
    least = spans * (1.0 - errors - 2.0 * RELATIVE_ERROR)
    if metric is Metric.ANGULAR:
        least -= RELATIVE_ERROR * kernel.n
    wanted = kernel.exact(epsilons, columns, progress) * (1.0 + errors) - least
    weights = np.zeros_like(columns)
    some = np.flatnonzero((wanted > 0).any(axis=1))
    if some.size:
        solution = solve(kernel, epsilons[some], wanted[some], extent.diameter, progress)
        # K has ones on its diagonal: what is short in a row is mended by the row's own word.
        weights[some] = solution.weights + np.maximum(
            wanted[some] - solution.products * (1.0 - errors[some]), 0.0
        )
    total, less = nearest.sum(), weights.sum(axis=1)
    # Both sums are rounded, and may be nearly equal (Higham 2002, (4.4)).
    prices = total - less - gamma(kernel.n + 8) * (total + less)
    low = np.maximum(prices, 0.0) / kernel.n * (1.0 - _OUTWARDS)
    # Two words are at most a diameter apart, so the promise is one of ε times it for any two.
    reach = epsilons * extent.diameter * (1.0 + _OUTWARDS)
    anywhere = _known(lexicon, metric, True)
    for e, local in enumerate(reach.tolist()):
        low[e] = max(low[e], anywhere.low[anywhere.epsilons >= local].max(initial=0.0))
    high, by = np.full(epsilons.size, mean), np.full(epsilons.size, float(CONSTANT))
    attained = _attained(kernel, Optimal(lexicon=lexicon, metric=str(metric)), epsilons, progress)
    better = attained < high
    high[better], by[better] = attained[better], 1.0
    return Bounds(epsilons, np.minimum(low, high), high, by)


def _looked_at(lexicon: Lexicon, metric: Metric, progress: Progress) -> tuple[FloatArray, float]:
    """A lower bound of d₁ of every word, shape (n,), and the least mean distance from all words."""
    n = len(lexicon)
    nearest, sums = np.full(n, np.inf), np.zeros(n)
    pairs = AllPairs(lexicon.vectors, metric)
    for done, tile in enumerate(pairs, start=1):
        away = tile.distances
        sums[tile.rows] += away.sum(axis=1)
        if tile.diagonal:
            np.fill_diagonal(away, np.inf)
        else:
            sums[tile.columns] += away.sum(axis=0)
            nearest[tile.columns] = np.minimum(nearest[tile.columns], away.min(axis=0))
        nearest[tile.rows] = np.minimum(nearest[tile.rows], away.min(axis=1))
        progress("measuring distances", done, pairs.count)
    below = np.maximum(nearest * (1.0 - 2.0 * RELATIVE_ERROR) - 2.0 * RELATIVE_ERROR, 0.0)
    return below, float(sums.min()) / n * (1.0 + _OUTWARDS) + RELATIVE_ERROR


def _attained(
    kernel: Kernel, mechanism: Optimal, epsilons: FloatArray, progress: Progress
) -> FloatArray:
    """E d of the optimal mechanism at each ε, rounded up."""
    etas = np.array([mechanism.strength(epsilon) for epsilon in epsilons.tolist()])
    weights = np.stack([mechanism.weights(epsilon) for epsilon in epsilons.tolist()])
    total = kernel.exact(etas, weights, progress)
    far = kernel.exact(etas, weights, progress, away=True)
    diameter = mechanism.lexicon.with_metric(mechanism.metric).extent.diameter
    errors = 2.0 * kernel.error(etas, diameter) + 3.0 * RELATIVE_ERROR
    return np.asarray((far / total).mean(axis=1) * (1.0 + errors) + RELATIVE_ERROR)


# -- what is kept


def _known(lexicon: Lexicon, metric: Metric, local: bool) -> Bounds:
    """The bounds that come with the laboratory, and those that were computed here."""
    tables = [_NOTHING]
    of_lexicon = _bundled().get(lexicon.fingerprint, {})
    rows = of_lexicon.get(_kind(metric, local))
    if rows is not None:
        tables.append(Bounds(*np.array(rows, dtype=np.float64).reshape(-1, 4).T))
    kept = recall(lexicon.fingerprint, _kept_as(lexicon, metric, local))
    if kept is not None and kept.arrays.keys() == vars(_NOTHING).keys():
        tables.append(Bounds(**kept.arrays))
    return _joined(*tables)


def write_bundle(path: Path, lexicon: Lexicon, progress: Progress = silent) -> None:
    """Write the file of the bundled lexicon, under the Euclidean metric."""
    metric, tables = Metric.EUCLIDEAN, {}
    weights = known_weights(lexicon, metric)
    for local, wanted in ((True, _LOCAL), (False, () if weights is None else weights.wanted)):
        least_distance(lexicon, wanted, local=local, metric=metric, progress=progress)
        table = _known(lexicon, metric, local)
        tables[_kind(metric, local)] = np.stack(list(vars(table).values()), axis=1).tolist()
    write_text(path, json.dumps({lexicon.fingerprint: tables}, indent=1) + "\n")


def bundled_bounds_file() -> Path:
    """The bounds of the bundled lexicon."""
    return bundled_data("certificates", "certificates.json") / _FILE


@lru_cache(maxsize=1)
def _bundled() -> dict[str, dict[str, list[list[float]]]]:
    try:
        return dict(json.loads(bundled_bounds_file().read_text(encoding="utf-8")))
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return {}


def _kind(metric: Metric, local: bool) -> str:
    return f"least-distance-{'local-' if local else ''}{metric}"


def _kept_as(lexicon: Lexicon, metric: Metric, local: bool) -> str:
    """The name of the kept file; bounds from before the lexicon had weights are not read again."""
    late = not local and len(lexicon) > CERTIFIED_AT_ONCE_WORDS
    weighted = late and known_weights(lexicon, metric) is not None
    return _kind(metric, local) + "-weighted" * weighted
