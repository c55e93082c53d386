"""Learning curves, and intervals of counts: a toy run of each, and the records."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpcore.attack.leak import leak
from dpcore.crowd.bundled import CROWDS
from dpcore.errors import StudyError
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours import equal_leakage, intervals, learning
from dpcore.papers.ours.learning import (
    LEVELS,
    RECORDS,
    STUDIES,
    TF_IDF,
    UNDONE,
    LearningCurve,
    learning_curves,
)
from dpcore.study.plan import CLEAN, COLUMNS, PRIVATE, Arm, Plan
from dpcore.study.recorded import read_recorded
from dpcore.study.runner import collected, gather, run
from dpcore.study.vocabularies import load_vocabulary
from tests.needs import real_data
from tests.study import toy_corpus

TRIALS, SIZES = 3, (20, 100)
NAMES = [name for names in RECORDS.values() for name in names]
OPTIONS = (
    ("sizes", SIZES), ("test", 50), ("words", 20), ("title", "Toy"), ("trials", TRIALS),
    ("splits", ("train", "test")),
)  # fmt: skip


def measured(folder: Path, arms: tuple[Arm, ...], **other: Any) -> pd.DataFrame:
    file = toy_corpus.write(folder / "toy.parquet")
    options = tuple((dict(OPTIONS) | other).items())
    plan = Plan("toy", learning._TASK, arms, ("toy",), (file.name,), (1,), options)
    lexicons, files = {"toy": toy_corpus.lexicon()}, {file.name: file}
    sources = gather(plan, folder, lexicons=lexicons, files=files)
    for _ in run(plan, sources, folder):
        pass
    return pd.DataFrame(collected(plan, sources, folder))


@pytest.mark.slow
def test_a_small_run_learns_more_from_more_texts(tmp_path: Path) -> None:
    undone = (("undone", True),)
    table = measured(
        tmp_path,
        (
            Arm(""),
            Arm("k-ary", (3.0, 9.0), options=undone),
            Arm("tem", (9.0,), options=undone),
            Arm("madlib", (9.0,), options=(("undone", False),)),
        ),
    )
    assert set(table.columns) <= set(COLUMNS)
    assert set(table["data"]) == {"Toy"}
    accuracy = table[table["quantity"] == "accuracy"]
    counts = accuracy.groupby(["label", "epsilon", "learner", "tested_on", "at"], dropna=False)
    assert set(counts.size()) == {TRIALS}
    assert set(accuracy["seed"]) == {1, 2, 3}
    assert set(accuracy["at"]) == set(SIZES)
    value: Any = counts["value"].mean()
    assert not len(accuracy[(accuracy["label"] == "madlib") & (accuracy["learner"] == UNDONE)])
    for learner in (TF_IDF, UNDONE):
        few, many = (value["k-ary", 9.0, learner, CLEAN, size] for size in SIZES)
        assert many >= few - 0.05
        assert many > 0.75
        # At ε = 3 a fifth of the words stays.
        assert value["k-ary", 3.0, learner, CLEAN, 100] < many
        assert value["tem", 9.0, learner, CLEAN, 100] > 0.75
    assert value["k-ary", 3.0, TF_IDF, PRIVATE, 100] < value["k-ary", 3.0, TF_IDF, CLEAN, 100]
    kept = table[table["quantity"] == "nw"]
    assert 0.15 < kept.loc[kept["epsilon"] == 3.0, "value"].mean() < 0.3


@pytest.mark.slow
def test_too_few_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="only 120 texts to learn from"):
        measured(tmp_path, (Arm(""),), sizes=(20, 200))


def test_leakages_are_those_of_the_comparison() -> None:
    at_levels = {arm.name: arm for arm in equal_leakage.ARMS}
    assert equal_leakage.LEVELS[: len(LEVELS)] == LEVELS
    for study in STUDIES:
        for arm in study.plan.arms[1:]:
            if study.plan.lexicons == ("bundled",):
                assert arm.epsilons == at_levels[arm.name].epsilons[: len(LEVELS)]
                assert len(arm.epsilons) == len(LEVELS)
    assert {study.name for study in STUDIES} == set(NAMES)


@pytest.mark.full
def test_leakages_with_other_vectors_are_the_same() -> None:
    lexicon = load_vocabulary("agnews", real_data()).lexicon
    for arm in learning._GLOVE:
        mechanism = create(arm.mechanism, lexicon, dict(arm.settings))
        shares = [each.after for each in leak(mechanism, arm.epsilons)]
        assert shares == pytest.approx(LEVELS[: len(shares)], rel=0.003)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_record_holds_whole_curves_that_rise(name: str) -> None:
    record = read_recorded(name)
    for learner in (TF_IDF, UNDONE):
        clean, *private = learning_curves(record, learner)
        assert (clean.label, clean.level) == ("", None)
        for curve in private:
            assert curve.sizes == clean.sizes
            assert {mean.trials for mean in curve.accuracy} == {10}
            first, last = curve.accuracy[0], curve.accuracy[-1]
            assert last.mean > first.mean
            # Nobody learns more from private texts than from the same texts as they were written.
            assert last.low < clean.accuracy[-1].high
        by_level: dict[str, list[float]] = {}
        for curve in private:
            by_level.setdefault(curve.label, []).append(curve.accuracy[-1].mean)
        assert all(means == sorted(means) for means in by_level.values())
    assert {curve.label for curve in private} <= {"k-ary", "tem", "optimal"}


def test_every_bundled_crowd_has_a_curve() -> None:
    assert set(RECORDS) == set(CROWDS)


def test_the_number_of_texts_for_an_accuracy() -> None:
    clean, *private = learning_curves(read_recorded(RECORDS["yelp"][0]))
    assert clean.texts_for(0.0) == clean.sizes[0]
    assert clean.texts_for(1.01) is None
    goal = clean.accuracy[0].mean
    assert all(
        (curve.texts_for(goal) or math.inf) >= (clean.texts_for(goal) or math.inf)
        for curve in private
    )
    assert isinstance(private[0], LearningCurve)


@pytest.mark.slow
def test_intervals_are_tried_on_the_bundled_counts(tmp_path: Path) -> None:
    options = (("crowd", "yelp"), ("sizes", (300,)), ("ranks", (10, 1_000)), ("repeated", 60))
    arms = (Arm("k-ary", (7.908,)),)
    plan = Plan("toy", intervals.STUDY.plan.task, arms, ("bundled",), options=options)
    sources = gather(plan, tmp_path, lexicons={"bundled": load()})
    for _ in run(plan, sources, tmp_path):
        pass
    table = pd.DataFrame(collected(plan, sources, tmp_path))
    value: Any = table.set_index(["quantity", "at"])
    for rank in (10, 1_000):
        share = value.loc[(intervals.HELD, rank)]
        assert share["low"] <= share["value"] <= share["high"]
        assert share["value"] > 0.85  # .95 less five standard errors of 60
        assert share["count"] == 60
    widths = value.loc[intervals.WIDTH]["value"]
    assert widths[1_000] > widths[10] > 0


def test_parts_are_all_releases_and_fit_in_memory() -> None:
    for total in (1, 1_000, 10**7, 10**9):
        parts = intervals._parts(400, total)
        assert sum(parts) == 400
        assert all(part == 1 or part * total <= intervals._MOST for part in parts)


@pytest.mark.slow
def test_the_recorded_intervals_hold() -> None:
    rows = read_recorded(intervals.STUDY.name).rows(intervals.HELD)
    # 95 % but for chance: of these many shares none is below by five standard errors of 400.
    assert rows["value"].min() > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 400)
    assert rows["value"].mean() > 0.95
