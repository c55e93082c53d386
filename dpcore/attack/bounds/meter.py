"""Meter of ε: the largest share of words that any attacker guesses right at any mechanism.

It covers all mechanisms with a guarantee of ε: `high` is the most that the guarantee permits, `low`
the share that some mechanism with this guarantee does give away (`docs/optimal.md`, Theorems 1 and
3). Metric privacy has the packing bound of `mechanisms.exponential.packing` and the mechanism
`optimal`; privacy between any two words has a closed form, attained by randomised response.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arguments import a_kind, a_real, epsilons
from dpcore.arrays import FloatArray
from dpcore.attack.output.prior import Prior, content_words, parse_prior, uniform
from dpcore.errors import ComputationError, ParameterError
from dpcore.lexicon.cache import CacheEntry, bundled_bounds, keep, recall, write_text
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import PACKING_WORDS
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.exponential.packing import Kernel, known_weights, solve
from dpcore.outwards import safe_end

if TYPE_CHECKING:
    import pandas as pd

_ROUNDS, _AT_ONCE = 5, 8  # rounds of refining ε, and number of ε in a round
_CLOSE = 1e-3  # relative distance of an ε that guarantees a share from one that does not
_FILE = "meter.json"  # bundled bounds
_OUTWARDS = 1e-12  # relative: more than the rounding errors of a closed form
_LOCAL_BY = "k-ary"
_TOP = "k-ary over the {k:,} likeliest words"
_CONSTANT = "any mechanism, by the likeliest word"


@dataclass(frozen=True)
class Reading:
    """Bounds at one ε on the share of words that can be guessed.

    Attributes:
        epsilon: ε.
        low: a share of words, under the prior, that an attacker guesses at some mechanism with
            this guarantee; rounded down.
        high: no mechanism with this guarantee lets an attacker guess more; rounded up.
        attained_by: the mechanism of `low`.
    """

    epsilon: float
    low: float
    high: float
    attained_by: str


@dataclass(frozen=True)
class Meter:
    """Meter at several ε.

    Attributes:
        lexicon: its name.
        fingerprint: of the lexicon.
        prior: the attacker's prior, in words.
        meaning: "local", or the metric that ε multiplies.
        delta: δ of the guarantee; 0 except for local privacy.
        before: share that the attacker guesses before anything is released.
        rows: one reading for each ε, in the given order.
    """

    lexicon: str
    fingerprint: str
    prior: str
    meaning: str
    delta: float
    before: float
    rows: tuple[Reading, ...]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each ε: epsilon, low, high, attained_by."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def meter(
    lexicon: Lexicon,
    epsilon: float | Sequence[float] | FloatArray,
    prior: Prior | str | None = None,
    *,
    local: bool = False,
    delta: float = 0.0,
    metric: Metric | str = Metric.EUCLIDEAN,
    compute: bool = True,
    progress: Progress = silent,
) -> Meter:
    """Bound the largest share of words that any attacker guesses right under a guarantee of ε.

    Under metric privacy this takes the packing programme: known bounds of a lexicon are looked up,
    and bounds at other ε are computed (25,000 words: a minute or two) and cached, unless `compute`
    is False; then `high` is that of the next larger known ε, and `low` uses known weights only.

    Args:
        lexicon: words and vectors.
        epsilon: one ε or several, > 0.
        prior: the attacker's prior, or its name as `parse_prior` reads it ("frequency"); None
            makes all words equally likely.
        local: True if ε bounds the loss of any two words, and not the loss per distance.
        delta: δ of local privacy, in [0, 1).
        metric: metric that ε multiplies, if not local.
        compute: True to compute unknown bounds.
        progress: called with (stage, done, all).

    Raises:
        EpsilonError: an ε is not a finite number > 0.
        ParameterError: δ is out of range, or given without `local`.
    """
    check_lexicon(lexicon)
    values = epsilons(epsilon)
    delta = a_real(delta, "delta")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be in [0, 1), got {delta}")
    if delta > 0 and not local:
        raise ParameterError("a delta goes with local privacy: ask for local, or leave it out")
    if prior is None:
        belief = uniform(lexicon)
    elif isinstance(prior, str):
        belief = parse_prior(lexicon, prior)
    else:
        belief = a_kind(prior, Prior, "a prior is given by its name, or made by its functions")
    chosen = Metric.parse(metric)
    if local:
        rows = tuple(_local(belief.probability, value, delta) for value in values.tolist())
    else:
        rows = _metric(lexicon, values, belief, chosen, compute, progress)
    return Meter(
        lexicon.name,
        lexicon.fingerprint,
        belief.sentence,
        "local" if local else str(chosen),
        delta,
        float(belief.probability.max()),
        rows,
    )


def largest_epsilon(
    lexicon: Lexicon,
    share: float,
    prior: Prior | None = None,
    *,
    local: bool = False,
    delta: float = 0.0,
    metric: Metric | str = Metric.EUCLIDEAN,
    refine: bool = False,
    progress: Progress = silent,
) -> Reading | None:
    """Find the largest ε that guarantees that no attacker guesses more than a share of the words.

    Under local privacy the equation is solved; under metric privacy the result is the largest known
    ε, or within a thousandth of the largest one if it is refined.

    Args:
        lexicon: words and vectors.
        share: in (0, 1).
        prior: as in `meter`, but not by name.
        local: as in `meter`.
        delta: as in `meter`.
        metric: as in `meter`.
        refine: True to compute the bound between known ε: for 25,000 words a few minutes.
        progress: called with (stage, done, all).

    Returns:
        The reading at that ε, or None if no (known) ε guarantees the share.

    Raises:
        ParameterError: the share or δ is out of range.
    """
    if not 0 < share < 1:
        raise ParameterError(f"the share that may be guessed must be in (0, 1), got {share}")
    if not local:
        chosen, expected = Metric.parse(metric), prior or uniform(lexicon)
        if refine:
            _refine(lexicon, share, expected, chosen, progress)
        known, upper = _known(lexicon, expected, chosen)
        promising = known[upper <= share]
        if not promising.size:
            return None
        return meter(lexicon, promising.max(), expected, metric=chosen, compute=False).rows[0]
    belief = (prior or uniform(lexicon)).probability

    def promised(epsilons: FloatArray) -> bool:
        return _local(belief, float(epsilons), delta).high <= share

    least, most = 1e-9, 745.0
    if not promised(np.asarray(least)):
        return None
    epsilon = float(safe_end(promised, least, most, within=1e-12))
    return _local(belief, epsilon, delta)


def _refine(
    lexicon: Lexicon, share: float, prior: Prior, metric: Metric, progress: Progress
) -> None:
    """Compute the bound around the largest ε that guarantees a share, and cache it.

    Several ε at once cost hardly more than one: their products share the distances.
    """
    for _ in range(_ROUNDS):
        known, upper = _known(lexicon, prior, metric)
        good = known[upper <= share].max(initial=0.0)
        # Below some ε the attacker gains nothing; the search starts below the least known ε.
        bad = known[upper > share].min(initial=np.inf)
        if bad == np.inf:
            wanted = np.array(Optimal(lexicon=lexicon, metric=str(metric)).wanted())
            points = wanted[:: -(-wanted.size // _AT_ONCE)] if not known.size else 2.0 * known[-1:]
        elif good == 0.0:
            points = bad * np.geomspace(0.1, 1.0, _AT_ONCE, endpoint=False)
        elif bad - good <= _CLOSE * good:
            break
        else:
            points = np.geomspace(good, bad, _AT_ONCE + 2)[1:-1]
        _highs(lexicon, points, prior, metric, True, progress)


def _local(prior: FloatArray, epsilon: float, delta: float) -> Reading:
    """Apply Theorem 3: max over k of e^ε·(π_1 + … + π_k)/(e^ε + k − 1), mixed with δ.

    Attained by k-ary response over the k likeliest words: any other word first becomes a random one
    of them; with probability δ the output is the word itself.
    """
    sums = np.cumsum(np.sort(prior)[::-1])
    k = np.arange(1, sums.size + 1)
    # Divided by e^ε, so that nothing overflows.
    values = sums / (1.0 + (k - 1) * math.exp(-epsilon))
    best = int(values.argmax())
    share = delta + (1.0 - delta) * float(values[best])
    name = _LOCAL_BY if best + 1 == prior.size else _TOP.format(k=best + 1)
    if delta > 0:
        name += f", which says the word itself with probability {delta:g}"
    error = _OUTWARDS * prior.size**0.5
    return Reading(epsilon, share * (1.0 - error), min(1.0, share * (1.0 + error)), name)


def _metric(
    lexicon: Lexicon,
    epsilons: FloatArray,
    prior: Prior,
    metric: Metric,
    compute: bool,
    progress: Progress,
) -> tuple[Reading, ...]:
    """Apply Theorems 1 and 2: the packing bound from above, the optimal mechanism from below."""
    highs = _highs(lexicon, epsilons, prior, metric, compute, progress)
    # Do not make a small vocabulary compute its weights, as it would on first use.
    known = compute or known_weights(lexicon, metric) is not None
    mechanism = Optimal(lexicon=lexicon, metric=str(metric)) if known else None
    rows = []
    for epsilon, high in zip(epsilons.tolist(), highs.tolist(), strict=True):
        # An output never helps less than no output at all.
        low, name = float(prior.probability.max()), _CONSTANT
        if mechanism is not None:
            stays = float(prior.probability @ mechanism.least_staying(epsilon))
            low, name = max((low, name), (stays, mechanism.short))
        low *= 1.0 - _OUTWARDS
        if not low <= high * (1.0 + 1e-9):
            raise ComputationError(
                f"at epsilon = {epsilon:g} a mechanism gives {low} away where at most {high} can "
                "be: please report this, with the lexicon's fingerprint"
            )
        rows.append(Reading(epsilon, min(low, high), high, name))
    return tuple(rows)


def _highs(
    lexicon: Lexicon,
    epsilons: FloatArray,
    prior: Prior,
    metric: Metric,
    compute: bool,
    progress: Progress,
) -> FloatArray:
    """Return the packing bound at each ε; 1 if it is unknown and may not be computed."""
    known, upper = _known(lexicon, prior, metric)
    missing = np.setdiff1d(epsilons, known)
    if missing.size and compute:
        fresh = _packing_bound(lexicon, missing, prior.probability, metric, progress)
        known, upper = np.append(known, missing), np.append(upper, fresh)
        order = np.argsort(known)
        known, upper = known[order], upper[order]
        keep(
            lexicon.fingerprint,
            _kind(prior, metric),
            CacheEntry({"epsilons": known, "upper": upper}, {}),
        )
    # The bound rises with ε: a guarantee of a smaller ε implies that of a larger one.
    places = np.searchsorted(known, epsilons, side="left")
    return np.asarray(np.minimum(np.append(upper, 1.0)[places], 1.0))


def _known(lexicon: Lexicon, prior: Prior, metric: Metric) -> tuple[FloatArray, FloatArray]:
    """Return the ε at which the bound is known, ascending, and the bounds."""
    bundled = bundled_bounds(_FILE).get(lexicon.fingerprint, {}).get(_kind(prior, metric), [])
    parts = [np.array(bundled, dtype=np.float64).reshape(-1, 2).T]
    if prior.name == "uniform":
        table = known_weights(lexicon, metric)
        if table is not None:
            parts.append(np.stack((table.wanted, table.upper)))
    kept = recall(lexicon.fingerprint, _kind(prior, metric))
    if kept is not None:
        parts.append(np.stack((kept.arrays["epsilons"], kept.arrays["upper"])))
    epsilons, upper = np.concatenate(parts, axis=1)
    epsilons, first = np.unique(epsilons, return_index=True)
    return epsilons, upper[first]


def write_bundle(path: Path, lexicon: Lexicon, progress: Progress = silent) -> None:
    """Write the bounds for someone who knows how common content words are.

    They are at every ε at which `optimal` has weights, under the Euclidean metric.
    """
    metric, prior = Metric.EUCLIDEAN, content_words(lexicon)
    weights = known_weights(lexicon, metric)
    grid = np.empty(0) if weights is None else weights.wanted
    upper = _packing_bound(lexicon, grid, prior.probability, metric, progress)
    rows = np.stack((grid, upper), axis=1).tolist()
    table = {lexicon.fingerprint: {_kind(prior, metric): rows}}
    write_text(path, json.dumps(table, indent=1) + "\n")


def _kind(prior: Prior, metric: Metric) -> str:
    """Return the name of the bounds in a file; it contains no word of a typed prior."""
    digest = hashlib.sha256(np.ascontiguousarray(prior.probability, dtype="<f8").tobytes())
    return f"meter-{metric}-{digest.hexdigest()[:16]}"


def _packing_bound(
    lexicon: Lexicon, epsilons: FloatArray, prior: FloatArray, metric: Metric, progress: Progress
) -> FloatArray:
    """Compute a rigorous upper bound at each ε, in parts if the vocabulary is large.

    Words that the prior makes impossible only add constraints to the packing, as each part does to
    the others: without them the result is still a bound.
    """
    support = np.flatnonzero(prior)
    diameter = lexicon.with_metric(metric).extent.diameter
    parts = np.array_split(support, -(-support.size // PACKING_WORDS))
    total = np.zeros(epsilons.size)
    for part in parts:
        kernel = Kernel(lexicon.vectors[part], metric)
        belief = prior[part]
        scale = float(belief.mean())
        solution = solve(kernel, epsilons, belief / scale, diameter, progress)
        total += solution.upper(belief / scale) * scale
    return np.minimum(total * (1.0 + _OUTWARDS), 1.0)
