"""Masked language model: the network that reads a sentence and fills in its hidden words.

A transformer encoder of two layers (Vaswani et al. 2017, with the norm before each part as in
Xiong et al. 2020) that was trained to predict hidden words from all others (Devlin et al. 2019).
Its words are those of a lexicon; one table of low dimension serves input and output. It was trained
with torch (`dpcore.attack.language.reader_training`) and runs on NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import (
    ARRAYS,
    bundled_data,
    bundled_folder,
    refuse_of_the_system,
    replacing,
)
from dpcore.lexicon.lexicon import Lexicon

FILE = "reader.npz"
SPECIAL = 3
"""Number of rows after the n words: n, the boundary of a sentence; n + 1, a word that the lexicon
lacks; n + 2, a hidden word."""
_TINY = 1e-5  # keeps the norm of a constant row finite


@dataclass(frozen=True, eq=False)
class Reader:
    """A network over n words; read-only.

    Attributes:
        weights: arrays in float32 by name. With r numbers per word, width d, k layers, P positions
            and m numbers between: `embedding` (n + 3, r), `bias` (n,), `lift` (r, d), `lower`
            (d, r), `positions` (P, d), `norm` (2, d), and per layer `before_attention` (k, 2, d),
            `attention` (k, d, 3d), `attention_bias` (k, 3d), `join` (k, d, d), `join_bias` (k, d),
            `before_feed` (k, 2, d), `up` (k, d, m), `up_bias` (k, m), `down` (k, m, d),
            `down_bias` (k, d).
        heads: of attention; divides d.
        exponent: to which an attacker raises its output (`dpcore.attack.language.context`).
    """

    weights: Mapping[str, NDArray[np.float32]]
    heads: int
    exponent: float = 1.0

    def __post_init__(self) -> None:
        for array in self.weights.values():
            array.setflags(write=False)

    @property
    def size(self) -> int:
        """Number of words n."""
        return self.weights["bias"].size

    @property
    def longest(self) -> int:
        """Largest number of positions P that it reads at once, boundaries included."""
        return len(self.weights["positions"])

    @property
    def boundary(self) -> int:
        """Number of the beginning and of the end of a sentence."""
        return self.size

    @property
    def unknown(self) -> int:
        """Number of a word that the lexicon lacks."""
        return self.size + 1

    @property
    def hidden(self) -> int:
        """Number of a hidden word."""
        return self.size + 2

    def embedded(self, tokens: IntArray) -> NDArray[np.float32]:
        """Return the rows of the table for numbers of words, shape of `tokens` + (r,)."""
        return self.weights["embedding"][tokens]

    def expected(self, probabilities: FloatArray) -> NDArray[np.float32]:
        """Return the mean row of the table for laws over the n words, shape (…, n) to (…, r)."""
        table = self.weights["embedding"][: self.size]
        return np.asarray(probabilities.astype(np.float32) @ table)

    def logits(self, rows: NDArray[np.float32], places: IntArray) -> NDArray[np.float32]:
        """Score all words at one position in each of B sequences of equal length.

        Args:
            rows: the sequences, shape (B, T, r) with T at most `longest`: rows of `embedded` or
                `expected`.
            places: position to score in each, shape (B,).

        Returns:
            ln P(word) up to a constant for each row, shape (B, n).
        """
        weights = self.weights
        batch, length, _ = rows.shape
        asked = np.arange(batch)
        state = rows @ weights["lift"] + weights["positions"][:length]
        layers = len(weights["up"])
        for k in range(layers):
            last = k == layers - 1
            normed = _normed(state, weights["before_attention"][k])
            mixed = normed @ weights["attention"][k] + weights["attention_bias"][k]
            query, key, value = np.split(mixed, 3, axis=-1)
            if last:
                # After the last attention only the scored positions are needed.
                query, state = query[asked, places][:, None], state[asked, places][:, None]
            heard = _attended(query, key, value, self.heads)
            state = state + heard @ weights["join"][k] + weights["join_bias"][k]
            normed = _normed(state, weights["before_feed"][k])
            between = np.maximum(normed @ weights["up"][k] + weights["up_bias"][k], 0)
            state = state + between @ weights["down"][k] + weights["down_bias"][k]
        row = _normed(state[:, 0], weights["norm"]) @ weights["lower"]
        return np.asarray(row @ weights["embedding"][: self.size].T + weights["bias"])


def _normed(state: NDArray[np.float32], norm: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = state - state.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + np.float32(_TINY)) * norm[0] + norm[1])


def _attended(
    query: NDArray[np.float32], key: NDArray[np.float32], value: NDArray[np.float32], heads: int
) -> NDArray[np.float32]:
    def parted(array: NDArray[np.float32]) -> NDArray[np.float32]:
        batch, length, width = array.shape
        return array.reshape(batch, length, heads, width // heads).swapaxes(1, 2)

    width = query.shape[-1]
    scores = parted(query) @ parted(key).swapaxes(2, 3) / np.float32((width // heads) ** 0.5)
    # A softmax that cannot overflow: the largest exponent is 0.
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    heard = scores / scores.sum(axis=-1, keepdims=True) @ parted(value)
    return np.asarray(heard.swapaxes(1, 2).reshape(query.shape))


def write_reader(path: Path, reader: Reader) -> None:
    """Write a network: the table in eight bits with one scale per row, the rest in float16."""
    table = reader.weights["embedding"]
    scale = np.abs(table).max(axis=1, keepdims=True) / 127
    # A row of zeros is stored as zeros under any scale.
    scale[scale == 0] = 1
    arrays: dict[str, Any] = {
        name: array.astype(np.float16)
        for name, array in reader.weights.items()
        if name != "embedding"
    }
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            embedding=np.rint(table / scale).astype(np.int8),
            scale=scale.astype(np.float32),
            heads=np.array(reader.heads, dtype=np.int64),
            exponent=np.array(reader.exponent),
            **arrays,
        )


def read_reader(path: Path) -> Reader:
    """Read a file written by `write_reader`.

    Raises:
        LexiconError: an array is missing.
    """
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    try:
        heads, exponent = int(arrays.pop("heads")), float(arrays.pop("exponent"))
        scale = arrays.pop("scale")
        arrays["embedding"] = arrays["embedding"] * scale
    except KeyError as error:
        raise LexiconError(f"{path.name} holds no network: {error.args[0]} is missing") from None
    weights = {name: array.astype(np.float32) for name, array in arrays.items()}
    return Reader(weights, heads, exponent)


@lru_cache(maxsize=1)
def reader_of(lexicon: Lexicon) -> Reader:
    """Load the bundled network.

    Raises:
        LexiconError: its file is missing or damaged, or its words are not those of the lexicon.
    """
    path = bundled_data("language", FILE) / FILE
    try:
        reader = read_reader(path)
        words = (bundled_folder() / "words.txt").read_text(encoding="utf-8").split("\n")
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"the network in {path} cannot be read; train it with `python -m dpcore language train`"
        ) from None
    if lexicon.words != tuple(words):
        raise LexiconError(
            f"the network reads the {reader.size:,} bundled words and not lexicon "
            f"{lexicon.name!r}: take the reader bigram"
        )
    return reader
