"""What a record of `equal_leakage` says: every mechanism at every level, beside one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.attack.trade.curve import TradeCurve
from dpcore.errors import StudyError
from dpcore.learn.intervals import LEVEL, difference_error, mean_interval, student_quantile
from dpcore.papers.ours.equal_leakage import ARMS, LEVELS, TEACHING
from dpcore.study.membership_trial import STRONGER
from dpcore.study.reading import Figures, Reading
from dpcore.study.recorded import read_recorded
from dpcore.study.rows import CLEAN, PRIVATE

if TYPE_CHECKING:
    import pandas as pd

NEAR = 0.15
"""Relative: a rate this near to a level, or nearer, is compared there. At the lowest level, where
both were drawn, this is two standard errors of what is measured less what ε was found from."""
REFERENCE = "optimal"


@dataclass(frozen=True)
class Compared:
    """A mechanism at one level on one corpus, beside `REFERENCE` there.

    Attributes:
        data: the labelling or corpus.
        level: of `LEVELS`.
        curve: which.
        epsilon: ε.
        guessed: share of the words that are guessed, with the interval of its measurement.
        at_least: whether the attacker is not known to be the best one: a lower bound.
        kept: share of the places of the texts whose word stayed.
        accuracy: on private test texts.
        auc: of the stronger attacker on the membership of training texts.
        gain: accuracy minus that of the reference, on the same trials; the intervals hold for all
            comparisons on this corpus together. None for the reference.
        attack: the same of the AUC.
    """

    data: str
    level: float
    curve: str
    epsilon: float
    guessed: Reading
    at_least: bool
    kept: Reading
    accuracy: Reading
    auc: Reading
    gain: Reading | None = None
    attack: Reading | None = None


def compared(
    figures: Figures,
    rates: Figures | None = None,
    learner: str = "tf-idf",
    level: float = LEVEL,
) -> tuple[Compared, ...]:
    """Every mechanism at every level that it is near to, corpus by corpus.

    Args:
        figures: of a record of `STUDIES`.
        rates: of the record that holds the shares that are guessed; `TEACHING` if None.
        learner: whose accuracy; the attacker's is that of the classifier that was attacked.
        level: coverage of the intervals of all differences on one corpus together.

    Raises:
        StudyError: the record has no shares of words that are guessed, or no such learner.
    """
    guessed = (rates or Figures(read_recorded(TEACHING.name))).rows("word")
    accuracies = figures.rows("accuracy", learner=learner, tested_on=PRIVATE)
    if not (len(guessed) and len(accuracies)):
        raise StudyError(f"no guessed words, or no accuracy of {learner!r}, for {figures.name}")
    return tuple(
        point
        for data in dict.fromkeys(accuracies["data"])
        for point in _beside_reference(_points(figures, guessed, str(data), learner), level)
    )


def task_curves(
    figures: Figures, data: str, rates: Figures | None = None, learner: str = "tf-idf"
) -> dict[str, TradeCurve]:
    """What private text still teaches as curves, by label: along the words that are guessed.

    Args:
        figures: as for `compared`.
        data: the labelling or corpus.
        rates: as for `compared`.
        learner: as for `compared`.

    Returns:
        Curves of the quantities word, kept, accuracy and auc.
    """
    lines: dict[str, list[Compared]] = {}
    for line in compared(figures, rates, learner):
        if line.data == data:
            lines.setdefault(line.curve, []).append(line)
    return {label: _curve(label, some) for label, some in lines.items()}


def without_privacy(
    figures: Figures, data: str, learner: str = "tf-idf"
) -> tuple[Reading, Reading]:
    """Accuracy, and AUC of the stronger attacker, of the texts as they stand."""
    return (
        figures.without("accuracy", data=data, learner=learner, tested_on=CLEAN),
        figures.without("auc", data=data, variant=STRONGER),
    )


def _curve(label: str, lines: list[Compared]) -> TradeCurve:
    ordered = sorted(lines, key=lambda line: line.epsilon)
    readings = {
        "word": [line.guessed for line in ordered],
        "kept": [line.kept for line in ordered],
        "accuracy": [line.accuracy for line in ordered],
        "auc": [line.auc for line in ordered],
    }
    mechanism = next(arm.mechanism for arm in ARMS if arm.name == label)
    weaker = frozenset({"word"} if any(line.at_least for line in ordered) else ())
    return TradeCurve(
        label,
        mechanism,
        np.array([line.epsilon for line in ordered]),
        {name: np.array(values) for name, values in readings.items()},
        weaker,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """What is read of one mechanism at one ε: its line, and accuracy and AUC by trial."""

    line: Compared
    accuracy: pd.Series
    auc: pd.Series


def _points(figures: Figures, rates: pd.DataFrame, data: str, learner: str) -> list[_Point]:
    """All that are near to a level, in the order of the levels and then of the arms."""
    from dpcore.attack.trade.ground import BAYES

    there = set(figures.rows("nw")["label"])
    tested = figures.rows("accuracy", data=data, learner=learner, tested_on=PRIVATE)
    attacked = figures.rows("auc", data=data, variant=STRONGER)
    points = []
    for rate in rates[rates["label"].isin(there)].to_dict("records"):
        level = min(LEVELS, key=lambda level: abs(math.log(rate["value"] / level)))
        if abs(rate["value"] / level - 1.0) > NEAR:
            continue
        curve, epsilon = str(rate["label"]), float(rate["epsilon"])
        accuracy, auc = (_by_seed(rows, curve, epsilon) for rows in (tested, attacked))
        line = Compared(
            data,
            level,
            curve,
            epsilon,
            Reading(rate["value"], rate["low"], rate["high"]),
            rate["variant"] != BAYES,
            figures.at("nw", curve, epsilon),
            _reading(accuracy),
            _reading(auc),
        )
        points.append(_Point(line, accuracy, auc))
    return sorted(points, key=lambda point: point.line.level)


def _by_seed(rows: pd.DataFrame, curve: str, epsilon: float) -> pd.Series:
    """One number a trial, by seed."""
    chosen = rows[(rows["label"] == curve) & (rows["epsilon"] == epsilon)]
    values: pd.Series = chosen.set_index("seed")["value"]
    return values


def _reading(values: pd.Series) -> Reading:
    mean = mean_interval(values.to_numpy(dtype=np.float64))
    return Reading(mean.mean, mean.low, mean.high)


def _beside_reference(points: list[_Point], together: float) -> list[Compared]:
    """The lines, each with its differences from the reference at its level."""
    levels = dict.fromkeys(p.line.level for p in points if p.line.curve == REFERENCE)
    there = [point for point in points if point.line.level in levels]
    # Two differences each: what all may miss together is shared out among them (Bonferroni).
    coverage = 1.0 - (1.0 - together) / max(2 * (len(there) - len(levels)), 1)
    differences: dict[tuple[str, float], dict[str, Any]] = {}
    for level in levels:
        some = [point for point in there if point.line.level == level]
        for name, numbers in (
            ("gain", {p.line.curve: p.accuracy for p in some}),
            ("attack", {p.line.curve: p.auc for p in some}),
        ):
            for curve, difference in _differences(numbers, coverage).items():
                differences.setdefault((curve, level), {})[name] = difference
    lines = []
    for line in (point.line for point in points):
        both = differences.get((line.curve, line.level), {})
        lines.append(replace(line, gain=both.get("gain"), attack=both.get("attack")))
    return lines


def _differences(numbers: dict[str, pd.Series], coverage: float) -> dict[str, Reading]:
    """Of each mechanism from the reference, over trials that all have in common.

    Trials of one seed have the same texts, so that what they do to all cancels.
    """
    reference = numbers[REFERENCE]
    table = np.array([series.loc[reference.index].to_numpy(float) for series in numbers.values()])
    error, freedom = difference_error(table)
    half = student_quantile(freedom, coverage) * error if freedom else math.nan
    result = {}
    for curve, series in numbers.items():
        if curve != REFERENCE:
            mean = float((series - reference).mean())
            result[curve] = Reading(mean, mean - half, mean + half)
    return result
