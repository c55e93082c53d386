"""TEM at several ε by float32 distances: the exact law inverted at the same uniform numbers."""

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.metric import distances
from dpcore.mechanisms.bulk.sweep import outputs_at
from dpcore.mechanisms.bulk.sweep_tem import euclidean, outputs_by_distance
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.registry import create
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

EPSILONS = np.array([0.3, 1.0, 2.5, 6.0, 40.0])


def plain(
    mechanism: TruncatedExponential,
    rng: np.random.Generator,
    words: NDArray[np.int64],
    epsilons: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Word by word and ε by ε: the closed form in float64, cumulated and inverted."""
    uniform = rng.random(words.size)
    outputs = np.empty((words.size, epsilons.size), dtype=np.int64)
    for i, word in enumerate(words.tolist()):
        for e, epsilon in enumerate(epsilons.tolist()):
            ladder = np.cumsum(mechanism.law(word, [epsilon]).probabilities[0])
            outputs[i, e] = np.searchsorted(ladder, uniform[i] * ladder[-1], side="right")
    return outputs


@pytest.mark.parametrize("key", ["tem", "tem-calibrated"])
@pytest.mark.parametrize("size", [40, 128, 300])
def test_it_is_the_exact_law_at_the_same_uniform_numbers(key: str, size: int, rng: MakeRng) -> None:
    """Only a draw within float32 of the edge between two words may fall otherwise."""
    mechanism: Any = create(key, lexicons.cloud(size, 12))
    words = rng(3).integers(size, size=400)
    outputs = outputs_by_distance(mechanism, rng(), words, EPSILONS)
    twin = plain(mechanism, rng(), words, EPSILONS)
    assert (outputs != twin).mean() < 2e-3
    assert np.array_equal(outputs, outputs_at(mechanism, rng(), words, EPSILONS))
    assert (outputs[:, -1] == words).mean() > 0.9
    assert len(np.unique(outputs[:, 0])) > 30


def test_another_metric_takes_the_general_way(rng: MakeRng) -> None:
    mechanism: Any = create("tem", lexicons.cloud(60, 4), {"metric": "manhattan"})
    words = rng(3).integers(60, size=300)
    outputs = outputs_at(mechanism, rng(), words, EPSILONS)
    assert (outputs != plain(mechanism, rng(), words, EPSILONS)).mean() < 2e-3


def test_distances_are_right_and_nothing_leaves_the_vocabulary(rng: MakeRng) -> None:
    vectors = lexicons.cloud(200, 30).vectors
    words = np.array([0, 7, 199])
    apart = euclidean(vectors, np.einsum("ij,ij->i", vectors, vectors), words)
    np.testing.assert_allclose(apart, distances(vectors, vectors[words]), rtol=1e-4, atol=1e-5)
    assert apart[np.arange(3), words].tolist() == [0.0, 0.0, 0.0]

    class Last:
        """Uniform numbers as near to one as they come."""

        def random(self, size: int) -> NDArray[np.float64]:
            return np.full(size, np.nextafter(1.0, 0.0))

    mechanism: Any = create("tem", lexicons.cloud(200, 30))
    outputs = outputs_by_distance(
        mechanism, cast("np.random.Generator", Last()), np.arange(200), EPSILONS
    )
    assert outputs.min() >= 0
    assert outputs.max() <= 199


def test_progress_is_in_distinct_words(rng: MakeRng) -> None:
    seen = []
    mechanism: Any = create("tem", lexicons.cloud(100, 4))
    words = np.repeat(np.arange(100), 2)
    outputs_by_distance(mechanism, rng(), words, EPSILONS, lambda *step: seen.append(step))
    assert seen == [("tem", 64, 100), ("tem", 100, 100)]
