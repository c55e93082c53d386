"""Curves, baselines, frontier and the smallest ε, on rows with known answers."""

import math

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import ParameterError, StudyError
from dpcore.study.plan import row
from dpcore.study.tables import tidy
from dpcore.study.utility import solve_margin
from dpcore.study.utility_summary import baseline, curves, frontier, join_quantities, roc_curves
from tests.fixtures import MakeRng

EPSILONS = (1.0, 10.0, 100.0)


def trials(shift: float = 0.0, seeds: tuple[int, ...] = (0, 1, 2)) -> pd.DataFrame:
    """Loss of 0.3, 0.1 and 0 against a baseline of 0.9, plus ± 0.01 over the seeds."""
    rows = []
    for seed in seeds:
        wobble = 0.01 * (seed - 1)
        fields = {"lexicon": "l", "data": "d", "seed": seed}
        base = fields | {"label": "baseline", "mechanism": ""}
        rows.append(base | row("accuracy", 0.9, learner="a", tested_on="clean"))
        rows.append(base | row("majority", 0.5, tested_on="clean"))
        for epsilon, loss in zip(EPSILONS, (0.3, 0.1, 0.0), strict=True):
            arm = fields | {"label": "tem", "mechanism": "tem"}
            value = 0.9 - loss - shift + (wobble if loss else 0.0)
            rows.append(
                arm | row("accuracy", value, epsilon=epsilon, learner="a", tested_on="clean")
            )
            rows.append(arm | row("nw", 1 - loss, epsilon=epsilon))
            rows.append(arm | row("roc", 0.2, epsilon=epsilon, at=0.1))
    return tidy(rows)


def test_curves_and_baselines_have_means_and_intervals() -> None:
    points = curves(trials(), "accuracy", learner="a", tested_on="clean")
    assert points["epsilon"].tolist() == list(EPSILONS)
    assert points["mean"].tolist() == pytest.approx([0.6, 0.8, 0.9])
    half = 4.302652729911275 * 0.01 / math.sqrt(3)
    assert points["high"].iloc[0] - points["mean"].iloc[0] == pytest.approx(half)
    assert points["trials"].tolist() == [3, 3, 3]
    assert baseline(trials(), "majority").mean == 0.5
    with pytest.raises(StudyError, match="no baseline of auc"):
        baseline(trials(), "auc")
    assert np.isnan(curves(trials(seeds=(1,)), "accuracy")["low"]).all()
    assert curves(trials(), "auc").empty


def test_bands_of_shares_stay_within_0_and_1() -> None:
    rows = [
        {"label": "tem", "mechanism": "tem", "seed": seed} | row("nw", value, epsilon=1.0)
        for seed, value in enumerate((0.0, 1.0))
    ]
    result = curves(tidy(rows), "nw").iloc[0]
    assert (result["low"], result["high"]) == (0.0, 1.0)


def test_dummy_dimensions_are_one_curve() -> None:
    table = trials()
    table.loc[table["epsilon"] == 100.0, "label"] = "tem, d′ = 500"
    assert curves(table, "nw")["curve"].tolist() == ["tem"] * 3


def test_the_frontier_is_that_of_every_pair(rng: MakeRng) -> None:
    points = pd.DataFrame(rng().random((200, 2)), columns=["private", "useful"])
    points.loc[7, "useful"] = np.nan
    result = frontier(points, "private", "useful")
    assert len(result) == 199
    for _, point in result.iterrows():
        beaten = any(
            other["private"] <= point["private"]
            and other["useful"] >= point["useful"]
            and (other["private"] < point["private"] or other["useful"] > point["useful"])
            for _, other in result.iterrows()
        )
        assert point["dominated"] == beaten
    equal = pd.DataFrame({"private": [0.5, 0.5], "useful": [0.7, 0.7]})
    assert not frontier(equal, "private", "useful")["dominated"].any()


def test_two_quantities_side_by_side() -> None:
    result = join_quantities(trials(), ("nw", {}), ("accuracy", {"learner": "a"}))
    assert result["private"].tolist() == pytest.approx([0.7, 0.9, 1.0])
    assert result["useful"].tolist() == pytest.approx([0.6, 0.8, 0.9])


def test_the_smallest_epsilon_by_hand() -> None:
    result = solve_margin(trials(), 0.2, learner="a", tested_on="clean")[0]
    # Loss 0.3 at ε = 1 and 0.1 at ε = 10: 0.2 half way in ln ε.
    assert result.epsilon == pytest.approx(math.sqrt(10))
    half = 4.302652729911275 * 0.01 / math.sqrt(3)
    assert result.high == pytest.approx(10 ** ((0.1 + half) / 0.2))
    assert result.low == pytest.approx(10 ** ((0.1 - half) / 0.2))
    assert result.sentence == "tem: ε = 3.16 (interval 2.38 to 4.21)"


def test_the_ends_of_what_was_measured_are_said() -> None:
    always = solve_margin(trials(), 0.5, learner="a")[0]
    assert always.epsilon == 1.0
    assert "or less" in always.sentence
    never = solve_margin(trials(shift=0.2), 0.1, learner="a")[0]
    assert never.epsilon is None
    assert never.sentence == "tem: not reached up to ε = 100"


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="from 0 to 1"):
        solve_margin(trials(), float("nan"))
    with pytest.raises(StudyError, match="at least two seeds"):
        solve_margin(trials(seeds=(0,)), 0.1)


def test_mean_roc_of_picked_curves() -> None:
    result = roc_curves(trials(), [("tem", 10.0), ("baseline", None)])
    assert result["curve"].tolist() == ["tem, ε = 10"]
    assert result[["at", "mean"]].to_numpy()[0] == pytest.approx([0.1, 0.2])
