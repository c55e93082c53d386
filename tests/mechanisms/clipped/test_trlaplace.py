"""Truncated Laplace noise: reference values, the worst shift, the refutation and the repair."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.trlaplace import (
    TrLaplace,
    TrLaplaceCorrected,
    TruncatedLaplaceMechanism,
    Truncation,
    corrected_truncation,
    largest_epsilon,
    log_survival,
    published_truncation,
    worst_delta,
    worst_delta_bound,
)
from dpcore.noise.samplers import shifted_out
from tests.chance import FALSE_ALARM, assert_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons, plain

ROOT = 0.25


# -- reference values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "alpha", "cut"),
    [(0.1, 0.002886751346, 4.023273343), (1.0, 0.02886751346, 4.250414901)],
)
def test_published_noise_at_d_300(epsilon: float, alpha: float, cut: float) -> None:
    noise = published_truncation(epsilon, ROOT, 1.0, 300)
    assert noise.alpha == pytest.approx(alpha, rel=1e-9)
    assert noise.cut == pytest.approx(cut, rel=1e-9)
    # The density is e^{−α|x|}/B with B = 2C/δ^{1/d} = 8, that is α/(2·mass) = 1/8.
    assert 2 * noise.mass / noise.alpha == pytest.approx(8.0, rel=1e-12)


def test_published_deviation_at_d_300() -> None:
    assert published_truncation(0.1, ROOT, 1.0, 300).deviation == pytest.approx(
        2.319464576, rel=1e-9
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "digits"),
    [
        (0.05, 0.987, 5e-4),
        (0.1, 0.986588957, 1e-9),
        (0.5, 0.984, 5e-4),
        (1.0, 0.9789585353, 1e-9),
        (5.0, 0.843, 5e-4),
    ],
)
def test_true_delta_at_d_300(epsilon: float, delta: float, digits: float) -> None:
    noise = published_truncation(epsilon, ROOT, 1.0, 300)
    assert worst_delta(noise, 1.0, 300) == pytest.approx(delta, abs=digits)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.05, 0.249), (0.1, 0.248), (0.5, 0.239), (1.0, 0.228), (5.0, 0.1225)]
)
def test_delta_of_a_single_differing_coordinate(epsilon: float, delta: float) -> None:
    noise = published_truncation(epsilon, ROOT, 1.0, 300)
    assert float(shifted_out(np.array(2.0), noise.alpha, noise.cut)) == pytest.approx(
        delta, abs=5e-4
    )


def test_corrected_cut_at_d_300() -> None:
    noise = corrected_truncation(1.0, 1e-6, 1.0, 300)
    assert noise.alpha * noise.cut == pytest.approx(13.12403201, rel=1e-9)


def test_deviation_per_coordinate_over_c() -> None:
    """d = 300, δ = 1e-5, ε = 1: corrected, Laplace, L2-Laplace and analytic Gaussian."""
    from dpcore.mechanisms.clipped.clipped import analytic_sigma

    d = 300
    assert corrected_truncation(1.0, 1e-5, 1.0, d).deviation == pytest.approx(48.96, abs=0.005)
    assert math.sqrt(2) * 2 * math.sqrt(d) == pytest.approx(48.99, abs=0.005)
    assert math.sqrt(d + 1) * 2 == pytest.approx(34.7, abs=0.05)
    assert analytic_sigma(1.0, math.log(1e-5), 2.0) == pytest.approx(7.46, abs=0.005)
    published = published_truncation(1.0, 1e-5 ** (1 / d), 1.0, d)
    assert published.deviation == pytest.approx(0.607, abs=0.0005)


@pytest.mark.parametrize("x", [1e-6, 9e-5, 1.1e-4, 0.3, 5.0, 60.0, 2000.0])
def test_deviation_equals_an_integral(x: float) -> None:
    noise = Truncation(2.0, x / 2.0, -math.expm1(-x))
    node, weight = np.polynomial.legendre.leggauss(40)
    edge = np.linspace(0, min(x, 100.0), 401)
    half = np.diff(edge)[:, None] / 2
    y = edge[:-1, None] + half * (1 + node)
    density = half * weight * np.exp(-y)
    second = (density * y**2).sum() / density.sum()
    assert noise.deviation == pytest.approx(math.sqrt(second) / 2.0, rel=2e-5)


# -- the worst shift ------------------------------------------------------------------------------

SEARCHES = [
    (d, x_per_c, cut)
    for d in (2, 3, 10, 300)
    for x_per_c in (1e-3, 0.3, 3.0, 30.0, 300.0)  # α·C = ε/(2√d)
    for cut in (1.01, 1.5, 2.0, 4.0, 20.0)  # A/C
]


def _shifts(rng: np.random.Generator, d: int) -> np.ndarray:
    """Differences of norm 2: spread out, concentrated, sparse, and of two or three levels."""
    spread = np.abs(rng.standard_normal((600, d))) ** rng.uniform(0.1, 8.0, (600, 1))
    sparse = spread * (rng.random((600, d)) < rng.uniform(0.02, 1.0, (600, 1)))
    sparse[:, 0] += 1e-3
    levels = np.zeros((900, d))
    for row in levels:
        cut = np.sort(rng.integers(1, d + 1, 2))
        row[: cut[0]] = 1.0
        row[cut[0] : cut[1]] = rng.random() ** 2
        row[cut[1] :] = rng.random() ** 6
    shifts = np.concatenate((spread, sparse, levels))
    return 2.0 * shifts / np.linalg.norm(shifts, axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "rate", "cut"), SEARCHES)
def test_no_shift_is_worse_than_the_worst_one(
    d: int, rate: float, cut: float, rng: MakeRng
) -> None:
    """210,000 shifts in all, at rates α·C from almost uniform noise to very steep."""
    noise = Truncation(rate, cut, -math.expm1(-rate * cut))
    worst = worst_delta(noise, 1.0, d)
    shifts = _shifts(rng(), d)
    deltas = -np.expm1(log_survival(shifts, np.ones(d), noise))
    assert deltas.max() <= worst * (1 + 1e-9)


@pytest.mark.parametrize(("rate", "cut"), [(x, c) for _, x, c in SEARCHES if c >= 2])
def test_loss_of_a_coordinate_is_concave_and_then_convex(rate: float, cut: float) -> None:
    """−ln(1 − m) as a function of v², A ≥ 2C: what the form of the worst shift rests on."""
    square = np.linspace(0, 4, 4001)
    value = -np.log1p(-shifted_out(np.sqrt(square), rate, cut))
    bend = np.diff(value, 2)
    noise = 1e-13 * (1 + value[1:-1])
    sign = np.where(bend > noise, 1, np.where(bend < -noise, -1, 0))
    sign = sign[sign != 0]
    assert np.all(np.diff(sign) >= 0)


def test_worst_shift_of_a_hill_climb(rng: MakeRng) -> None:
    """Moving mass between two coordinates of the best shift found never passes the bound."""
    generator = rng()
    for d, rate, cut in [(3, 3.0, 4.0), (6, 1.0, 2.5), (5, 10.0, 3.0), (4, 0.1, 1.1)]:
        noise = Truncation(rate, cut, -math.expm1(-rate * cut))
        worst = worst_delta(noise, 1.0, d)
        squares = generator.dirichlet(np.ones(d), 200) * 4
        for _ in range(1500):
            i, j = generator.choice(d, 2, replace=False)
            moved = squares.copy()
            share = generator.random(200)
            both = squares[:, i] + squares[:, j]
            moved[:, i], moved[:, j] = share * both, (1 - share) * both
            before, after = (log_survival(np.sqrt(s), np.ones(d), noise) for s in (squares, moved))
            squares = np.where((after < before)[:, None], moved, squares)
        reached = -np.expm1(log_survival(np.sqrt(squares), np.ones(d), noise).min())
        assert reached <= worst * (1 + 1e-9)
        assert reached == pytest.approx(worst, rel=0.05)


def test_equal_spread_under_covers_for_large_epsilon() -> None:
    """At ε ≫ √d the closed form for equal coordinates gives δ = 0.055 where 1e-5 is guaranteed."""
    d, epsilon, delta = 4, 40.0, 1e-5
    single = -math.expm1(math.log1p(-delta) / d)
    x = math.log1p(math.expm1(epsilon / d) / (2 * single))
    alpha = epsilon / (2 * math.sqrt(d))
    short = Truncation(alpha, x / alpha, -math.expm1(-x))
    concentrated = float(shifted_out(np.array(2.0), short.alpha, short.cut))
    assert concentrated == pytest.approx(0.0550, rel=0.02)
    assert worst_delta(short, 1.0, d) >= concentrated
    assert worst_delta(corrected_truncation(epsilon, delta, 1.0, d), 1.0, d) <= delta


@pytest.mark.parametrize("cut", [2.0, 3.0, 40.0])
@pytest.mark.parametrize("alpha", [0.02, 1.0, 15.0])
@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_worst_difference_lies_between_the_bounds(d: int, alpha: float, cut: float) -> None:
    """No difference of norm 2 goes beyond, and the bounds are near; unequal ones in 60 digits."""
    noise = Truncation(alpha, cut, -math.expm1(-alpha * cut))
    low, high = worst_delta(noise, 1.0, d), worst_delta_bound(noise, 1.0, d)
    assert low <= high <= low * (1 + 1e-9)
    squares = 4.0 * np.random.default_rng(d).dirichlet(np.full(d, 0.3), 4000)
    reached = -np.expm1(log_survival(np.sqrt(squares), np.ones(d), noise).min())
    assert reached <= high
    with mpmath.workdps(60):
        a, top = mpmath.mpf(alpha), 2 * mpmath.expm1(mpmath.mpf(alpha) * mpmath.mpf(cut))
        equal = 1 - (1 - mpmath.expm1(a * 2 / mpmath.sqrt(d)) / top) ** d
        single = mpmath.expm1(a * 2) / top
        assert max(equal, single) <= high


@pytest.mark.parametrize("edge", [0.01, 0.5, 1.0, 5.0, 200.0])
def test_the_loss_of_a_coordinate_is_concave_in_its_square_and_then_convex(edge: float) -> None:
    """Signs of second differences on a fine grid: one change, at αv below 1, as is proved."""
    with mpmath.workdps(60):
        k = 2 * mpmath.exp(edge) - 1
        squares = [(mpmath.mpf(i) / 400) ** 2 * mpmath.mpf(edge) ** 2 for i in range(1, 401)]
        slope = [
            mpmath.exp(mpmath.sqrt(q)) / (k - mpmath.exp(mpmath.sqrt(q))) / mpmath.sqrt(q)
            for q in squares
        ]
        rises = [later > earlier for earlier, later in itertools.pairwise(slope)]
    assert rises == sorted(rises)
    if edge > 1:
        turn = rises.index(True) / 400 * edge
        assert turn <= 1 + edge / 200


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 10, 300])
@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-5, 1e-12, 1e-100, 1e-300])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 30.0, 1e3, 1e5])
def test_corrected_noise_keeps_its_guarantee_and_is_as_short_as_it_can_be(
    d: int, delta: float, epsilon: float
) -> None:
    noise = corrected_truncation(epsilon, delta, 3.0, d)
    assert worst_delta(noise, 3.0, d) <= worst_delta_bound(noise, 3.0, d) <= delta
    shorter = Truncation(noise.alpha, noise.cut * (1 - 1e-6), 0.0)
    assert worst_delta(shorter, 3.0, d) > delta


# -- words ----------------------------------------------------------------------------------------


def _lattice(side: int = 5, step: float = 0.25) -> Lexicon:
    """Words on a square grid: their cells are boxes, so the law is a product of two."""
    axis = (np.arange(side) - side // 2) * step
    return lexicons.lexicon(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))


def _line_laws(points: np.ndarray, noise: Truncation) -> np.ndarray:
    def cdf(x: np.ndarray) -> np.ndarray:
        return plain.truncated_laplace_cdf(x, noise.alpha, noise.cut)

    return np.array([plain.line_law(points, x, cdf) for x in points])


def _lattice_laws(mechanism: TruncatedLaplaceMechanism, epsilon: float) -> np.ndarray:
    noise = mechanism.truncation(epsilon)
    vectors = mechanism.lexicon.vectors.astype(np.float64)
    axis = np.unique(vectors[:, 0])
    single = _line_laws(axis, noise)
    where = np.searchsorted(axis, vectors)
    return single[where[:, :1], where[None, :, 0]] * single[where[:, 1:], where[None, :, 1]]


def _worst_pair(laws: np.ndarray, epsilon: float) -> float:
    return max(plain.delta_between(p, q, epsilon) for p in laws for q in laws)


def test_published_claim_is_refuted_by_words_in_two_dimensions() -> None:
    mechanism = TrLaplace(lexicon=_lattice(), delta_root=0.01)
    epsilon = 0.02
    claimed = math.exp(mechanism.log_delta)
    assert claimed == pytest.approx(1e-4)
    assert _worst_pair(_lattice_laws(mechanism, epsilon), epsilon) > 20 * claimed
    assert mechanism.guarantee(epsilon).status is Status.REFUTED


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_corrected_claim_holds_for_words_in_two_dimensions(epsilon: float) -> None:
    mechanism = TrLaplaceCorrected(lexicon=_lattice(), delta=0.01)
    assert _worst_pair(_lattice_laws(mechanism, epsilon), epsilon) <= 0.01 * (1 + 1e-9)


@pytest.mark.parametrize("root", [0.01, 0.3, 0.9])
def test_published_claim_holds_in_one_dimension(root: float) -> None:
    mechanism = TrLaplace(lexicon=lexicons.line(-1.0, -0.4, 0.0, 0.3, 1.0), delta_root=root)
    points = mechanism.lexicon.vectors[:, 0].astype(np.float64)
    for share in (1e-3, 0.3, 0.9, 0.999):
        epsilon = share * mechanism.admissible.high
        noise = mechanism.truncation(epsilon)
        laws = _line_laws(points, noise)
        assert _worst_pair(laws, epsilon) <= root * (1 + 1e-9)
        assert mechanism.guarantee(epsilon).status is Status.PROVED
        assert worst_delta(noise, mechanism.bound, 1) <= root * (1 + 1e-12)


def test_status_follows_the_exact_delta() -> None:
    """Close to the largest ε the cut is long: 0.1² is guaranteed, and kept."""
    mechanism = TrLaplace(lexicon=_lattice(), delta_root=0.1)
    high = mechanism.admissible.high
    noises = [mechanism.truncation(share * high) for share in (0.99, 0.5)]
    near, far = (worst_delta(noise, mechanism.bound, 2) for noise in noises)
    assert near < 0.01 < far
    assert mechanism.guarantee(0.99 * high).status is Status.PROVED
    assert mechanism.guarantee(0.5 * high).status is Status.REFUTED


@pytest.mark.parametrize("kind", [TrLaplace, TrLaplaceCorrected])
def test_draws_have_the_law_of_the_lattice(
    kind: type[TruncatedLaplaceMechanism], rng: MakeRng
) -> None:
    """False-alarm probability 1e-6 for each of the two words."""
    mechanism = kind(lexicon=_lattice())
    epsilon = 0.5
    laws = _lattice_laws(mechanism, epsilon)
    for word in (0, 12):
        drawn = mechanism.sample(rng(word), np.full(40_000, word), epsilon)
        assert_law(drawn, laws[word])


def test_paths_are_exact_at_the_points_of_their_grid(rng: MakeRng) -> None:
    """Equal to a plain search with the same uniforms at every ε of the grid."""
    mechanism = TrLaplace(lexicon=lexicons.cloud(60, 4))
    words = np.array([3, 3, 40])
    grid = np.geomspace(0.01, 0.9, 17)
    paths = mechanism.paths(rng(), words, epsilons=grid)
    u = rng().uniform(-1.0, 1.0, size=(3, 4))
    rows = mechanism.targets.astype(np.float64)
    outputs = paths.at(grid)
    assert not paths.exact
    for e, epsilon in enumerate(grid):
        noise = mechanism.truncation(float(epsilon))
        z = -np.sign(u) * np.log1p(-np.abs(u) * noise.mass) / noise.alpha
        for i, word in enumerate(words):
            distance = np.linalg.norm(rows - (mechanism.origins[word] + z[i]), axis=1)
            assert outputs[i, e] == distance.argmin()


def test_dummy_dimensions_raise_the_limit_and_keep_the_real_coordinates() -> None:
    lexicon = lexicons.cloud(60, 4)
    few = TrLaplace(lexicon=lexicon)
    many = TrLaplace(lexicon=lexicon, dummy_dimensions=60)
    assert few.admissible.high == pytest.approx(2 * ROOT * 2)
    assert many.admissible.high == pytest.approx(2 * ROOT ** (4 / 64) * 8)
    assert largest_epsilon(ROOT, 4, 60) == many.admissible.high
    noise = many.truncation(5.0)
    assert noise.alpha == pytest.approx(5.0 / (2 * 8 * many.bound))
    assert many.sample(np.random.default_rng(0), np.array([1]), 5.0).shape == (1,)


def test_law_states_its_standard_error(rng: MakeRng) -> None:
    mechanism = TrLaplaceCorrected(lexicon=_lattice())
    law = mechanism.law(12, [0.5, 50.0], rng=rng())
    exact = np.stack([_lattice_laws(mechanism, e)[12] for e in (0.5, 50.0)])
    off = np.abs(law.dense(25) - exact).max()
    assert not law.exact
    # 50 entries, normal limit at 1e-6: 6 standard errors, and a cell's own skewness.
    assert off <= norm.isf(FALSE_ALARM / 100) * law.error + 10 / 400
