"""What is measured of rewritten utterances and of their latent vectors, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.audit.montecarlo import clopper_pearson
from dpcore.learn.adept.network import CLIP
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.measure.similarity.similarity import bleu, rouge1
from dpcore.study.rows import Row, row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

QUANTITIES = {
    "exact": "share of the utterances that come out word for word",
    "unprotected": "share of the pairs of utterances that the published noise does not cover",
    "widest_pair": "largest L1 distance of two utterances over the one that it covers",
    "rank": "mean rank of the true utterance among all candidates",
    "first": "share of the noisy vectors whose utterance the attacker names",
    "bayes": "mean posterior of the utterance that the attacker names",
    "first_bound": "largest success that ε allows",
}
"""The quantities beside those of other experiments, and what they are called."""
_ONE_SIDED = 0.025


def compared(originals: Sequence[str], texts: Sequence[str]) -> Iterator[Row]:
    """ROUGE-1, BLEU and the share of utterances that come out word for word."""
    whole: dict[str, Any] = {"count": len(originals)}
    overlap = rouge1(originals, texts)
    yield row("rouge1_recall", overlap.recall.mean(), **whole)
    yield row("rouge1", overlap.f1.mean(), **whole)
    yield row("bleu", bleu(originals, texts), **whole)
    same = np.mean([a == b for a, b in zip(originals, texts, strict=True)])
    yield row("exact", float(same), **whole)


def unprotected(rng: np.random.Generator, latents: FloatArray, pairs: int) -> Iterator[Row]:
    """How many pairs of utterances are further apart than the published noise covers.

    Habernal 2021, Figure 1, draws the vectors; these are those of a trained network.

    Args:
        rng: draws pairs of different utterances.
        latents: clipped to Euclidean norm C, shape (m, n).
        pairs: how many.
    """
    size, dimension = latents.shape
    left = rng.integers(size, size=pairs)
    right = (left + rng.integers(1, size, size=pairs)) % size
    lengths = paired_distances(latents[left], latents[right], Metric.MANHATTAN) / (2.0 * CLIP)
    count = int((lengths > 1.0).sum())
    low, high = clopper_pearson(count, pairs, _ONE_SIDED)
    yield row("unprotected", count / pairs, low=low, high=high, count=pairs, at=dimension)
    yield row("widest_pair", float(lengths.max()), count=pairs, at=dimension)
