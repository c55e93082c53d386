"""The recorded trade-off: below the bound on every mechanism, and equal to the laws."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.bounds.meter import meter
from dpcore.attack.leak import leak
from dpcore.attack.output.prior import content_words
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import BAYES, GUESSED, LEAKAGES, NEARLY, UTILITIES
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.ours.tradeoff import (
    ARMS,
    LEAK,
    measure_leak,
    measure_tradeoff,
    recorded_before,
    recorded_curves,
    with_leak,
)
from dpcore.study.plan import Arm
from dpcore.study.recorded import read_recorded
from dpcore.study.runner import gather


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rows = read_recorded("trade-off").table
    return rows[rows["quantity"].isin(LEAKAGES + UTILITIES)]


def test_every_number_has_its_interval_and_theorem_4_holds(table: pd.DataFrame) -> None:
    assert len(table) == sum(len(arm.epsilons) for arm in ARMS) * len(LEAKAGES + UTILITIES)
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()
    wide = table.pivot(index=["label", "epsilon"], columns="quantity", values="value")
    assert (wide["word"] >= wide["kept"] - 1e-12).all()
    assert (wide["guess"] >= wide["meaning"] - 1e-12).all()


def test_a_cell_of_both_studies_has_a_row_for_each_number(tmp_path: Path) -> None:
    words = load(None)
    few = Lexicon("few", words.words[2_000:2_080], words.vectors[2_000:2_080])
    arm = Arm("k-ary", (2.0, 4.0))
    options = (("outputs", 100), ("pairs", 2), ("draws", 100))
    plan = replace(LEAK.plan, arms=(arm,), lexicons=("few",), options=options)
    sources = gather(plan, tmp_path, lexicons={"few": few})
    (cell,) = plan.cells()
    trade, leaks = measure_tradeoff(cell, sources), measure_leak(cell, sources)
    assert len(trade) == 2 * len(LEAKAGES + UTILITIES)
    assert {each["quantity"] for each in trade} == set(LEAKAGES + UTILITIES)
    assert [each["quantity"] for each in leaks] == ["word"] * 4 + ["near"] * 4
    by_epsilon = {each["epsilon"]: each for each in leaks if each["variant"] == BAYES}
    assert by_epsilon.keys() == {2.0, 4.0}
    before = {each["value"] for each in leaks if each["variant"] == "before"}
    assert len(before) == 2
    direct = leak(sources.mechanism(cell), [2.0, 4.0], "counts", "near")
    assert [each.after for each in direct] == [each["value"] for each in leaks[4::2]]


def test_responses_are_their_closed_forms(table: pd.DataFrame) -> None:
    n = len(load(None))
    for label, k in (("k-ary", 1), ("neighbour-response, k = 10", 10)):
        rows = table[(table["label"] == label) & (table["quantity"] == "kept")]
        for epsilon, value in zip(rows["epsilon"], rows["value"], strict=True):
            odds = math.exp(epsilon)
            assert value == pytest.approx(odds / (k * odds + n - k), rel=1e-9)


def test_no_mechanism_lies_above_what_its_guarantee_permits(table: pd.DataFrame) -> None:
    words = table[table["quantity"] == "word"]
    local = {"k-ary", "laplace", "l2-laplace", "adept-l1", "neighbour-response"}
    metric = {"optimal", "tem", "tem-calibrated", "madlib", "mahalanobis", "vickrey"}
    for names, any_two in ((local, True), (metric, False)):
        rows = words[words["mechanism"].isin(names)]
        asked = rows["epsilon"].tolist()
        bounds = meter(load(None), asked, local=any_two, compute=False).rows
        for low, reading in zip(rows["low"], bounds, strict=True):
            assert low <= reading.high + 1e-9


@pytest.fixture(scope="module")
def leaks() -> pd.DataFrame:
    rows = read_recorded("leak").table
    return rows[rows["quantity"].isin(["word", "near"])]


def test_content_words_guessed_are_at_least_those_guessed_before(leaks: pd.DataFrame) -> None:
    before = leaks[leaks["variant"] == "before"].set_index(["label", "epsilon", "quantity"])
    after = leaks[leaks["variant"] != "before"].set_index(["label", "epsilon", "quantity"])
    assert len(after) == len(before) == 2 * sum(len(arm.epsilons) for arm in ARMS)
    assert (after["low"] <= after["value"]).all()
    assert (after["value"] <= after["high"]).all()
    assert (after["high"] >= before["value"].reindex(after.index) * (1 - 1e-9)).all()
    wide = after["value"].unstack()
    assert (wide["near"] >= 0.99 * wide["word"]).all()


def test_responses_leak_their_closed_forms(leaks: pd.DataFrame) -> None:
    """Given y the likeliest word is y, a word that has y near, or the commonest word of all."""
    lexicon = load(None)
    prior, n = content_words(lexicon).probability, len(lexicon)
    for label, k in (("k-ary", 1), ("neighbour-response, k = 10", 10)):
        near = lexicon.neighbours(10).indices[:, :k]
        best = np.zeros(n)  # of the words that have y near
        np.maximum.at(best, near.reshape(-1), np.repeat(prior, k))
        rows = leaks[(leaks["label"] == label) & (leaks["quantity"] == "word")]
        rows = rows[rows["variant"] == "bayes"]
        for epsilon, value in zip(rows["epsilon"], rows["value"], strict=True):
            odds = math.exp(epsilon)
            share = np.maximum(best * odds, prior.max()).sum() / (k * odds + n - k)
            assert value == pytest.approx(share, rel=1e-6)


def test_nobody_guesses_more_than_the_guarantee_permits_under_the_same_prior(
    leaks: pd.DataFrame,
) -> None:
    words = leaks[(leaks["quantity"] == "word") & (leaks["variant"] != "before")]
    local = {"k-ary", "laplace", "l2-laplace", "adept-l1", "neighbour-response"}
    rows = words[words["mechanism"].isin(local)]
    bounds = meter(load(None), rows["epsilon"].tolist(), "counts", local=True).rows
    for low, reading in zip(rows["low"], bounds, strict=True):
        assert low <= reading.high + 1e-9


def test_other_curves_get_the_shares_between_the_recorded_ones() -> None:
    curve = recorded_curves()["tem"]
    epsilons = np.array([1.0, 2.0, 2.2, 9.0])  # the outer two were not measured
    other = TradeCurve("tem", "tem", epsilons, {"kept": np.full((4, 3), 0.5)})
    full = with_leak(other)
    assert full.epsilons.tolist() == [2.0, 2.2]
    for name in (GUESSED, NEARLY):
        assert full.values(name).tolist() == [curve.at_epsilon(name, e) for e in (2.0, 2.2)]
    assert full.values("kept").tolist() == [0.5, 0.5]
    before = recorded_before()
    assert before[GUESSED] == content_words(load(None)).probability.max()
    assert before[GUESSED] < before[NEARLY] < curve.values(NEARLY)[0]
