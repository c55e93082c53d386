"""The meter of ε: the largest share of words that any attacker guesses right at any mechanism.

Not of one mechanism, but of all that keep ε: `high` is what the promise permits at most, `low` what
a mechanism that keeps it does give away (`docs/optimal.md`, Theorems 1 and 3). Metric privacy
has the packing bound of `mechanisms.packing` and the mechanism `optimal`; privacy between any two
words has a closed form, attained by randomised response.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arguments import a_kind, a_real, epsilons
from dpcore.arrays import FloatArray
from dpcore.attack.output.prior import Prior, parse_prior, uniform
from dpcore.bisection import safe_end
from dpcore.errors import ComputationError, ParameterError
from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import PACKING_WORDS
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.exponential.packing import Kernel, known_weights, solve

if TYPE_CHECKING:
    import pandas as pd

_ROUNDS, _AT_ONCE = 5, 8  # of refining ε, and how many are computed in a round
_CLOSE = 1e-3  # relative distance of an ε that promises a share from one that does not
_OUTWARDS = 1e-12  # relative: more than the roundings of a closed form
_LOCAL_BY = "k-ary"
_TOP = "k-ary over the {k:,} likeliest words"
_CONSTANT = "any mechanism, by the likeliest word"


@dataclass(frozen=True)
class Reading:
    """What a promise permits at one ε.

    Attributes:
        epsilon: ε.
        low: a share of words, under the prior, that some mechanism with this promise lets a
            stranger guess; rounded down.
        high: no mechanism with this promise lets anybody guess more; rounded up.
        attained_by: the mechanism of `low`.
    """

    epsilon: float
    low: float
    high: float
    attained_by: str


@dataclass(frozen=True)
class Meter:
    """The meter at several ε.

    Attributes:
        lexicon: its name.
        fingerprint: of the lexicon.
        prior: what the attacker believes beforehand, in words.
        meaning: "local", or the metric that ε multiplies.
        delta: δ of the promise; 0 but for local privacy.
        before: the share that the attacker guesses before anything is released.
        rows: one reading for each ε, in the order asked for.
    """

    lexicon: str
    fingerprint: str
    prior: str
    meaning: str
    delta: float
    before: float
    rows: tuple[Reading, ...]

    def to_pandas(self) -> pd.DataFrame:
        """One row for each ε: epsilon, low, high, attained_by."""
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
    """The largest share of words that anybody can guess right under any mechanism that keeps ε.

    Under metric privacy this takes the packing programme: what is known of a lexicon is looked up,
    and at other ε it is computed (25,000 words: a minute or two) and kept, unless `compute` is off;
    then `low` is that of the next smaller ε that is known, and `high` that of the next larger one.

    Args:
        lexicon: words and vectors.
        epsilon: one ε or several, > 0.
        prior: what the attacker believes beforehand, or its name as `parse_prior` reads it
            ("frequency"); None takes all words for equally likely.
        local: whether ε bounds the loss of any two words, and not the loss per distance.
        delta: δ of local privacy, in [0, 1).
        metric: that ε multiplies, if it is not local.
        compute: whether to compute what is not known.
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
    """The largest ε that promises that nobody guesses more than a share of the words.

    Local privacy is solved for exactly; under metric privacy it is the largest ε of the known ones,
    or within a thousandth of the largest one if it is refined.

    Args:
        lexicon: words and vectors.
        share: in (0, 1).
        prior: as in `meter`.
        local: as in `meter`.
        delta: as in `meter`.
        metric: as in `meter`.
        refine: whether to compute the bound between known ε: for 25,000 words a few minutes.
        progress: called with (stage, done, all).

    Returns:
        The reading at that ε, or None if no ε (that is known) promises it.

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
    """Compute the bound around the largest ε that promises a share, and keep it.

    Several ε at once cost hardly more than one: their products share the distances.
    """
    for _ in range(_ROUNDS):
        known, upper = _known(lexicon, prior, metric)
        good = known[upper <= share].max(initial=0.0)
        # Below some ε nobody knows more than before; a step below the least known one is a start.
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
    """Theorem 3: max over k of e^ε·(π_1 + … + π_k)/(e^ε + k − 1), mixed with δ.

    Attained by k-ary response over the k likeliest words, from which any other word takes one at
    random, and which with probability δ says the word itself.
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
    """Theorems 1 and 2: the packing bound from above, the optimal mechanism from below."""
    highs = _highs(lexicon, epsilons, prior, metric, compute, progress)
    # A small vocabulary would have its weights computed when they are first asked for.
    known = compute or known_weights(lexicon, metric) is not None
    mechanism = Optimal(lexicon=lexicon, metric=str(metric)) if known else None
    rows = []
    for epsilon, high in zip(epsilons.tolist(), highs.tolist(), strict=True):
        # Nothing that is released helps less than nothing at all.
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
    """The packing bound at each ε; 1 where nothing is known and nothing may be computed."""
    known, upper = _known(lexicon, prior, metric)
    missing = np.setdiff1d(epsilons, known)
    if missing.size and compute:
        fresh = _packing_bound(lexicon, missing, prior.probability, metric, progress)
        known, upper = np.append(known, missing), np.append(upper, fresh)
        order = np.argsort(known)
        known, upper = known[order], upper[order]
        keep(
            lexicon.fingerprint, _kind(prior, metric), Kept({"epsilons": known, "upper": upper}, {})
        )
    # The bound rises with ε: whoever keeps a smaller ε keeps a larger one too.
    places = np.searchsorted(known, epsilons, side="left")
    return np.asarray(np.minimum(np.append(upper, 1.0)[places], 1.0))


def _known(lexicon: Lexicon, prior: Prior, metric: Metric) -> tuple[FloatArray, FloatArray]:
    """The ε at which the bound is known, ascending, and the bounds."""
    parts = [np.empty((2, 0))]
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


def _kind(prior: Prior, metric: Metric) -> str:
    """The name of the kept file; a prior that was typed has none of its own words in it."""
    import hashlib

    digest = hashlib.sha256(np.ascontiguousarray(prior.probability, dtype="<f8").tobytes())
    return f"meter-{metric}-{digest.hexdigest()[:16]}"


def _packing_bound(
    lexicon: Lexicon, epsilons: FloatArray, prior: FloatArray, metric: Metric, progress: Progress
) -> FloatArray:
    """A rigorous upper bound at each ε, by parts where the vocabulary is large.

    Words that the attacker takes for impossible only add constraints to the packing; so does each
    part to the others: leaving them out leaves a bound.
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
