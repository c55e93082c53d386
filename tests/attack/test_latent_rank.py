"""The attacker that ranks utterances by the likelihood of a noisy latent vector.

False-alarm probability of each randomised assertion: 1e-6.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.attack.latent import posterior, rank_candidates, success_bound
from dpcore.audit.report import AuditSettings
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.adept import LatentForm, clip_rows, latent_path, noise_scale
from dpcore.papers.habernal2021.claims import adept_published
from tests.chance import assert_law
from tests.fixtures import MakeRng

FORMS = list(LatentForm)
POINTS = np.array([[-1.0], [0.1], [1.0]])
LIMIT = stats.norm.isf(0.5e-6)


def density(
    form: LatentForm, z: NDArray[np.float64], centres: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """Of the noisy vectors z (k, n) around each centre (m, n), up to one factor: shape (k, m)."""
    difference = z[:, None, :] - centres[None]
    if form is LatentForm.ROUND:
        return np.exp(-np.sqrt(np.square(difference).sum(axis=2)) / scale)
    return stats.laplace(scale=scale).pdf(difference).prod(axis=2)


def drawn(
    rng: np.random.Generator,
    form: LatentForm,
    true: Any,
    epsilon: float,
    norm: float = 1.0,
    candidates: NDArray[np.float64] = POINTS,
) -> Any:
    path = latent_path(rng, candidates[true], norm, form)
    return rank_candidates(path.at(epsilon), clip_rows(candidates, norm, form), true, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dimension", [1, 3])
def test_the_posterior_is_bayes_rule_by_enumeration(
    form: LatentForm, dimension: int, rng: MakeRng
) -> None:
    centres = clip_rows(rng().standard_normal((7, dimension)), 1.0, form)
    scale = noise_scale(form, 2.0, 1.0, dimension)
    z = rng(1).standard_normal((20, dimension)) * 3
    law = density(form, z, centres, scale)
    probabilities = posterior(z, centres, form, scale)
    np.testing.assert_allclose(probabilities, law / law.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("true", [0, 1, 2])
def test_the_ranks_have_their_exact_law(form: LatentForm, true: Any, rng: MakeRng) -> None:
    """One coordinate, three candidates: the law of the rank by quadrature over the noisy vector."""
    epsilon, scale = 1.7, noise_scale(form, 1.7, 1.0, 1)
    edges = np.linspace(-40.0, 40.0, 1_600_001)
    middle = 0.5 * (edges[1:] + edges[:-1])
    mass = np.diff(stats.laplace(loc=POINTS[true, 0], scale=scale).cdf(edges))
    away = np.abs(middle[:, None] - POINTS[:, 0])
    rank = (away < away[:, [true]]).sum(axis=1)
    law = np.array([mass[rank == r].sum() for r in range(3)])
    ranking = drawn(rng(), form, np.full(20_000, true), epsilon)
    assert_law(ranking.ranks.astype(int) - 1, law / law.sum())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_two_opposite_utterances_are_told_apart_as_often_as_the_formula_says(
    form: LatentForm, epsilon: float, rng: MakeRng
) -> None:
    """±C in one coordinate: success 1 − e^{−ε/2}/2, and the mean posterior agrees with it."""
    pair, count = np.array([[-1.0], [1.0]]), 40_000
    ranking = drawn(rng(), form, np.arange(count) % 2, epsilon, candidates=pair)
    exact = 1.0 - 0.5 * math.exp(-0.5 * epsilon)
    assert ranking.success == pytest.approx(exact, abs=LIMIT * 0.5 / math.sqrt(count))
    assert ranking.bayes == pytest.approx(exact, abs=LIMIT * ranking.best.std() / math.sqrt(count))
    assert exact <= success_bound(epsilon, 2)


def test_the_bound_is_attained_by_randomised_response() -> None:
    """k-ary randomised response: the truth with e^ε times the probability of each other."""
    for epsilon, m in ((0.5, 2), (3.0, 100)):
        truth = math.exp(epsilon) / (math.exp(epsilon) + m - 1)
        assert success_bound(epsilon, m) == pytest.approx(truth, rel=1e-12)
    assert success_bound(5_000.0, 10) == 1.0
    assert success_bound(1.0, 1) == 1.0


@pytest.mark.parametrize("dimension", [2, 32])
def test_the_odds_of_the_worst_pair_are_the_true_epsilon_of_the_audit(dimension: int) -> None:
    """Published noise gives √n·ε, to the number that the audit page shows."""
    corner = np.full((1, dimension), 1.0 / math.sqrt(dimension))
    settings = AuditSettings(epsilon=0.7, latent=dimension, clip_norm=1.0)
    lexicon = Lexicon("two words", ("a", "b"), np.eye(2, dtype=np.float32))
    audited = adept_published(lexicon, settings).numbers["true epsilon"]
    for form in FORMS:
        scale = noise_scale(form, 0.7, 1.0, dimension)
        pair = clip_rows(np.concatenate([corner, -corner]), 1.0, form)
        far = posterior(50.0 * corner, pair, form, scale)[0]
        odds = math.log(far[0]) - math.log(far[1])
        expected = audited if form is LatentForm.PUBLISHED else 0.7
        assert odds == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_chance_under_infinite_noise_and_certainty_without(form: LatentForm, rng: MakeRng) -> None:
    count, size = 4_000, 50
    candidates = clip_rows(rng().standard_normal((size, 8)), 1.0, form)
    true = np.arange(count) % size
    path = latent_path(rng(1), candidates[true], 1.0, form)
    lost, certain = (
        rank_candidates(path.at(epsilon), candidates, true, path.form) for epsilon in (1e-9, 1e9)
    )
    deviation = math.sqrt((size**2 - 1) / 12 / count)
    assert lost.mean_rank == pytest.approx((size + 1) / 2, abs=LIMIT * deviation)
    assert lost.success == pytest.approx(1 / size, abs=LIMIT * math.sqrt(1 / size / count))
    assert lost.bayes == pytest.approx(1 / size, rel=1e-6)
    assert (certain.mean_rank, certain.success) == (1.0, 1.0)
    assert certain.bayes == pytest.approx(1.0)
    assert lost.interval[0] < 1 / size < lost.interval[1]
    assert certain.interval[1] == 1.0


def test_candidates_with_one_vector_share_a_rank_even_far_away(rng: MakeRng) -> None:
    """Their posterior is 0 far away, and the ranks still go by distance."""
    candidates = np.array([[0.5], [0.5], [0.5], [-0.5]])
    path = latent_path(rng(), candidates[[0, 1, 3]], 1.0, LatentForm.WIDE)
    ranking = rank_candidates(path.at(1e6), candidates, [0, 1, 3], path.form)
    assert ranking.ranks.tolist() == [2.0, 2.0, 1.0]
    np.testing.assert_allclose(ranking.first, [1 / 3, 1 / 3, 1.0])
    assert ranking.interval[0] < 1 / 3
    noisy = dataclasses.replace(path.at(1e6), vectors=np.array([[0.5], [0.4], [0.45]]))
    ranks = rank_candidates(noisy, [[0.0], [-3.0], [-2.0]], [1, 2, 0], LatentForm.WIDE).ranks
    assert ranks.tolist() == [3.0, 2.0, 1.0]


def test_the_attack_is_the_same_for_every_cut_into_blocks(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = clip_rows(rng().standard_normal((30, 4)), 1.0, LatentForm.ROUND)
    noisy = latent_path(rng(1), candidates, 1.0, LatentForm.ROUND).at(20.0)
    whole = rank_candidates(noisy, candidates, np.arange(30), LatentForm.ROUND)
    monkeypatch.setattr("dpcore.attack.latent._ROWS", 7)
    cut = rank_candidates(noisy, candidates, np.arange(30), LatentForm.ROUND)
    for name in ("ranks", "first", "best"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))
        assert not getattr(whole, name).flags.writeable
    assert (whole.claimed_epsilon, whole.epsilon, whole.candidates) == (20.0, 20.0, 30)


def test_refusals(rng: MakeRng) -> None:
    noisy = latent_path(rng(), np.zeros((2, 3)), 1.0).at(1.0)
    with pytest.raises(ParameterError, match="need one n and a candidate"):
        rank_candidates(noisy, np.zeros((4, 2)), [0, 1], LatentForm.ROUND)
    with pytest.raises(ParameterError, match="the place of its candidate: got 2 vectors and 1"):
        rank_candidates(noisy, np.zeros((4, 3)), [0], LatentForm.ROUND)
    with pytest.raises(ParameterError, match="from 0 to 3"):
        rank_candidates(noisy, np.zeros((4, 3)), [0, 4], LatentForm.ROUND)
    for scale in (0.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="scale of the noise"):
            posterior(np.zeros((1, 2)), np.zeros((3, 2)), LatentForm.WIDE, scale)
