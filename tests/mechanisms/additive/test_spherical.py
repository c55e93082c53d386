"""Noise on the sphere: its angle, the nearest direction on a great circle, and the guarantee.

False-alarm probability of each randomised assertion: 1e-6.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, ortho_group

from dpcore.arrays import FloatArray
from dpcore.audit.samplers import check_noise, noise_report
from dpcore.errors import ParameterError
from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances, paired_distances
from dpcore.mechanisms.additive.spherical import (
    DirectionalMechanism,
    Purkayastha,
    VonMisesFisher,
)
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import Radial
from tests.chance import FALSE_ALARM, assert_law_near, assert_same_law
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

KINDS = (VonMisesFisher, Purkayastha)
SMALL = lexicons.cloud(40, 3)
FEW = lexicons.cloud(12, 3)
every_kind = pytest.mark.parametrize("kind", KINDS)


# -- the angle -------------------------------------------------------------------------------------


def density(
    kind: type[DirectionalMechanism], angle: float, epsilon: float, dimension: int
) -> float:
    """The density of θ, up to a factor."""
    falls = 1.0 - math.cos(angle) if kind is VonMisesFisher else angle
    return math.exp(-epsilon * falls) * math.sin(angle) ** (dimension - 2)


@every_kind
@pytest.mark.parametrize(
    ("dimension", "epsilon"),
    [(3, 1e-3), (3, 0.7), (3, 40.0), (4, 5.0), (5, 2.2), (30, 9.0), (300, 1.0), (300, 90.0)],
)
def test_the_distribution_function_is_the_integral_of_the_density(
    kind: type[DirectionalMechanism], dimension: int, epsilon: float
) -> None:
    mechanism = kind(lexicon=lexicons.cloud(10, dimension))
    (mode,) = mechanism.mode(np.array([epsilon]))
    angles = np.clip(mode + np.array([-0.3, -0.1, 0.0, 0.05, 0.2, 0.5]), 0.01, 3.1)
    edges = np.linspace(0.0, math.pi, 200)
    largest = density(kind, float(mode), epsilon, dimension)

    def integral(low: float, high: float) -> float:
        return float(
            quad(
                lambda x: density(kind, x, epsilon, dimension) / largest,
                low,
                high,
                epsabs=1e-17,
                epsrel=1e-13,
            )[0]
        )

    parts = np.array([integral(*pair) for pair in pairwise(edges)])
    by_hand = [
        (parts[: (last := int((edges <= angle).sum()) - 1)].sum() + integral(edges[last], angle))
        / parts.sum()
        for angle in angles
    ]
    np.testing.assert_allclose(mechanism.below(angles, epsilon), by_hand, rtol=0, atol=1e-12)
    ends = np.array([0.0, math.pi, np.inf])
    assert mechanism.below(ends, epsilon).tolist() == [0.0, 1.0, 1.0]


@every_kind
@pytest.mark.parametrize("dimension", [3, 4, 30, 300, 3000])
@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 20.0, 1e4, 1e12])
def test_the_sampler_draws_from_that_law(
    kind: type[DirectionalMechanism], dimension: int, epsilon: float, rng: MakeRng
) -> None:
    mechanism = kind(lexicon=lexicons.cloud(5, dimension))
    shares = mechanism.below(mechanism.angles(rng(), 20_000, epsilon), epsilon)
    assert kstest(shares, "uniform").pvalue >= FALSE_ALARM


@every_kind
@pytest.mark.parametrize("dimension", [3, 8, 50])
def test_directions_and_angles_pass_the_audit_of_samplers(
    kind: type[DirectionalMechanism], dimension: int, rng: MakeRng
) -> None:
    mechanism = kind(lexicon=lexicons.cloud(10, dimension))
    report = noise_report(mechanism, 4.0, 4000, 0)
    assert report.passed, report.failed
    assert check_noise(mechanism.reference_noise(rng(), 4.0, 5000), Radial.L2LAPLACE, 1.0).passed


@every_kind
def test_canary_a_sampler_that_is_off_is_found(
    kind: type[DirectionalMechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An angle drawn at an ε that is a quarter larger."""
    mechanism, honest = kind(lexicon=lexicons.cloud(10, 8)), kind.propose
    monkeypatch.setattr(
        kind, "propose", lambda self, rng, count, epsilon: honest(self, rng, count, 1.25 * epsilon)
    )
    assert not noise_report(mechanism, 4.0, 4000, 0).passed


# -- the nearest direction -------------------------------------------------------------------------


def unit_rows_of(lexicon: Lexicon) -> FloatArray:
    """Directions of all words, as a reader of the definition computes them."""
    rows = lexicon.vectors.astype(np.float64)
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def usable() -> dict[str, Lexicon]:
    """Small vocabularies of three and more dimensions in which every word has a direction."""
    lexica = {"small": SMALL, "cloud": lexicons.cloud(300, 4), "dozen": lexicons.cloud(60, 12)}
    for name, lexicon in lexicons.crafted().items():
        some = np.flatnonzero(lexicon.vectors.any(axis=1))
        words = tuple(lexicon.words[i] for i in some)
        if lexicon.dimension >= 3:
            lexica[name] = Lexicon(name, words, lexicon.vectors[some])
    return lexica


@pytest.mark.parametrize("name", list(usable()))
def test_the_steps_are_the_nearest_direction_on_a_great_circle(name: str, rng: MakeRng) -> None:
    lexicon = usable()[name]
    mechanism, rows, draw = VonMisesFisher(lexicon=lexicon), unit_rows_of(lexicon), rng()
    angles = np.concatenate(([1e-6, 0.5 * math.pi, 3.14], np.linspace(0.01, 3.13, 60)))
    for word in (0, len(lexicon) // 3, len(lexicon) - 1):
        unit = draw.standard_normal((30, lexicon.dimension))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        steps = mechanism.steps(word, unit)
        assert (steps.thresholds[:, 1:] >= steps.thresholds[:, :-1]).all()
        across = unit - np.outer(unit @ rows[word], rows[word])
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        for angle in angles.tolist():
            place = (steps.thresholds <= angle).sum(axis=1)
            taken = np.take_along_axis(steps.targets, place[:, None], axis=1)[:, 0]
            scores = (math.cos(angle) * rows[word] + math.sin(angle) * across) @ rows.T
            # As near as the nearest, but for the rounding of the unit rows to float32.
            assert (scores[np.arange(30), taken] >= scores.max(axis=1) - 1e-6).all()


@every_kind
def test_the_law_is_an_integral_over_the_sphere(kind: type[DirectionalMechanism]) -> None:
    """In three dimensions, on a grid of 1,000 heights and 2,000 longitudes around the word."""
    epsilon, word = 3.0, 4
    rows = unit_rows_of(FEW)
    heights = -1.0 + 2.0 * (np.arange(1000) + 0.5) / 1000
    turn = 2.0 * math.pi * (np.arange(2000) + 0.5) / 2000
    first, second = np.linalg.svd(rows[[word]])[2][1:]
    around = np.cos(turn)[:, None] * first + np.sin(turn)[:, None] * second
    table = np.zeros(12)
    for height in heights:
        points = height * rows[word] + math.sqrt(1.0 - height**2) * around
        weight = math.exp(
            epsilon * height if kind is VonMisesFisher else -epsilon * math.acos(height)
        )
        table += weight * np.bincount((points @ rows.T).argmax(axis=1), minlength=12)
    law = circle_law(kind(lexicon=FEW), word, epsilon, 4000)
    np.testing.assert_allclose(law, table / table.sum(), rtol=0, atol=2e-4)


@every_kind
@pytest.mark.parametrize("lexicon", [SMALL, lexicons.cloud(60, 5)])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_200_000_samples_have_the_law(
    kind: type[DirectionalMechanism], lexicon: Lexicon, epsilon: float, rng: MakeRng
) -> None:
    mechanism, directions = kind(lexicon=lexicon), 20_000
    law = mechanism.law(7, epsilon, rng=rng(), effort=Effort(directions=directions))
    outputs = mechanism.sample(rng(1), np.full(200_000, 7), epsilon)
    assert_law_near(outputs, law.dense(len(lexicon))[0], law.error, directions)


@every_kind
def test_draws_at_several_epsilons_have_the_law_of_samples(
    kind: type[DirectionalMechanism], rng: MakeRng
) -> None:
    mechanism, words = kind(lexicon=SMALL), np.full(20_000, 3)
    swept = mechanism.sweep(rng(), words, np.array([8.0, 0.3]), lambda *_: None)
    for column, epsilon in zip(swept.T, (8.0, 0.3), strict=True):
        assert_same_law(column, mechanism.sample(rng(1), words, epsilon))


# -- ε ---------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("dimension", [3, 5, 300])
def test_a_break_is_where_the_quantile_of_the_angle_passes_a_threshold(
    kind: type[DirectionalMechanism], dimension: int
) -> None:
    mechanism = kind(lexicon=lexicons.cloud(10, dimension))
    angles = np.array([[1e-9, 1e-4, 0.3, 1.2, 1.5, 1.58, 2.0, np.inf]])
    for share in (1e-6, 0.2, 0.9):
        (inverse,) = mechanism.inverse_epsilon(angles, np.array([share]))
        assert (np.diff(inverse[np.isfinite(inverse)]) > 0).all()
        never = np.asarray(mechanism.below(angles[0], 0.0) >= share)
        np.testing.assert_array_equal(np.isinf(inverse), never | np.isinf(angles[0]))
        for angle, value in zip(angles[0], inverse, strict=True):
            if math.isfinite(value):
                reached = mechanism.below(np.array([angle]), 1.0 / value)[0]
                assert math.isclose(reached, share, rel_tol=1e-6, abs_tol=1e-12)


@every_kind
def test_paths_have_the_law_at_every_epsilon(
    kind: type[DirectionalMechanism], rng: MakeRng
) -> None:
    mechanism, epsilons = kind(lexicon=SMALL), np.array([1e-3, 0.8, 5.0, 60.0])
    outputs = mechanism.paths(rng(), np.full(10_000, 7)).at(epsilons)
    law = mechanism.law(7, epsilons, rng=rng(1), effort=Effort(directions=10_000))
    for e, row in enumerate(law.dense(40)):
        assert_law_near(outputs[:, e], row, law.error, 10_000)


@every_kind
def test_without_privacy_budget_a_uniform_direction_decides(
    kind: type[DirectionalMechanism], rng: MakeRng
) -> None:
    mechanism = kind(lexicon=SMALL)
    uniform = rng().standard_normal((20_000, 3)) @ unit_rows_of(SMALL).T
    for word in (0, 33):
        outputs = mechanism.sample(rng(word), np.full(20_000, word), 1e-6)
        assert_same_law(outputs, uniform.argmax(axis=1))


@every_kind
@pytest.mark.parametrize("epsilon", [1e12, 1e200, 1.7e308])
def test_without_noise_every_word_stays(kind: type[DirectionalMechanism], epsilon: float) -> None:
    mechanism, every = kind(lexicon=SMALL), np.arange(40)
    np.testing.assert_array_equal(mechanism.sample(np.random.default_rng(0), every, epsilon), every)
    assert mechanism.law(5, epsilon).stay()[0] == 1.0


# -- the guarantee ---------------------------------------------------------------------------------


def circle_law(mechanism: DirectionalMechanism, word: int, epsilon: float, rays: int) -> FloatArray:
    """The law of a word in three dimensions: the mean over evenly spaced great circles."""
    turn = 2.0 * math.pi * (np.arange(rays) + 0.5) / rays
    first, second = np.linalg.svd(unit_rows_of(mechanism.lexicon)[[word]])[2][1:]
    unit = np.cos(turn)[:, None] * first + np.sin(turn)[:, None] * second
    return np.asarray(mechanism.law(word, epsilon, unit=unit).dense(len(mechanism.lexicon))[0])


def excess(laws: FloatArray, losses: FloatArray, error: float) -> float:
    """By how much a law exceeds another one's bound, over all pairs and outputs."""
    bound = np.exp(losses)[:, :, None] * (laws[None] + error) + error
    return float((laws[:, None] - bound).max())


@every_kind
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 12.0])
def test_the_guarantee_holds_for_all_pairs_and_outputs(
    kind: type[DirectionalMechanism], epsilon: float
) -> None:
    """Of the mean over great circles the error is what twice as many of them change, four times."""
    mechanism: Any = kind(lexicon=FEW)
    laws, rough = (
        np.stack([circle_law(mechanism, w, epsilon, rays) for w in range(12)])
        for rays in (8_000, 4_000)
    )
    error = 4.0 * float(np.abs(laws - rough).max())
    assert error < 1e-3
    angles = mechanism.promised_distances(np.arange(12), epsilon)
    promised = epsilon * angles
    assert excess(laws, promised, error) <= 0
    if kind is VonMisesFisher:  # the chord of its proof, which is shorter
        assert excess(laws, epsilon * 2.0 * np.sin(0.5 * angles), error) <= 0
    # The comparison finds a guarantee that is a quarter of the true one.
    assert epsilon < 1 or excess(laws, 0.25 * promised, error) > 0


@every_kind
def test_the_guarantee_says_how_far_it_reaches(kind: type[DirectionalMechanism]) -> None:
    mechanism: Any = kind(lexicon=SMALL)
    guarantee = mechanism.guarantee(5.0)
    assert isinstance(guarantee, MetricPrivacy)
    assert (guarantee.status, guarantee.metric) == (Status.PROVED, "angular")
    assert ("chord" in guarantee.reason) is (kind is VonMisesFisher)
    angles = mechanism.promised_distances(np.arange(40), 5.0)
    rows = SMALL.vectors.astype(np.float64)
    assert (angles <= guarantee.euclidean_factor * distances(rows, rows) + 1e-9).all()
    assert angles.max() <= guarantee.farthest == math.pi
    longest = 2.0 if kind is VonMisesFisher else math.pi  # the chord of opposite words
    assert mechanism.loss_bounds(guarantee).promised == pytest.approx(5.0 * longest)


# -- which vectors ---------------------------------------------------------------------------------


@every_kind
def test_a_rotation_changes_nothing(kind: type[DirectionalMechanism]) -> None:
    turn = ortho_group.rvs(3, random_state=np.random.default_rng(3))
    turned = Lexicon("turned", FEW.words, (FEW.vectors @ turn).astype(np.float32))
    a, b = (circle_law(kind(lexicon=words), 2, 4.0, 4000) for words in (FEW, turned))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-3)


@every_kind
def test_only_directions_matter(kind: type[DirectionalMechanism]) -> None:
    """Rows times powers of two have the same unit rows to the bit."""
    factors = np.exp2(np.arange(40) % 7 - 3.0).astype(np.float32)
    scaled = Lexicon("scaled", SMALL.words, factors[:, None] * SMALL.vectors)
    a, b = kind(lexicon=SMALL), kind(lexicon=scaled)
    np.testing.assert_array_equal(a.law(9, [1.0, 7.0]).dense(40), b.law(9, [1.0, 7.0]).dense(40))
    first, second = (m.sample(np.random.default_rng(0), np.arange(40), 3.0) for m in (a, b))
    np.testing.assert_array_equal(first, second)


@every_kind
def test_of_equal_directions_the_first_comes_out(kind: type[DirectionalMechanism]) -> None:
    rows = np.concatenate((SMALL.vectors, 2.0 * SMALL.vectors[:5]))
    mechanism = kind(lexicon=lexicons.lexicon(rows))
    law, twin = (mechanism.law(word, 4.0).dense(45)[0] for word in (2, 42))
    np.testing.assert_array_equal(law, twin)
    assert law[40:].max() == 0.0
    outputs = mechanism.sample(np.random.default_rng(0), np.full(3000, 42), 4.0)
    assert outputs.max() < 40


@every_kind
def test_vectors_without_enough_directions_are_refused(kind: type[DirectionalMechanism]) -> None:
    with pytest.raises(ParameterError, match=r"at least 3 dimensions, this lexicon has 2: take"):
        kind(lexicon=lexicons.cloud(10, 2))
    rows = np.eye(4)
    rows[2] = 0.0
    words = lexicons.lexicon(rows)
    with pytest.raises(ParameterError, match=rf"{words.words[2]!r} has the zero vector: leave"):
        kind(lexicon=words)


# -- in 300 dimensions -----------------------------------------------------------------------------


@pytest.mark.slow
def test_half_of_the_bundled_words_stay_though_turned_by_76_degrees() -> None:
    """The numbers of docs/mechanisms.md, of a quarter of its words and directions."""
    lexicon = load(None)
    words = np.linspace(0, len(lexicon) - 1, 25).astype(np.int64).tolist()
    one, other = (lexicon.vectors[[lexicon.index(word)]] for word in ("doctor", "nurse"))
    angle, apart = (
        float(paired_distances(one, other, metric)[0])
        for metric in (Metric.ANGULAR, Metric.EUCLIDEAN)
    )
    losses = {}
    for name, epsilon, settings, length in (
        ("vmf", 74.9, {}, angle),
        ("purkayastha", 72.6, {}, angle),
        ("madlib", 13.6, {}, apart),
        ("tem", 13.1, {"metric": "angular"}, angle),
    ):
        mechanism: Any = create(name, lexicon, settings)
        effort = Effort(directions=60)
        stay = np.mean([mechanism.law(word, epsilon, effort=effort).stay() for word in words])
        assert abs(stay - 0.5) < 0.05, (name, stay)
        losses[name] = epsilon * length
        if name in {"vmf", "purkayastha"}:
            turned = np.degrees(mechanism.angles(np.random.default_rng(0), 10_000, epsilon))
            assert abs(turned.mean() - 76) < 1
    assert {name: round(loss) for name, loss in losses.items()} == {
        "vmf": 80, "purkayastha": 77, "madlib": 74, "tem": 14
    }  # fmt: skip
