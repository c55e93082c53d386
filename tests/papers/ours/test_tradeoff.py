"""The recorded trade-off: below the bound on every mechanism, and equal to the laws."""

import math

import pandas as pd
import pytest

from dpcore.attack.bounds.meter import meter
from dpcore.attack.trade.ground import LEAKAGES, UTILITIES
from dpcore.lexicon.catalogue import load
from dpcore.papers.ours.tradeoff import ARMS
from dpcore.study.recorded import read_recorded


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
