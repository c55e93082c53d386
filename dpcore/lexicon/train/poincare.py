"""Vectors of hyperbolic space for a hierarchy of words (Nickel and Kiela 2017).

A word must be nearer to one above it than to others: with d the hyperbolic distance,
−ln(e^(−d(w, v))/Σ e^(−d(w, v′))) is minimised over pairs (w, v), v′ being v and words drawn at
random that are not above w. Points lie on the hyperboloid, where a step goes along a geodesic
(Nickel and Kiela 2018): with ⟨x, y⟩ = x·y − x_0·y_0 the distance is arcosh(−⟨x, y⟩), its slope by x
is −y/√(⟨x, y⟩² − 1), projected on the surface.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from dpcore.arrays import Float32Array, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.catalogue import Manifest, write_stored
from dpcore.lexicon.hyperbolic import polar, seen_from
from dpcore.lexicon.lexicon import Lexicon, freeze
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.train.wordnet import Hypernyms, hypernyms
from dpcore.noise.streams import generator
from dpcore.optional import installed

_START = 1e-3  # bound of the initial coordinates
_BURN_IN, _SLOWER = 10, 0.1  # first epochs, which find directions, have shorter steps
_LONGEST_STEP = 0.5
_LEAST = 1e-9  # −⟨x, y⟩ exceeds 1 by at least this: two points may coincide


@dataclass(frozen=True)
class HyperbolicPlan:
    """Settings that determine the vectors, besides the hierarchy.

    Attributes:
        dimensions: d; noise of the mechanism has a density for ε > d − 1.
        epochs: passes over all pairs.
        rate: length of a step for a slope of 1.
        negatives: words drawn at random beside each pair.
        batch: pairs of one step.
        longest: no point is farther from the centre.
        seed: of the initial points, the order of pairs, and the words drawn.

    Raises:
        ParameterError: A number is out of range.
    """

    dimensions: int = 5
    epochs: int = 120
    rate: float = 0.2
    negatives: int = 10
    batch: int = 512
    longest: float = 12.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dimensions", "epochs", "negatives", "batch"):
            if not getattr(self, name) >= 1:
                raise ParameterError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 2 <= self.dimensions <= 100:
            raise ParameterError(f"dimensions must be from 2 to 100, got {self.dimensions}")
        for name in ("rate", "longest"):
            value = getattr(self, name)
            if not (value > 0 and isfinite(value)):
                raise ParameterError(f"{name} must be a finite number > 0, got {value}")


@dataclass(frozen=True)
class Reconstruction:
    """Agreement of distances with the hierarchy of words.

    Attributes:
        mean_rank: rank by distance of a word above another, among all words not above that one.
        median_rank: the median of the same ranks.
        average_precision: mean over words of the average precision (MAP).
        words: number of words with a word above them.
        pairs: number of pairs (word, word above it).
    """

    mean_rank: float
    median_rank: float
    average_precision: float
    words: int
    pairs: int


def embed(hierarchy: Hypernyms, plan: HyperbolicPlan, progress: Progress = silent) -> Float32Array:
    """Train the points of all words.

    Returns:
        Tangent vectors at the centre (`dpcore.lexicon.hyperbolic`), shape (n, d), float32.
    """
    pairs, n = hierarchy.pairs, len(hierarchy.words)
    rng = generator(plan.seed, "hyperbolic vectors")
    known = pairs[:, 0] * n + pairs[:, 1]  # ascending, as the pairs are
    points = np.empty((n, plan.dimensions + 1))
    points[:, 1:] = rng.uniform(-_START, _START, (n, plan.dimensions))
    _lift(points)
    for epoch in range(plan.epochs):
        rate = plan.rate * (_SLOWER if epoch < _BURN_IN else 1.0)
        order = rng.permutation(len(pairs))
        for start in range(0, order.size, plan.batch):
            chosen = pairs[order[start : start + plan.batch]]
            drawn = rng.integers(n, size=(len(chosen), plan.negatives))
            _step(points, chosen, drawn, known, rate, plan.longest)
        progress("epochs", epoch + 1, plan.epochs)
    away = np.linalg.norm(points[:, 1:], axis=1, keepdims=True)
    return np.asarray(np.arcsinh(away) / away * points[:, 1:], dtype=np.float32)


def _step(
    points: FloatArray, chosen: IntArray, drawn: IntArray, known: IntArray, rate: float, most: float
) -> None:
    """Update `points` in place by one step for a batch of pairs and the words drawn beside them."""
    n, words = len(points), chosen[:, 0]
    asked = words[:, None] * n + drawn
    place = np.minimum(np.searchsorted(known, asked), known.size - 1)
    unfit = (known[place] == asked) | (drawn == words[:, None])
    others = np.concatenate((chosen[:, 1:], drawn), axis=1)
    x, y = points[words][:, None], points[others]
    product = np.maximum(-_inner(x, y), 1.0 + _LEAST)
    distance = np.arccosh(product)
    distance[:, 1:][unfit] = np.inf
    weight = np.exp(distance.min(axis=1, keepdims=True) - distance)
    slope = -weight / weight.sum(axis=1, keepdims=True)  # by each distance
    slope[:, 0] += 1.0
    slope = (slope / np.sqrt(product**2 - 1.0))[:, :, None]
    rows = np.concatenate((words, others.ravel()))
    parts = np.concatenate(
        (-(slope * y).sum(axis=1), (-slope * x).reshape(-1, points.shape[1])), axis=0
    )
    moved, inverse = np.unique(rows, return_inverse=True)
    total = np.zeros((moved.size, points.shape[1]))
    np.add.at(total, inverse, parts)
    x = points[moved]
    total += _inner(x, total)[:, None] * x  # the rest lies along the surface
    size = np.sqrt(np.maximum(_inner(total, total), 1e-18))
    length = np.minimum(rate * size, _LONGEST_STEP)[:, None]
    x = np.cosh(length) * x - np.sinh(length) * total / size[:, None]
    away = np.linalg.norm(x[:, 1:], axis=1, keepdims=True)
    x[:, 1:] *= np.minimum(1.0, np.sinh(most) / np.maximum(away, _LEAST))
    _lift(x)
    points[moved] = x


def _inner(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return ⟨x, y⟩ over the last axes."""
    return np.asarray((x[..., 1:] * y[..., 1:]).sum(axis=-1) - x[..., 0] * y[..., 0])


def _lift(points: FloatArray) -> None:
    """Put points on the hyperboloid, above their coordinates in space."""
    points[:, 0] = np.sqrt(1.0 + np.square(points[:, 1:]).sum(axis=1))


def reconstruction(
    hierarchy: Hypernyms, vectors: Float32Array, progress: Progress = silent
) -> Reconstruction:
    """Rank the words above each word by distance, among all words that are not above it.

    Args:
        hierarchy: words and pairs.
        vectors: tangent vectors, shape (n, d).
        progress: called with ("ranks", done, total).
    """
    lengths, directions = polar(vectors)
    starts = np.searchsorted(hierarchy.pairs[:, 0], np.arange(len(hierarchy.words) + 1))
    ranks: list[IntArray] = []
    precisions: list[float] = []
    for word in range(len(hierarchy.words)):
        upper = hierarchy.pairs[starts[word] : starts[word + 1], 1]
        if upper.size:
            away = seen_from(lengths, directions, word)[0]
            others = np.ones(away.size, dtype=np.bool_)
            others[upper] = others[word] = False
            # Ties count against the embedding: equally near words that are not above come first.
            before = np.sort(np.searchsorted(np.sort(away[others]), away[upper], side="right"))
            ranks.append(before + 1)
            place = np.arange(1, upper.size + 1)
            precisions.append(float((place / (before + place)).mean()))
        progress("ranks", word + 1, len(hierarchy.words))
    every = np.concatenate(ranks)
    return Reconstruction(
        mean_rank=float(every.mean()),
        median_rank=float(np.median(every)),
        average_precision=float(np.mean(precisions)),
        words=len(precisions),
        pairs=int(every.size),
    )


# The bundled points of hyperbolic space: from WordNet and a vocabulary to a folder.


NAME = "wordnet-hyperbolic"


def train_hyperbolic(
    wordnet: Path,
    vocabulary: Lexicon,
    out: Path,
    plan: HyperbolicPlan | None = None,
    progress: Progress = silent,
) -> Manifest:
    """Make the lexicon of the mechanism `hyperbolic`.

    Runs on one thread: the same packages give the same bytes.

    Args:
        wordnet: the table of Open English WordNet, a parquet file.
        vocabulary: words to take, as far as WordNet has them in its hierarchy.
        out: folder to write; replaced if it exists.
        plan: settings of the training.
        progress: called with (stage, done, total).

    Raises:
        LexiconError: the folder cannot be written, or no word is above another.
    """
    plan = plan or HyperbolicPlan()
    hierarchy = hypernyms(wordnet, vocabulary.words)
    vectors = freeze(embed(hierarchy, plan, progress))
    lexicon = Lexicon(NAME, hierarchy.words, vectors)
    kept = reconstruction(hierarchy, vectors, progress)
    facts = {
        "title": "WordNet's hierarchy in hyperbolic space",
        "space": "hyperbolic, curvature -1; rows are tangent vectors at the centre",
        "order": "that of the vocabulary",
        "plan": asdict(plan),
        "vocabulary": {
            "name": vocabulary.name,
            "words": len(vocabulary),
            "fingerprint": vocabulary.fingerprint,
        },
        "sources": [
            {
                "name": "oewn",
                "file": wordnet.name,
                "licence": "CC-BY-4.0",
                "credit": "Open English WordNet contributors, from Princeton WordNet",
                "used": "hypernyms of nouns and verbs",
                "sha256": sha256_of_file(wordnet),
            }
        ],
        "licence": "CC-BY-SA-4.0",
        "quality": asdict(kept),
        "versions": installed(("numpy", "pandas", "pyarrow")),
    }
    return write_stored(lexicon, out, facts)
