"""Rays towards a target: the right rays, with weights that change no expectation."""

from typing import Any

import numpy as np
import pytest

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.additive.rays import rays_towards
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.streams import generator
from tests.chance import FALSE_ALARM
from tests.mechanisms import lexicons
from tests.mechanisms.contract import make

RADIAL = [key for key, kind in MECHANISMS.items() if issubclass(kind, RadialMechanism)]
RAYS = 4000


@pytest.fixture(scope="module")
def cloud() -> Lexicon:
    return lexicons.cloud(60, 8)


@pytest.mark.parametrize("key", RADIAL)
def test_the_weights_change_no_mean(key: str, cloud: Lexicon) -> None:
    """Functions of the direction have the same mean over weighed rays as over plain ones."""
    mechanism: Any = make(key, cloud)
    bundle = mechanism.bundle(generator(1, "plain"), RAYS)
    ranking = mechanism.rankings(np.array([5]))[0]
    aimed = rays_towards(mechanism, bundle, ranking, 5, generator(2, "aimed"))
    assert aimed is not None
    total = RAYS
    assert 0 < aimed.plain.max() <= 1.0
    assert 0 < aimed.weights.max() <= 1.0
    # Σ w/N has mean 1: the terms are independent and lie in [0, 1].
    weight = (aimed.plain.sum() + aimed.weights.sum()) / total
    count = aimed.plain.size + aimed.weights.size
    slack = np.sqrt(np.log(2 / FALSE_ALARM) * count / 2) / total
    assert abs(weight - 1.0) <= slack


@pytest.mark.parametrize("key", RADIAL)
def test_the_rays_lead_to_the_target_more_often(key: str, cloud: Lexicon) -> None:
    mechanism: Any = make(key, cloud)
    bundle = mechanism.bundle(generator(1, "plain"), RAYS)
    centre = np.linalg.norm(mechanism.targets - mechanism.targets.mean(axis=0), axis=1)
    word = int(centre.argmax())
    ranking = mechanism.rankings(np.array([word]))[0]
    plain = mechanism.steps(
        generator(3), bundle.from_word(ranking, keep=mechanism.keep), bundle.unit
    )
    aimed = rays_towards(mechanism, bundle, ranking, word, generator(2, "aimed"))
    share = [(steps.targets[:, -1] == word).mean() for steps in (plain, aimed.steps)]
    assert share[1] > 1.3 * share[0] > 0


@pytest.mark.parametrize("key", ["madlib", "mahalanobis", "vickrey", "gaussian", "projection"])
def test_rays_of_the_kept_product_are_those_of_a_product_of_their_own(
    key: str, cloud: Lexicon
) -> None:
    name = {"projection": "random-projection"}.get(key, key)
    settings = {"dimensions": "5"} if key == "projection" else {}
    mechanism: Any = create(name, cloud, settings)
    bundle = mechanism.bundle(generator(1, "plain"), 300)
    ranking = mechanism.rankings(np.array([7]))[0]
    both = [
        rays_towards(mechanism, bundle, ranking, 7, generator(2, "aimed"), kept=kept)
        for kept in (True, False)
    ]
    np.testing.assert_array_equal(both[0].weights, both[1].weights)
    for steps in ("targets", "thresholds"):
        a, b = (getattr(aimed.steps, steps) for aimed in both)
        width = min(a.shape[1], b.shape[1])
        np.testing.assert_allclose(a[:, :width], b[:, :width], rtol=1e-9)


def test_there_is_no_way_towards_the_middle() -> None:
    vectors = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], dtype=np.float32)
    madlib: Any = create("madlib", Lexicon("cross", tuple("abcde"), vectors))
    bundle = madlib.bundle(generator(0, "plain"), 100)
    ranking = madlib.rankings(np.array([4]))[0]
    assert rays_towards(madlib, bundle, ranking, 4, generator(1)) is None
