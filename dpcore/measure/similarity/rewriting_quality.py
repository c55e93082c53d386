"""How much of a text is left after rewriting: ROUGE-1, BLEU, words kept, matched vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.optional import need

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    """ROUGE-1 (Lin 2004) of each rewritten text, by `rouge-score`, without stemming.

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
    """Corpus BLEU (Papineni et al. 2002) from 0 to 100, by `sacrebleu`, ignoring case.

    Args:
        references: the originals, k texts, one reference each.
        candidates: the rewritten texts, in the same order.
    """
    _paired(references, candidates)
    # force: a text whose marks stand apart, as in some corpora, is no reason for a warning.
    metric = _need("sacrebleu").BLEU(lowercase=True, force=True)
    return float(metric.corpus_score(list(candidates), [list(references)]).score)


def words_kept(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Share of the places whose word stayed: Nw counted in a text.

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
    """Greedy matching of static word vectors, of each text.

    The formula of BERTScore (Zhang et al. 2020, Section 3) with one fixed vector a word in place
    of a contextual one: recall is the mean over the original's words of the largest cosine with a
    word of the rewritten text, precision the other way round. Not BERTScore: it sees no context,
    and words of equal meaning match only as far as their vectors do.

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
    """Precision, recall and F1 of greedy matching.

    Args:
        cosines: of each piece of the original with each of the rewritten text, shape (a, b).
    """
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return precision, recall, 2.0 * precision * recall / total if total > 0 else 0.0
