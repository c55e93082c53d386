"""Utility of private text for classifiers: training on it, tests on private and on clean text.

A document is a bag of lexicon words (`dpcore.learn.corpus`), cut to its first positions. One noise
draw per seed gives the private text at every ε of a grid (`dpcore.mechanisms.bulk`): for
experiments only. The results are rows of `dpcore.study.plan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError, StudyError
from dpcore.guarantee import EpsilonMeaning, Status
from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.learn.corpus import Bags
from dpcore.learn.intervals import mean_interval
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from dpcore.noise.streams import generator
from dpcore.plots.style import number
from dpcore.study.plan import CLEAN, PRIVATE, Prepared, Row, canonical, kept, row
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import CURVE_COLUMNS, KEYS, curve_name, curves

if TYPE_CHECKING:
    import pandas as pd


def baseline(
    train_on: Prepared, test_on: Prepared, lexicon: Lexicon, learners: Sequence[str], seed: int
) -> Iterator[Row]:
    """Yield the accuracy on clean text, and that of always guessing the largest training class."""
    yield majority(train_on.labels, test_on.labels)
    faced = {CLEAN: test_on.bags}
    yield from learned(train_on, faced, test_on.labels, learners, lexicon.vectors, seed)


def trial(
    train_on: Prepared,
    test_on: Prepared,
    mechanism: Mechanism,
    epsilons: Sequence[float],
    learners: Sequence[str],
    seed: int,
) -> Iterator[Row]:
    """Draw noise once and yield each classifier's accuracy at each ε on private and clean tests."""
    draws = private(mechanism, (train_on.bags, test_on.bags), epsilons, seed)
    vectors = mechanism.lexicon.vectors
    for epsilon, texts, tests in zip(epsilons, *draws, strict=True):
        yield kept((train_on.bags, texts), (test_on.bags, tests), epsilon=epsilon)
        training, faced = Prepared(texts, train_on.labels), {PRIVATE: tests, CLEAN: test_on.bags}
        yield from learned(training, faced, test_on.labels, learners, vectors, seed, epsilon)


def majority(labels: NDArray[np.int64], true: NDArray[np.int64], **named: Any) -> Row:
    """Compute the accuracy of always guessing the class that is largest in the training labels."""
    share = (true == np.bincount(labels).argmax()).mean()
    return row("majority", share, tested_on=CLEAN, count=true.size, **named)


def learned(
    training: Prepared,
    faced: Mapping[str, Bags],
    true: NDArray[np.int64],
    learners: Sequence[str],
    vectors: NDArray[np.float32],
    seed: int,
    epsilon: float | None = None,
    watch: Callable[[str, Classifier], None] | None = None,
) -> Iterator[Row]:
    """Train each classifier on some texts and yield its accuracy.

    Args:
        training: training texts.
        faced: test texts, by the column `tested_on`: the same texts, rewritten or not.
        true: classes of the test texts.
        learners: names of the classifiers.
        vectors: public word vectors, shape (n, d).
        seed: seed of the networks.
        epsilon: ε of the rows.
        watch: called with the name of each classifier and the trained classifier.
    """
    for name in learners:
        # The same start at every ε, so that two points of a curve differ in the text alone.
        rng = generator(seed, "learner", name)
        model = train(learner_of(name), training.bags, training.labels, vectors, rng)
        for where, bags in faced.items():
            share = model.accuracy(bags, true)
            named = {"epsilon": epsilon, "learner": name, "tested_on": where}
            yield row("accuracy", share, count=true.size, **named)
        if watch is not None:
            watch(name, model)


def private(
    mechanism: Mechanism,
    parts: Sequence[Bags],
    epsilons: Sequence[float],
    seed: int,
    progress: Progress = silent,
) -> list[list[Bags]]:
    """Rewrite documents at each ε from one draw of `seed`; unknown words get random stand-ins.

    Args:
        mechanism: the mechanism that rewrites each position.
        parts: documents over its lexicon, which share the laws of their distinct words.
        epsilons: E values of ε.
        seed: seed of all noise.
        progress: called with (stage, done, total).

    Returns:
        For each part, its documents at each ε.
    """
    rng = generator(seed, "private text", mechanism.key, canonical(mechanism.settings()))
    # One call for all parts: the laws of their distinct words are computed once.
    before = np.concatenate([bags.inputs(rng) for bags in parts])
    after = outputs_at(mechanism, rng, before, np.asarray(epsilons), progress)
    ends = np.cumsum([bags.words.size for bags in parts])[:-1]
    return [
        [bags.with_words(outputs[:, e]) for e in range(len(epsilons))]
        for bags, outputs in zip(parts, np.split(after, ends), strict=True)
    ]


# Mechanisms of different kinds on one axis: at equal Nw, attack success, or proved loss.
#
# The same ε is not the same privacy in two mechanisms. Comparable are the leakage of their texts in
# the same experiment (Nw, the attacker's AUC), and what is proved of them: the largest privacy loss
# between any two words, in nats, which is a guarantee of local privacy for each of them. Where a
# claim is refuted or nothing is known, there is no such number, and the output says so.


LOSS = "loss"
"""As a quantity: the largest privacy loss between any two words that is proved, in nats."""
EQUAL_COLUMNS = (*CURVE_COLUMNS, "x")


def at_equal(
    table: pd.DataFrame, by: tuple[str, dict[str, Any]], quantity: tuple[str, dict[str, Any]]
) -> pd.DataFrame:
    """Return mean and interval of a quantity against another quantity at the same ε.

    Args:
        table: rows of an experiment.
        by: quantity of the x axis (or `LOSS`) and its filter, as for `curves`.
        quantity: quantity of the y axis and its filter.

    Returns:
        Columns `EQUAL_COLUMNS`, ε ascending within a curve; ε without an x are left out.
    """
    points = curves(table, quantity[0], **quantity[1])
    axis = losses(table, **by[1]) if by[0] == LOSS else curves(table, by[0], **by[1])
    axis = axis.rename(columns={LOSS if by[0] == LOSS else "mean": "x"})[[*KEYS, "x"]]
    joined = points.merge(axis, on=KEYS)
    return joined[joined["x"].notna()].reset_index(drop=True)[list(EQUAL_COLUMNS)]


def losses(table: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Return the largest loss between any two words for every curve and ε, as far as it is known.

    A loss computed over all pairs of words (`true_epsilon`) takes precedence over one that is
    claimed and proved.

    Returns:
        Columns curve, mechanism, epsilon, loss (NaN if unknown), status.
    """
    point = ["curve", "epsilon"]
    claimed = curves(table, "claimed_loss", **where)[[*KEYS, "mean"]]
    status = chosen(table, "claimed_loss")
    status = status.assign(curve=status["label"].map(curve_name)).drop_duplicates(point)
    known = claimed.merge(status[[*point, "variant"]], on=point, how="left")
    known = known.rename(columns={"mean": "loss", "variant": "status"})
    computed = curves(table, "true_epsilon", **where)[[*KEYS, "mean"]]
    known = known.merge(computed.rename(columns={"mean": "true"}), on=KEYS, how="left")
    # A loss is ε times a length, so the true ε in place of the claimed one gives the true loss.
    better = known["true"] / known["epsilon"] * known["loss"]
    known["loss"] = better.where(known["true"].notna(), known["loss"])
    unknown = ~known["status"].isin([str(Status.PROVED), str(Status.CERTIFIED)])
    known.loc[unknown & known["true"].isna(), "loss"] = float("nan")
    return known.drop(columns="true")


def loss_sentence(table: pd.DataFrame, **where: Any) -> str:
    """Name the curves with unknown loss, and those whose loss holds only up to a probability δ."""
    known = losses(table, **where)
    sentences = []
    unknown = known[known["loss"].isna()]
    for status, rows in unknown.groupby("status", sort=False, dropna=False):
        names = ", ".join(dict.fromkeys(rows["curve"]))
        why = f"the guarantee is {status}" if isinstance(status, str) and status else "not computed"
        sentences.append(f"Not drawn where no loss is proved ({why}): {names}.")
    approximate = [
        str(curve)
        for (curve, mechanism), rows in known.groupby(["curve", "mechanism"], sort=False)
        if resolve(str(mechanism)).meaning is EpsilonMeaning.LOCAL_APPROXIMATE
        and rows["loss"].notna().any()
    ]
    if approximate:
        sentences.append(f"Together with a δ: {', '.join(approximate)}.")
    return " ".join(sentences)


# The smallest ε that keeps accuracy within a margin of the baseline, by mechanism.


@dataclass(frozen=True)
class Solved:
    """The ε from which on a curve stays within a margin of the baseline.

    Attributes:
        curve: label of the curve.
        mechanism: short name.
        epsilon: the smallest ε from which on the mean loss is at most the margin; None if the curve
            does not reach it within the measured ε.
        low: the same for the lower end of the loss's interval: before it, the loss is larger.
        high: the same for the upper end: from it on, the loss is surely that small; None if the
            curve does not reach it.
        smallest: the smallest measured ε; `epsilon` equal to it means "or less".
        largest: the largest measured ε.
    """

    curve: str
    mechanism: str
    epsilon: float | None
    low: float | None
    high: float | None
    smallest: float
    largest: float

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.epsilon is None:
            return f"{self.curve}: not reached up to ε = {number(self.largest)}"
        low = "?" if self.low is None else _short(self.low)
        if self.low is not None and self.low <= self.smallest:
            low += " or less"
        high = f"more than {number(self.largest)}" if self.high is None else _short(self.high)
        less = " or less" if self.epsilon <= self.smallest else ""
        return f"{self.curve}: ε = {_short(self.epsilon)}{less} (interval {low} to {high})"


def _short(epsilon: float) -> str:
    return f"{epsilon:.3g}" if epsilon < 999.5 else number(epsilon)


def solve_margin(table: pd.DataFrame, within: float, **where: Any) -> tuple[Solved, ...]:
    """Find the smallest ε of every curve whose accuracy is within a margin of the baseline's.

    The loss is computed per seed (baseline minus curve, on the same texts), so that the effect of
    the choice of texts cancels; its mean has a 95 % t-interval. Between two measured ε the loss is
    interpolated linearly in ln ε.

    Args:
        table: rows of an experiment, with its baseline.
        within: margin x in accuracy, from 0 to 1.
        where: learner, tested_on, lexicon …, as for `curves`; the baseline is the clean one.

    Raises:
        ParameterError: the margin is not between 0 and 1.
        StudyError: there is no baseline, or fewer than two seeds.
    """
    (answers,) = solve_each(table, (within,), **where)
    return answers


def solve_each(
    table: pd.DataFrame, margins: Sequence[float], **where: Any
) -> tuple[tuple[Solved, ...], ...]:
    """Run `solve_margin` for each of some margins, with one pass over the table.

    Args:
        table: as for `solve_margin`.
        margins: margins in accuracy, each from 0 to 1.
        where: as for `solve_margin`.

    Raises:
        ParameterError: as `solve_margin`.
        StudyError: as `solve_margin`.
    """
    for within in margins:
        if not 0 <= within <= 1:
            raise ParameterError(f"a margin of accuracy must be from 0 to 1, got {within}")
    rows = chosen(table, "accuracy", **where)
    # The baseline has clean texts only, regardless of the texts that the curves are tested on.
    shared = {name: value for name, value in where.items() if name != "tested_on"}
    clean = chosen(table, "accuracy", **shared)
    before = clean[clean["epsilon"].isna()].groupby("seed")["value"].mean()
    if len(before) < 2:
        raise StudyError("an interval needs the baseline of at least two seeds")
    rows = rows[rows["epsilon"].notna()]
    rows = rows.assign(curve=rows["label"].map(curve_name))
    found = []
    for (curve, mechanism), part in rows.groupby(["curve", "mechanism"], sort=False):
        epsilons, losses = _losses(part, before)
        if epsilons.size:
            found.append((str(curve), str(mechanism), epsilons, losses))
    return tuple(tuple(_solved(*each, within) for each in found) for within in margins)


def _solved(
    curve: str,
    mechanism: str,
    epsilons: NDArray[np.float64],
    losses: NDArray[np.float64],
    within: float,
) -> Solved:
    # Each end of the interval is its own curve, with the same question.
    places = [_from_on(np.log(epsilons), line, within) for line in losses]
    low, epsilon, high = (None if x is None else math.exp(x) for x in places)
    return Solved(curve, mechanism, epsilon, low, high, float(epsilons[0]), float(epsilons[-1]))


def _losses(
    rows: pd.DataFrame, before: pd.Series
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ε ascending, and lower end, mean and upper end of the loss at each, shape (3, E)."""
    epsilons, lines = [], []
    for epsilon, part in rows.groupby("epsilon"):
        after = part.groupby("seed")["value"].mean()
        loss = (before - after).dropna().to_numpy(dtype=np.float64)
        if loss.size < 2:
            continue
        mean = mean_interval(loss)
        epsilons.append(float(cast("float", epsilon)))
        lines.append((mean.low, mean.mean, mean.high))
    return np.array(epsilons), np.array(lines).reshape(-1, 3).T


def _from_on(x: NDArray[np.float64], losses: NDArray[np.float64], within: float) -> float | None:
    """Return the smallest x from which on the loss is at most the margin, up to the last x."""
    fails = np.flatnonzero(losses > within)
    if not fails.size:
        return float(x[0])
    last = int(fails[-1])
    if last == x.size - 1:
        return None
    # The line from the last point above the margin to the next, which is at most the margin.
    share = (losses[last] - within) / (losses[last] - losses[last + 1])
    return float(x[last] + share * (x[last + 1] - x[last]))
