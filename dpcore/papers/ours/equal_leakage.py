"""Comparison of all mechanisms at equal leakage: accuracy of a classifier trained on their texts.

Equal ε is not equal privacy: ε has another meaning in every mechanism. Here ε is chosen so that
someone who knows the mechanism, and how common words are, guesses the same share of the content
words (`dpcore.attack.leak`, stranger `counts`); a classifier then learns from the output texts. The
share guessed where a near word counts as well is recorded beside it.

`optimal` has weights for a grid of ε and takes those of the smaller neighbour, so its rates are
steps; the levels are some of them. All others are brought to these levels: where all outputs are
summed, by bisection of `leak`; the rest by interpolation in the record of it
(`TradeCurve.epsilon_at`). The share is measured again, with other noise than that of this record.
Where a column of the law is not a closed form it is that of the best of some attackers: a lower
bound of the share that can be guessed.

A mechanism that does not reach a level is absent there. The repaired truncated Gumbel mechanism
leaks nearly all words at every ε that it has. Response over k neighbours never leaks all of them.
`tem-calibrated` is certified at few ε, and only two are near a level; its law is that of TEM at a
larger ε.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.attack.leak import COUNTS, DRAWN, way_of
from dpcore.attack.output.prior import parse_prior
from dpcore.attack.trade.attackers import from_draws
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import BAYES, GUESSED, NEARLY
from dpcore.attack.trade.tradeoff import tradeoff
from dpcore.errors import StudyError
from dpcore.learn.corpus import LabelledTexts
from dpcore.learn.intervals import LEVEL, difference_error, mean_interval, student_quantile
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.teaching import divided
from dpcore.papers.ours.tradeoff import LEAKED, amount_row, leaked
from dpcore.study.labelled_trial import STRONGER, Wanted, labelled_trial, read_material
from dpcore.study.plan import CLEAN, PRIVATE, Arm, Cell, Plan, Row, Settings, Study, row
from dpcore.study.recorded import Figures, MeanInterval, read_recorded
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import labelled_rows

if TYPE_CHECKING:
    import pandas as pd


LEVELS = (0.0494, 0.0988, 0.189, 0.3304, 0.5094)
"""Shares of content words guessed: those of `optimal` at ε = .95, 1.05, 1.15, 1.25, 1.35."""
_LEARNED = {"vickrey": 20}
# Outputs of each word from which an attacker learns (`attackers.guess_from_samples`). Only for an
# arm that often answers with a neighbour, so that repeating the output guesses less: for the others
# learning adds nothing to repeating.
MEASURED = ("word", "near", "kind", "guess", "kept", "meaning")
"""Quantities of a trade-off, all words equally likely, that are recorded beside the texts."""

_CLOSED: Settings = (("outputs", 400),)
# Columns of these are closed forms: a few hundred outputs give the share to a percent of itself.
_NEIGHBOURS = {
    3: (6.614, 7.404, 8.264, 9.256, 10.85),
    10: (5.898, 6.767, 7.817, 9.694),
    30: (5.321, 6.305, 7.902),
    100: (6.266,),
}
ARMS = (
    Arm(""),
    Arm("optimal", (0.95, 1.05, 1.15, 1.25, 1.35), options=_CLOSED),
    Arm("tem", (1.888, 2.088, 2.291, 2.492, 2.694), options=_CLOSED),
    Arm("tem-calibrated", (1.2, 1.4), options=_CLOSED),
    Arm("truncated-gumbel", (28.0,)),
    Arm("madlib", (7.95, 9.2, 10.6, 12.2, 13.9)),
    Arm("mahalanobis", (8.05, 9.42, 11.0, 12.5, 14.2)),
    # From about ε = 14 on someone who has learned the inputs guesses more than those of the record.
    Arm("vickrey", (8.43, 10.4, 13.2, 20.9, 36.5)),
    Arm("random-projection", (5.24, 6.27, 7.42, 8.67, 9.99)),
    Arm("k-ary", (7.158, 7.908, 8.667, 9.418, 10.16), options=_CLOSED),
    *(
        Arm("neighbour-response", values, (("k", k),), f"neighbour-response, k = {k}", _CLOSED)
        for k, values in _NEIGHBOURS.items()
    ),
    Arm("laplace", (121.0, 140.0, 162.0, 185.0, 211.0)),
    Arm("l2-laplace", (85.6, 99.5, 115.0, 132.0, 150.0)),
    Arm("gaussian", (32.2, 40.3, 50.2, 61.5, 74.3)),
    Arm("trlaplace-corrected", (119.0, 138.0, 160.0, 185.0, 211.0)),
    Arm("adept-l1", (97.6, 115.0, 134.0, 153.0, 174.0)),
)


def arms_at(labels: Sequence[str], levels: Sequence[int]) -> tuple[Arm, ...]:
    """Return some arms by their names, each with its ε at some of `LEVELS`, given by place."""
    named = {arm.name: arm for arm in ARMS}
    return tuple(
        Arm(arm.mechanism, tuple(arm.epsilons[i] for i in levels), arm.settings, arm.name)
        for arm in map(named.__getitem__, labels)
    )


_FIRST = 1
# Seed 0 is that of the record of `leak`, from which ε was found: here all noise is fresh.
_SHARED: Settings = (
    ("learners", ("tf-idf", "averaged")),
    ("attacked", ("tf-idf",)),
    ("outputs", 10_000),
    ("stranger", COUNTS),
)
_TASK = "dpcore.papers.ours.equal_leakage:measure_utility"
_TRIALS = 5
TEACHING = Study(
    "Teaching corpus: mechanisms at equal leakage",
    "",
    Plan(
        "equal-leakage",
        _TASK,
        ARMS,
        ("bundled",),
        seeds=tuple(range(_FIRST, _FIRST + _TRIALS)),
        options=(*_SHARED, ("guessed", _FIRST)),
        together=True,
    ),
    f"In each of {_TRIALS} trials 1,008 training and 432 test texts of the teaching corpus, newly "
    "drawn and whole, under both labellings.",
)
_LEFT_OUT = ("tem-calibrated", "truncated-gumbel", "l2-laplace", "trlaplace-corrected", "adept-l1")
# For time: the law or the noise of each is near to that of another arm, or it has only one level.
_REAL_ARMS = tuple(arm for arm in ARMS if arm.mechanism not in _LEFT_OUT)
_WORDS = 1_000


def _real(
    key: str, title: str, training: int, testing: int, trials: int, more: Settings = ()
) -> Study:
    file = f"{key}.parquet"
    sizes: Settings = (("train", training), ("test", testing), ("words", _WORDS), ("title", title))
    return Study(
        f"{title}: mechanisms at equal leakage",
        "",
        Plan(
            f"{TEACHING.name}-{key.partition('_')[0]}",
            _TASK,
            _REAL_ARMS,
            ("bundled",),
            (file,),
            tuple(range(_FIRST, _FIRST + trials)),
            (*_SHARED, *sizes, *more),
            together=True,
        ),
        f"In each of {trials} trials {training:,} training and {testing:,} test texts, newly "
        f"drawn, of each its first {_WORDS:,} words; over the bundled lexicon.",
    )


STUDIES = (
    TEACHING,
    _real("sst2", "SST-2", 2_000, 500, 20),
    _real("agnews", "AG News", 600, 300, 10),
    _real("imdb", "IMDb", 3_000, 1_000, 4),
    _real("yelp_sentences", "Yelp", 3_000, 1_000, 20, (("train_split", "dev"),)),
)


def measure_utility(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one seed of one mechanism at all its ε, or the baseline; for one seed also leakage.

    Options: `learners` and `attacked`, as `dpcore.study.labelled_trial.Wanted`; `guessed`, the
    seed whose cells measure the share guessed, from `outputs`, as `dpcore.attack.leak.leak` and
    `dpcore.attack.trade.tradeoff.tradeoff` (it depends on mechanism, ε and lexicon only, and is
    measured once for all corpora), and `stranger`, of `dpcore.attack.leak.STRANGERS`; for a file
    `train` and `test` (texts), `train_split` if it has another name, `words` read from each text,
    and `title`.
    """
    parts = corpus_parts(cell, sources) if cell.data else divided(cell.shared_generator("split"))
    material = read_material(parts, sources.lexicon(cell.lexicon))
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    wanted = Wanted(tuple(cell.option("learners")), tuple(cell.option("attacked")))
    trial = labelled_trial(material, mechanism, cell.epsilons, cell.seed, wanted)
    # Curves of true over false positives would be most of the table.
    rows = [measured for measured in trial if measured["quantity"] != "roc"]
    if mechanism is not None and cell.seed == cell.option("guessed"):
        rows += _guessed(mechanism, cell)
    return rows


def corpus_parts(cell: Cell, sources: Sources) -> dict[str, tuple[LabelledTexts, LabelledTexts]]:
    """Return texts of a real corpus, the same for every mechanism, each cut to its first words."""
    path, most = sources.file(cell.data), int(cell.option("words"))
    splits = {"train": str(cell.option("train_split", "train")), "test": "test"}
    both = [
        labelled_rows(path, split, int(cell.option(part)), cell.shared_generator("texts", split))
        for part, split in splits.items()
    ]
    first, last = (
        replace(part, texts=tuple(" ".join(text.split()[:most]) for text in part.texts))
        for part in both
    )
    return {str(cell.option("title")): (first, last)}


def _guessed(mechanism: Mechanism, cell: Cell) -> list[Row]:
    """Measure the shares of content words guessed, and a trade-off, all words equally likely."""
    outputs, stranger = int(cell.option("outputs")), str(cell.option("stranger"))
    # Pairs of words told apart are not needed: the smallest possible number.
    table = tradeoff(mechanism, cell.epsilons, outputs=outputs, pairs=2, seed=cell.seed)
    amounts = [amount for amount in table.rows if amount.quantity in MEASURED]
    learned = _LEARNED.get(cell.label, 0)
    if learned:
        amounts = from_draws(mechanism, amounts, learned, outputs, cell.seed)
    rows = [
        amount_row(amount, len(mechanism.lexicon) if amount.exact else outputs)
        for amount in amounts
    ]
    # A column of these takes an integral for every word, and all laws take minutes.
    laws = way_of(mechanism, parse_prior(mechanism.lexicon, stranger)) == DRAWN
    draws = 200 if laws else outputs
    leaks = leaked(mechanism, cell.epsilons, stranger, draws, cell.seed, learned, laws)
    for gain, each in leaks:
        at = {"epsilon": each.epsilon, "low": each.low, "high": each.high, "count": outputs}
        rows.append(row(LEAKED[gain], each.after, variant=each.attacker, **at))
    return rows


# Readings of a record of `equal_leakage`: every mechanism at every level, beside one reference.


NEAR = 0.15
"""Relative: a rate within this distance of a level is compared there. At the lowest level, where
both were drawn, this is two standard errors of the measured rate less the rate used to find ε."""
REFERENCE = "optimal"


@dataclass(frozen=True)
class Compared:
    """One mechanism at one level on one corpus, beside `REFERENCE` there.

    Attributes:
        data: the labelling or corpus.
        level: of `LEVELS`.
        curve: label of the curve.
        epsilon: ε.
        guessed: share of content words guessed by someone who knows how common they are, with the
            interval of its measurement.
        near: the same where one of the nine nearest words counts as well.
        equal: share of words guessed by someone who takes all for equally likely.
        at_least: of `guessed` and `near`: True if the attacker is not known to be the best one, so
            that they are lower bounds.
        kept: share of the positions of the texts whose word stayed.
        accuracy: on private test texts, of a classifier that learned from private ones.
        clean: the same classifier on the test texts as they were written.
        auc: of the stronger attacker on the membership of training texts.
        gain: accuracy minus that of the reference, on the same trials; the intervals hold for all
            comparisons on this corpus together. None for the reference.
        clean_gain: the same of the accuracy on clean texts.
        attack: the same of the AUC.
    """

    data: str
    level: float
    curve: str
    epsilon: float
    guessed: MeanInterval
    near: MeanInterval
    equal: MeanInterval
    at_least: bool
    kept: MeanInterval
    accuracy: MeanInterval
    clean: MeanInterval
    auc: MeanInterval
    gain: MeanInterval | None = None
    clean_gain: MeanInterval | None = None
    attack: MeanInterval | None = None


def compare_mechanisms(
    figures: Figures,
    rates: Figures | None = None,
    learner: str = "tf-idf",
    level: float = LEVEL,
) -> tuple[Compared, ...]:
    """Return every mechanism at every level that it is near to, corpus by corpus.

    Args:
        figures: of a record of `STUDIES`.
        rates: of the record that holds the guessed shares; `TEACHING` if None.
        learner: name of the classifier; the AUC is that of the classifier that was attacked.
        level: coverage of the intervals of all differences on one corpus together.

    Raises:
        StudyError: the record has no guessed shares, or no such learner.
    """
    rates = rates or Figures(read_recorded(TEACHING.name))
    guessed = {name: rates.rows(name) for name in (GUESSED, NEARLY, "word")}
    accuracies = figures.rows("accuracy", learner=learner, tested_on=PRIVATE)
    if not (len(guessed[GUESSED]) and len(accuracies)):
        raise StudyError(f"no guessed words, or no accuracy of {learner!r}, for {figures.name}")
    return tuple(
        point
        for data in dict.fromkeys(accuracies["data"])
        for point in _beside_reference(_points(figures, guessed, str(data), learner), level)
    )


def task_curves(
    figures: Figures, data: str, rates: Figures | None = None, learner: str = "tf-idf"
) -> dict[str, TradeCurve]:
    """Return accuracy and AUC as curves over the share of words guessed, by label.

    Args:
        figures: as for `compare_mechanisms`.
        data: the labelling or corpus.
        rates: as for `compare_mechanisms`.
        learner: as for `compare_mechanisms`.

    Returns:
        Curves of the quantities `GUESSED`, `NEARLY`, word, kept, accuracy and auc.
    """
    lines: dict[str, list[Compared]] = {}
    for line in compare_mechanisms(figures, rates, learner):
        if line.data == data:
            lines.setdefault(line.curve, []).append(line)
    return {label: _curve(label, some) for label, some in lines.items()}


def without_privacy(
    figures: Figures, data: str, learner: str = "tf-idf"
) -> tuple[MeanInterval, MeanInterval]:
    """Return accuracy, and AUC of the stronger attacker, on the original texts."""
    return (
        figures.without("accuracy", data=data, learner=learner, tested_on=CLEAN),
        figures.without("auc", data=data, variant=STRONGER),
    )


def _curve(label: str, lines: list[Compared]) -> TradeCurve:
    ordered = sorted(lines, key=lambda line: line.epsilon)
    readings = {
        GUESSED: [line.guessed for line in ordered],
        NEARLY: [line.near for line in ordered],
        "word": [line.equal for line in ordered],
        "kept": [line.kept for line in ordered],
        "accuracy": [line.accuracy for line in ordered],
        "auc": [line.auc for line in ordered],
    }
    mechanism = next(arm.mechanism for arm in ARMS if arm.name == label)
    weaker = frozenset({GUESSED, NEARLY, "word"} if any(line.at_least for line in ordered) else ())
    return TradeCurve(
        label,
        mechanism,
        np.array([line.epsilon for line in ordered]),
        {name: np.array(values) for name, values in readings.items()},
        weaker,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """Readings of one mechanism at one ε: its line, and numbers by trial, for each difference."""

    line: Compared
    trials: dict[str, pd.Series]


def _points(
    figures: Figures, guessed: dict[str, pd.DataFrame], data: str, learner: str
) -> list[_Point]:
    """Return all points near a level, in the order of the levels and then of the arms."""
    there = set(figures.rows("nw")["label"])
    tested, cleanly = (
        figures.rows("accuracy", data=data, learner=learner, tested_on=which)
        for which in (PRIVATE, CLEAN)
    )
    attacked = figures.rows("auc", data=data, variant=STRONGER)
    points, rates = [], guessed[GUESSED]
    near, equal = (
        {(each["label"], each["epsilon"]): _interval(each) for each in table.to_dict("records")}
        for table in (guessed[NEARLY], guessed["word"])
    )
    for rate in rates[rates["label"].isin(there)].to_dict("records"):
        # In ratios: the levels are a geometric series.
        level = min(LEVELS, key=lambda level: abs(math.log(rate["value"] / level)))
        if abs(rate["value"] / level - 1.0) > NEAR:
            continue
        curve, epsilon = str(rate["label"]), float(rate["epsilon"])
        trials = {
            "gain": _by_seed(tested, curve, epsilon),
            "clean_gain": _by_seed(cleanly, curve, epsilon),
            "attack": _by_seed(attacked, curve, epsilon),
        }
        line = Compared(
            data,
            level,
            curve,
            epsilon,
            _interval(rate),
            near[curve, epsilon],
            equal[curve, epsilon],
            rate["variant"] != BAYES,
            figures.at("nw", curve, epsilon),
            *(_reading(numbers) for numbers in trials.values()),
        )
        points.append(_Point(line, trials))
    return sorted(points, key=lambda point: point.line.level)


def _interval(row: Mapping[Any, Any]) -> MeanInterval:
    return MeanInterval(row["value"], row["low"], row["high"])


def _by_seed(rows: pd.DataFrame, curve: str, epsilon: float) -> pd.Series:
    """Return one number per trial, by seed."""
    chosen = rows[(rows["label"] == curve) & (rows["epsilon"] == epsilon)]
    values: pd.Series = chosen.set_index("seed")["value"]
    return values


def _reading(values: pd.Series) -> MeanInterval:
    mean = mean_interval(values.to_numpy(dtype=np.float64))
    return MeanInterval(mean.mean, mean.low, mean.high)


def _beside_reference(points: list[_Point], together: float) -> list[Compared]:
    """Return the lines, each with its differences from the reference at its level."""
    levels = dict.fromkeys(p.line.level for p in points if p.line.curve == REFERENCE)
    there = [point for point in points if point.line.level in levels]
    # The error probability is divided among all differences (Bonferroni).
    names = tuple(there[0].trials) if there else ()
    coverage = 1.0 - (1.0 - together) / max(len(names) * (len(there) - len(levels)), 1)
    differences: dict[tuple[str, float], dict[str, Any]] = {}
    for level in levels:
        some = [point for point in there if point.line.level == level]
        for name in names:
            numbers = {point.line.curve: point.trials[name] for point in some}
            for curve, difference in _differences(numbers, coverage).items():
                differences.setdefault((curve, level), {})[name] = difference
    lines = [point.line for point in points]
    return [replace(line, **differences.get((line.curve, line.level), {})) for line in lines]


def _differences(numbers: dict[str, pd.Series], coverage: float) -> dict[str, MeanInterval]:
    """Return each mechanism's difference from the reference, over the trials common to all.

    Trials of one seed have the same texts, so that an effect of the texts on all of them cancels.
    """
    reference = numbers[REFERENCE]
    table = np.array([series.loc[reference.index].to_numpy(float) for series in numbers.values()])
    error, freedom = difference_error(table)
    half = student_quantile(freedom, coverage) * error if freedom else math.nan
    result = {}
    for curve, series in numbers.items():
        if curve != REFERENCE:
            mean = float((series - reference).mean())
            result[curve] = MeanInterval(mean, mean - half, mean + half)
    return result
