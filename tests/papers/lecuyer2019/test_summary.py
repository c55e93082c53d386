"""What is said of the recorded experiments of PixelDP, as inequalities between means."""

from typing import Any

import numpy as np
import pytest

from dpcore.papers.lecuyer2019.plans import REGIMES, SCALES, SEEDS, STEPS
from dpcore.papers.lecuyer2019.summary import costs, summary
from dpcore.study.recorded import Recorded, read_recorded

BOUNDS = ("hoeffding", "clopper-pearson")


@pytest.fixture(scope="module")
def digits() -> Recorded:
    return read_recorded("pixeldp-digits")


def table(recorded: Recorded, quantity: str, *index: Any, **where: Any) -> Any:
    rows = summary(recorded, quantity)
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows.set_index(list(index))["mean"]


def test_every_arm_is_summarised(digits: Recorded) -> None:
    rows = summary(digits, "certified")
    assert set(rows["place"]) == {str(place) for place in REGIMES}
    assert (rows["trials"] == len(SEEDS)).all()
    assert ((rows["low"] >= 0) & (rows["high"] <= 1)).all()
    assert (rows["low"] <= rows["mean"]).all()
    arms = rows[["place", "regime", "noise", "scale"]].drop_duplicates()
    per_place = sum(len(regimes) for regimes in REGIMES.values())
    assert len(arms) == per_place * sum(len(scales) for scales in SCALES.values())
    free = summary(digits, "accuracy").query("place == ''")
    assert free["mean"].tolist()[0] > 0.95


def test_certified_accuracy_falls_with_the_size_and_rises_with_the_proof(digits: Recorded) -> None:
    keys = ("place", "regime", "noise", "scale", "at")
    for bound in BOUNDS:
        for accounting in ("gaussian-analytic", "laplace"):
            how = {"accounting": accounting, "bound": bound}
            pixeldp = table(digits, "certified", *keys, condition="pixeldp", **how)
            tight = table(digits, "certified", *keys, condition="tight", **how)
            assert (pixeldp <= tight + 1e-12).all()
            for _, curve in pixeldp.groupby(level=list(keys[:-1])):
                assert (np.diff(curve.to_numpy()) <= 1e-12).all()
        how = {"condition": "pixeldp", "bound": bound}
        classical = table(digits, "certified", *keys, accounting="gaussian-classical", **how)
        analytic = table(digits, "certified", *keys, accounting="gaussian-analytic", **how)
        assert (classical <= analytic + 1e-12).all()
        slides = table(
            digits, "certified", *keys, accounting="gaussian-analytic", condition="slides",
            bound=bound,
        )  # fmt: skip
        assert (slides >= analytic - 1e-12).all()


def test_the_slides_claim_more_than_any_proof_allows(digits: Recorded) -> None:
    """Their largest size is above the tight one, which a half-space attains."""
    keys = ("place", "regime", "scale", "bound")
    how = {"noise": "gaussian", "accounting": "gaussian-analytic"}
    slides = table(digits, "largest", *keys, condition="slides", **how)
    tight = table(digits, "largest", *keys, condition="tight", **how)
    assert (slides > tight).any()


def test_joint_training_certifies_more_than_a_first_map_that_is_kept(digits: Recorded) -> None:
    how = {"condition": "tight", "bound": "clopper-pearson", "at": 0.1}
    result = table(digits, "certified", "place", "noise", "scale", "regime", **how)
    joint, separate = (result.xs(name, level="regime") for name in ("joint", "separate"))
    both = joint.index.intersection(separate.index)
    assert len(both) == 2 * sum(len(scales) for scales in SCALES.values())
    assert (joint[both] > separate[both]).all()


def test_the_cost_of_a_step_is_told_for_every_place_and_size(digits: Recorded) -> None:
    result = costs(digits)
    assert len(result) == len(REGIMES) * len(SCALES) * len(STEPS)
    assert (result["low"] <= result["ratio"]).all()
    assert (result["ratio"] <= result["high"]).all()
    assert (result["with"] > 0).all()
    ratio = result.set_index(["place", "noise", "channels"])["ratio"]
    for noise in SCALES:
        assert ratio["picture", noise, 128] < 1.1
        assert ratio["first-layer", noise, 8] > 1.2


def test_no_text_may_lose_a_single_word() -> None:
    texts = read_recorded("pixeldp-texts")
    proved = summary(texts, "words").query("condition != 'slides'")
    assert len(proved)
    assert not proved["mean"].any()
    nearest = summary(texts, "words")["at"].min()
    largest = summary(texts, "largest").query("condition == 'tight'")["mean"].max()
    assert 0.5 < largest < nearest  # certificates there are, but none of the length of a word
