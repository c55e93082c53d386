"""Neighbours of a point: exact through FAISS and float64, or approximate and marked so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import BoolArray, Float32Array, FloatArray, IntArray
from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon.cache import CacheEntry, keep, recall
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.nearest_word import FAR, SAFE_LENGTHS, NearestSearch, product_error
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import NEIGHBOUR_TABLE_WIDTH

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon


_SPARE = 16
_QUERY_BLOCK = 2048
_BY_PRODUCT = 1200
_GATHER_BYTES = 4 * 2**20  # so that a block stays in the processor's cache


class NeighbourIndex(Protocol):
    """An index of the words near a point, in Euclidean distance."""

    @property
    def exact(self) -> bool:
        """True if the results are those of brute force."""

    def search(self, queries: ArrayLike, count: int) -> tuple[IntArray, FloatArray]:
        """Return indices and distances (not squared), both of shape (k, count), nearest first."""


class ExactIndex:
    """Exact Euclidean neighbours: FAISS proposes, float64 disposes.

    A FAISS flat index gives a few candidates more than asked for, by float32 squared distances
    whose error is bounded. Their distances are computed again in float64 and sorted (of equal
    ones the lowest index first). If the bound cannot exclude that a word outside the candidates
    is as near as the last one returned, the search is repeated with more of them, so the result
    is that of float64 brute force, ties and near duplicates included.

    The flat index is rebuilt every time and never stored: building it is one copy of the vectors
    (0.5 s and 480 MB for 400,000 x 300), while reading a stored one and checking its SHA-256 took
    1.4 s.

    Args:
        vectors: shape (n, d), float32; the index holds a copy.
    """

    def __init__(self, vectors: Float32Array) -> None:
        import faiss

        # With fewer numbers in all queries FAISS compares them one by one. With its default limit
        # (1.15: 128,000) 16 to 400 queries of 300 numbers took ten times as long as by a matrix
        # product.
        limits = faiss.cvar
        limits.distance_compute_blas_threshold = min(
            limits.distance_compute_blas_threshold, _BY_PRODUCT
        )
        self._vectors = vectors
        self._flat: Any = faiss.IndexFlatL2(int(vectors.shape[1]))
        self._flat.add(vectors)
        self._product = NearestSearch(vectors)
        self._largest = self._product.largest

    @property
    def exact(self) -> bool:
        """True: the results are those of brute force."""
        return True

    def search(self, queries: ArrayLike, count: int) -> tuple[IntArray, FloatArray]:
        """Return the `count` nearest words of each query.

        Args:
            queries: points, shape (k, d), finite.
            count: number of words, 1 to n.

        Returns:
            Indices (int64) and distances (float64), both of shape (k, count), nearest first.

        Raises:
            ParameterError: an argument is outside its range.
        """
        points = checked_queries(queries, self._vectors, count)
        indices = np.empty((len(points), count), dtype=np.int64)
        gaps = np.empty((len(points), count))
        for start in range(0, len(points), _QUERY_BLOCK):
            todo = np.arange(start, min(start + _QUERY_BLOCK, len(points)))
            safe = self._safe(points[todo])
            self._by_force(points, todo[~safe], indices, gaps)
            todo = todo[safe]
            wanted = count + _SPARE
            while len(todo):
                # Half of all words as candidates cost more than all distances.
                if 2 * wanted >= len(self._vectors):
                    self._by_force(points, todo, indices, gaps)
                    break
                sure = self._try(points, todo, wanted, indices, gaps)
                todo = todo[~sure]
                # Far from all words more candidates would hardly help: all are nearly as far.
                far = np.abs(points[todo]).max(axis=1) > FAR * self._largest
                if far.any():
                    rows = todo[far]
                    indices[rows], gaps[rows] = self._product.several(points[rows], count)
                    todo = todo[~far]
                # Ties may need many more; four times as many keeps the tries few.
                wanted *= 4
        return indices, gaps

    def _safe(self, points: FloatArray) -> BoolArray:
        """Mark the points whose float32 squares, with the words', do not over- or underflow."""
        low, high = SAFE_LENGTHS
        if not low < self._largest < high:
            return np.zeros(len(points), dtype=bool)
        return np.asarray(np.abs(points).max(axis=1) < high / np.sqrt(points.shape[1]))

    def _try(
        self, points: FloatArray, todo: IntArray, wanted: int, indices: IntArray, gaps: FloatArray
    ) -> BoolArray:
        """Fill in the rows `todo`, and return True for those proved right."""
        count = indices.shape[1]
        block = points[todo]
        squared, candidates = self._flat.search(block.astype(np.float32), wanted)
        indices[todo], gaps[todo] = refine(self._vectors, block, candidates, count)
        reach = np.sqrt(np.einsum("ij,ij->i", block, block)) + self._largest
        # Twice the bound of γ(‖q‖ + ‖x‖)², which also covers rounding q to float32.
        slack = 2.0 * product_error(block.shape[1]) * reach**2
        return np.asarray(squared[:, -1] - slack > gaps[todo, -1] ** 2)

    def _by_force(
        self, points: FloatArray, todo: IntArray, indices: IntArray, gaps: FloatArray
    ) -> None:
        count = indices.shape[1]
        step = max(1, _GATHER_BYTES // (8 * len(self._vectors)))
        for start in range(0, len(todo), step):
            rows = todo[start : start + step]
            block = distances(self._vectors, points[rows])
            order = np.argsort(block, axis=1, kind="stable")[:, :count]
            indices[rows] = order
            gaps[rows] = np.take_along_axis(block, order, axis=1)


def checked_queries(queries: ArrayLike, vectors: Float32Array, count: int) -> FloatArray:
    """Validate the arguments of a search.

    Raises:
        ParameterError: the shape is wrong, a value is not finite or count is not in 1..n.
    """
    points = np.asarray(queries, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != vectors.shape[1]:
        raise ParameterError(f"queries must be (k, {vectors.shape[1]}), got {points.shape}")
    if not np.isfinite(points).all():
        raise ParameterError("queries must be finite, got NaN or infinity")
    if not 1 <= count <= len(vectors):
        raise ParameterError(f"count must be 1 to {len(vectors)} (the words), got {count}")
    return points


def refine(
    vectors: Float32Array, points: FloatArray, candidates: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Return the `count` nearest of each query's candidates, by float64 distance, then index.

    Args:
        vectors: shape (n, d).
        points: shape (k, d).
        candidates: shape (k, m), m >= count, indices into vectors.
        count: number of words to keep.

    Returns:
        Indices and distances of shape (k, count).
    """
    indices = np.empty((len(points), count), dtype=np.int64)
    gaps = np.empty((len(points), count))
    step = max(1, _GATHER_BYTES // (8 * candidates.shape[1] * vectors.shape[1]))
    for start in range(0, len(points), step):
        chosen = candidates[start : start + step]
        difference = vectors[chosen] - points[start : start + step, None, :]
        true = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
        order = np.lexsort((chosen, true), axis=1)[:, :count]
        indices[start : start + step] = np.take_along_axis(chosen, order, axis=1)
        gaps[start : start + step] = np.take_along_axis(true, order, axis=1)
    return indices, gaps


@dataclass(frozen=True, eq=False)
class NeighbourTable:
    """Nearest words of every word, itself first; both arrays are read-only.

    Attributes:
        indices: shape (n, m), int32, column 0 is the word itself.
        distances: shape (n, m), float32, Euclidean, ascending; column 0 is 0.
    """

    indices: NDArray[np.int32]
    distances: Float32Array

    def __post_init__(self) -> None:
        self.indices.setflags(write=False)
        self.distances.setflags(write=False)


def table_of(
    vectors: Float32Array, fingerprint: str, count: int, progress: Progress
) -> NeighbourTable:
    """Return the table of `Lexicon.neighbours`: cached, else computed and cached."""
    if not 1 <= count <= NEIGHBOUR_TABLE_WIDTH:
        raise ParameterError(
            f"a neighbour table has 1 to {NEIGHBOUR_TABLE_WIDTH} columns, got {count}"
        )
    n = len(vectors)
    width = min(NEIGHBOUR_TABLE_WIDTH, n)
    if (stored := stored_table(fingerprint, n)) is not None:
        return NeighbourTable(stored.indices[:, :count], stored.distances[:, :count])
    index = ExactIndex(vectors)
    indices = np.empty((n, width), dtype=np.int32)
    gaps = np.empty((n, width), dtype=np.float32)
    for start in range(0, n, _QUERY_BLOCK):
        part = slice(start, min(start + _QUERY_BLOCK, n))
        indices[part], gaps[part] = index.search(vectors[part], width)
        progress("neighbours", part.stop, n)
    # The widest table is cached, so that no smaller one is ever computed.
    keep(fingerprint, "neighbours", CacheEntry({"indices": indices, "distances": gaps}, {}))
    return NeighbourTable(indices[:, :count], gaps[:, :count])


def stored_table(fingerprint: str, n: int) -> NeighbourTable | None:
    """Return the widest table of a lexicon of n words if it is cached; both arrays are mapped."""
    entry = recall(fingerprint, "neighbours")
    width = min(NEIGHBOUR_TABLE_WIDTH, n)
    if entry is None or {
        name: (array.shape, array.dtype.str) for name, array in entry.arrays.items()
    } != {"indices": ((n, width), "<i4"), "distances": ((n, width), "<f4")}:
        return None
    return NeighbourTable(entry.arrays["indices"], entry.arrays["distances"])


# Approximate index, for mechanisms whose guarantee does not depend on the search.
#
# A mechanism that adds noise to a vector and then looks for a word near the result only
# post-processes: whichever words the search misses, the privacy guarantee stays, and only the
# output distribution (utility) changes. A mechanism that *selects among* the neighbours found
# (TEM, Truncated Gumbel) loses its guarantee when a candidate is missed, so it refuses every index
# whose `exact` is False.


_LINKS = 32
_CONSTRUCTION = 80
_SEARCH = 128
_SPARE_APPROXIMATE = 8
_LINK_BLOCK = 4096


class ApproximateIndex:
    """HNSW: a graph walked greedily; fast for hundreds of thousands of words, and may miss some.

    The distances of the words it finds are true float64 distances. Of the nearest words of 500
    points near words of the bundled lexicon it found all (noise of 0.2 per coordinate) and 97 % of
    500 points far from them (noise of 1). The graph is cached (building it takes minutes for
    400,000 words), checked by its SHA-256, and rebuilt when it is damaged or was made by another
    version of FAISS; a graph from anywhere else is never read.

    Args:
        lexicon: the lexicon; its metric must be Euclidean.
        progress: called with ("hnsw", words linked, words).

    Raises:
        LexiconError: the metric is not Euclidean.
    """

    def __init__(self, lexicon: Lexicon, progress: Progress | None = None) -> None:
        import faiss

        if lexicon.metric is not Metric.EUCLIDEAN:
            raise LexiconError(
                f"the approximate index is Euclidean, this lexicon is {lexicon.metric.value}"
            )
        self._vectors = lexicon.vectors
        kept = recall(lexicon.fingerprint, "hnsw")
        if kept is not None and kept.facts.get("faiss") == faiss.__version__:
            self._graph: Any = faiss.deserialize_index(np.array(kept.arrays["graph"]))
            self.from_cache = True
        else:
            self._graph = faiss.IndexHNSWFlat(lexicon.dimension, _LINKS)
            self._graph.hnsw.efConstruction = _CONSTRUCTION
            for start in range(0, len(lexicon), _LINK_BLOCK):
                self._graph.add(lexicon.vectors[start : start + _LINK_BLOCK])
                (progress or silent)("hnsw", self._graph.ntotal, len(lexicon))
            graph = faiss.serialize_index(self._graph)
            made_by = {"faiss": faiss.__version__}
            keep(lexicon.fingerprint, "hnsw", CacheEntry({"graph": graph}, made_by))
            self.from_cache = False

    @property
    def exact(self) -> bool:
        """False: a nearer word may have been missed."""
        return False

    def search(self, queries: ArrayLike, count: int) -> tuple[IntArray, FloatArray]:
        """Return near words of each query, probably the nearest; see `ExactIndex.search`."""
        import faiss

        points = checked_queries(queries, self._vectors, count)
        # A few more than asked for: the graph ranks by float32, the result by float64.
        wanted = min(count + _SPARE_APPROXIMATE, len(self._vectors))
        effort = max(_SEARCH, 2 * wanted)
        settings: Any = vars(faiss)["SearchParametersHNSW"](efSearch=effort)
        with np.errstate(over="ignore"):  # infinity finds nothing, so brute force answers
            single = points.astype(np.float32)
        _, candidates = self._graph.search(single, wanted, params=settings)
        # The walk may end with too few words (-1 in the rest): those queries go by brute force.
        short = np.flatnonzero((candidates < 0).any(axis=1))
        for row in short:
            all_of_them = distances(self._vectors, points[row : row + 1])[0]
            candidates[row] = np.argsort(all_of_them, kind="stable")[:wanted]
        return refine(self._vectors, points, candidates, count)


# Words in order of distance from a point.


_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Ranking:
    """All words sorted by distance from one point; both arrays are read-only.

    Attributes:
        order: word indices, shape (n,), int64, nearest first; of equal distances the lowest index.
        distances: their distances, shape (n,), float64, ascending.
    """

    order: IntArray
    distances: FloatArray

    def __post_init__(self) -> None:
        self.order.setflags(write=False)
        self.distances.setflags(write=False)

    def __len__(self) -> int:
        return len(self.order)


def rank(
    vectors: Float32Array, origins: ArrayLike, metric: Metric = Metric.EUCLIDEAN
) -> tuple[Ranking, ...]:
    """Sort all words by their distance from each origin.

    Args:
        vectors: the words, shape (n, d).
        origins: points, shape (k, d).
        metric: the metric.

    Returns:
        One `Ranking` for each origin.

    Raises:
        ParameterError: as `dpcore.lexicon.metric.distances`.
    """
    points = np.asarray(origins, dtype=np.float64)
    step = max(1, _BLOCK_BYTES // (8 * max(len(vectors), 1)))  # origins of one block of distances
    rankings: list[Ranking] = []
    for start in range(0, len(points), step):
        rankings += map(_sorted, distances(vectors, points[start : start + step], metric))
    return tuple(rankings)


def _sorted(row: FloatArray) -> Ranking:
    # A stable sort takes five times as long, and is needed only where distances are equal.
    order = np.argsort(row)
    ascending = row[order]
    if (ascending[1:] == ascending[:-1]).any():
        order = np.argsort(row, kind="stable")
    return Ranking(order.astype(np.int64, copy=False), ascending)
