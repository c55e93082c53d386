"""How well distances between words agree with human judgements of similarity."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import LexiconError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class SimilarityScore:
    """Agreement on one data set.

    Attributes:
        dataset: Its name, as in the file.
        spearman: Rank correlation of human scores with negative Euclidean distance.
        pairs: Covered pairs, the ones it is computed on.
        pairs_total: All pairs of the data set.
    """

    dataset: str
    spearman: float
    pairs: int
    pairs_total: int


def word_similarity(
    words: Sequence[str], vectors: NDArray[np.floating], pairs_csv: Path
) -> list[SimilarityScore]:
    """Score a lexicon on word pairs that people have judged.

    Both words of a pair are looked up in lower case; a pair is covered if both are in `words`.
    The metric is Euclidean distance, the one that the mechanisms use, not the cosine.

    Args:
        words: n words; of equal ones the first counts.
        vectors: Shape (n, d).
        pairs_csv: File with the columns set, w1, w2, score (higher is more similar).

    Returns:
        One score a data set, in alphabetical order of names. A data set with fewer than three
        covered pairs has the correlation NaN.

    Raises:
        LexiconError: The numbers of words and rows differ, or the file lacks a column.
    """
    from scipy.stats import spearmanr

    if len(words) != len(vectors):
        raise LexiconError(f"{len(words)} words, but {len(vectors)} rows of vectors")
    row = {word: index for index, word in reversed(list(enumerate(words)))}
    judged: dict[str, list[tuple[int | None, int | None, float]]] = {}
    with pairs_csv.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        missing = {"set", "w1", "w2", "score"} - set(reader.fieldnames or ())
        if missing:
            raise LexiconError(f"{pairs_csv} lacks the columns {', '.join(sorted(missing))}")
        for line in reader:
            pair = (row.get(line["w1"].lower()), row.get(line["w2"].lower()))
            judged.setdefault(line["set"], []).append((*pair, float(line["score"])))
    scores = []
    for dataset, lines in sorted(judged.items()):
        covered = [(a, b, s) for a, b, s in lines if a is not None and b is not None]
        correlation = float("nan")
        if len(covered) >= 3:
            first, second, human = (np.array(column) for column in zip(*covered, strict=True))
            difference = vectors[first].astype(np.float64) - vectors[second].astype(np.float64)
            correlation = float(spearmanr(human, -np.linalg.norm(difference, axis=1)).statistic)
        scores.append(SimilarityScore(dataset, correlation, len(covered), len(lines)))
    return scores
