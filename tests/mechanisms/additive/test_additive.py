"""Noise-adding mechanisms: the law against integrals, the guarantee by quadrature, Mahalanobis.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.additive.additive import RadialMechanism, SharedDirections
from dpcore.mechanisms.additive.euclidean import Mahalanobis, MultivariateLaplace
from dpcore.mechanisms.additive.rays import Bundle
from dpcore.mechanisms.clipped.clipped import ClippedGaussian, ClippedL2Laplace, ClippedLaplace
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.samplers import Radial, directions, radii
from tests.chance import FALSE_ALARM, assert_law, assert_mean, assert_same_law, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons, plain

PLANES = {
    "random": lexicons.cloud(12, 2),
    "square": lexicons.lexicon([[0, 0], [1, 0], [0, 1], [1, 1]]),
    "flat": lexicons.lexicon([[0.0, 0.0], [1.0, 0.05], [2.0, -0.05], [3.0, 0.02], [0.5, 2.0]]),
}
ANGLES = 20_000


def _all_directions(mechanism: RadialMechanism) -> np.ndarray:
    """Directions of the plane at equal steps of the family's own measure (midpoint rule)."""
    middle = (np.arange(ANGLES) + 0.5) / ANGLES
    if mechanism.family is Radial.LAPLACE:  # uniform on the edges of the diamond
        side, share = np.divmod(4 * middle, 1.0)
        signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])[side.astype(int)]
        return signs * np.stack((share, 1 - share), axis=1)
    unit = np.stack((np.cos(2 * np.pi * middle), np.sin(2 * np.pi * middle)), axis=1)
    if isinstance(mechanism, Mahalanobis):
        values, axes = mechanism._spectrum
        return (unit @ axes * np.sqrt(values)) @ axes.T
    return unit


def _laws(mechanism: RadialMechanism, epsilon: float) -> NDArray[np.float64]:
    bundle = Bundle(_all_directions(mechanism), mechanism.targets)
    rng = np.random.default_rng(0)  # an estimate asks for one; with a bundle nothing is drawn
    n = len(mechanism.lexicon)
    return np.stack(
        [mechanism.law(w, [epsilon], rng=rng, bundle=bundle).dense(n)[0] for w in range(n)]
    )


# -- quadrature in the plane ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANES)
@pytest.mark.parametrize("kind", [MultivariateLaplace, ClippedLaplace, ClippedL2Laplace])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_the_pure_bound_holds_in_the_plane(
    kind: type[RadialMechanism], name: str, epsilon: float
) -> None:
    """All pairs and outputs; the midpoint rule over 20,000 directions is off by about 1e-5."""
    mechanism = kind(lexicon=PLANES[name])
    laws = _laws(mechanism, epsilon)
    rows = PLANES[name].vectors.astype(np.float64)
    guarantee = mechanism.guarantee(epsilon)
    for w in range(len(rows)):
        for v in range(len(rows)):
            loss = guarantee.loss(float(np.linalg.norm(rows[w] - rows[v])))
            assert np.all(laws[w] <= math.exp(loss) * (laws[v] + 3e-5) + 3e-5)


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.9])
def test_mahalanobis_holds_in_its_own_metric_and_in_the_euclidean_one(lam: float) -> None:
    lexicon = PLANES["flat"]
    mechanism = Mahalanobis(lexicon=lexicon, lam=lam)
    laws = _laws(mechanism, 1.0)
    rows = lexicon.vectors.astype(np.float64)
    shape = lam * (2 * np.cov(rows.T) / np.trace(np.cov(rows.T))) + (1 - lam) * np.eye(2)
    guarantee: Any = mechanism.guarantee(1.0)
    factor = guarantee.euclidean_factor
    assert factor == pytest.approx(1 / math.sqrt(np.linalg.eigvalsh(shape)[0]))
    for w in range(len(rows)):
        for v in range(len(rows)):
            difference = rows[w] - rows[v]
            distance = math.sqrt(difference @ np.linalg.solve(shape, difference))
            assert distance <= factor * np.linalg.norm(difference) * (1 + 1e-12)
            assert np.all(laws[w] <= math.exp(distance) * (laws[v] + 3e-5) + 3e-5)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_the_gaussian_delta_holds_in_the_plane(epsilon: float) -> None:
    mechanism = ClippedGaussian(lexicon=PLANES["random"], delta=0.01)
    laws = _laws(mechanism, epsilon)
    worst = max(plain.delta_between(p, q, epsilon) for p in laws for q in laws)
    assert worst <= 0.01 + 3e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MultivariateLaplace, ClippedLaplace, ClippedGaussian])
def test_samples_have_the_law_of_the_integral(kind: type[RadialMechanism], rng: MakeRng) -> None:
    mechanism = kind(lexicon=PLANES["random"])
    epsilon = 3.0
    for word in (0, 7):
        drawn = mechanism.sample(rng(word), np.full(20_000, word), epsilon)
        assert_law(drawn, _laws(mechanism, epsilon)[word])


# -- Rao–Blackwell --------------------------------------------------------------------------------


def test_rao_blackwell_law_against_plain_draws_in_many_dimensions(
    middle: Lexicon, rng: MakeRng
) -> None:
    mechanism = MultivariateLaplace(lexicon=middle)
    epsilons = np.array([3.0, 8.0, 20.0, 60.0])
    law = mechanism.law(3, epsilons, rng=rng(), effort=Effort(directions=4000))
    dense = law.dense(len(middle))
    for e, epsilon in enumerate(epsilons):
        drawn = mechanism.sample(rng(e), np.full(4000, 3), float(epsilon))
        share = np.bincount(drawn, minlength=len(middle)) / 4000
        alarms = FALSE_ALARM / (2 * len(middle))
        slack = deviation(4000, share * (1 - share), alarms)
        slack = slack + deviation(4000, law.error**2 * 4000, alarms)
        assert np.all(np.abs(share - dense[e]) <= slack)


def test_stated_standard_error_is_that_of_repeated_estimates(rng: MakeRng) -> None:
    """40 estimates of Nw: χ² of their variance against the stated one."""
    mechanism = MultivariateLaplace(lexicon=lexicons.cloud(40, 3))
    laws = [mechanism.law(3, [2.0], rng=rng(i), effort=Effort(directions=500)) for i in range(40)]
    columns = np.stack([law.dense(40)[0] for law in laws])
    largest = columns.std(axis=0, ddof=1).max()
    stated = np.mean([law.error for law in laws])
    ratio = 39 * (largest / stated) ** 2
    # The largest of 40 columns: one in 40 of the tail for each.
    assert stats.chi2.isf(1 - FALSE_ALARM, 39) <= ratio <= stats.chi2.isf(FALSE_ALARM / 40, 39)


def test_nw_in_closed_form_for_two_words() -> None:
    """One rival at distance D: Nw = 1 − E F̄(D/(2cos θ))…: integrated over the angle, d = 3."""
    lexicon = lexicons.lexicon([[0, 0, 0], [1, 0, 0]])
    mechanism = MultivariateLaplace(lexicon=lexicon)
    # cos θ is uniform on (−1, 1) in three dimensions.
    node, weight = np.polynomial.legendre.leggauss(200)
    cosine = (node + 1) / 2
    for epsilon in (1.0, 5.0):
        lost = (weight / 2 * stats.gamma(3).sf(epsilon / (2 * cosine))).sum() / 2
        law = mechanism.law(
            0, [epsilon], rng=np.random.default_rng(1), effort=Effort(directions=100_000)
        )
        # Normal limit at 1e-6: 5 standard errors.
        assert abs(law.stay()[0] - (1 - lost)) <= 5 * law.error


def test_a_bundle_serves_every_word(small: Lexicon, rng: MakeRng) -> None:
    """The same directions give the same law, drawn for one word or kept for all."""
    mechanism = MultivariateLaplace(lexicon=small)
    for word in (0, 20):
        alone = mechanism.law(word, [1.0, 4.0], rng=rng(), effort=Effort(directions=300))
        shared = mechanism.law(word, [1.0, 4.0], rng=rng(9), bundle=mechanism.bundle(rng(), 300))
        np.testing.assert_allclose(alone.dense(40), shared.dense(40), rtol=1e-12)


def test_nw_of_real_vectors(data_dir: Path, rng: MakeRng) -> None:
    """Mean Nw of 60 random words of GloVe 6B 50d: .174, .825 and .985 at ε = 5, 10 and 15.

    Which 60 words they were is not known, so the two averages differ by the spread of Nw between
    words: normal limit at 1e-6, twice the standard error of 60 words, and half a last digit.
    """
    vectors = np.load(data_dir / "glove6b_50d_partial.npy").astype(np.float32)
    names = (data_dir / "glove6b_50d_partial.vocab.txt").read_text("utf-8").split("\n")
    lexicon, _ = Lexicon.build("glove", names[: len(vectors)], vectors)
    mechanism = MultivariateLaplace(lexicon=lexicon)
    bundle = mechanism.bundle(rng(), 400)
    words = rng(1).choice(len(lexicon), 60, replace=False)
    epsilons = [5.0, 10.0, 15.0]
    stay = np.stack(
        [mechanism.law(int(w), epsilons, rng=rng(), bundle=bundle).stay() for w in words]
    )
    error = stay.std(axis=0, ddof=1) / math.sqrt(60)
    limit = math.sqrt(2) * stats.norm.isf(FALSE_ALARM / 6) * error + 0.0005
    assert np.all(np.abs(stay.mean(axis=0) - [0.174, 0.825, 0.985]) <= limit)
    assert np.all(limit < 0.25)


# -- paths and samples ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MultivariateLaplace, Mahalanobis, ClippedLaplace])
def test_a_path_is_a_search_at_each_epsilon_with_the_same_noise(
    kind: type[RadialMechanism], middle: Lexicon, rng: MakeRng
) -> None:
    mechanism = kind(lexicon=middle)
    words = np.array([0, 5, 5, 699])
    paths = mechanism.paths(rng(), words)
    again = rng()
    unit = mechanism.directions(again, 4)
    radius = radii(again, mechanism.family, 4, middle.dimension)
    rows = mechanism.targets.astype(np.float64)
    epsilons = np.geomspace(0.01, 1e4, 80)
    outputs = paths.at(epsilons)
    for i in range(4):
        for e, epsilon in enumerate(epsilons):
            noisy = rows[words[i]] + mechanism.scale(epsilon) * radius[i] * unit[i]
            distance = np.linalg.norm(rows - noisy, axis=1)
            assert distance[outputs[i, e]] <= distance.min() * (1 + 1e-12)


def test_equal_and_mixed_batches_take_two_routes_to_one_law(middle: Lexicon, rng: MakeRng) -> None:
    mechanism = MultivariateLaplace(lexicon=middle)
    equal = mechanism.paths(rng(1), np.full(3000, 4)).at(np.array([20.0]))
    mixed = mechanism.paths(rng(2), np.append(np.full(3000, 4), 9)).at(np.array([20.0]))
    assert_same_law(equal[:, 0], mixed[:-1, 0])


@pytest.mark.parametrize("epsilon", [1e-9, 1e-16, 1e-139])
def test_a_tiny_epsilon_leaves_the_word_that_reaches_farthest(
    epsilon: float, middle: Lexicon, rng: MakeRng
) -> None:
    """Noise of 10¹⁴¹: differences of squared distances would vanish in float64."""
    mechanism = MultivariateLaplace(lexicon=middle)
    out = mechanism.sample(rng(), np.zeros(400, dtype=np.int64), epsilon)
    unit = mechanism.directions(rng(), 400)
    assert np.array_equal(out, (unit @ middle.vectors.T.astype(np.float64)).argmax(axis=1))


# -- Mahalanobis ----------------------------------------------------------------------------------


def test_lambda_zero_is_multivariate_laplace_under_the_same_seed(
    middle: Lexicon, rng: MakeRng
) -> None:
    plain_one, stretched = MultivariateLaplace(lexicon=middle), Mahalanobis(lexicon=middle, lam=0.0)
    words = np.arange(600)
    assert np.array_equal(
        plain_one.sample(rng(), words, 20.0), stretched.sample(rng(), words, 20.0)
    )
    a, b = plain_one.paths(rng(), words[:50]), stretched.paths(rng(), words[:50])
    assert np.array_equal(a.breaks, b.breaks)
    assert np.array_equal(a.outputs, b.outputs)
    assert getattr(stretched.guarantee(3.0), "euclidean_factor") == 1.0  # noqa: B009


def test_noise_has_the_shape_of_the_regularised_covariance(rng: MakeRng) -> None:
    """z = r·S^{1/2}u has covariance S·(d+1)/ε²: each entry, and the trace, which is d·(d+1)/ε²."""
    rows = np.random.default_rng(3).standard_normal((200, 4)) @ np.diag([3.0, 1.0, 1.0, 0.2])
    lexicon = lexicons.lexicon(rows)
    mechanism = Mahalanobis(lexicon=lexicon, lam=0.7)
    x = lexicon.vectors.astype(np.float64)
    covariance = np.cov(x.T, bias=True)
    shape = 0.7 * covariance * 4 / np.trace(covariance) + 0.3 * np.eye(4)
    assert np.trace(shape) == pytest.approx(4)
    assert mechanism.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(shape)[0])
    draws, epsilon = 200_000, 2.0
    unit = mechanism.directions(rng(), draws)
    z = mechanism.scale(epsilon) * radii(rng(1), mechanism.family, draws, 4)[:, None] * unit
    for i in range(4):
        for j in range(4):
            product = z[:, i] * z[:, j]
            expected = shape[i, j] * 5 / epsilon**2
            assert_mean(product, expected, product.std())
    assert_mean(np.square(z).sum(axis=1), 4 * 5 / epsilon**2, np.square(z).sum(axis=1).std())


def test_directions_of_the_ellipsoid_are_not_normalised_again(rng: MakeRng) -> None:
    lexicon = lexicons.lexicon(np.random.default_rng(3).standard_normal((50, 3)) * [5, 1, 0.1])
    mechanism = Mahalanobis(lexicon=lexicon, lam=1.0)
    unit = mechanism.directions(rng(), 1000)
    values, axes = mechanism._spectrum
    np.testing.assert_allclose(np.square(unit @ axes / np.sqrt(values)).sum(axis=1), 1, rtol=1e-9)
    assert np.linalg.norm(unit, axis=1).std() > 0.1


def test_a_singular_shape_is_refused() -> None:
    flat = lexicons.lexicon(np.outer(np.arange(6.0), [1.0, 1.0]))
    with pytest.raises(ParameterError, match="singular"):
        Mahalanobis(lexicon=flat, lam=1.0).guarantee(1.0)
    assert getattr(Mahalanobis(lexicon=flat, lam=0.5).guarantee(1.0), "euclidean_factor") > 1  # noqa: B009


def test_directions_can_be_shared_only_where_they_may(small: Lexicon) -> None:
    madlib = MultivariateLaplace(lexicon=small)
    same = [MultivariateLaplace(lexicon=small), ClippedL2Laplace(lexicon=small)]
    other = [
        Mahalanobis(lexicon=small, lam=0.2),
        ClippedLaplace(lexicon=small),
        ClippedL2Laplace(lexicon=small, clip_norm=0.5),
        MultivariateLaplace(lexicon=lexicons.cloud(40, 3, seed=1)),
    ]
    assert all(m.direction_key == madlib.direction_key for m in same)
    assert all(m.direction_key != madlib.direction_key for m in other)


def test_directions_follow_the_family(rng: MakeRng) -> None:
    """The protocol's directions are those of the noise, for the seed."""
    lexicon = lexicons.cloud(40, 3)
    for kind in (MultivariateLaplace, ClippedLaplace, ClippedGaussian):
        mechanism = kind(lexicon=lexicon)
        assert np.array_equal(
            mechanism.directions(rng(), 5), directions(rng(), mechanism.family, 5, 3)
        )


# Laws from shared directions: shared where they can be, and the laws of the mechanisms.


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    vectors = np.random.default_rng(3).standard_normal((500, 12)).astype(np.float32)
    return Lexicon("toy", tuple(f"w{i}" for i in range(500)), vectors)


def test_directions_are_shared_where_they_can_be(lexicon: Lexicon) -> None:
    shared = SharedDirections()
    sphere: list[Any] = [
        create(name, lexicon) for name in ("madlib", "vickrey", "l2-laplace", "gaussian")
    ]
    same = [shared.bundle(mechanism) for mechanism in sphere]
    assert len({id(bundle) for bundle in same}) == 1
    others: list[Any] = [
        create(name, lexicon) for name in ("mahalanobis", "laplace", "random-projection")
    ]
    others += [create("mahalanobis", lexicon, {"lam": 0.9})]
    others += [create("laplace", lexicon, {"clip_norm": 1.0})]
    # All are held: of one that was let go the next may have the address.
    bundles = [shared.bundle(mechanism) for mechanism in [sphere[0], *others]]
    assert len({id(bundle) for bundle in bundles}) == 6


@pytest.mark.slow
@pytest.mark.parametrize("key", MECHANISMS)
def test_a_shared_law_agrees_with_the_mechanisms_own(lexicon: Lexicon, key: str) -> None:
    mechanism = create(key, lexicon)
    allowed = mechanism.admissible
    low, high = max(allowed.low * 1.5, 0.5), min(allowed.high * 0.5, 1e4)
    epsilons = [float(np.sqrt(low * high))]
    ranking = rank(lexicon.vectors, lexicon.vectors[[7]])[0]
    effort = Effort(directions=2_000)
    law = SharedDirections(effort).law(mechanism, 7, epsilons, ranking)
    alone = mechanism.law(7, epsilons, rng=np.random.default_rng(1), effort=effort)
    assert law.exact == alone.exact == mechanism.exact_law
    gap = np.abs(law.dense(500) - alone.dense(500)).max()
    # Two independent estimates of entries in [0, 1]: Hoeffding and a union over 500 entries,
    # false alarm 1e-6.
    allowance = 2 * alone.error if alone.exact else 2 * np.sqrt(np.log(2e9) / (2 * 2_000))
    assert gap <= allowance
