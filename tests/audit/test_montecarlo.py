"""Bounds from draws: exact at the ends, covering as often as they say, blind where they say so."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.audit.montecarlo import clopper_pearson, epsilon_lower_bound, resolution
from dpcore.audit.samplers import check_noise
from dpcore.errors import ParameterError
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import Radial, draws
from tests.audit import canaries
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons


def test_counts_of_none_and_of_all() -> None:
    assert clopper_pearson(0, 50, 0.025)[0] == 0.0
    assert clopper_pearson(0, 50, 0.025)[1] == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-12)
    assert clopper_pearson(50, 50, 0.025)[1] == 1.0
    assert clopper_pearson(50, 50, 0.025)[0] == pytest.approx(0.025 ** (1 / 50), rel=1e-12)


@pytest.mark.parametrize(("count", "draws_"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(count: int, draws_: int) -> None:
    with pytest.raises(ParameterError, match="count"):
        clopper_pearson(count, draws_, 0.05)


@pytest.mark.parametrize("p", [0.0, 1e-3, 0.02, 0.4, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_coverage_is_at_least_what_is_said_exactly(p: float, n: int) -> None:
    """Summed over all counts, not simulated: each side fails with at most its error."""
    weights = stats.binom.pmf(np.arange(n + 1), n, p)
    bounds = np.array([clopper_pearson(k, n, 0.03) for k in range(n + 1)])
    assert weights[bounds[:, 0] > p].sum() <= 0.03 + 1e-12
    assert weights[bounds[:, 1] < p].sum() <= 0.03 + 1e-12


@pytest.mark.parametrize(("true", "delta"), [(math.log(3.0), 0.0), (1.0, 0.75 - math.e * 0.25)])
def test_the_bound_on_epsilon_covers_by_simulation(rng: MakeRng, true: float, delta: float) -> None:
    """At error 0.2 and 400 repetitions, more failures than the binomial allows at 1e-6 fail.

    Randomised response, where the event is the best possible one and the bound is nearly tight.
    """
    repetitions, error = 400, 0.2
    generator = rng()
    fails = 0
    for _ in range(repetitions):
        first = (generator.random(400) < 0.25).astype(int)
        second = (generator.random(400) < 0.75).astype(int)
        fails += epsilon_lower_bound(first, second, delta=delta, error=error).epsilon > true
    assert fails <= stats.binom.isf(FALSE_ALARM, repetitions, error)


def test_randomised_response_is_found_and_not_exceeded(rng: MakeRng) -> None:
    """Fails with probability 1e-6 on either side; the lower side is Clopper–Pearson's own."""
    n = 100_000
    first = (rng().random(2 * n) < 0.25).astype(int)
    second = (rng(1).random(2 * n) < 0.75).astype(int)
    bound = epsilon_lower_bound(first, second)
    assert math.log(3.0) - 0.1 < bound.epsilon <= math.log(3.0)
    assert bound.refutes(1.0)
    assert not bound.refutes(math.log(3.0))
    assert (bound.event, bound.draws) in {((0,), n), ((1,), n)}
    allowed = epsilon_lower_bound(first, second, delta=0.75 - math.e * 0.25)
    assert allowed.epsilon <= 1.0


def test_constant_shows_nothing(rng: MakeRng) -> None:
    n = 20_000
    bound = epsilon_lower_bound(rng().integers(0, 5, n), rng(1).integers(0, 5, n))
    assert bound.epsilon <= 0.0


def test_identity_reaches_the_resolution_and_no_more() -> None:
    bound = epsilon_lower_bound(np.zeros(2000, int), np.ones(2000, int))
    assert bound.epsilon == bound.resolution == resolution(1000)
    assert (bound.count, bound.other_count) == (1000, 0)
    assert resolution(1000) == pytest.approx(math.log(1000 / math.log(2e6)), abs=0.02)
    assert resolution(10**6, 0.05) == pytest.approx(12.5, abs=0.02)


def test_resolution_with_a_delta_that_nothing_can_pass() -> None:
    assert resolution(10, 1e-6, delta=0.9) == -math.inf


def test_vickrey_that_excludes_the_word_is_caught(rng: MakeRng) -> None:
    """The word never comes out of itself: log-ratio far above the ε·d of the noise."""
    points = np.array([0.0, 0.1, 1.0, 2.0])
    epsilon, n = 1.0, 20_000
    first = canaries.vickrey_without_the_word(rng(), points, 0, epsilon, n)
    second = canaries.vickrey_without_the_word(rng(1), points, 1, epsilon, n)
    bound = epsilon_lower_bound(first, second)
    assert bound.refutes(epsilon * 0.1)
    assert bound.other_count == 0
    assert bound.event in {(0,), (1,)}
    mechanism = create("vickrey", lexicons.lexicon(points[:, None]))
    right = [mechanism.sample(rng(w, 2), np.full(n, w), epsilon) for w in (0, 1)]
    assert not epsilon_lower_bound(*right).refutes(epsilon * 0.1 * (1 + 1e-6))


def test_support_of_truncated_noise(rng: MakeRng) -> None:
    """Two vectors 2C apart in one coordinate of two: m is the share that gives the word away."""
    from dpcore.mechanisms.clipped.trlaplace import published_truncation
    from dpcore.noise.samplers import quantile, shifted_out, uniforms

    noise = published_truncation(0.1, 0.1, 1.0, 2)
    z = quantile(uniforms(rng(), 50_000, 2), noise.alpha, noise.mass)
    impossible = np.abs(z - [2.0, 0.0]).max(axis=1) > noise.cut
    least, _ = clopper_pearson(int(impossible.sum()), 50_000, FALSE_ALARM)
    true = float(shifted_out(np.array(2.0), noise.alpha, noise.cut))
    assert 0.01 < true - 0.02 < least <= true


def test_bad_samples_are_refused() -> None:
    ones = np.ones(10, int)
    with pytest.raises(ParameterError, match="even size"):
        epsilon_lower_bound(ones, ones[:8])
    with pytest.raises(ParameterError, match="even size"):
        epsilon_lower_bound(ones[:9], ones[:9])
    with pytest.raises(ParameterError, match="delta"):
        epsilon_lower_bound(ones, ones, delta=1.0)
    with pytest.raises(ParameterError, match="error"):
        epsilon_lower_bound(ones, ones, error=0.0)


# -- samplers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", list(Radial))
@pytest.mark.parametrize("d", [2, 25])
def test_correct_noise_passes(family: Radial, d: int, rng: MakeRng) -> None:
    """False-alarm probability 1e-6."""
    checked = check_noise(draws(rng(), family, 4000, d, 0.7), family, 0.7)
    assert checked.passed, checked.failed
    assert sum(check.threshold for check in checked.checks) == pytest.approx(FALSE_ALARM)


@pytest.mark.parametrize("family", list(Radial))
def test_a_scale_that_is_off_by_a_tenth_is_caught(family: Radial, rng: MakeRng) -> None:
    check = check_noise(draws(rng(), family, 4000, 10, 0.77), family, 0.7)
    assert "radius" in check.failed


def test_mahalanobis_renormalised_after_the_root_is_caught_by_its_radius(rng: MakeRng) -> None:
    """Whitened, its length is no longer Gamma distributed; unscaled it would pass."""
    d = 6
    values = np.array([0.1, 0.3, 0.6, 1.0, 1.5, 2.5])
    root = np.diag(np.sqrt(values))
    wrong = canaries.renormalised(rng(), root, 6000)
    check = check_noise(wrong, Radial.L2LAPLACE, 1.0, whitening=np.diag(1 / np.sqrt(values)))
    assert "radius" in check.failed
    right = draws(rng(1), Radial.L2LAPLACE, 6000, d, 1.0) @ root
    assert check_noise(right, Radial.L2LAPLACE, 1.0, whitening=np.diag(1 / np.sqrt(values))).passed


def test_noise_from_the_ball_is_caught_by_its_radius(rng: MakeRng) -> None:
    z = draws(rng(), Radial.L2LAPLACE, 6000, 8, 1.0) * (rng(1).random((6000, 1)) ** (1 / 8))
    assert "radius" in check_noise(z, Radial.L2LAPLACE, 1.0).failed


def test_noise_shared_by_a_batch_is_caught_by_its_rows(rng: MakeRng) -> None:
    z = canaries.broadcast(rng(), 4000, 5, 4)
    failed = check_noise(z, Radial.L2LAPLACE, 1.0).failed
    assert {"neighbouring rows", "repeated rows"} <= set(failed)


def test_a_direction_that_prefers_one_side_is_caught(rng: MakeRng) -> None:
    z = draws(rng(), Radial.L2LAPLACE, 6000, 5, 1.0)
    z[:, 0] = np.abs(z[:, 0])
    failed = check_noise(z, Radial.L2LAPLACE, 1.0).failed
    assert any(name.startswith(("projection", "sign")) for name in failed)
    assert "radius" not in failed


def test_anything_but_a_sample_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1000 rows"):
        check_noise(np.ones((10, 3)), Radial.L2LAPLACE, 1.0)
    with pytest.raises(ParameterError, match="NaN"):
        check_noise(np.full((1000, 3), np.nan), Radial.L2LAPLACE, 1.0)
