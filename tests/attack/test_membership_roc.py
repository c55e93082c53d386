"""AUC, ROC and rates: against counting every pair, every threshold, and scikit-learn."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from dpcore.attack.membership import FEW, Scores, auc, rate_at, roc
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from tests.fixtures import MakeRng


@pytest.fixture(params=["continuous", "tied"])
def scores(request: pytest.FixtureRequest, rng: MakeRng) -> Scores:
    random = rng()
    inside, outside = random.normal(0.7, 1.0, 400), random.normal(0.0, 1.0, 500)
    if request.param == "tied":
        inside, outside = np.round(inside), np.round(outside)
    return Scores(inside, outside)


def labelled(scores: Scores) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    truth = np.repeat([1, 0], [scores.inside.size, scores.outside.size])
    return truth, np.concatenate((scores.inside, scores.outside))


def test_auc_counts_pairs(scores: Scores) -> None:
    pairs = scores.inside[:, None] - scores.outside
    plain = (pairs > 0).mean() + 0.5 * (pairs == 0).mean()
    assert auc(scores) == pytest.approx(plain, abs=1e-12)
    assert auc(scores) == pytest.approx(roc_auc_score(*labelled(scores)), abs=1e-12)
    assert auc(Scores(scores.outside.copy(), scores.outside.copy())) == pytest.approx(0.5)


def test_roc_goes_through_every_threshold(scores: Scores) -> None:
    false, true, _ = roc_curve(*labelled(scores), drop_intermediate=False)
    grid = np.unique(false)
    last = [true[false == f].max() for f in grid[1:]]
    curve = roc(scores, grid[1:])
    # At a rate that several thresholds share, the curve is vertical: it is there in between.
    assert np.all(curve <= np.array(last) + 1e-12)
    assert np.trapezoid(roc(scores, np.linspace(0, 1, 200_001)), dx=1 / 200_000) == pytest.approx(
        auc(scores), abs=1e-4
    )
    assert roc(scores, [1.0]).tolist() == [1.0]


@pytest.mark.parametrize("rate", [*FEW, 0.1])
def test_a_rate_keeps_its_false_positives(scores: Scores, rate: float) -> None:
    hits = rate_at(scores, rate)
    assert (scores.outside > hits.threshold).mean() <= rate
    assert hits.true_positives == (scores.inside > hits.threshold).mean()
    plain = clopper_pearson(round(hits.true_positives * 400), 400, 0.025)
    assert (hits.low, hits.high) == plain
    assert hits.low <= hits.true_positives <= hits.high
    assert (hits.inside, hits.outside) == (400, 500)


def test_a_rate_by_hand() -> None:
    scores = Scores(np.array([0.9, 0.8, 0.2]), np.array([0.85, 0.1, 0.1, 0.1]))
    assert rate_at(scores, 0.25).true_positives == 1.0  # above 0.1: one outsider of four
    assert rate_at(scores, 0.2).true_positives == pytest.approx(1 / 3)  # above 0.85: none
    for wrong in (0.0, 1.0, float("nan")):
        with pytest.raises(ParameterError, match="above 0 and below 1"):
            rate_at(scores, wrong)
