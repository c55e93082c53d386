"""The Bayes attacker and the reader, from columns P(y | ·) of the law of a mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.trade.ground import BAYES, UTILITIES, amount
from dpcore.learn.intervals import Mean, mean_interval
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.attack.output.likelihood import Channel
    from dpcore.attack.trade.ground import Amount, Ground
    from dpcore.lexicon.progress import Progress

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
