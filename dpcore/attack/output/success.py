"""Success probability of the Bayes attacker over all outputs, and the least protected words.

    S = Σ_y max_w π(w)·P(y | w) = E_y[max_w π(w | y)]

For a list of words all outputs are summed. For TEM under a uniform prior the best guess is always
the output itself: min(D, γ) is a metric, so |ln Z_w − ln Z_y| ≤ η·min(D(w, y), γ), hence
P(y | w) ≤ P(y | y), and S is the mean of P(w | w). Otherwise outputs are drawn from their law, and
the mean of max_w π(w | y), itself exact, is an unbiased estimate of S: better than counting right
guesses, whose mean it is. It lies between 0 and 1, so the empirical Bernstein bound of Maurer and
Pontil 2009 (Theorem 4), taken on both sides, holds at any number of draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.channel import Channel
from dpcore.attack.output.posterior import posterior
from dpcore.attack.output.prior import Prior
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_OUTPUTS, MAX_ATTACK_SHOWN
from dpcore.measure.density import NEIGHBOURS, vocabulary_density
from dpcore.mechanisms.mechanism import Mechanism, SparseLaw
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CONFIDENCE = 0.95
_OUTPUTS = 2_000  # outputs of a sparse law that are weighed together


@dataclass(frozen=True)
class Overall:
    """Success of the Bayes attacker.

    Attributes:
        value: S, or its estimate.
        low: lower end of a 95 % interval; if exact, `value` up to the error of the computation.
        high: upper end.
        exact: True if all outputs are summed.
        outputs: number of outputs that are summed or drawn.
        blind: success of an attacker who sees nothing: the largest prior.
    """

    value: float
    low: float
    high: float
    exact: bool
    outputs: int
    blind: float


def overall_success(
    channel: Channel,
    prior: Prior,
    epsilon: float,
    *,
    outputs: int = 200,
    seed: int = 0,
    progress: Progress = silent,
) -> Overall:
    """Compute or estimate S at one ε.

    Args:
        channel: of the mechanism, for all words that the prior holds possible.
        prior: the attacker's prior; words are drawn from it too.
        epsilon: admissible ε.
        outputs: number of outputs to draw, if not all are summed.
        seed: seed of the draws. A measurement protects nothing, so a fixed seed is safe here.
        progress: called with ("attacks", done, all).

    Raises:
        ParameterError: as `posterior`, or `outputs` is out of range.
    """
    mechanism = channel.mechanism
    value = mechanism.check_epsilon(epsilon)
    blind = float(prior.probability.max())
    known = channel.success(prior, value)
    if known is not None:
        success, margin, count = known
        return Overall(success, success - margin, success + margin, True, count, blind)
    if not 2 <= outputs <= MAX_ATTACK_OUTPUTS:
        raise ParameterError(
            f"outputs to draw must be 2 to {MAX_ATTACK_OUTPUTS:,}, got {outputs:,}"
        )
    rng = generator(seed, "attack", mechanism.key)
    drawn = mechanism.sample(rng, prior.draw(rng, outputs), value)
    # A distinct output has one posterior, however often it was drawn.
    distinct, counts = np.unique(drawn, return_counts=True)
    each = np.empty(distinct.size)
    for i, output in enumerate(distinct.tolist()):
        each[i] = posterior(channel.seen(output).at(value), prior).success
        progress("attacks", i + 1, distinct.size)
    mean, margin = bernstein(np.repeat(each, counts))
    return Overall(
        mean, max(mean - margin, 0.0), min(mean + margin, 1.0), False, outputs, blind
    )  # fmt: skip


def bernstein(values: FloatArray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the mean of independent values in [0, 1], and the half-width of its interval.

    Maurer and Pontil 2009, Empirical Bernstein bounds and sample-variance penalization, Theorem 4,
    with half of 1 − confidence on either side.
    """
    n = values.size
    # ln(2/δ) of the theorem with δ = (1 − confidence)/2.
    log_term = math.log(4.0 / (1.0 - confidence))
    spread = math.sqrt(2.0 * float(values.var(ddof=1)) * log_term / n)
    return float(values.mean()), spread + 7.0 * log_term / (3.0 * (n - 1))


# Least protected words, by name.
#
# Each word w is ranked by the probability that it stays, P(w | w), and has the posterior
#
#     π(w | y = w) = π(w)·P(w | w) / Σ_v π(v)·P(w | v).
#
# For TEM no output reveals w more, whatever the prior: min(D, γ) is a metric, so for every v P(y
# | v)/P(y | w) = e^{η·D(w, y) − η·D(v, y)}·Z_w/Z_v ≥ e^{−η·D(v, w)}·Z_w/Z_v = P(w | v)/P(w | w).
# P(w | w) is computed for every word of the lexicon, the posterior only for the words at both ends.
# An isolated word stays more often; its distance to the nearest other word measures isolation.


@dataclass(frozen=True)
class ExposedWord:
    """A word and its exposure.

    Attributes:
        word: index.
        stays: P(w | w).
        prior: π(w).
        believed: π(w | y = w).
        nearest: distance to the nearest other word, Euclidean.
        lonelier: share of the lexicon whose nearest word is nearer than that.
    """

    word: int
    stays: float
    prior: float
    believed: float
    nearest: float
    lonelier: float


@dataclass(frozen=True, eq=False)
class Exposure:
    """The least and the best protected words.

    Attributes:
        worst: by `stays`, most exposed first.
        best: least exposed first.
        stays: P(w | w) of every examined word, shape (m,).
        words: those words, ascending, shape (m,).
        correlation: Spearman's, between P(w | w) and the distance to the nearest word; NaN if
            there is one word only, or if all have the same P(w | w) or the same distance.
    """

    worst: tuple[ExposedWord, ...]
    best: tuple[ExposedWord, ...]
    stays: FloatArray
    words: IntArray
    correlation: float

    def rows(self, mechanism: Mechanism) -> list[dict[str, Any]]:
        """Return one plain row for each word, the worst first, then the best."""
        names = mechanism.lexicon.words
        return [
            {
                "group": group,
                "word": names[entry.word],
                "stays": entry.stays,
                "prior": entry.prior,
                "believed": entry.believed,
                "nearest_distance": entry.nearest,
                "lonelier_than": entry.lonelier,
            }
            for group, words in (("worst", self.worst), ("best", self.best))
            for entry in words
        ]


def exposure(
    channel: Channel, epsilon: float, prior: Prior, *, count: int = 10, progress: Progress = silent
) -> Exposure:
    """Rank the words of a channel by the probability that they stay.

    Args:
        channel: of a mechanism with a closed form over its lexicon, or of a list of words.
        epsilon: admissible ε.
        prior: prior of the attacker's posterior; its possible words are those of the channel.
        count: words at either end.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: `count` is out of range, or the mechanism would need a law for every word
            of a whole lexicon.
    """
    if not 1 <= count <= MAX_ATTACK_SHOWN:
        raise ParameterError(f"words to show must be 1 to {MAX_ATTACK_SHOWN}, got {count}")
    lexicon = channel.mechanism.lexicon
    stays = channel.staying(epsilon)
    k = min(NEIGHBOURS, len(lexicon) - 1)  # the width that the bundled lexicon comes with
    gaps = vocabulary_density(lexicon, k).nearest[channel.words].astype(np.float64)
    order = np.lexsort((channel.words, -gaps, -stays))  # of equal ones the most isolated first
    count = min(count, order.size)
    chosen = [*order[:count].tolist(), *order[::-1][:count].tolist()]
    ranked = np.sort(gaps)
    exposed = []
    for done, i in enumerate(chosen, start=1):
        word = int(channel.words[i])
        after = posterior(channel.seen(word).at(epsilon), prior)
        exposed.append(
            ExposedWord(
                word=word,
                stays=float(stays[i]),
                prior=float(prior.probability[word]),
                believed=float(after.probability[word]),
                nearest=float(gaps[i]),
                # From the left: words that are equally isolated are not nearer.
                lonelier=float(np.searchsorted(ranked, gaps[i])) / ranked.size,
            )
        )
        progress("words", done, len(chosen))
    worst, best = tuple(exposed[:count]), tuple(exposed[count:])
    return Exposure(worst, best, stays, channel.words, _spearman(stays, gaps))


def _spearman(first: FloatArray, second: FloatArray) -> float:
    from scipy.stats import rankdata

    a, b = rankdata(first), rankdata(second)
    if first.size < 2 or not (a.std() > 0 and b.std() > 0):
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def chance_of_any(places: Iterable[tuple[int, int]], chance: FloatArray) -> float:
    """Return the chance that all positions of one place at least are right.

    Args:
        places: ranges of positions, first to stop (exclusive); they may overlap.
        chance: chance that a position is right, independently of the others, shape (k,).
    """
    # A place matters only from its start on: of places with one end the latest start is enough.
    latest: dict[int, int] = {}
    for first, stop in places:
        latest[stop] = max(first, latest.get(stop, first))
    none = 1.0  # that no place is right, of the groups of overlapping places before this one
    state: dict[int, float] = {}  # last wrong position → chance, while no place is right
    reach = -1
    for first, stop in sorted((first, stop) for stop, first in latest.items()):
        for i in range(max(first, reach), stop):
            if i == first and first >= reach:  # a new group
                none *= sum(state.values()) if state else 1.0
                state = {first - 1: 1.0}
            right = float(chance[i])
            wrong = sum(state.values()) * (1.0 - right)
            bound = latest.get(i + 1, -1)
            state = {last: p * right for last, p in state.items() if last >= bound}
            state[i] = wrong
        reach = max(reach, stop)
    return 1.0 - none * (sum(state.values()) if state else 1.0)


def sparse_success(law: SparseLaw, belief: FloatArray, gains: csr_matrix | None) -> float:
    """Return Σ_y max_v Σ_w π(w)·P(y | w)·g(v, w), up to the rounding of the sums.

    The base gives a guess v the same for every output. To it the pairs of the output add what is
    not negative, so the best guess is the best without pairs, or one to which a pair adds.

    Args:
        law: with no negative excess.
        belief: π, shape (n,).
        gains: g, shape (guesses, n); None for the identity.
    """
    from scipy.sparse import csc_matrix

    n, base = belief.size, belief * law.base
    added = csc_matrix((belief[law.words] * law.excess, (law.words, law.outputs)), shape=(n, n))
    without = base if gains is None else gains @ base
    total = n * float(without.max())
    for start in range(0, n, _OUTPUTS):
        some = added[:, start : start + _OUTPUTS]
        some = some if gains is None else (gains @ some).tocsc()
        sums = some.data + without[some.indices]
        starts = some.indptr[:-1][np.diff(some.indptr) > 0]
        if starts.size:
            best = np.maximum.reduceat(sums, starts) - float(without.max())
            total += float(np.maximum(best, 0.0).sum())
    return total
