""""""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.learn.pixeldp import certified
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    Condition,
    ScoreBounds,
    Scores,
    certified_accuracy,
    certified_size,
    certify,
    draw_scores,
    hoeffding_width,
    score_bounds,
    tight_size,
)
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.mechanisms.clipped.clipped import classical_sigma, gaussian_log_delta
from dpcore.papers.lecuyer2019.claims import largest_margin
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng

TRIALS, DRAWS, ERROR = 4_000, 100, 0.2
LAWS = [(0.7, 0.2, 0.1), (0.98, 0.01, 0.01), (0.25, 0.25, 0.25, 0.25), (0.1,) * 10]


def softmax(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = np.exp(2.0 * np.concatenate((outputs, -outputs.sum(axis=1, keepdims=True)), axis=1))
    return scores / scores.sum(axis=1, keepdims=True)


def drawn(generator: np.random.Generator, law: Sequence[float] | NDArray[np.float64]) -> Scores:
    votes = generator.multinomial(DRAWS, law, size=TRIALS)
    return Scores(votes / DRAWS, votes, DRAWS)


def misses(bounds: Any, law: NDArray[np.float64]) -> int:
    return int(((bounds.low > law) | (bounds.high < law)).any(axis=1).sum())


@pytest.mark.parametrize("bound", Bound)
@pytest.mark.parametrize("law", LAWS)
def test_all_bounds_of_an_input_hold_together(
    rng: MakeRng, bound: Bound, law: tuple[float, ...]
) -> None:
    missed = misses(score_bounds(drawn(rng(), law), ERROR, bound), np.array(law))
    assert missed <= stats.binom.isf(FALSE_ALARM, TRIALS, ERROR)


def test_a_part_of_the_scores_is_certified_as_in_the_whole(rng: MakeRng) -> None:
    scores = drawn(rng(), (0.5, 0.3, 0.2))
    whole = score_bounds(scores, ERROR, Bound.CLOPPER_PEARSON)
    some = score_bounds(scores.part([5, 2]), ERROR, Bound.CLOPPER_PEARSON)
    assert (some.low == whole.low[[5, 2]]).all()
    assert (some.high == whole.high[[5, 2]]).all()


def test_without_the_union_over_classes_they_do_not(rng: MakeRng) -> None:
    """The broken variant that the test above would catch: the whole error for every class."""
    law = (0.1,) * 10
    scores = drawn(rng(), law)
    ends = np.array([clopper_pearson(c, DRAWS, ERROR / 2) for c in range(DRAWS + 1)])
    bounds = ScoreBounds(ends[scores.votes, 0], ends[scores.votes, 1])
    assert misses(bounds, np.array(law)) > stats.binom.isf(FALSE_ALARM, TRIALS, ERROR)


def test_the_width_counts_the_classes() -> None:
    """ln(2K/(1 − η)), and ln(2/(1 − η)) as in the slides."""
    assert hoeffding_width(200, 0.05, 20) == pytest.approx(math.sqrt(math.log(400) / 400))
    assert hoeffding_width(200, 0.05, 2) == pytest.approx(math.sqrt(math.log(40) / 400))


def test_predictions_are_right_but_for_the_stated_error(rng: MakeRng) -> None:
    """From draws to certificates: a wrong class is predicted in at most a share `ERROR`."""
    law = (0.52, 0.48)
    layer = NoiseLayer(Accounting.ANALYTIC, 1.0, 2, 3)
    certificates = certify(layer, score_bounds(drawn(rng(), law), ERROR, Bound.CLOPPER_PEARSON))
    true = stats.norm.ppf(0.52)  # the tight size of the true scores
    wrong = int(((certificates.classes == 1) | (certificates.tight > true)).sum())
    assert wrong <= stats.binom.isf(FALSE_ALARM, TRIALS, ERROR)
    assert (certificates.classes == ABSTAINED).any()
    assert (certificates.sizes[certificates.classes == ABSTAINED] == 0).all()


def test_bounds_that_leave_no_room_are_used() -> None:
    bounds = score_bounds(
        Scores(np.array([[1.0, 0.0]]), np.array([[1000, 0]]), 1000), 0.01, Bound.HOEFFDING
    )
    assert bounds.high[0, 1] == pytest.approx(1.0 - bounds.low[0, 0])


@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize("block", [2_000_000, 64])
def test_means_and_votes_of_the_draws(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch, accounting: Accounting, block: int
) -> None:
    """Against 400,000 draws made plainly; both sides by Hoeffding's bound."""
    monkeypatch.setattr(certified, "_BLOCK", block)
    layer = NoiseLayer(accounting, 0.5, 2, 2)
    inputs = np.array([[0.1, 0.3], [-0.4, 0.0]])
    draws, plain = 2_000, 400_000
    seen = []
    result = draw_scores(softmax, layer, inputs, draws, rng(), lambda *step: seen.append(step))
    width = sum(hoeffding_width(n, FALSE_ALARM, 24) for n in (draws, plain))
    for i, x in enumerate(inputs):
        scores = softmax(layer.noisy(np.tile(x, (plain, 1)), rng(1)))
        votes = np.bincount(scores.argmax(axis=1), minlength=3) / plain
        assert np.abs(result.means[i] - scores.mean(axis=0)).max() <= width
        assert np.abs(result.votes[i] / draws - votes).max() <= width
    assert (result.votes.sum(axis=1) == draws).all()
    assert np.allclose(result.means.sum(axis=1), 1.0)
    assert seen[-1] == ("noise", 2, 2)


def test_certified_accuracy_falls_with_the_size() -> None:
    layer = NoiseLayer(Accounting.ANALYTIC, 1.0, 2, 3)
    low = np.array([[0.9, 0.0], [0.0, 0.8], [0.4, 0.3], [0.7, 0.1]])
    certificates = certify(layer, ScoreBounds(low, low + 0.1))
    assert certificates.classes.tolist() == [0, 1, ABSTAINED, 0]
    labels = [0, 1, 0, 1]
    sizes = [0.0, *sorted(certificates.sizes[:2]), 9.0]
    assert certified_accuracy(certificates, labels, sizes).tolist() == [0.5, 0.5, 0.25, 0.0]
    assert certified_accuracy(certificates, labels, sizes[1:3], certificates.tight).tolist() == [
        0.5,
        0.5,
    ]
    assert (certificates.slides >= certificates.sizes).all()


@pytest.mark.parametrize("draws", [0, -1, 10**9])
def test_draws_outside_the_limits_are_refused(rng: MakeRng, draws: int) -> None:
    layer = NoiseLayer(Accounting.LAPLACE, 1.0, 1, 2)
    with pytest.raises(ParameterError, match="draws of the noise"):
        draw_scores(softmax, layer, np.zeros((1, 2)), draws, rng())


def test_nothing_to_predict_is_refused(rng: MakeRng) -> None:
    layer = NoiseLayer(Accounting.LAPLACE, 1.0, 1, 2)
    with pytest.raises(ParameterError, match="no input"):
        draw_scores(softmax, layer, np.zeros((0, 2)), 5, rng())


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (lambda x: np.ones((len(x), 1)), "at least two classes"),
        (lambda x: np.ones(len(x)), "at least two classes"),
        (lambda x: np.full((len(x), 3), 0.5), "sum to 1"),
        (lambda x: np.full((len(x), 2), np.nan), "sum to 1"),
    ],
)
def test_what_gives_no_probabilities_is_refused(
    rng: MakeRng, scorer: Callable[..., Any], message: str
) -> None:
    layer = NoiseLayer(Accounting.LAPLACE, 1.0, 1, 2)
    with pytest.raises(ParameterError, match=message):
        draw_scores(scorer, layer, np.zeros((2, 2)), 5, rng())


def test_bad_questions_are_refused(rng: MakeRng) -> None:
    scores = drawn(rng(), (0.5, 0.5))
    for error in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError, match="error probability"):
            score_bounds(scores, error, Bound.HOEFFDING)
    layer = NoiseLayer(Accounting.LAPLACE, 1.0, 1, 2)
    certificates = certify(layer, ScoreBounds(np.array([[0.9, 0.0]]), np.array([[1.0, 0.1]])))
    with pytest.raises(ParameterError, match="needs a label"):
        certified_accuracy(certificates, [0, 1], [0.0])
    for size in (-1.0, math.nan):
        with pytest.raises(ParameterError, match="size of an attack"):
            certified_accuracy(certificates, [0], [size])


ATTACKS = 10_000


def layer(accounting: Accounting, scale: float = 1.0, dimension: int = 2) -> NoiseLayer:
    """Noise in the input, against attacks in its own norm: sensitivity 1."""
    return NoiseLayer(accounting, scale, accounting.norm, dimension)


def pairs(
    generator: np.random.Generator, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds with low > high whose sum is at most 1."""
    high = 0.5 * generator.random(count)
    return high + (1 - 2 * high) * generator.random(count), high


def test_reference_values() -> None:
    """Of 0.7 against 0.2, in units of σ."""
    result = [float(certified_size(layer(a), 0.7, 0.2)) for a in Accounting]
    assert result[0] == pytest.approx(0.5 * math.log(3.5), rel=1e-9)
    assert result[1] == pytest.approx(0.207, abs=5e-4)
    assert result[2] == pytest.approx(0.644, abs=5e-4)
    assert float(tight_size(layer(Accounting.ANALYTIC), 0.7, 0.2)) == pytest.approx(0.683, abs=5e-4)


@pytest.mark.parametrize("accounting", [Accounting.CLASSICAL, Accounting.ANALYTIC])
@pytest.mark.parametrize("condition", Condition)
def test_the_size_is_the_root_of_the_best_margin(
    rng: MakeRng, accounting: Accounting, condition: Condition
) -> None:
    """A plain twin: the best e by a search at each L, and the L at which its margin vanishes."""
    low, high = pairs(rng(), 4)
    sizes = certified_size(layer(accounting), low, high, condition)

    def delta(e: float, size: float) -> float:
        if accounting is Accounting.ANALYTIC:
            return math.exp(float(gaussian_log_delta(e, 1.0, size)))
        return 1.25 * math.exp(-0.5 * (e / size) ** 2)  # σ = L·√(2 ln(1.25/δ))/e solved for δ

    def margin(size: float, a: float, b: float) -> float:
        def minus(e: float) -> float:
            return -(
                a - math.exp(2 * e) * b - float(condition.factor(np.asarray(e))) * delta(e, size)
            )

        most = min(0.5 * math.log(a / b), 1.0 if accounting is Accounting.CLASSICAL else math.inf)
        grid = np.linspace(0, most, 202)[1:]
        best = grid[np.argmin([minus(e) for e in grid])]
        step = grid[0]
        around = (max(best - step, 1e-12), min(best + step, most))
        polished = optimize.minimize_scalar(
            minus, bounds=around, method="bounded", options={"xatol": 1e-10}
        )
        return max(-polished.fun, -minus(best))

    assert classical_sigma(0.5, 1.25 * math.exp(-0.5 * 0.25 / 0.09), 0.3) == pytest.approx(1.0)
    for a, b, size in zip(low, high, sizes, strict=True):
        root = optimize.brentq(margin, 0.2 * size, 5 * size, args=(a, b), rtol=1e-10)
        assert size == pytest.approx(root, rel=1e-6)


@pytest.mark.parametrize("accounting", Accounting)
def test_no_size_is_beyond_the_tight_one(rng: MakeRng, accounting: Accounting) -> None:
    low, high = pairs(rng(), 200)
    noise = layer(accounting)
    sizes, tight = certified_size(noise, low, high), tight_size(noise, low, high)
    assert (sizes <= tight * (1 + 1e-9)).all()
    assert (sizes > 0).all()


@pytest.mark.parametrize("accounting", Accounting)
def test_a_half_line_attains_the_tight_size(rng: MakeRng, accounting: Accounting) -> None:
    """Class k below a threshold, class i above another: no larger size is true of any noise."""
    law = stats.laplace if accounting is Accounting.LAPLACE else stats.norm
    low, high = pairs(rng(), 50)
    size = tight_size(layer(accounting), low, high)

    def ahead(shift: Any) -> Any:
        return law.cdf(law.ppf(low) - shift) - law.sf(law.isf(high) - shift)

    assert (ahead(0.999 * size) > 0).all()
    assert (ahead(1.001 * size) < 0).all()


def test_the_slides_condition_is_broken_by_gaussian_noise_itself() -> None:
    """Not only by a linear program: the half-line loses class k within the size it certifies."""
    noise = layer(Accounting.ANALYTIC)
    size = float(certified_size(noise, 0.7, 0.2, Condition.SLIDES))
    normal = stats.norm
    still = normal.cdf(normal.ppf(0.7) - size)
    other = normal.sf(normal.isf(0.2) - size)
    assert still < other - 0.3
    assert size > 1.9 * float(tight_size(noise, 0.7, 0.2))


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_linear_program_breaks_only_the_slides(epsilon: float) -> None:
    """The finite counterexample of the audit, looked at with the factors that are used here."""
    slides = float(Condition.SLIDES.factor(np.array(epsilon)))
    right = float(Condition.PIXELDP.factor(np.array(epsilon)))
    assert largest_margin(epsilon, 0.05, slides).margin > 0.01
    assert largest_margin(epsilon, 0.05, right).margin == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("accounting", Accounting)
def test_ten_thousand_attacks_within_the_size_change_nothing(
    rng: MakeRng, accounting: Accounting
) -> None:
    """Expected softmax scores of three classes by quadrature, at attacks of just the size."""
    generator = rng()
    noise = layer(accounting, scale=0.8)
    slopes, shifts = generator.standard_normal((3, 2)), generator.standard_normal(3)

    def expected(centres: NDArray[np.float64], count: int = 20) -> NDArray[np.float64]:
        nodes, weights = quadrature(accounting, count)
        points = noise.scale * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        logits = (centres[:, None] + points) @ slopes.T + shifts
        scores = np.exp(logits - logits.max(axis=2, keepdims=True))
        scores /= scores.sum(axis=2, keepdims=True)
        return np.einsum("kqc,q->kc", scores, np.multiply.outer(weights, weights).ravel())

    centres = generator.standard_normal((10, 2))
    scores = expected(centres)
    error = 10 * np.abs(scores - expected(centres, 40)).max()
    assert error < 1e-3
    order = np.argsort(scores, axis=1)
    rows = np.arange(10)
    low, high = scores[rows, order[:, -1]], scores[rows, order[:, -2]]
    for size in (certified_size(noise, low, high), tight_size(noise, low, high)):
        attacks = generator.standard_normal((10, ATTACKS // 20, 2))
        attacks[:, :6] = np.concatenate((slopes, -slopes))[None]  # straight at a class, and away
        attacks[:, 6:10] = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
        lengths = np.linalg.norm(attacks, ord=accounting.norm, axis=2, keepdims=True)
        attacks *= size[:, None, None] / lengths
        for row in range(10):
            after = expected(centres[row] + attacks[row])
            ahead = after[:, order[row, -1], None] - np.delete(after, order[row, -1], axis=1)
            assert ahead.min() > -error


def quadrature(
    accounting: Accounting, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights for the mean over one coordinate of the noise at scale 1."""
    if accounting is not Accounting.LAPLACE:
        nodes, weights = np.polynomial.hermite_e.hermegauss(count)
        return nodes, weights / weights.sum()
    half, weights = np.polynomial.laguerre.laggauss(count // 2)
    return np.concatenate((-half, half)), np.concatenate((weights, weights)) / 2


def test_units_are_those_of_the_noise() -> None:
    matrix = 4.0 * np.eye(2)
    wide = NoiseLayer(Accounting.ANALYTIC, 2.0, 2, 2, matrix)
    unit = layer(Accounting.ANALYTIC)
    for size in (certified_size, tight_size):
        assert float(size(wide, 0.8, 0.1)) == pytest.approx(0.5 * float(size(unit, 0.8, 0.1)))


@pytest.mark.parametrize("accounting", Accounting)
def test_limits(accounting: Accounting) -> None:
    noise = layer(accounting)
    for low, high in ((0.5, 0.5), (0.2, 0.3), (0.0, 0.0), (0.0, 1.0)):
        assert float(certified_size(noise, low, high)) == 0.0
        assert float(tight_size(noise, low, high)) == 0.0
    # A score that is 0 under noise that reaches everywhere stays 0: no attack helps.
    assert math.isinf(tight_size(noise, 0.6, 0.0))
    assert math.isinf(certified_size(noise, 0.6, 0.0)) == (accounting is not Accounting.CLASSICAL)
    assert 0 < float(certified_size(noise, 1.0, 1e-300)) < math.inf
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            certified_size(noise, bad, 0.1)
