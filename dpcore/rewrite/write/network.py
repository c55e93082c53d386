"""A language model of the Llama family in plain numpy: what comes next, token by token.

Touvron et al. 2023: blocks of attention and of a gated network, each behind a root-mean-square
norm; places enter as rotations of queries and keys (Su et al. 2021), and several queries share a
key (Ainslie et al. 2023). Keys and values of what was read are kept, so a token more costs one pass
through the weights. Numbers are float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_PASS = 256  # tokens of different texts that are read together


@dataclass(frozen=True, eq=False)
class Block:
    """Weights of one block; a matrix has an output a row.

    Attributes:
        attention_norm: shape (d,).
        inputs: of queries, keys and values, one under another, shape ((H + 2K)·c, d).
        output: shape (d, H·c).
        gate_norm: shape (d,).
        gates: of the gate and what it lets through, one under another, shape (2f, d).
        down: shape (d, f).
    """

    attention_norm: Floats
    inputs: Floats
    output: Floats
    gate_norm: Floats
    gates: Floats
    down: Floats


@dataclass(frozen=True, eq=False)
class Network:
    """A language model.

    Attributes:
        embedding: a vector a token, which also gives the scores of what comes next, shape (V, d).
        blocks: in order.
        norm: of what the last block gives, shape (d,).
        heads: H, of queries.
        shared: K, of keys and values; it divides H.
        base: of the rotations.
        tiny: added to the mean square of a norm.
    """

    embedding: Floats
    blocks: tuple[Block, ...]
    norm: Floats
    heads: int
    shared: int
    base: float = 10_000.0
    tiny: float = 1e-5

    @property
    def width(self) -> int:
        """c, numbers of a query."""
        return int(self.blocks[0].output.shape[1]) // self.heads

    def reading(self, most: int) -> Reading:
        """Nothing read yet.

        Args:
            most: tokens that are read in all.
        """
        return Reading(self, most)

    def log_probabilities(
        self, texts: Sequence[Sequence[int]], progress: Progress = silent
    ) -> list[float]:
        """ln P of each text behind its first token; several are read in one pass.

        Args:
            texts: tokens of each, at least one.
            progress: called with ("texts", done, all).
        """
        found: list[float] = []
        for some in _together(texts):
            tokens = np.array([token for text in some for token in text], dtype=np.int64)
            owner = np.repeat(np.arange(len(some)), [len(text) for text in some])
            places = np.concatenate([np.arange(len(text)) for text in some])
            reading = self.reading(tokens.size)
            rows = reading._read_on(tokens, places, owner[:, None] != owner)
            # What is expected behind a token is asked of the next token of the same text.
            asked = np.flatnonzero(owner[1:] == owner[:-1])
            scores = self._normed(rows[asked], self.norm) @ self.embedding.T
            scores -= scores.max(axis=1, keepdims=True)
            logs = scores[np.arange(asked.size), tokens[asked + 1]]
            logs = logs - np.log(np.exp(scores).sum(axis=1))
            found += np.bincount(owner[asked], logs, minlength=len(some)).tolist()
            progress("texts", len(found), len(texts))
        return found

    def _normed(self, rows: Floats, weights: Floats) -> Floats:
        squares = np.mean(rows * rows, axis=-1, keepdims=True) + np.float32(self.tiny)
        return np.asarray(rows / np.sqrt(squares) * weights)


class Reading:
    """What a model has read, and what it expects next."""

    def __init__(self, network: Network, most: int) -> None:
        self._network = network
        shape = len(network.blocks), 2, network.shared, most, network.width
        self._kept = np.zeros(shape, dtype=np.float32)
        self._read = 0

    def scores(self, tokens: Sequence[int]) -> Floats:
        """Read some tokens more, and score what may come next.

        Args:
            tokens: at least one, within what is still to be read.

        Returns:
            A logit a token of the vocabulary, shape (V,).
        """
        network = self._network
        end = self._read + len(tokens)
        places = np.arange(self._read, end)
        hidden = np.zeros((len(tokens), end), dtype=bool)
        rows = self._read_on(np.asarray(tokens, dtype=np.int64), places, hidden)
        return np.asarray(network.embedding @ network._normed(rows[-1], network.norm))

    def _read_on(
        self, tokens: NDArray[np.int64], places: NDArray[np.int64], hidden: NDArray[np.bool_]
    ) -> Floats:
        """What the last block gives of k tokens more, shape (k, d).

        Args:
            tokens: shape (k,).
            places: of each in its text, shape (k,).
            hidden: which of those that were read each of them does not see, shape (k, all read);
                those behind it are hidden anyway.
        """
        network = self._network
        rows = network.embedding[tokens]
        turns = self._turns(places)
        end = self._read + len(tokens)
        hidden = hidden | (np.arange(end) > np.arange(self._read, end)[:, None])
        for block, kept in zip(network.blocks, self._kept, strict=True):
            rows = rows + self._attended(block, kept, rows, turns, hidden) @ block.output.T
            normed = network._normed(rows, block.gate_norm)
            gate, through = np.split(normed @ block.gates.T, 2, axis=1)
            # e^−x may overflow to ∞, and x/∞ is 0, as it should be.
            with np.errstate(over="ignore"):
                rows = rows + (gate / (1.0 + np.exp(-gate)) * through) @ block.down.T
        self._read = end
        return rows

    def _attended(
        self,
        block: Block,
        kept: Floats,
        rows: Floats,
        turns: tuple[Floats, Floats],
        hidden: NDArray[np.bool_],
    ) -> Floats:
        """What each token takes from those before it and from itself, shape (k, H·c)."""
        network, k, end = self._network, len(rows), self._read + len(rows)
        inputs = network._normed(rows, block.attention_norm) @ block.inputs.T
        parts = inputs.reshape(k, network.heads + 2 * network.shared, network.width)
        parts = parts.transpose(1, 0, 2)  # heads first
        queries, keys, values = np.split(
            parts, [network.heads, network.heads + network.shared], axis=0
        )
        kept[0, :, self._read : end] = _turned(keys, turns)
        kept[1, :, self._read : end] = values
        # Neighbouring queries share a key.
        grouped = _turned(queries, turns).reshape(network.shared, -1, k, network.width)
        weights = grouped @ kept[0, :, None, :end].transpose(0, 1, 3, 2)
        weights /= np.float32(math.sqrt(network.width))
        weights = np.where(hidden, np.float32(-np.inf), weights)
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ kept[1, :, None, :end]).reshape(network.heads, k, network.width)
        return np.asarray(mixed.transpose(1, 0, 2).reshape(k, -1))

    def _turns(self, places: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Cosines and sines of the rotations, shape (k, c/2) each."""
        half = self._network.width // 2
        angles = places[:, None] * self._network.base ** (-np.arange(half) / half)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _together(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Texts in order, in parts of some hundred tokens: all of a part are compared."""
    part: list[Sequence[int]] = []
    for text in texts:
        if part and sum(map(len, part)) + len(text) > _PASS:
            yield part
            part = []
        part.append(text)
    if part:
        yield part


def _turned(rows: Floats, turns: tuple[Floats, Floats]) -> Floats:
    """Neighbouring numbers as points of a plane, turned."""
    cosines, sines = turns
    first, second = rows[..., ::2], rows[..., 1::2]
    turned = np.stack((first * cosines - second * sines, first * sines + second * cosines), axis=-1)
    return np.asarray(turned.reshape(rows.shape))
