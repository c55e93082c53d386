"""ADePT on word vectors: the claim, the truth, and the repair.

The laws are those of `laplace` at another scale, so they are tested by equality.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.additive.additive import RadialMechanism
from dpcore.mechanisms.clipped.adept import FORMS as FORMS_BY_NAME
from dpcore.mechanisms.clipped.adept import (
    Adept,
    LatentForm,
    clip_rows,
    latent_path,
    noise_scale,
    privatise,
    true_epsilon,
)
from dpcore.mechanisms.clipped.clipped import clip
from dpcore.mechanisms.registry import create
from tests.chance import assert_distribution
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


# ADePT on latent vectors: norms, noise and true ε of the four forms.
#
# False-alarm probability of each randomised assertion: 1e-6.


FORMS = list(LatentForm)
DIMENSION = 16


def worst_loss(form: LatentForm, epsilon: float, norm: float, dimension: int) -> float:
    """Largest log density ratio of the noisy vectors over the candidates for a worst pair."""
    scale = noise_scale(form, epsilon, norm, dimension)
    even = np.full(dimension, 1.0)
    axis = np.eye(dimension)[0]
    losses = []
    for direction in (even, axis):
        row = clip_rows(1e6 * direction[None], norm, form)[0]
        # Noise far out in the direction of x: the loss is ‖x − y‖/scale in the norm of the noise.
        order = 2 if form is LatentForm.ROUND else 1
        losses.append(float(np.linalg.norm(2 * row, ord=order)) / scale)
    return max(losses)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dimension", [1, 2, 16, 300])
def test_the_true_epsilon_is_attained_by_a_pair(
    form: LatentForm, dimension: int, rng: MakeRng
) -> None:
    noisy = privatise(rng(), np.zeros((1, dimension)), 0.7, 3.0, form)
    assert noisy.claimed_epsilon == 0.7
    assert worst_loss(form, 0.7, 3.0, dimension) == pytest.approx(noisy.epsilon, rel=1e-9)
    expected = 0.7 * math.sqrt(dimension) if form is LatentForm.PUBLISHED else 0.7
    assert noisy.epsilon == pytest.approx(expected)


@pytest.mark.parametrize("form", FORMS)
def test_clipped_rows_keep_their_direction_and_stay_within(form: LatentForm, rng: MakeRng) -> None:
    rows = rng().standard_normal((500, DIMENSION)) * rng(1).uniform(0.01, 3, (500, 1))
    clipped = clip_rows(rows, 2.0, form)
    order = 1 if form is LatentForm.MANHATTAN else 2
    before, after = (np.linalg.norm(x, ord=order, axis=1) for x in (rows, clipped))
    assert after.max() <= 2.0
    np.testing.assert_allclose(after, np.minimum(before, 2.0), rtol=1e-12)
    np.testing.assert_allclose(clipped / after[:, None], rows / before[:, None], rtol=1e-9)
    assert privatise(rng(2), rows, 1.0, 2.0, form).clipped == (before > 2.0).sum()


@pytest.mark.parametrize("form", FORMS)
def test_the_noise_has_its_law(form: LatentForm, rng: MakeRng) -> None:
    rows = np.zeros((20_000, DIMENSION))
    noisy = privatise(rng(), rows, 2.0, 1.5, form)
    if form is LatentForm.ROUND:
        radius = np.linalg.norm(noisy.vectors, axis=1)
        assert_distribution(radius, stats.gamma(DIMENSION, scale=1.5).cdf)
    else:
        scale = 1.5 * (math.sqrt(DIMENSION) if form is LatentForm.WIDE else 1.0)
        assert noisy.scale == pytest.approx(scale)
        for column in (0, DIMENSION - 1):
            assert_distribution(noisy.vectors[:, column], stats.laplace(scale=scale).cdf)
    assert len(np.unique(noisy.vectors[:, 0])) == 20_000  # fresh noise for each row


def test_round_noise_is_smaller_than_wide_noise_by_the_root_of_two(rng: MakeRng) -> None:
    """E‖z‖²: d(d+1)(2C/ε)² against d·2·d·(2C/ε)²."""
    rows = np.zeros((4_000, 300))
    by = {f: privatise(rng(), rows, 1.0, 1.0, f).vectors for f in FORMS}
    ratio = np.square(by[LatentForm.WIDE]).sum() / np.square(by[LatentForm.ROUND]).sum()
    # A squared radius has relative variance about 4/d, a squared Laplace number 5 (normal limit).
    deviation = math.sqrt(4 / 300 / 4_000 + 5 / (300 * 4_000))
    limit = stats.norm.isf(1e-6 / 2)
    assert ratio == pytest.approx(2 * 300 / 301, rel=1.1 * limit * deviation)


def test_refusals(rng: MakeRng) -> None:
    good = np.zeros((2, 3))
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(EpsilonError, match="finite number > 0"):
            privatise(rng(), good, epsilon, 1.0)
    for norm in (0.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="clipping norm"):
            privatise(rng(), good, 1.0, norm)
    for rows in (np.zeros(3), np.zeros((2, 0)), np.array([[1.0, math.nan]])):
        with pytest.raises(ParameterError, match="latent vectors"):
            privatise(rng(), rows, 1.0, 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_a_path_is_one_draw_for_every_epsilon(form: LatentForm, rng: MakeRng) -> None:
    rows = rng(7).standard_normal((5, DIMENSION))
    path = latent_path(rng(), rows, 2.0, form)
    for epsilon in (0.5, 3.0, 40.0):
        noisy, alone = path.at(epsilon), privatise(rng(), rows, epsilon, 2.0, form)
        np.testing.assert_array_equal(noisy.vectors, alone.vectors)
        assert (noisy.epsilon, noisy.claimed_epsilon) == (alone.epsilon, epsilon)
    near, far = (np.linalg.norm(path.at(e).vectors - path.clipped, axis=1) for e in (4.0, 2.0))
    np.testing.assert_allclose(far, 2.0 * near, rtol=1e-12)
    for array in (path.clipped, path.noise, path.at(1.0).vectors):
        assert not array.flags.writeable
    with pytest.raises(EpsilonError, match="finite number > 0"):
        path.at(0.0)


def test_every_form_has_the_mechanism_of_words_with_its_noise() -> None:
    """The registry's mechanism of that name has the same true ε for words as the form for texts."""
    lexicon = Lexicon("two words", ("a", "b"), np.eye(2, dtype=np.float32))
    assert set(FORMS_BY_NAME.values()) == set(FORMS)
    for name, form in FORMS_BY_NAME.items():
        mechanism = create(name, lexicon, {"clip_norm": 1.5})
        assert isinstance(mechanism, RadialMechanism)
        true = mechanism.true_epsilon(0.7) if hasattr(mechanism, "true_epsilon") else 0.7
        assert true == pytest.approx(true_epsilon(form, 0.7, 2))
        assert mechanism.scale(0.7) == pytest.approx(noise_scale(form, 0.7, 1.5, 2))
