import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.learn.pixeldp import certified_prediction as module
from dpcore.learn.pixeldp.certified_prediction import (
    ABSTAINED,
    Bound,
    ScoreBounds,
    Scores,
    certified_accuracy,
    certify,
    draw_scores,
    hoeffding_width,
    score_bounds,
)
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
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
    """What the test above would see: the same bounds with the whole error for every class."""
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
    monkeypatch.setattr(module, "_BLOCK", block)
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
