"""Attackers and readers of a trade-off: by columns P(y | ·) of the law, by laws, or by draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.channel import Channel
from dpcore.attack.output.prior import Prior
from dpcore.attack.output.two_words import success
from dpcore.attack.trade.ground import BAYES, LEARNED, REPEATS, UTILITIES, Amount, Ground, amount
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.lexicon.metric import paired_distances
from dpcore.lexicon.neighbours import rank
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.directions import Outputs, outputs_of
from dpcore.measure.probability_intervals import Tally
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


_LOST = "distance"
_READ = ("word", "near", "kind", "kept", _LOST)
_TOGETHER = 64  # outputs whose columns are in memory at a time: 13 MB over 25,000 words
_GUESSED = 60  # outputs for which a nearer guess is searched
_GUESSES = 8  # nearest words of an output that are tried as guesses, beside the centre of all words
_NEVER = -700.0  # ln of the smallest probability that counts
_NOTHING = 60.0  # probabilities below e^−60 of the likeliest word are ignored


def from_columns(
    channel: Channel,
    epsilons: FloatArray,
    ground: Ground,
    outputs: int | None,
    seed: int,
    progress: Progress,
) -> Iterator[Amount]:
    """Measure from the columns of all outputs, or of some that are drawn without replacement."""
    mechanism, n = channel.mechanism, len(ground.lexicon)
    channel.prepare(epsilons.tolist())
    chosen, rng = np.arange(n), generator(seed, "trade-off", mechanism.key)
    if outputs is not None and outputs < n:
        chosen = np.sort(rng.choice(n, size=outputs, replace=False))
    readers = _Readers(ground)
    parts, error = [], 0.0
    for start in range(0, chosen.size, _TOGETHER):
        part = chosen[start : start + _TOGETHER]
        values, doubt = readers.read(channel, part, epsilons)
        parts.append(values)
        error = max(error, doubt)
        progress(f"trade-off of {mechanism.short}", start + part.size, chosen.size)
    table = np.concatenate(parts, axis=2)
    for e, epsilon in enumerate(epsilons.tolist()):
        # Weight of an output: its probability over that of equally likely outputs.
        mass = table[e, 0]
        for name, each in zip(_READ, table[e, 1:], strict=True):
            mean = mean_interval(mass * each)
            if chosen.size == n:
                off = mean.mean * (error + (ground.doubt if name == _LOST else 0.0))
                mean = Mean(mean.mean, mean.mean - off, mean.mean + off, n)
            if name == _LOST:  # mirrored as a loss, because errors of the mass do not affect the 1
                mean = Mean(1.0 - mean.mean, 1.0 - mean.high, 1.0 - mean.low, mean.trials)
            quantity = "meaning" if name == _LOST else name
            attacker = "" if quantity in UTILITIES else BAYES
            yield amount(mechanism, epsilon, quantity, mean, attacker, exact=chosen.size == n)
        some = rng.choice(chosen, size=min(_GUESSED, chosen.size), replace=False)
        # `mean` is still that of the meaning, the last one: repeating the output attains it.
        more = mean_interval(readers.nearer(channel, epsilon, some) / ground.spread)
        low, high = mean.low + max(more.low, 0.0), mean.high + more.high
        better = Mean(mean.mean + more.mean, low, high, more.trials)
        yield amount(mechanism, epsilon, "guess", better, BAYES)


class _Readers:
    """Attacker and reader of a block of outputs."""

    def __init__(self, ground: Ground) -> None:
        from scipy.sparse import csr_matrix

        n, k = ground.near.shape
        words = np.repeat(np.arange(n), k)
        self._near: csr_matrix = csr_matrix(
            (np.ones(n * k), (words, ground.near.reshape(-1))), shape=(n, n)
        )
        codes = ground.kinds.codes.astype(np.int64)
        self._kinds: csr_matrix = csr_matrix(
            (np.ones(n), (np.arange(n), codes)), shape=(n, len(ground.kinds.names))
        )
        self._ground = ground
        self._vectors = ground.lexicon.vectors.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", self._vectors, self._vectors)

    def read(
        self, channel: Channel, outputs: IntArray, epsilons: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return Σ_w P(y | w) of each output y, and given y the `_READ` values, (E, 6, outputs).

        Also return the largest relative error of a probability.
        """
        values = np.empty((epsilons.size, 1 + len(_READ), outputs.size))
        beliefs = np.empty((outputs.size, len(self._vectors)))
        away = self._away(outputs)
        away[np.arange(outputs.size), outputs] = 0.0
        seen, rows, error = channel.seen_all(outputs.tolist()), np.arange(outputs.size), 0.0
        for e, epsilon in enumerate(epsilons.tolist()):
            for i, output in enumerate(seen):
                column = output.at(epsilon)
                np.exp(column.logs, out=beliefs[i])
                # Errors of negligible probabilities do not count.
                likely = column.logs > max(column.logs.max(), _NEVER) - _NOTHING
                error = max(error, float(np.expm1(2.0 * column.errors[likely].max(initial=0.0))))
            mass = beliefs.sum(axis=1)
            beliefs /= np.where(mass > 0, mass, 1.0)[:, None]  # an impossible output stays at 0
            values[e] = (
                mass,
                beliefs.max(axis=1),
                (beliefs @ self._near).max(axis=1),
                (beliefs @ self._kinds).max(axis=1),
                beliefs[rows, outputs],
                np.einsum("ij,ij->i", beliefs, away) / self._ground.spread,
            )
        return values, error

    def _away(self, outputs: IntArray) -> FloatArray:
        """Return distances from all words, accurate to 1e-6 for words that nearly coincide."""
        products = self._vectors[outputs] @ self._vectors.T
        squares = self._squares[outputs, None] + self._squares - 2.0 * products
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def nearer(self, channel: Channel, epsilon: float, outputs: IntArray) -> FloatArray:
        """Return how much nearer than each output an attacker gets to the word, (m,), at least 0.

        Times Σ_w P(y | w). They take the best of the output, words near it and the centre: one
        attacker, hence a lower bound of the leakage.
        """
        gains = np.empty(outputs.size)
        for i, seen in enumerate(channel.seen_all(outputs.tolist())):
            near = self._ground.near[outputs[i], :_GUESSES]
            guesses = np.concatenate(([outputs[i], self._ground.centre], near))
            expected = self._away(guesses) @ np.exp(seen.at(epsilon).logs)
            gains[i] = expected[0] - expected.min()
        return gains


# Attackers who need no columns: one repeats the output, another chooses between two words.


_DIRECTIONS = 200  # noise directions of an estimated law


def measure_from_pairs(
    mechanism: Mechanism,
    epsilons: FloatArray,
    ground: Ground,
    count: int,
    seed: int,
    progress: Progress,
) -> Iterator[Amount]:
    """Measure from independently drawn pairs of a word and an output."""
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
    """Return the attacker's success, or that of a blind one: both are lower bounds."""
    return Mean(max(mean.mean, before), max(mean.low, before), max(mean.high, before), mean.trials)


def told_two(
    mechanism: Mechanism, epsilons: FloatArray, ground: Ground, progress: Progress
) -> Iterator[Amount]:
    """Measure success between a word and its nearest, and between two random words."""
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
            # All words share the directions, so their errors may all be on one side.
            more = 2.0 * float(errors[:, e].mean())
            middle = 0.5 * (least.mean + most.mean)
            ends = np.clip([middle, least.low - more, most.high + more], 0.5, 1.0)
            mean = Mean(float(ends[0]), float(ends[1]), float(ends[2]), len(lows))
            yield amount(mechanism, epsilon, name, mean, BAYES)


# Attackers who know more about a mechanism than one who repeats the output.
#
# If a column of the law is not a closed form, a trade-off uses `measure_from_pairs`. It is far
# below the leakage if a mechanism often answers with a neighbour: then the input word is another
# one, and an attacker can learn which. Both attackers here are too slow for a trade-off over any
# vocabulary: they need a law, or some draws, of every word.


_TOGETHER_STRONGER = 64  # words that are ranked at a time
_DRAWN = 2_000  # words whose outputs are drawn at a time
_NEIGHBOURS, _BLIND = 1.6, 2.0
"""Thresholds of `poorly_attacked`. The first is the ratio of outputs near the word, itself among
them, to outputs equal to it, from which on repeating the output counts as a poor attack; for noise
that is added to vectors of many dimensions it is 1.0 to 1.4 where two words of a hundred or more
stay. The second is the ratio of outputs near the word to those that a blind attacker gets near:
below it there is nothing to learn."""


def poorly_attacked(rows: Sequence[Amount], before: Mapping[str, float]) -> frozenset[float]:
    """Return the ε at which an attacker may guess far more than one who repeats the output.

    Args:
        rows: of one mechanism, from `dpcore.attack.trade.tradeoff.amounts`.
        before: result of `Ground.before`.
    """
    shares = {
        name: {row.epsilon: row.value for row in rows if row.quantity == name}
        for name in ("word", "near")
    }
    return frozenset(
        row.epsilon
        for row in rows
        if _repeated(row)
        and shares["near"][row.epsilon] >= _NEIGHBOURS * shares["word"][row.epsilon]
        and shares["near"][row.epsilon] >= _BLIND * before["near"]
    )


def from_draws(
    mechanism: Mechanism,
    rows: Sequence[Amount],
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
) -> list[Amount]:
    """Return the rows with the attacker of `guess_from_samples` wherever they guess more."""
    epsilons = [row.epsilon for row in rows if _repeated(row)]
    if not epsilons:
        return list(rows)
    ends = shares_from_samples(mechanism, epsilons, draws, count, seed, progress)
    better = dict(zip(epsilons, ends, strict=True))
    result = []
    for row in rows:
        # Both are lower bounds: the larger share counts.
        if _repeated(row) and better[row.epsilon][0] > row.value:
            value, low, high = better[row.epsilon]
            row = replace(row, value=value, low=low, high=high, attacker=LEARNED)
        result.append(row)
    return result


def shares_from_samples(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
    prior: Prior | None = None,
) -> list[tuple[float, float, float]]:
    """Return the share that `guess_from_samples` guesses at each ε, and its 95 % interval."""
    right = guess_from_samples(mechanism, np.asarray(epsilons), draws, count, seed, progress, prior)
    hits = right.sum(axis=0)
    low, high = Tally.counted(hits, count).interval()
    return list(zip((hits / count).tolist(), low.tolist(), high.tolist(), strict=True))


def _repeated(row: Amount) -> bool:
    return (row.quantity, row.attacker) == ("word", REPEATS)


def from_laws(
    mechanism: Mechanism,
    epsilons: FloatArray,
    progress: Progress = silent,
    prior: Prior | None = None,
) -> tuple[FloatArray, float]:
    """Compute the Bayes attacker's share of words, Σ_y max_w π(w)·P(y | w).

    Args:
        mechanism: with computed laws.
        epsilons: shape (E,).
        progress: called with (stage, done, total) in words.
        prior: of the words; all equally likely if None.

    Returns:
        The shares, shape (E,), and a bound on their error.
    """
    n, vectors, error = len(mechanism.lexicon), mechanism.lexicon.vectors, 0.0
    weights = np.full(n, 1.0 / n) if prior is None else prior.probability
    possible = np.flatnonzero(weights)
    likeliest = np.zeros((epsilons.size, n))
    for start in range(0, possible.size, _TOGETHER_STRONGER):
        words = possible[start : start + _TOGETHER_STRONGER]
        for word, ranking in zip(words.tolist(), rank(vectors, vectors[words]), strict=True):
            law = mechanism.law(word, epsilons, ranking=ranking)
            best = np.maximum(likeliest[:, law.outputs], weights[word] * law.probabilities)
            likeliest[:, law.outputs] = best
            # Of each of n outputs, whichever word is the likeliest there.
            error = max(error, n * weights[word] * law.error)
        progress(f"laws of {mechanism.short}", start + words.size, possible.size)
    return likeliest.sum(axis=1), error


def guess_from_samples(
    mechanism: Mechanism,
    epsilons: FloatArray,
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
    prior: Prior | None = None,
) -> NDArray[np.bool_]:
    """Return True where an attacker with samples of every word guesses the word behind an output.

    For each output they name the word with the most samples of it, each counted as often as the
    word is likely; if there are several, or none, the output itself is preferred. So their share is
    at most that of the Bayes attacker.

    Args:
        mechanism: any mechanism.
        epsilons: shape (E,).
        draws: number of sampled outputs of each word that the attacker has.
        count: number of new pairs of a word, drawn as likely as it is, and its output.
        seed: seed of all draws.
        progress: called with (stage, done, total) in words.
        prior: how likely words are; None for all equally.

    Returns:
        Shape (count, E).
    """
    n = len(mechanism.lexicon)
    rng = generator(seed, "learned guesses", mechanism.key)
    pairs = []
    for start in range(0, n, _DRAWN):
        words = np.repeat(np.arange(start, min(start + _DRAWN, n)), draws)
        # Output first: sorted, the pairs of an output are adjacent.
        pairs.append(outputs_at(mechanism, rng, words, epsilons) * n + words[:, None])
        progress(f"draws of {mechanism.short}", min(start + _DRAWN, n), n)
    new = rng.integers(n, size=count) if prior is None else prior.draw(rng, count)
    outputs = outputs_at(mechanism, rng, new, epsilons)
    right = np.empty(outputs.shape, dtype=np.bool_)
    for e, seen in enumerate(np.concatenate(pairs).T):
        kinds, times = np.unique(seen, return_counts=True)
        output, word = kinds // n, kinds % n
        weights = times if prior is None else times * prior.probability[word]
        order = np.lexsort((output == word, weights, output))
        guesses = np.arange(n)
        guesses[output[order]] = word[order]  # of equal indices the last counts: the likeliest
        right[:, e] = guesses[outputs[:, e]] == new
    return right
