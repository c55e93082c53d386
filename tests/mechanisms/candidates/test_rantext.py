"""RANTEXT: the law of its radius, its law against draws as published, and its true loss.

False-alarm probability of each randomised assertion: 1e-6.
"""

import itertools
import math

import numpy as np
import pytest

from dpcore.audit.exact import audit_bounds, audit_mechanism, hockey_stick
from dpcore.audit.report import audit_report
from dpcore.audit.verdict import Outcome
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.candidates import rantext_bounds
from dpcore.mechanisms.candidates.rantext import (
    RanText,
    noise_scale,
    radius_law,
    radius_variation,
)
from dpcore.mechanisms.candidates.rantext_bounds import law_bounds, radius_bounds
from tests.chance import assert_law_near, deviation
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

N = 40
LEXICON = lexicons.cloud(N, 3)


def radii(lexicon: Lexicon, source: np.random.Generator, count: int) -> np.ndarray:
    ranges = np.ptp(lexicon.vectors.astype(np.float64), axis=0)
    return np.linalg.norm(source.laplace(scale=ranges, size=(count, ranges.size)), axis=1)


def test_the_scale_is_that_of_the_code() -> None:
    assert noise_scale(1.0) == 1.0
    assert noise_scale(6.0) == pytest.approx(1 / (9.3110838 + 0.0165816 * math.log(76.258896)))
    assert 1 / 9.4 < noise_scale(2.0) < 1 / 9.1  # its logarithm is finite there


@pytest.mark.parametrize(
    "lexicon", [lexicons.line(0, 1, 4), LEXICON, lexicons.cloud(300, 60)], ids=["1", "3", "60"]
)
def test_the_radius_has_its_law(lexicon: Lexicon, rng: MakeRng) -> None:
    law, count = radius_law(lexicon), 200_000
    drawn = radii(lexicon, rng(), count)
    below = np.concatenate(([0.0], np.cumsum(law.masses)))
    for place in np.searchsorted(below, [0.02, 0.3, 0.5, 0.8, 0.98]):
        share = (drawn < law.edges[place]).mean()
        # The grid has cells: at a coordinate's own size they hold about a thousandth.
        assert abs(share - below[place]) <= deviation(count, 0.25) + 2e-3
    assert law.masses.sum() == pytest.approx(1.0)
    assert abs((drawn < law.median).mean() - 0.5) <= deviation(count, 0.25) + 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 30.0])
def test_the_law_is_that_of_draws_as_published(epsilon: float, rng: MakeRng) -> None:
    """A noise vector, the words nearer than it is long, and a choice among them."""
    mechanism, word, draws, source = RanText(lexicon=LEXICON), 5, 20_000, rng()
    apart = np.linalg.norm(LEXICON.vectors.astype(np.float64) - LEXICON.vectors[word], axis=1)
    outputs = np.empty(draws, dtype=np.int64)
    for i, radius in enumerate(noise_scale(epsilon) * radii(LEXICON, source, draws)):
        near = np.flatnonzero(apart < radius)
        weights = np.exp(0.5 * epsilon * (1 - apart[near] / radius))
        outputs[i] = source.choice(near, p=weights / weights.sum())
    law = mechanism.law(word, [epsilon])
    assert_law_near(outputs, law.dense(N)[0], law.error, draws)


def one_dimension(mechanism: RanText, word: int, epsilon: float) -> np.ndarray:
    """The law on a line, where R/s is exponential: quadrature from kink to kink."""
    positions = mechanism.lexicon.vectors[:, 0].astype(np.float64)
    distance = np.abs(positions - positions[word])
    mean = noise_scale(epsilon) * np.ptp(positions)
    kinks = np.unique(np.append(distance, mean * np.array([1e-6, 1e-3, 0.1, 1, 4, 10, 40, 80.0])))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    law = np.zeros(distance.size)
    for low, high in itertools.pairwise(kinks.tolist()):
        for node, weight in zip(nodes, weights, strict=True):
            radius = 0.5 * (high - low) * node + 0.5 * (high + low)
            scores = np.where(distance < radius, np.exp(-0.5 * epsilon * distance / radius), 0.0)
            density = math.exp(-radius / mean) / mean
            law += 0.5 * (high - low) * weight * density * scores / scores.sum()
    return law


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.9, 2.5, 28.0])
def test_on_a_line_the_bounds_enclose_the_law(epsilon: float) -> None:
    mechanism = RanText(lexicon=lexicons.line(0, 1, 2, 3, 5, 8, 13, 21, 40))
    for word in range(9):
        exact = one_dimension(mechanism, word, epsilon)
        low, high = np.exp(mechanism.log_bounds(word, epsilon))
        assert (low <= exact * (1 + 1e-9)).all()
        assert (exact <= high * (1 + 1e-9)).all()
        assert (high - low).max() < 0.02
        law = mechanism.law(word, [epsilon])
        assert np.abs(law.dense(9)[0] - exact).max() <= law.error + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 5, 60, pytest.param(300, marks=pytest.mark.full)])
def test_bounds_on_the_radius_hold(dimension: int, rng: MakeRng) -> None:
    lexicon, count = lexicons.cloud(40, dimension), 100_000
    bounds, drawn = radius_bounds(lexicon), radii(lexicon, rng(), count)
    assert bounds.masses.sum() == pytest.approx(1.0)
    for quantile in (0.001, 0.05, 0.5, 0.95, 0.999):
        length = float(np.quantile(drawn, quantile))
        slack = deviation(count, quantile * (1 - quantile)) + 1e-4
        assert bounds.within(length) >= quantile - slack
        assert math.exp(float(bounds.log_beyond(np.array([length]))[0])) >= 1 - quantile - slack


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 9.0, 400.0])
def test_only_a_fixed_distance_has_a_proof(epsilon: float) -> None:
    published, fixed = RanText(lexicon=LEXICON), RanText(lexicon=LEXICON, form="fixed")
    assert published.never_proved
    assert published.guarantee(epsilon).status in {Status.CONDITIONAL, Status.REFUTED}
    assert not fixed.never_proved
    assert fixed.guarantee(epsilon).status is Status.PROVED


def test_a_law_at_no_epsilon_has_no_rows() -> None:
    law = RanText(lexicon=LEXICON).law(3, [])
    assert law.probabilities.shape == (0, N)
    assert law.error == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.05, 8.0, 40.0, 3_000.0])
def test_bounds_at_some_words_hold_for_all_and_are_hardly_wider(
    monkeypatch: pytest.MonkeyPatch, epsilon: float
) -> None:
    lexicon = lexicons.cloud(1_500, 20)
    mechanism = RanText(lexicon=lexicon)
    bounds, distance = radius_bounds(lexicon), mechanism.distances(7)
    low, high = law_bounds(bounds, distance, noise_scale(epsilon), epsilon)  # at all of them
    monkeypatch.setattr(rantext_bounds, "_POINTS", 300)
    monkeypatch.setattr(rantext_bounds, "_ENDS", 40)
    quick_low, quick_high = law_bounds(bounds, distance, noise_scale(epsilon), epsilon)
    rounding = 1 + 1e-9
    assert (quick_low <= low * rounding).all()
    assert (quick_high * rounding >= high).all()
    assert (quick_low != low).any()
    assert (quick_high - quick_low).max() <= 1.2 * (high - low).max() + 1e-3


def test_a_rare_radius_is_bounded_far_below_the_rounding_of_a_sum() -> None:
    """On a line P(R > t) = e^−t/range: the bound is below e^−100 where that is, and never below."""
    bounds = radius_bounds(lexicons.line(0, 1))
    lengths = np.array([20.0, 35.0, 60.0, 120.0, 200.0])
    beyond = bounds.log_beyond(lengths)
    assert (beyond >= -lengths).all()
    assert beyond[-2] < -60


@pytest.mark.slow
def test_an_epsilon_beyond_what_sums_resolve_is_refuted() -> None:
    """A ln P below that of a computed sum is bounded by the tail of the radius."""
    mechanism = RanText(lexicon=lexicons.cloud(100, 300))
    report = audit_report(mechanism, 28.0)
    assert report.outcome is Outcome.REFUTED
    assert report.epsilon_effective > 28.0
    assert mechanism.guarantee(28.0).status is Status.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.05, 20.0])
def test_audit_and_guarantee_agree_that_a_line_refutes_it(epsilon: float) -> None:
    mechanism = RanText(lexicon=lexicons.line(*range(9), 400))
    report = audit_report(mechanism, epsilon)
    assert report.outcome is Outcome.REFUTED
    assert mechanism.guarantee(epsilon).status is Status.REFUTED
    laws = np.log([one_dimension(mechanism, word, epsilon) for word in range(10)])
    true = max(np.abs(first - second).max() for first in laws for second in laws)
    assert report.epsilon_effective <= true * (1 + 1e-9)
    assert true <= report.epsilon_most * (1 + 1e-9)


def test_a_claim_between_the_bounds_is_neither_refuted_nor_checked() -> None:
    low, high = (np.log([[0.5, 0.4], [0.2, 0.7]]), np.log([[0.6, 0.5], [0.3, 0.8]]))
    audit, most = audit_bounds(low, high, None, 1.0)
    assert audit.epsilon_effective == pytest.approx(math.log(0.5 / 0.3))
    assert most == pytest.approx(math.log(0.6 / 0.2))
    unknown = np.array([[0.5, 0.4], [0.0, 0.7]])
    with np.errstate(divide="ignore"):
        audit, most = audit_bounds(np.log(unknown), high, None, 1.0)
    assert (audit.unknown, most) == (1, math.inf)


@pytest.mark.slow
def test_words_beyond_the_radius_tell_words_apart() -> None:
    """Two far groups: at an ε with a short radius the guarantee is broken, and nearly certainly."""
    points = np.concatenate((np.eye(30) * 0.1, 4.0 + np.eye(30) * 0.1))
    mechanism = RanText(lexicon=lexicons.lexicon(points))
    assert mechanism.guarantee(2.5).status is Status.REFUTED
    audit = audit_mechanism(mechanism, 2.5, words=np.array([0, 30])).losses
    assert not audit.holds
    first, second = (mechanism.log_law(word, 2.5) for word in (0, 30))
    assert hockey_stick(first, second, 2.5) > 0.5


@pytest.mark.slow
def test_a_distance_that_reaches_all_words_breaks_nothing() -> None:
    """A narrow vocabulary of many dimensions: below ε = 2 all words are candidates."""
    rows = 10.0 + 0.5 * np.random.default_rng(3).standard_normal((60, 400))
    lexicon = lexicons.lexicon(rows - rows.mean(axis=0))
    mechanism = RanText(lexicon=lexicon)
    statuses = [mechanism.guarantee(epsilon).status for epsilon in (0.5, 1.0, 2.1, 9.0)]
    assert statuses[0] is Status.CONDITIONAL
    assert statuses[2:] == [Status.REFUTED, Status.REFUTED]
    assert audit_mechanism(mechanism, 0.5, words=np.arange(60)).losses.holds
    shares = [mechanism.falls_short(epsilon) for epsilon in (0.5, 1.0, 1.9, 2.1)]
    assert shares == sorted(shares)


@pytest.mark.parametrize("epsilon", [0.4, 3.0, 20.0])
@pytest.mark.parametrize("name", ["cloud", "lattice", "collinear", "two words"])
def test_a_fixed_radius_keeps_epsilon(name: str, epsilon: float) -> None:
    lexicon = LEXICON if name == "cloud" else lexicons.crafted()[name]
    mechanism = RanText(lexicon=lexicon, form="fixed")
    assert mechanism.guarantee(epsilon).status is Status.PROVED
    assert audit_mechanism(mechanism, epsilon, words=np.arange(len(lexicon))).losses.holds


def test_the_variation_of_the_radius_is_that_of_its_law() -> None:
    for dimension in (1, 3, 300):
        lexicon = lexicons.cloud(40, dimension)
        variation = radius_variation(lexicon).share
        law = radius_law(lexicon)
        mean = float(law.masses @ law.middles)
        deviation = float(np.sqrt(law.masses @ (law.middles - mean) ** 2))
        assert variation == pytest.approx(deviation / mean, rel=0.01)
        if dimension == 1:  # |N| is exponential
            assert variation == pytest.approx(1.0, rel=1e-4)
