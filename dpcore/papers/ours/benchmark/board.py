"""Boards of a benchmark: one for each sense and level of equal leakage.

A board has a line for each mechanism: where it meets the level, its guarantee there, its remaining
utility and its leakage. Places are ranges: two mechanisms differ where the interval of their
difference over common trials does not hold 0, all intervals of a board and utility together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.leak import EQUAL, scored_words
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import BAYES
from dpcore.errors import StudyError
from dpcore.guarantee import Status
from dpcore.learn.intervals import places
from dpcore.papers.ours.benchmark.cells import (
    ATTACK_LEVELS,
    HOLDS,
    LEVELS,
    LOCAL,
    METRIC,
)
from dpcore.papers.ours.benchmark.record import COSINE, KEPT, Benchmark, Line, reading
from dpcore.study.recorded import MeanInterval
from dpcore.written import Filled, Named

GUESSED, MEMBERSHIP, PROMISED = "guessed", "membership", "promised"
SENSES = {
    GUESSED: "words guessed",
    MEMBERSHIP: "attacker's AUC on membership",
    PROMISED: "ε promised",
}
"""Senses in which the leakage of a board is equal."""
_ONCE = ("word", "near", "meaning")
NEAR = 0.15
"""Relative: tolerated difference between the share guessed, taken at the nearest end of its
interval, and the level for which ε was searched."""


@dataclass(frozen=True)
class Board:
    """All mechanisms at one level of leakage in one sense.

    Attributes:
        sense: of `SENSES`.
        level: share of words, AUC, or the share that the guaranteed ε permits.
        bounds: what the guaranteed ε bounds; empty in the other senses.
        epsilon: the guaranteed ε of the board; None in the other senses.
        stranger: who guesses the words, of `dpcore.attack.leak.STRANGERS`.
        lines: mechanisms on the board, the best accuracy first, then the absent ones.
    """

    sense: str
    level: float
    bounds: str
    epsilon: float | None
    stranger: str
    lines: tuple[Line, ...]

    @property
    def hundred(self) -> str:
        """Share of words of its level, in words: "10 of 100 content words"."""
        words = Named(words_of(self.stranger))
        return Filled("{level:g} of 100 {words}", level=100 * self.level, words=words)

    @property
    def there(self) -> tuple[Line, ...]:
        """Lines of the mechanisms on the board."""
        return tuple(line for line in self.lines if not line.why)

    @property
    def absent(self) -> tuple[Line, ...]:
        """Lines of the absent mechanisms, each with the reason."""
        return tuple(line for line in self.lines if line.why)

    def best(self, utility: str) -> tuple[Line, ...]:
        """Return the lines that do not differ from the best in a utility."""
        return tuple(line for line in self.there if line.places.get(utility, (2,))[0] == 1)


def words_of(stranger: str) -> str:
    """Name the words that are guessed, briefly: who guesses them is said beside it."""
    return "words" if stranger == EQUAL else scored_words(stranger)


def boards(benchmark: Benchmark) -> tuple[Board, ...]:
    """Return all boards: three levels in each sense, a guaranteed ε by what it bounds.

    Raises:
        StudyError: the record is not that of a benchmark.
    """
    if not len(benchmark.figures.rows("status")):
        raise StudyError(f"{benchmark.figures.name} is no benchmark: it has no guarantees")
    every = [_board(benchmark, GUESSED, level, _guessed(benchmark, level)) for level in LEVELS]
    if any(utility == "auc" for utility, _ in benchmark.trials):
        every += [
            _board(benchmark, MEMBERSHIP, level, _inferred(benchmark, level))
            for level in ATTACK_LEVELS
        ]
    for bounds in (METRIC, LOCAL):
        for level, epsilon in benchmark.least(bounds).items():
            lines = _promised(benchmark, level, bounds)
            every.append(_board(benchmark, PROMISED, level, lines, bounds, epsilon))
    return tuple(every)


def interpolation_error(benchmark: Benchmark) -> dict[str, tuple[float, int]]:
    """Return the error of readings at an AUC, which are interpolated between measured ε.

    The middle level of `LEVELS` is left out, and the utility at its AUC is read between its
    neighbours: the error is the largest difference from the utility measured there.

    Returns:
        By utility, that difference and the number of mechanisms.
    """
    epsilons_there = benchmark.levels("level")
    off: dict[str, list[float]] = {}
    for line in benchmark.bare:
        around = [epsilons_there.get((line.label, share), (None, ""))[0] for share in LEVELS]
        if None in around:
            continue
        low, middle, high = (epsilon for epsilon in around if epsilon is not None)
        auc = {e: float(n.mean()) for e, n in benchmark.trials["auc", line.label].items()}
        # Where the AUC does not rise there is nothing to read between.
        if not auc[low] < auc[middle] < auc[high]:
            continue
        part = (auc[middle] - auc[low]) / (auc[high] - auc[low])
        for utility in benchmark.utilities:
            numbers = benchmark.trials.get((utility, line.label), {})
            if {low, middle, high} <= numbers.keys():
                first, seen, last = (float(numbers[e].mean()) for e in (low, middle, high))
                off.setdefault(utility, []).append(abs(first + part * (last - first) - seen))
    return {utility: (max(values), len(values)) for utility, values in off.items()}


# -- the three senses: lines, each with its numbers by trial


Found = tuple[Line, dict[str, FloatArray]]
"""A line, and by utility one number per trial (or pseudo-value, see `_pseudo`); none if absent."""


def _guessed(benchmark: Benchmark, level: float) -> Iterator[Found]:
    epsilons_there = benchmark.levels("level")
    least = {bounds: benchmark.least(bounds).get(level) for bounds in (METRIC, LOCAL)}
    for line in benchmark.bare:
        if line.why:
            yield line, {}
            continue
        epsilon, why = epsilons_there[line.label, level]
        if epsilon is None:
            yield replace(line, why=why), {}
            continue
        line, trials = _measured_at(benchmark, line, epsilon)
        share = line.guessed or MeanInterval(math.nan, math.nan, math.nan)
        if not (share.low <= (1.0 + NEAR) * level and share.high >= (1.0 - NEAR) * level):
            why = f"at ε = {epsilon:.4g}, where it was looked for, {share.mean:.3g} are guessed"
            yield replace(_only(line), why=why), {}
            continue
        bound = least[line.bounds]
        if line.promised is not None and bound is not None and line.delta is None:
            line = replace(line, waste=line.promised / bound)
        yield line, trials


def _promised(benchmark: Benchmark, level: float, bounds: str) -> Iterator[Found]:
    epsilons_there = benchmark.levels("promised")
    for line in benchmark.bare:
        if line.why or line.bounds != bounds:
            continue
        epsilon, why = epsilons_there[line.label, level]
        if epsilon is None:
            yield replace(line, why=why), {}
        else:
            yield _measured_at(benchmark, line, epsilon)


def _inferred(benchmark: Benchmark, level: float) -> Iterator[Found]:
    for line in benchmark.bare:
        if line.why:
            yield line, {}
            continue
        attacked = benchmark.trials.get(("auc", line.label), {})
        if len(attacked) < 2:
            yield replace(line, why="was measured at fewer than two ε"), {}
            continue
        yield _read_at(benchmark, line, level)


def _measured_at(benchmark: Benchmark, line: Line, epsilon: float) -> Found:
    """Return the line with all measurements at one ε."""
    trials = {
        utility: numbers[epsilon]
        for utility in (*benchmark.utilities, "auc")
        if epsilon in (numbers := benchmark.trials.get((utility, line.label), {}))
    }
    shares = {
        name: benchmark.shares[name, line.label][epsilon] for name in ("word", "near", "meaning")
    }
    poor = epsilon in benchmark.shares.get(("poorly attacked", line.label), {})
    promise = benchmark.shares["promise", line.label][epsilon]
    holds = Status(promise["variant"]) in HOLDS
    return (
        replace(
            line,
            status=Status(promise["variant"]),
            epsilon=MeanInterval(epsilon, math.nan, math.nan),
            promised=float(promise["value"]) if holds else None,
            delta=_number(promise["at"]) if holds else None,
            guessed=_ends(shares["word"]),
            at_least=poor or shares["word"]["variant"] != BAYES,
            near=_ends(shares["near"]),
            meaning=_ends(shares["meaning"]),
            cost=_cost(benchmark, "cost ratio", line.label),
            microseconds=_cost(benchmark, "cost", line.label),
        ),
        {} if poor else trials,
    )


def _read_at(benchmark: Benchmark, line: Line, level: float) -> Found:
    """Return the line at an AUC, read between the measured ε."""
    attacked = benchmark.trials["auc", line.label]
    epsilons = np.array(sorted(attacked))
    auc = np.array([attacked[epsilon] for epsilon in epsilons.tolist()])
    mean = _rising(auc)
    if mean[0] >= level:
        return replace(line, why=f"the AUC is {mean[0]:.3f} or more at all ε measured"), {}
    if mean[-1] < level:
        return replace(line, why=f"the AUC is {mean[-1]:.3f} or less at all ε measured"), {}

    def read(values: FloatArray) -> FloatArray | None:
        """Return one number per trial; None where leaving out a trial misses the AUC."""
        return _pseudo(epsilons, auc, values, level)

    trials = {}
    for utility in (*benchmark.utilities, "auc"):
        numbers = benchmark.trials.get((utility, line.label), {})
        if set(epsilons.tolist()) <= numbers.keys():
            numbers_there = read(np.array([numbers[epsilon] for epsilon in epsilons.tolist()]))
            if numbers_there is None:
                return replace(line, why="meets the AUC in some of the trials alone"), {}
            trials[utility] = numbers_there
    once = {
        name: read(_repeated(benchmark.shares[name, line.label], epsilons, auc.shape[1]))
        for name in _ONCE
    }
    logs = read(np.repeat(np.log(epsilons)[:, None], auc.shape[1], axis=1))
    if logs is None or any(numbers is None for numbers in once.values()):
        return replace(line, why="meets the AUC in some of the trials alone"), {}
    reached = MeanInterval(*(math.exp(end) for end in reading(logs)))
    poor = benchmark.shares.get(("poorly attacked", line.label), {})
    near = np.searchsorted(epsilons, reached.mean)
    around = epsilons[max(near - 1, 0) : near + 1].tolist()
    words = benchmark.shares["word", line.label]
    readings = {
        name: reading(numbers, share=name != "meaning")
        for name, numbers in once.items()
        if numbers is not None
    }
    promise = benchmark.shares["promise", line.label][around[-1]]
    holds = Status(promise["variant"]) in HOLDS
    return (
        replace(
            line,
            status=Status(promise["variant"]),
            epsilon=reached,
            # A guaranteed ε is proportional to the mechanism's own ε.
            promised=float(promise["value"]) * reached.mean / around[-1] if holds else None,
            delta=_number(promise["at"]) if holds else None,
            guessed=readings["word"],
            at_least=any(e in poor or words[e]["variant"] != BAYES for e in around),
            near=readings["near"],
            meaning=readings["meaning"],
            cost=_cost(benchmark, "cost ratio", line.label),
            microseconds=_cost(benchmark, "cost", line.label),
        ),
        trials,
    )


def _pseudo(
    epsilons: FloatArray, auc: FloatArray, values: FloatArray, level: float
) -> FloatArray | None:
    """Read `values` where the mean AUC has a level, as one pseudo-value per trial.

    The mean AUC is made to rise with ε (isotonic regression), so that its noise where nothing leaks
    is not taken for a crossing, and read on straight lines, as the dose of an effect is (Stylianou
    and Flournoy 2002). Jackknife: T times the reading of all trials, less T − 1 times the reading
    without this trial. So the interval of their mean also covers the uncertainty of the AUC.

    Args:
        epsilons: ascending, shape (E,).
        auc: one column per trial, shape (E, T).
        values: the quantity to read, shape (E, T).
        level: of the mean AUC.
    """
    trials = auc.shape[1]

    def read(columns: list[int]) -> float | None:
        ends = np.stack([_rising(auc[:, columns]), values[:, columns].mean(axis=1)])
        amounts = {
            name: np.repeat(each[:, None], 3, axis=1)
            for name, each in zip(("auc", "value"), ends, strict=True)
        }
        return TradeCurve("", "", epsilons, amounts).at("value", "auc", level)

    everything = list(range(trials))
    whole = read(everything)
    if trials == 1 or whole is None:
        return None if whole is None else np.array([whole])
    numbers = []
    for trial in everything:
        rest = read([other for other in everything if other != trial])
        if rest is None:
            return None
        numbers.append(trials * whole - (trials - 1) * rest)
    return np.array(numbers)


def _rising(auc: FloatArray) -> FloatArray:
    """Return the mean over trials at each ε, made to rise, shape (E,)."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(auc.mean(axis=1)).x)


# -- assembly of a board


def _board(
    benchmark: Benchmark,
    sense: str,
    level: float,
    candidates: Iterator[Found],
    bounds: str = "",
    epsilon: float | None = None,
) -> Board:
    pairs = list(candidates)
    there = [(line, trials) for line, trials in pairs if not line.why]
    placed: dict[str, dict[str, tuple[int, int]]] = {}
    for utility in benchmark.utilities:
        tables = {line.label: trials[utility] for line, trials in there if utility in trials}
        # A single mechanism has no place.
        if len(tables) < 2:
            continue
        for label, place in zip(tables, places(np.array(list(tables.values()))), strict=True):
            placed.setdefault(label, {})[utility] = place
    lines = [
        replace(
            line,
            auc=reading(trials["auc"]) if "auc" in trials else None,
            left={
                utility: reading(trials[utility], share=utility != COSINE)
                for utility in benchmark.utilities
                if utility in trials
            },
            places=placed.get(line.label, {}),
        )
        for line, trials in there
    ]
    first = next(iter(benchmark.accuracies), KEPT)
    lines.sort(key=lambda line: -line.left[first].mean if first in line.left else math.inf)
    absent = [_only(line) for line, _ in pairs if line.why]
    return Board(sense, level, bounds, epsilon, benchmark.stranger, (*lines, *absent))


def _only(line: Line) -> Line:
    """Return a line with its guarantee and reason for absence only."""
    return Line(line.label, line.mechanism, line.bounds, line.status, line.reason, line.why)


def _ends(each: dict[str, Any]) -> MeanInterval:
    return MeanInterval(float(each["value"]), float(each["low"]), float(each["high"]))


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(float(value)) else float(value)


def _repeated(known: dict[float, dict[str, Any]], epsilons: FloatArray, trials: int) -> FloatArray:
    """Repeat a one-time measurement for every trial."""
    values = np.array([float(known[epsilon]["value"]) for epsilon in epsilons.tolist()])
    return np.repeat(values[:, None], trials, axis=1)


def _cost(benchmark: Benchmark, quantity: str, label: str) -> float | None:
    measured = benchmark.shares.get((quantity, label), {}).values()
    return next((float(each["value"]) for each in measured), None)
