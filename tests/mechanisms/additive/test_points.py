"""What mechanisms derive from a lexicon is shared by them, and only the last few are held."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.mechanisms.additive import points, shared
from dpcore.mechanisms.additive.multivariate import Mahalanobis
from dpcore.mechanisms.additive.noisy import NoisyMechanism
from dpcore.mechanisms.additive.shared import SharedDirections
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons

WORDS = lexicons.cloud(300, 8)
LARGEST = WORDS.largest_norm


def cached(*arguments: Any) -> NoisyMechanism:
    """A mechanism of a kind that has points of its own."""
    mechanism = create(*arguments)
    assert isinstance(mechanism, NoisyMechanism)
    return mechanism


def below(share: float) -> dict[str, float]:
    return {"clip_norm": share * LARGEST}


def test_mechanisms_with_one_clipping_norm_share_one_copy() -> None:
    laplace, gaussian = (cached(key, WORDS, below(0.5)) for key in ("laplace.v1", "gaussian.v1"))
    assert laplace.targets is gaussian.origins
    assert laplace.points.search is gaussian.points.search
    assert cached("laplace.v1", WORDS, below(0.4)).targets is not laplace.targets
    other = cached("adept-l1.v1", WORDS, below(0.5))  # another norm that clips
    assert other.targets is not laplace.targets


def test_a_mechanism_without_a_copy_uses_the_vectors_themselves() -> None:
    for key, settings in (("madlib.v1", {}), ("laplace.v1", {}), ("gaussian.v1", below(2.0))):
        assert cached(key, WORDS, settings).targets is WORDS.vectors
    wide = cached("laplace.v1", WORDS, below(0.5) | {"compare_with": "unclipped"})
    assert wide.targets is WORDS.vectors
    assert wide.origins is not WORDS.vectors


@pytest.mark.parametrize("key", ["laplace.v1", "trlaplace.v1", "adept-l1.v1"])
def test_who_tries_many_norms_takes_the_memory_of_a_few(key: str) -> None:
    mechanisms = [cached(key, WORDS, below(0.3 + 0.02 * i)) for i in range(20)]
    copies = [weakref.ref(mechanism.points) for mechanism in mechanisms]
    for mechanism in mechanisms:
        mechanism.sample(np.random.default_rng(1), np.arange(4), 1.0)
    gc.collect()
    assert sum(copy() is not None for copy in copies) <= points._COPIES
    again = mechanisms[0].targets  # it is made again, the same
    assert np.array_equal(again, cached(key, WORDS, below(0.3)).targets)
    assert np.abs(again).max() > 0


def test_projections_are_held_like_copies() -> None:
    mechanisms = [
        cached("random-projection.v1", WORDS, {"matrix_seed": seed}) for seed in range(20)
    ]
    copies = [weakref.ref(mechanism.points) for mechanism in mechanisms]
    gc.collect()
    assert 1 <= sum(copy() is not None for copy in copies) <= points._COPIES
    assert mechanisms[3].origins is mechanisms[3].targets


def test_what_takes_no_memory_is_kept_in_a_number_that_has_an_end() -> None:
    words = lexicons.cloud(20, 3)
    for i in range(200):
        points.derived(words, i, lambda: words.vectors)
    assert len(points._held[words]._points) == points._KEPT


def test_points_go_with_their_lexicon() -> None:
    words = lexicons.cloud(40, 3)
    copy = weakref.ref(cached("laplace.v1", words, {"clip_norm": 0.5 * words.largest_norm}).points)
    assert copy() is not None
    del words
    gc.collect()
    assert copy() is None


def test_one_copy_is_made_however_many_ask_at_once() -> None:
    words, calls = lexicons.cloud(50, 3), []

    def make() -> NDArray[np.float32]:
        calls.append(1)
        return words.vectors.copy()

    with ThreadPoolExecutor(8) as pool:
        copies = list(pool.map(lambda _: points.derived(words, "asked", make), range(40)))
    assert len(calls) == 1
    assert all(copy is copies[0] for copy in copies)


def test_the_directions_of_the_last_few_settings_are_kept() -> None:
    directions = SharedDirections()
    mechanisms = [Mahalanobis(lexicon=WORDS, lam=0.05 * i) for i in range(12)]
    bundles = [weakref.ref(directions.bundle(mechanism)) for mechanism in mechanisms]
    gc.collect()
    assert [bundle() is not None for bundle in bundles] == [False] * 9 + [True] * shared._KEPT
    assert directions.bundle(mechanisms[-1]) is bundles[-1]()
    first = directions.bundle(mechanisms[0]).unit
    assert np.array_equal(first, SharedDirections().bundle(mechanisms[0]).unit)
