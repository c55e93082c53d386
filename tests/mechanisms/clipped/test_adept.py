"""ADePT on word vectors: what it claims, what is true, and the repair.

The laws are those of `laplace` at another scale, so they are tested by equality.
"""

import math
from typing import Any

import numpy as np
import pytest

from dpcore.guarantee import Status
from dpcore.mechanisms.clipped.adept import Adept
from dpcore.mechanisms.clipped.clipped import clip
from dpcore.mechanisms.registry import create
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(40, 9)


def test_as_published_it_is_clipped_laplace_at_root_d_times_epsilon(rng: MakeRng) -> None:
    published: Any = create("adept", LEXICON)
    right: Any = create("laplace", LEXICON)
    words = np.arange(40)
    for epsilon in (0.5, 7.0, 40.0):
        assert published.true_epsilon(epsilon) == pytest.approx(3 * epsilon)
        assert published.scale(epsilon) == pytest.approx(right.scale(3 * epsilon))
        assert published.scale(epsilon) == 2 * published.bound / epsilon
        np.testing.assert_array_equal(
            published.sample(rng(), words, epsilon), right.sample(rng(), words, 3 * epsilon)
        )


def test_the_claim_is_refuted_with_the_true_epsilon() -> None:
    promise = create("adept", LEXICON).guarantee(2.0)
    assert promise.status is Status.REFUTED
    assert promise.epsilon == 2.0
    assert "√d·ε = 6" in promise.reason


def test_the_worst_pair_attains_root_d() -> None:
    """±(C/√d, …): the L1 distance over 2C is √d, and the density ratio is e^{√d·ε} far out."""
    rows = np.vstack([np.full(9, 1 / 3), np.full(9, -1 / 3), np.eye(9)]).astype(np.float32)
    mechanism = Adept(lexicon=lexicons.lexicon(rows), clip_norm=1.0)
    ratio, word, other = mechanism.far_pair
    assert ratio == pytest.approx(3, rel=1e-6)
    assert {word, other} == {0, 1}
    assert "and 6 for two words" in mechanism.guarantee(2.0).reason
    point, b = np.full(9, 50.0), mechanism.scale(2.0)
    x, y = mechanism.origins[:2].astype(float)
    loss = (np.abs(point - y).sum() - np.abs(point - x).sum()) / b
    assert loss == pytest.approx(mechanism.true_epsilon(2.0), rel=1e-6)


def test_in_one_dimension_the_claim_is_true() -> None:
    assert create("adept", lexicons.line(0, 1, 3)).guarantee(2.0).status is Status.PROVED


@pytest.mark.parametrize("norm", [0.3, 4.0, 1e6])
def test_clipping_by_the_l1_norm(norm: float) -> None:
    clipped = clip(LEXICON.vectors, norm, 1)
    lengths = np.abs(LEXICON.vectors.astype(float)).sum(axis=1)
    after = np.abs(clipped.astype(float)).sum(axis=1)
    assert after.max() <= norm
    np.testing.assert_allclose(after, np.minimum(lengths, norm), rtol=1e-6)
    inside = lengths <= norm * (1 - 1e-6)
    np.testing.assert_array_equal(clipped[inside], LEXICON.vectors[inside])


def test_the_repair_has_the_noise_of_its_own_sensitivity() -> None:
    repaired: Any = create("adept-l1", LEXICON)
    largest = np.abs(LEXICON.vectors.astype(float)).sum(axis=1).max()
    assert repaired.bound == pytest.approx(largest)
    assert repaired.bound >= largest
    assert repaired.origins is LEXICON.vectors  # nothing is lost by default
    assert repaired.scale(2.0) == repaired.bound
    assert repaired.guarantee(2.0).status is Status.PROVED
    narrow: Any = create("adept-l1", LEXICON, {"clip_norm": 1.5})
    apart = np.abs(narrow.origins[:, None].astype(float) - narrow.origins[None]).sum(axis=2)
    assert apart.max() <= narrow.sensitivity == 3.0
    assert math.isclose(narrow.scale(3.0), 1.0)
