"""Tasks of the recorded experiments of PixelDP: small cells, and the plans."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.papers.lecuyer2019.study import (
    ACCOUNTINGS,
    DIGITS,
    REGIMES,
    SCALES,
    SEEDS,
    STEPS,
    TEXTS,
    costs,
    measure_digits,
    measure_text,
    summary,
)
from dpcore.study.plan import Cell, Plan, Row
from dpcore.study.recorded import Recorded, read_recorded
from dpcore.study.runner import Sources, gather

SMALL = (("epochs", 1), ("draws", 20), ("error", 0.01), ("sizes", (0.0, 0.1)))


def cell_of(plan: Plan, label: str, *options: Any) -> Cell:
    """A cell of a plan that is done in a moment."""
    cell = next(cell for cell in plan.cells() if cell.label == label)
    return dataclasses.replace(cell, options=(*cell.options, *SMALL, *options))


def values(rows: list[Row], quantity: str) -> dict[tuple[Any, Any], Any]:
    return {
        (row["variant"], row["at"]): row["value"] for row in rows if row["quantity"] == quantity
    }


@pytest.mark.parametrize(
    "label", ["first-layer, joint, laplace, 0.25", "picture, linear, gaussian, 0.5"]
)
def test_a_cell_tells_every_way_to_certify(label: str) -> None:
    rows = measure_digits(cell_of(DIGITS.plan, label), Sources())
    noise = label.split(", ")[2]
    certified = values(rows, "certified")
    named = {variant.split(", ")[0] for variant, _ in certified}
    assert named == {str(accounting) for accounting in ACCOUNTINGS[noise]}
    first = ACCOUNTINGS[noise][0]
    for bound in ("hoeffding", "clopper-pearson"):
        for size in (0.0, 0.1):
            pixeldp = certified[f"{first}, pixeldp, {bound}", size]
            assert pixeldp <= certified[f"{first}, tight, {bound}", size]
            if noise == "gaussian":
                assert certified[f"gaussian-classical, pixeldp, {bound}", size] <= pixeldp
                assert pixeldp <= certified[f"{first}, slides, {bound}", size]
    assert 0.8 < values(rows, "sensitivity")["", None] <= 1 + 1e-5
    assert set(values(rows, "abstained")) == {("hoeffding", None), ("clopper-pearson", None)}


def test_the_same_cell_gives_the_same_rows() -> None:
    cell = cell_of(DIGITS.plan, "auto-encoder, separate, gaussian, 0.25")
    assert measure_digits(cell, Sources()) == measure_digits(cell, Sources())
    other = dataclasses.replace(cell, seed=1)
    assert measure_digits(other, Sources()) != measure_digits(cell, Sources())


def test_the_network_without_noise_and_the_cost_are_cells_too() -> None:
    (row,) = measure_digits(cell_of(DIGITS.plan, "no noise layer"), Sources())
    assert row["quantity"] == "accuracy"
    rows = measure_digits(
        cell_of(DIGITS.plan, "cost of 8 channels", ("channels", 2), ("steps", 8)), Sources()
    )
    ratios = values(rows, "step_ratio")
    assert set(ratios) == {(f"{place}, {noise}", 2) for place in REGIMES for noise in ACCOUNTINGS}
    seconds = values(rows, "step_seconds")
    assert len(seconds) == 2 * len(ratios)
    assert min(seconds.values()) > 0


def test_texts_are_certified_in_words(tmp_path: Path) -> None:
    from dpcore.lexicon.catalogue import load

    lexicon = load()
    sources = gather(TEXTS.plan, tmp_path, lexicons={"bundled": lexicon})
    cell = cell_of(TEXTS.plan, "sentiment, gaussian, 0.5", ("most", 5))
    rows = measure_text(cell, sources)
    words = values(rows, "words")
    distances = {word for _, word in words}
    assert distances == {lexicon.extent.separation, lexicon.extent.diameter}
    assert all(value >= 0 for value in words.values())
    shares = values(rows, "with_words")
    assert all((words[key] > 0) == (share > 0) for key, share in shares.items())


@pytest.mark.parametrize("plan", [DIGITS.plan, TEXTS.plan])
def test_plans_are_data(plan: Plan) -> None:
    assert len({arm.name for arm in plan.arms}) == len(plan.arms)


# Statements about the recorded experiments of PixelDP, as inequalities between means.


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


@pytest.mark.slow
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
