"""A measured trade-off as a curve: between measurements, at them, and outside."""

import math

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import BAYES, REPEATS
from dpcore.lexicon.catalogue import load
from dpcore.papers.ours.tradeoff import ARMS, recorded_curves


def table(**quantities: list[float]) -> pd.DataFrame:
    rows = [
        {
            "label": "a curve",
            "mechanism": "tem",
            "epsilon": float(2**i),
            "quantity": name,
            "value": value,
            "low": value - 0.01,
            "high": value + 0.01,
            "variant": {"word": REPEATS, "kind": BAYES}.get(name, ""),
        }
        for name, values in quantities.items()
        for i, value in enumerate(values)
    ]
    return pd.DataFrame(rows).sample(frac=1.0, random_state=1)


def test_a_table_in_any_order_is_a_curve() -> None:
    curve = TradeCurve.of(table(word=[0.1, 0.5, 0.9], kept=[0.1, 0.4, 0.8], kind=[0.3, 0.6]), BAYES)
    assert curve.epsilons.tolist() == [1.0, 2.0, 4.0]
    assert curve.values("word").tolist() == [0.1, 0.5, 0.9]
    assert curve.at_least == {"word"}
    assert "kept" in curve
    assert "kind" not in curve  # it was not measured at every ε


def test_an_interval_that_is_not_known_is_not_an_interval_from_zero() -> None:
    rows = table(word=[0.1, 0.5, 0.9])
    rows.loc[rows["epsilon"] == 2.0, ["low", "high"]] = math.nan
    curve = TradeCurve.of(rows, BAYES)
    assert curve.intervals("word")[1].tolist() == [0.5, 0.5, 0.5]
    assert curve.interval_at_epsilon("word", 2.0) == pytest.approx((0.5, 0.5, 0.5))


def test_between_two_measurements_log_odds_are_linear_in_the_logarithm_of_epsilon() -> None:
    curve = TradeCurve.of(table(word=[0.1, 0.5, 0.9], kept=[0.0, 0.4, 0.8]), BAYES)
    assert curve.epsilon_at("word", 0.5) == 2.0
    epsilon = curve.epsilon_at("word", 0.7)
    assert epsilon is not None
    part = math.log(0.7 / 0.3) / math.log(9.0)
    assert math.log2(epsilon) == pytest.approx(1.0 + part, rel=1e-12)
    assert curve.at_epsilon("word", epsilon) == pytest.approx(0.7, rel=1e-12)
    assert curve.at_epsilon("word", 4.0) == pytest.approx(0.9, rel=1e-12)
    assert curve.at_epsilon("word", 4.1) is None
    assert curve.at_epsilon("word", 0.9) is None
    assert curve.at("kept", "word", 0.7) == pytest.approx(0.6, rel=1e-12)
    assert curve.at("kept", "word", 0.1) == 0.0
    assert curve.interval_at("kept", "word", 0.7) == pytest.approx((0.6, 0.59, 0.61))
    assert curve.interval_at("kept", "word", 0.05) is None


def test_what_a_curve_does_not_reach_is_nothing() -> None:
    curve = TradeCurve.of(table(word=[0.1, 0.5, 1.0], kept=[0.0, 0.4, 0.8]), BAYES)
    assert curve.epsilon_at("word", 0.09) is None
    assert curve.at("kept", "word", 0.09) is None
    assert curve.epsilon_at("word", 1.0) == 4.0
    assert TradeCurve.of(table(word=[0.1, 0.3]), BAYES).epsilon_at("word", 0.31) is None


def test_of_a_curve_that_falls_again_the_first_crossing_counts() -> None:
    curve = TradeCurve.of(table(word=[0.1, 0.5, 0.3, 0.7]), BAYES)
    epsilon = curve.epsilon_at("word", 0.4)
    assert epsilon is not None
    assert 1.0 < epsilon < 2.0


def test_the_recorded_curves_meet_the_closed_forms_between_their_measurements() -> None:
    """Responses guess 1 of k + (n − k)·e^−ε: what interpolation makes of it is off by this much."""
    n = len(load(None))
    for arm in ARMS:
        if arm.mechanism not in {"k-ary", "neighbour-response"}:
            continue
        curve, k = recorded_curves()[arm.name], dict(arm.settings).get("k", 1)
        for share in np.geomspace(curve.values("word")[0], curve.values("word")[-1], 200)[1:-1]:
            epsilon = curve.epsilon_at("word", float(share))
            assert epsilon is not None
            odds = math.exp(epsilon)
            assert odds / (k * odds + n - k) == pytest.approx(share, rel=0.05)


def test_a_bound_is_kept_with_the_whole_interval() -> None:
    curve = TradeCurve.of(table(word=[0.1, 0.5, 0.9], kept=[0.2, 0.4, 0.8]), BAYES)
    # The upper ends are .11, .51 and .91: at .51 the second ε is allowed.
    assert curve.keeps_below("word", 0.51) == pytest.approx(2.0, rel=1e-12)
    assert curve.keeps_below("word", 0.1) is None  # .11 is more
    assert curve.keeps_below("word", 0.95) == 4.0  # the last that was measured
    epsilon = curve.keeps_below("word", 0.3)
    assert epsilon is not None
    odds = [math.log(share / (1 - share)) for share in (0.11, 0.3, 0.51)]
    assert math.log2(epsilon) == pytest.approx((odds[1] - odds[0]) / (odds[2] - odds[0]), rel=1e-9)
    # The lower ends of what is left are .19, .39 and .79.
    assert curve.reaches("kept", 0.39) == pytest.approx(2.0, rel=1e-12)
    assert curve.reaches("kept", 0.8) is None
    assert curve.reaches("kept", 0.1) == 1.0
    epsilon = curve.reaches("kept", 0.6)
    assert epsilon is not None
    odds = [math.log(share / (1 - share)) for share in (0.39, 0.6, 0.79)]
    part = (odds[1] - odds[0]) / (odds[2] - odds[0])
    assert math.log2(epsilon) == pytest.approx(1.0 + part, rel=1e-9)


def test_where_a_curve_turns_back_only_its_first_part_counts() -> None:
    curve = TradeCurve.of(table(word=[0.1, 0.5, 0.3], kept=[0.6, 0.2, 0.8]), BAYES)
    until = curve.keeps_below("word", 0.4)
    assert until is not None
    assert until < 2.0
    since = curve.reaches("kept", 0.5)
    assert since is not None
    assert 2.0 < since < 4.0


def test_recorded_curves_keep_what_they_are_asked_for() -> None:
    for curve in recorded_curves().values():
        for bound in (0.05, 0.2, 0.6):
            epsilon = curve.keeps_below("word", bound)
            if epsilon is None:
                assert curve.amounts["word"][0].max() > bound
                continue
            there = curve.at_epsilon("word", epsilon)
            assert there is not None
            assert there <= bound * (1 + 1e-9)
