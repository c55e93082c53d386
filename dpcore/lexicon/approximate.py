"""An approximate index, for mechanisms whose guarantee does not depend on the search.

A mechanism that adds noise to a vector and then looks for a word near the result only
post-processes: whichever words the search misses, the privacy guarantee stays, and only the
output distribution (utility) changes. A mechanism that *selects among* the neighbours found
(TEM, truncated Gumbel) loses its guarantee when a candidate is missed, so it refuses every index
whose `exact` is False.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import Kept, keep, recall
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import checked_queries, refine
from dpcore.lexicon.progress import silent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

_LINKS = 32
_CONSTRUCTION = 80
_SEARCH = 128
_SPARE = 8
_LINK_BLOCK = 4096


class ApproximateIndex:
    """HNSW: a graph walked greedily; fast for hundreds of thousands of words, and may miss some.

    The distances of the words it finds are true float64 distances. Of the nearest words of 500
    points near words of the bundled lexicon it found all (noise of 0.2 a coordinate) and 97 % of
    500 points far from them (noise of 1). The graph is kept in the cache
    (building it takes minutes for 400,000 words), checked by its SHA-256, and rebuilt when it is
    damaged or was made by another version of FAISS; a graph from anywhere else is never read.

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
            keep(lexicon.fingerprint, "hnsw", Kept({"graph": graph}, made_by))
            self.from_cache = False

    @property
    def exact(self) -> bool:
        """False: a nearer word may have been missed."""
        return False

    def search(self, queries: ArrayLike, count: int) -> tuple[IntArray, FloatArray]:
        """Near words of each query, probably the nearest; arguments as `ExactIndex.search`."""
        import faiss

        points = checked_queries(queries, self._vectors, count)
        # A few more than asked for: the graph ranks by float32, the answer by float64.
        wanted = min(count + _SPARE, len(self._vectors))
        effort = max(_SEARCH, 2 * wanted)
        settings: Any = vars(faiss)["SearchParametersHNSW"](efSearch=effort)
        with np.errstate(over="ignore"):  # infinity finds nothing, and is answered by force
            single = points.astype(np.float32)
        _, candidates = self._graph.search(single, wanted, params=settings)
        # The walk may end with too few words (-1 in the rest): answer those queries by force.
        short = np.flatnonzero((candidates < 0).any(axis=1))
        for row in short:
            all_of_them = distances(self._vectors, points[row : row + 1])[0]
            candidates[row] = np.argsort(all_of_them, kind="stable")[:wanted]
        return refine(self._vectors, points, candidates, count)
