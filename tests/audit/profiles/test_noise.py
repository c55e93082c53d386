"""The privacy profile of a mechanism's noise, and the two words that it protects least."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dpcore.audit.profiles import noise
from dpcore.errors import ParameterError
from dpcore.mechanisms.registry import create
from tests.chance import deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

WITH_PROFILE = [
    ("laplace", {}),
    ("l2-laplace", {}),
    ("gaussian", {}),
    ("gaussian-classical", {}),
    ("trlaplace-corrected", {"delta": 1e-3}),
]


@pytest.mark.parametrize(("name", "settings"), WITH_PROFILE)
def test_proved_claims_hold_for_the_worst_difference_and_are_tight(
    name: str, settings: dict[str, float]
) -> None:
    mechanism = create(name, lexicons.cloud(40, 6), settings)
    epsilon = 0.8
    claimed = math.exp(getattr(mechanism.guarantee(epsilon), "log_delta", -math.inf))
    curve = noise.worst_profile(mechanism, epsilon, np.array([epsilon, 0.7 * epsilon]))
    assert curve.low[0] <= claimed + 1e-12
    assert curve.high[1] > claimed
    if name in {"gaussian", "trlaplace-corrected"}:
        assert curve.low[0] == pytest.approx(claimed, rel=1e-3)


@pytest.mark.slow
def test_two_words_are_protected_better_than_the_worst_difference() -> None:
    for name in ("laplace", "gaussian", "trlaplace"):
        mechanism = create(name, lexicons.cloud(40, 6))
        pair = noise.worst_pair(mechanism, 0.3)
        assert pair.complete
        profile = noise.pair_profile(mechanism, 0.3, pair.word, pair.other)([0.1, 0.3])
        worst = noise.worst_profile(mechanism, 0.3, np.array([0.1]))
        assert profile.low[0] <= worst.high[0]
        for w, v in [(0, 9), (18, 27)]:
            assert noise.pair_profile(mechanism, 0.3, w, v).delta(0.3)[0] <= profile.high[1]


def test_madlib_needs_two_words() -> None:
    mechanism = create("madlib", lexicons.cloud(20, 3))
    length = float(np.linalg.norm(np.diff(mechanism.lexicon.vectors[[3, 8]], axis=0)))
    profile = noise.pair_profile(mechanism, 2.0, 3, 8)
    assert profile.delta(2.0 * length + 1e-6) == (0.0, 0.0)
    assert profile.delta(1.8 * length)[0] > 0
    with pytest.raises(ParameterError, match="name them"):
        noise.worst_profile(mechanism, 2.0, np.array([1.0]))


@pytest.mark.parametrize("name", ["mahalanobis", "vickrey", "random-projection"])
def test_a_pair_loses_at_most_epsilon_times_its_distance(name: str, rng: MakeRng) -> None:
    """And at most that: the profile ends at the distance in the noise's own metric."""
    settings = {"dimensions": 3} if name == "random-projection" else {}
    mechanism: Any = create(name, lexicons.cloud(40, 4), settings)
    guarantee = mechanism.guarantee(0.7)
    profile = noise.pair_profile(mechanism, 0.7, 3, 8)
    length = float(np.linalg.norm(np.diff(mechanism.lexicon.vectors[[3, 8]], axis=0)))
    allowed = guarantee.euclidean_loss(length)
    assert profile.delta(allowed * (1 + 1e-6)) == (0.0, 0.0)
    assert profile.delta(0.3 * allowed)[0] > 0
    if name == "mahalanobis":  # the losses of the mechanism's own noise, false alarm 1e-6
        draws = 20_000
        radius = rng(1).gamma(4, 1 / 0.7, draws)[:, None]
        z = mechanism.directions(rng(), draws) * radius
        inverse = noise.whitening_matrix(mechanism.lexicon, mechanism.lam)
        shift = np.diff(mechanism.lexicon.vectors[[8, 3]].astype(float), axis=0)
        norms = [np.linalg.norm(x @ inverse, axis=1) for x in (z - shift, z)]
        values = np.maximum(-np.expm1(np.minimum(0.2 - 0.7 * (norms[0] - norms[1]), 0.0)), 0.0)
        low, high = profile.delta(0.2)
        slack = float(deviation(draws, values.var()))
        assert low - slack <= values.mean() <= high + slack


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "trlaplace"])
def test_the_worst_pair_is_that_of_all_pairs_one_by_one(name: str) -> None:
    mechanism = create(name, lexicons.cloud(15, 6))
    worst = noise.worst_pair(mechanism, 0.3)
    deltas = {
        pair: noise.pair_profile(mechanism, 0.3, *pair).delta(0.3)[1]
        for pair in itertools.combinations(range(15), 2)
    }
    assert deltas[worst.word, worst.other] >= max(deltas.values()) - 1e-6


def test_the_worst_pair_under_laplace_noise_is_farthest_in_l1() -> None:
    mechanism: Any = create("laplace", lexicons.cloud(15, 6))
    pair = noise.worst_pair(mechanism, 0.3)
    apart = np.abs(mechanism.origins[:, None] - mechanism.origins[None]).sum(axis=2)
    assert apart[pair.word, pair.other] == apart.max()


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="no privacy profile"):
        noise.pair_profile(create("tem", lexicons.cloud(20, 3)), 2.0, 1, 2)
    with pytest.raises(ParameterError, match="same vector"):
        noise.pair_profile(create("laplace", lexicons.cloud(20, 3)), 2.0, 1, 1)
    with pytest.raises(ParameterError, match="2 to 20 words"):
        noise.worst_pair(create("laplace", lexicons.cloud(20, 3)), 1.0, words=21)
