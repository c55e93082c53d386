"""Attackers who need no columns: one says what came out, another is told two words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.two_words import success
from dpcore.attack.trade.ground import BAYES, REPEATS, amount
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.lexicon.metric import paired_distances
from dpcore.lexicon.ranking import rank
from dpcore.measure.outputs import outputs_of
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.additive.shared import SharedDirections
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.mechanisms.law import Effort
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.attack.trade.ground import Amount, Ground
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.outputs import Outputs
    from dpcore.mechanisms.mechanism import Mechanism

_DIRECTIONS = 200  # noise directions behind a law that is estimated


def repeated(
    mechanism: Mechanism,
    epsilons: FloatArray,
    ground: Ground,
    count: int,
    seed: int,
    progress: Progress,
) -> Iterator[Amount]:
    """From pairs of a word and an output, drawn independently."""
    rng = generator(seed, "trade-off", mechanism.key)
    words = rng.integers(len(ground.lexicon), size=count)
    drawn = outputs_at(mechanism, rng, words, epsilons, progress)
    codes, vectors = ground.kinds.codes, ground.lexicon.vectors
    before = ground.before() | {"kept": 0.0}
    for epsilon, outputs in zip(epsilons.tolist(), drawn.T, strict=True):
        same = outputs == words
        events = {
            ("kept", ""): same,
            ("word", REPEATS): same,
            ("near", REPEATS): (ground.near[words] == outputs[:, None]).any(axis=1),
            ("kind", REPEATS): codes[words] == codes[outputs],
        }
        for (name, attacker), event in events.items():
            low, high = Tally.counted(np.array([event.sum()]), count).interval()
            mean = Mean(float(event.mean()), float(low[0]), float(high[0]), count)
            yield amount(mechanism, epsilon, name, _at_least(mean, before[name]), attacker)
        left = 1.0 - paired_distances(vectors[words], vectors[outputs]) / ground.spread
        mean = mean_interval(left)
        yield amount(mechanism, epsilon, "meaning", mean, "")
        yield amount(mechanism, epsilon, "guess", _at_least(mean, before["guess"]), REPEATS)


def _at_least(mean: Mean, before: float) -> Mean:
    """The attacker's success, or that of one who does not look: either is a lower bound."""
    return Mean(max(mean.mean, before), max(mean.low, before), max(mean.high, before), mean.trials)


def told_two(
    mechanism: Mechanism, epsilons: FloatArray, ground: Ground, progress: Progress
) -> Iterator[Amount]:
    """Success between a word and its nearest, and between two words at random."""
    vectors = ground.lexicon.vectors
    shared = SharedDirections(Effort(_DIRECTIONS))
    low = np.empty((2, len(ground.triples), epsilons.size))
    high, noise = np.empty_like(low), np.empty_like(low)
    for i, triple in enumerate(ground.triples.tolist()):
        laws: list[Outputs] = []
        away: list[FloatArray] = []
        for word, ranking in zip(triple, rank(vectors, vectors[triple]), strict=True):
            laws.append(outputs_of(mechanism, word, epsilons, ranking, shared))
            row = np.empty(len(ranking))
            row[ranking.order] = ranking.distances
            away.append(row)
        for place in (1, 2):
            each = success(laws[0], laws[place], away[0] < away[place])
            low[place - 1, i], high[place - 1, i] = each.low, each.high
            noise[place - 1, i] = np.maximum(each.low_error, each.high_error)
        progress(f"pairs of {mechanism.short}", i + 1, len(ground.triples))
    for name, lows, highs, errors in zip(("pair", "couple"), low, high, noise, strict=True):
        for e, epsilon in enumerate(epsilons.tolist()):
            least, most = mean_interval(lows[:, e]), mean_interval(highs[:, e])
            # Directions are common to all words, so their errors may all be on one side.
            more = 2.0 * float(errors[:, e].mean())
            middle = 0.5 * (least.mean + most.mean)
            ends = np.clip([middle, least.low - more, most.high + more], 0.5, 1.0)
            mean = Mean(float(ends[0]), float(ends[1]), float(ends[2]), len(lows))
            yield amount(mechanism, epsilon, name, mean, BAYES)
