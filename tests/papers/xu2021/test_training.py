"""The trial of Xu et al. 2021, Tables 2 and 3, on a corpus of a few made-up texts."""

import dataclasses
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import StudyError
from dpcore.learn.corpus import Bags
from dpcore.learn.substitutions import Substitutions
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.xu2021 import plans
from dpcore.papers.xu2021.plans import (
    AUGMENTED,
    LISTS,
    NORMAL,
    PAPER,
    ROBUST,
    STRONGER,
    TRAININGS,
    Trial,
    material,
    measure_robustness,
    private_text,
)
from dpcore.study.plan import Arm, Plan, Row, Study
from dpcore.study.runner import Sources, gather
from tests import needs

needs.torch()
pd = pytest.importorskip("pandas")

WORDS = tuple(f"word{i}" for i in range(30))
GRID = (2.0, 1e6)


def small(folder: Path, pairs: bool) -> tuple[Plan, Sources]:
    """A corpus whose last word gives the label, lists of substitutions, and their plan."""
    rng = np.random.default_rng(0)
    lexicon = Lexicon("small", WORDS, rng.normal(size=(30, 6)).astype(np.float32))
    frame = []
    for i in range(120):
        text = " ".join(WORDS[k] for k in (*rng.integers(20, size=4), 28 + i % 2))
        fields = {"premise": "word1 word2", "hypothesis": text} if pairs else {"text": text}
        frame.append({**fields, "label": "ab"[i % 2], "split": ("train", "test")[i >= 80]})
    pd.DataFrame(frame).to_parquet(folder / "texts.parquet")
    lists = {WORDS[i]: [WORDS[i + 1], "unknown"] for i in range(0, 20, 2)}
    (folder / LISTS).write_bytes(gzip.compress(json.dumps(lists).encode()))
    options = {
        "train": 60, "held_out": 20, "test": 40, "attacked": 5, "splits": ("train", "test"),
        "pairs": pairs, "most": None, "hidden": 6, "batch": 16, "copies": 2,
        "epochs": {"normal": 2, "augmented": 1, "ibp": 3},
        "lists": sha256_of_file(folder / LISTS), "population": 4, "generations": 2,
        "tries": 2, "draws": 5,
    }  # fmt: skip
    plan = Plan(
        "small",
        "dpcore.papers.xu2021.plans:measure_robustness",
        (Arm(""), Arm("madlib", GRID, options=(("grid", GRID),))),
        ("small",),
        ("texts",),
        options=tuple(sorted(options.items())),
    )
    files = {"texts": folder / "texts.parquet"}
    return plan, gather(plan, folder / "work", lexicons={"small": lexicon}, files=files)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    material.cache_clear()
    private_text.cache_clear()


def rows_with(rows: list[Row], quantity: str, **where: Any) -> list[Row]:
    return [
        row
        for row in rows
        if row["quantity"] == quantity and all(row[name] == value for name, value in where.items())
    ]


@pytest.mark.parametrize("pairs", [False, True])
def test_a_trial_measures_three_networks_before_and_after_attacks(
    tmp_path: Path, pairs: bool
) -> None:
    plan, sources = small(tmp_path, pairs)
    baseline, low, high = (measure_robustness(cell, sources) for cell in plan.cells())
    assert rows_with(baseline, "majority")[0]["value"] == 0.5
    for name in (NORMAL, ROBUST):
        clean = rows_with(baseline, "accuracy", learner=name, tested_on="clean")[0]["value"]
        certified = rows_with(baseline, "certified", learner=name)[0]["value"]
        assert certified <= clean
        assert rows_with(baseline, "certified and broken", learner=name)[0]["value"] == 0
        # At an ε that keeps every word the private text is the text, and no candidate is left.
        assert rows_with(high, "accuracy", learner=name, tested_on="private")[0]["value"] == clean
    for rows, epsilon in ((baseline, None), (low, GRID[0]), (high, GRID[1])):
        assert {row["epsilon"] for row in rows} == {epsilon}
    for rows in (low, high):
        for name in (NORMAL, AUGMENTED, ROBUST):
            first, second = (
                rows_with(rows, "adversarial accuracy", learner=name, variant=how)[0]
                for how in (PAPER, STRONGER)
            )
            assert second["value"] <= first["value"]
            assert first["low"] <= first["value"] <= first["high"]
            assert first["count"] == 5
    assert rows_with(high, "nw")[0]["value"] == 1
    assert rows_with(low, "nw")[0]["value"] < 0.9
    assert rows_with(low, "accuracy", learner=AUGMENTED, tested_on="clean")


def test_every_mechanism_is_drawn_from_with_and_without_an_exact_law(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, sources = small(tmp_path, False)
    arms = (Arm(name, GRID[:1], options=(("grid", GRID[:1]),)) for name in ("madlib", "tem"))
    plan = dataclasses.replace(plan, arms=tuple(arms))
    tried = []

    def attacked(_: Any, some: Any, candidates: Any, *__: Any) -> list[Any]:
        tried.append(candidates)
        return []

    monkeypatch.setattr(plans, "attacked", attacked)
    for cell in plan.cells():
        measure_robustness(cell, sources)
    assert len(tried) == 2 * 3
    for candidates in tried:
        assert all("5 draws a word" in candidate.method for candidate in candidates)
        assert all(candidate.words.shape[1] <= 5 for candidate in candidates)


def test_the_same_cell_has_the_same_rows_alone(tmp_path: Path) -> None:
    plan, sources = small(tmp_path, False)
    cells = plan.cells()
    whole = [measure_robustness(cell, sources) for cell in cells][-1]
    material.cache_clear()
    private_text.cache_clear()
    for first, second in zip(whole, measure_robustness(cells[-1], sources), strict=True):
        if first["quantity"] != "seconds of an epoch":
            assert first == second


def test_other_lists_than_the_plan_names_are_refused(tmp_path: Path) -> None:
    plan, sources = small(tmp_path, False)
    (tmp_path / LISTS).write_bytes(b"other")
    with pytest.raises(StudyError, match="is missing or another file than the plan names"):
        measure_robustness(plan.cells()[0], sources)


def test_splits_with_other_classes_are_refused(tmp_path: Path) -> None:
    plan, sources = small(tmp_path, False)
    frame = pd.read_parquet(tmp_path / "texts.parquet")
    frame.loc[frame["split"] == "test", "label"] = "a"
    other = tmp_path / "other"
    other.mkdir()
    (other / LISTS).write_bytes((tmp_path / LISTS).read_bytes())
    frame.to_parquet(other / "texts.parquet")
    lexicon = sources.lexicon("small")
    moved = gather(
        plan, tmp_path / "w", lexicons={"small": lexicon}, files={"texts": other / "texts.parquet"}
    )
    with pytest.raises(StudyError, match="have other classes"):
        material(Trial.of(plan.cells()[0], moved))


def test_allowed_substitutes_are_counted() -> None:
    table = Substitutions(np.array([1, 2]), np.array([[1, 5, 6], [2, 7, 2]]), np.ones(2))
    before, after = np.array([1, 1, 2, 2, 3]), np.array([5, 9, 7, 1, 4])
    assert plans._allowed(table, before, after) == 2 / 5
    assert plans._allowed(table, before[:0], after[:0]) == 0


def test_private_copies_share_their_noise_over_the_curve(tmp_path: Path) -> None:
    plan, sources = small(tmp_path, False)
    trial = Trial.of(plan.cells()[1], sources)
    both = private_text(trial, "madlib", GRID, "{}")
    lone = private_text(trial, "madlib", GRID[:1], "{}")
    for part, single in zip(both, lone, strict=True):
        for first, second in zip(part[0], single[0], strict=True):
            assert isinstance(first, Bags)
            assert np.array_equal(first.words, second.words)
    assert plans.material(trial) is material(trial)


@pytest.mark.parametrize("study", TRAININGS)
def test_the_plans_say_their_sizes(study: Study) -> None:
    message, plan = study.sizes, study.plan
    given = dict(plan.options)
    for name in ("train", "test", "attacked"):
        assert f"{given[name]:,}" in message
    for arm in plan.arms[1:]:
        assert set(arm.epsilons) <= set(dict(arm.options)["grid"])
    assert dataclasses.replace(plan) == plan
