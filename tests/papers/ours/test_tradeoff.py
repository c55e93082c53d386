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
from dpcore.attack.trade.curve import LOW, VALUE
from dpcore.attack.trade.ground import (
    BAYES,
    GUESSED,
    KEPT,
    LEAKAGES,
    LEARNED,
    MEANT,
    NEARLY,
    UTILITIES,
)
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.tradeoff import (
    ARMS,
    LEAK,
    LEAKED,
    leaked,
    measure_leak,
    measure_left,
    measure_tradeoff,
    recorded_before,
    recorded_curves,
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


def test_a_cell_of_each_study_has_a_row_for_each_number(tmp_path: Path) -> None:
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
    left = measure_left(cell, sources)
    assert [each["quantity"] for each in left] == [KEPT, MEANT] * 2
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


@pytest.mark.parametrize(
    ("label", "k"),
    [("k-ary", 1), pytest.param("neighbour-response, k = 10", 10, marks=pytest.mark.slow)],
)
def test_responses_leak_their_closed_forms(leaks: pd.DataFrame, label: str, k: int) -> None:
    """Given y the likeliest word is y, a word that has y near, or the commonest word of all."""
    lexicon = load(None)
    prior, n = content_words(lexicon).probability, len(lexicon)
    best = prior  # of the words that have y near
    if k > 1:
        best = np.zeros(n)
        np.maximum.at(best, lexicon.neighbours(k).indices.reshape(-1), np.repeat(prior, k))
    rows = leaks[(leaks["label"] == label) & (leaks["quantity"] == "word")]
    rows = rows[rows["variant"] == "bayes"]
    assert len(rows)
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
    # Of the others ε multiplies a distance, and the next larger bundled bound holds.
    rows = words[words["mechanism"].isin({"tem", "tem-calibrated", "optimal", "madlib"})]
    bounds = meter(load(None), rows["epsilon"].tolist(), "counts", compute=False).rows
    for low, reading in zip(rows["low"], bounds, strict=True):
        assert low <= reading.high + 1e-9
    assert sum(reading.high < 1.0 for reading in bounds) > 15


def test_what_stays_is_guessed() -> None:
    """Theorem 4 for words as often as they occur: by sums, and by as good attackers as known."""
    for label, curve in recorded_curves().items():
        assert {KEPT, MEANT} <= curve.amounts.keys()
        stays, guessed = curve.intervals(KEPT), curve.intervals(GUESSED)
        # Of the published mechanism all that is guessed is summed, and what stays is drawn.
        place = LOW if label == "truncated-gumbel" else VALUE
        assert np.all(stays[:, place] <= guessed[:, VALUE] + 1e-9), label


def test_before_is_the_share_of_the_commonest_word_and_its_near_ones() -> None:
    before = recorded_before()
    assert before[GUESSED] == content_words(load(None)).probability.max()
    assert before[GUESSED] < before[NEARLY] < recorded_curves()["tem"].values(NEARLY)[0]


def test_the_better_of_two_attackers_counts_and_laws_are_exact() -> None:
    words = load(None)
    few = Lexicon("few", words.words[2_000:2_080], words.vectors[2_000:2_080])
    for name, epsilon, more in (
        ("truncated-gumbel", 60.0, {"laws": True}),
        ("vickrey", 40.0, {"learned": 20}),
    ):
        mechanism = create(name, few)
        plain = [leak(mechanism, epsilon, "counts", gain, draws=2_000) for gain in LEAKED]
        word, near = (each for _, each in leaked(mechanism, [epsilon], "counts", 2_000, 0, **more))
        assert word.after >= plain[0].after - 1e-9
        assert near.low >= max(plain[1].low, word.low) - 1e-9
        assert word.low <= word.after <= word.high
        assert near.low <= near.after <= near.high
        if name == "vickrey":  # it often answers with the second nearest word
            assert word.attacker == LEARNED
        else:
            assert (word.attacker, word.exact) == (BAYES, True)
            # So few words have a law each, so that `leak` sums all outputs too.
            assert word.after == pytest.approx(plain[0].after, abs=1e-7)
