"""Tasks of the recorded experiments of PixelDP: small cells, and the plans."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from dpcore.papers.lecuyer2019.plans import DIGITS, REGIMES, TEXTS
from dpcore.papers.lecuyer2019.study import ACCOUNTINGS, measure, measure_text
from dpcore.study.plan import Cell, Plan
from dpcore.study.rows import Row
from dpcore.study.sources import Sources, gather

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
    rows = measure(cell_of(DIGITS.plan, label), Sources())
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
    assert measure(cell, Sources()) == measure(cell, Sources())
    other = dataclasses.replace(cell, seed=1)
    assert measure(other, Sources()) != measure(cell, Sources())


def test_the_network_without_noise_and_the_cost_are_cells_too() -> None:
    (row,) = measure(cell_of(DIGITS.plan, "no noise layer"), Sources())
    assert row["quantity"] == "accuracy"
    rows = measure(
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
