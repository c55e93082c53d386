"""The Bayes attacker and the reader, from columns P(y | ·) of the law of a mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.output.channel import Channel
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
_TOGETHER = 64  # outputs whose columns are held at a time: 13 MB over 25,000 words
_GUESSED = 60  # outputs of which the word of least expected distance is looked for
_GUESSES = 8  # of which it is taken: the output's nearest words, beside the centre of all words
_NEVER = -700.0  # ln of the smallest probability that is one
_NOTHING = 60.0  # e^−60 of the likeliest word


def from_columns(
    channel: Channel,
    epsilons: FloatArray,
    ground: Ground,
    outputs: int | None,
    seed: int,
    progress: Progress,
) -> Iterator[Amount]:
    """From the columns of all outputs, or of some that are drawn without replacement."""
    mechanism, n = channel.mechanism, len(ground.lexicon)
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
        # An output counts by the probability with which it comes out, over that of all alike.
        mass = table[e, 0]
        for name, each in zip(_READ, table[e, 1:], strict=True):
            mean = mean_interval(mass * each)
            if chosen.size == n:
                off = mean.mean * (error + (ground.doubt if name == _LOST else 0.0))
                mean = Mean(mean.mean, mean.mean - off, mean.mean + off, n)
            if name == _LOST:  # as a loss, so that what is in doubt of the mass is not one of the 1
                mean = Mean(1.0 - mean.mean, 1.0 - mean.high, 1.0 - mean.low, mean.trials)
            quantity = "meaning" if name == _LOST else name
            attacker = "" if quantity in UTILITIES else BAYES
            yield amount(mechanism, epsilon, quantity, mean, attacker, exact=chosen.size == n)
        some = rng.choice(chosen, size=min(_GUESSED, chosen.size), replace=False)
        # `mean` is that of the meaning, the last one: whoever repeats the output has it already.
        more = mean_interval(readers.nearer(channel, epsilon, some) / ground.spread)
        low, high = mean.low + max(more.low, 0.0), mean.high + more.high
        better = Mean(mean.mean + more.mean, low, high, more.trials)
        yield amount(mechanism, epsilon, "guess", better, BAYES)


class _Readers:
    """The attacker and the reader, each looking at some outputs."""

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
        """Σ_w P(y | w) of each output y, and given y what `_READ` names, (E, 6, outputs).

        Also the largest relative error of a probability.
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
                # What is in doubt where nothing is counts for nothing.
                likely = column.logs > max(column.logs.max(), _NEVER) - _NOTHING
                error = max(error, float(np.expm1(2.0 * column.errors[likely].max(initial=0.0))))
            mass = beliefs.sum(axis=1)
            beliefs /= np.where(mass > 0, mass, 1.0)[:, None]  # one that never comes out is free
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
        """Distances from all words; of words that nearly coincide they are right to 1e-6."""
        products = self._vectors[outputs] @ self._vectors.T
        squares = self._squares[outputs, None] + self._squares - 2.0 * products
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def nearer(self, channel: Channel, epsilon: float, outputs: IntArray) -> FloatArray:
        """By how much an attacker is nearer to the word than each output, (m,), at least 0.

        Times Σ_w P(y | w). He takes the best of the output, words near it and the centre: an
        attacker, hence no more than what leaks.
        """
        gains = np.empty(outputs.size)
        for i, seen in enumerate(channel.seen_all(outputs.tolist())):
            near = self._ground.near[outputs[i], :_GUESSES]
            guesses = np.concatenate(([outputs[i], self._ground.centre], near))
            expected = self._away(guesses) @ np.exp(seen.at(epsilon).logs)
            gains[i] = expected[0] - expected.min()
        return gains


# Attackers who need no columns: one says what came out, another is told two words.


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


# Attackers who know more of a mechanism than one who repeats what comes out.
#
# Where a column of the law is no closed form, `repeated` is what a trade-off measures. It is far
# from what leaks where a mechanism often answers with a neighbour: then the word that was meant is
# another one, and one can learn which. Both are too slow for a trade-off over any vocabulary: a
# law, or some draws, of every word.


_TOGETHER_STRONGER = 64  # words whose rankings are made at a time
_DRAWN = 2_000  # words whose draws are made at a time
_NEIGHBOURS, _BLIND = 1.6, 2.0
"""Outputs that are near to the word, the word itself among them, over those that are the word: from
here on who repeats the output is taken for a poor attacker. Of noise that is added to vectors of
many dimensions it is 1.0 to 1.4 where two words of a hundred stay or more. And over what is near
of a word of which nothing is known: as long as it is less, there is nothing to learn."""


def poorly_attacked(rows: Sequence[Amount], before: Mapping[str, float]) -> frozenset[float]:
    """The ε at which a better attacker than one who repeats the output may guess far more.

    Args:
        rows: of one mechanism, as `dpcore.attack.trade.tradeoff.amounts` gives them.
        before: `Ground.before`.
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


def from_all_laws(
    mechanism: Mechanism, rows: Sequence[Amount], progress: Progress = silent
) -> list[Amount]:
    """The rows, with Bayes' share of the words in place of one who repeats; see `from_laws`."""
    epsilons = [row.epsilon for row in rows if _repeated(row)]
    if not epsilons:
        return list(rows)
    shares, error = from_laws(mechanism, np.asarray(epsilons), progress)
    better = {
        epsilon: (share, share - error, share + error)
        for epsilon, share in zip(epsilons, shares.tolist(), strict=True)
    }
    return _replaced(rows, better, BAYES, exact=True)


def from_draws(
    mechanism: Mechanism,
    rows: Sequence[Amount],
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
) -> list[Amount]:
    """The rows, with the share of one who has learned wherever he guesses more; see `learned`."""
    epsilons = [row.epsilon for row in rows if _repeated(row)]
    if not epsilons:
        return list(rows)
    right = learned(mechanism, np.asarray(epsilons), draws, count, seed, progress)
    hits = right.sum(axis=0)
    low, high = Tally.counted(hits, count).interval()
    ends = zip((hits / count).tolist(), low.tolist(), high.tolist(), strict=True)
    return _replaced(rows, dict(zip(epsilons, ends, strict=True)), LEARNED, exact=False)


def _repeated(row: Amount) -> bool:
    return (row.quantity, row.attacker) == ("word", REPEATS)


def _replaced(
    rows: Sequence[Amount],
    better: dict[float, tuple[float, float, float]],
    attacker: str,
    *,
    exact: bool,
) -> list[Amount]:
    """Both are lower bounds, or the other is what they bound: the larger one is taken."""
    result = []
    for row in rows:
        if _repeated(row) and better[row.epsilon][0] > row.value:
            value, low, high = better[row.epsilon]
            row = replace(row, value=value, low=low, high=high, attacker=attacker, exact=exact)
        result.append(row)
    return result


def from_laws(
    mechanism: Mechanism, epsilons: FloatArray, progress: Progress = silent
) -> tuple[FloatArray, float]:
    """Share of the words that the Bayes attacker guesses, uniform prior: Σ_y max_w P(y | w)/n.

    Args:
        mechanism: with computed laws.
        epsilons: shape (E,).
        progress: called with (stage, done, total) in words.

    Returns:
        The shares, shape (E,), and a bound on their error.
    """
    n, vectors, error = len(mechanism.lexicon), mechanism.lexicon.vectors, 0.0
    likeliest = np.zeros((epsilons.size, n))
    for start in range(0, n, _TOGETHER_STRONGER):
        words = range(start, min(start + _TOGETHER_STRONGER, n))
        for word, ranking in zip(words, rank(vectors, vectors[words]), strict=True):
            law = mechanism.law(word, epsilons, ranking=ranking)
            best = np.maximum(likeliest[:, law.outputs], law.probabilities)
            likeliest[:, law.outputs] = best
            error = max(error, law.error)
        progress(f"laws of {mechanism.short}", words.stop, n)
    return likeliest.sum(axis=1) / n, error


def learned(
    mechanism: Mechanism,
    epsilons: FloatArray,
    draws: int,
    count: int,
    seed: int,
    progress: Progress = silent,
) -> NDArray[np.bool_]:
    """Whether one who has seen some outputs of every word guesses the word behind a new one.

    For each output he names the word of which he saw it most often; if there are several, or none,
    the output itself before others. So the share that he guesses is at most that of the Bayes
    attacker.

    Args:
        mechanism: any.
        epsilons: shape (E,).
        draws: outputs of each word that he has seen.
        count: new pairs of a word, drawn uniformly, and its output.
        seed: of all drawing.
        progress: called with (stage, done, total) in words.

    Returns:
        Shape (count, E).
    """
    n = len(mechanism.lexicon)
    rng = generator(seed, "learned guesses", mechanism.key)
    pairs = []
    for start in range(0, n, _DRAWN):
        words = np.repeat(np.arange(start, min(start + _DRAWN, n)), draws)
        # Output first: sorted, the pairs of an output stand together.
        pairs.append(outputs_at(mechanism, rng, words, epsilons) * n + words[:, None])
        progress(f"draws of {mechanism.short}", min(start + _DRAWN, n), n)
    new = rng.integers(n, size=count)
    outputs = outputs_at(mechanism, rng, new, epsilons)
    right = np.empty(outputs.shape, dtype=np.bool_)
    for e, seen in enumerate(np.concatenate(pairs).T):
        kinds, times = np.unique(seen, return_counts=True)
        output, word = kinds // n, kinds % n
        order = np.lexsort((output == word, times, output))
        guesses = np.arange(n)
        guesses[output[order]] = word[order]  # of equal places the last one counts: the likeliest
        right[:, e] = guesses[outputs[:, e]] == new
    return right
