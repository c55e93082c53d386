"""Findings on a board and beside the bound for every mechanism, computed from both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dpcore.attack.leak import describe_stranger
from dpcore.papers.ours.benchmark.board import (
    GUESSED,
    MEMBERSHIP,
    Board,
    interpolation_error,
    words_of,
)
from dpcore.papers.ours.benchmark.cells import LEVELS, LOCAL, METRIC
from dpcore.papers.ours.benchmark.record import Benchmark, Line
from dpcore.papers.ours.benchmark.tables import explained, headings, markdown, place, title, unit_of
from dpcore.plots.style import Caption, number
from dpcore.written import Filled, Named, Numeral, listed

if TYPE_CHECKING:
    import pandas as pd


def board_caption(board: Board, benchmark: Benchmark) -> Caption:
    """Describe the most accurate mechanism on a board, and how many are surely behind it."""
    first = next(iter(benchmark.accuracies), None)
    there = [line for line in board.there if first in line.left]
    if first is None or not there:
        return Caption(Filled("No mechanism meets this level."), explained(board))
    best = there[0]
    behind = sum(line.places.get(first, (1,))[0] > 1 for line in there)
    filling = {
        "best": Named(best.label),
        "right": 100 * best.left[first].mean,
        "where": _where(board),
    }
    if not behind:
        finding = Filled(
            "No two mechanisms are told apart {where}; the largest accuracy, {right:.0f} of 100 "
            "texts, is that of {best}.",
            **filling,
        )
    elif behind == 1:
        finding = Filled(
            "{best} has the largest accuracy: {right:.0f} of 100 texts, {where}; 1 of {there} is "
            "surely behind.",
            there=len(there),
            **filling,
        )
    else:
        finding = Filled(
            "{best} has the largest accuracy: {right:.0f} of 100 texts, {where}; {behind} of "
            "{there} are surely behind.",
            behind=behind,
            there=len(there),
            **filling,
        )
    how = [Filled("{title}.", title=title(board)), explained(board)]
    off, checked = interpolation_error(benchmark).get(first, (math.nan, 0))
    if board.sense == MEMBERSHIP and checked:
        how.append(
            Filled(
                "Checked at an ε that was left out, such readings are off by up to {off:.2f}.",
                off=off,
            )
        )
    without = benchmark.without()
    if first in without:
        how.append(Filled("Without privacy it is {accuracy}.", accuracy=Numeral(without[first])))
    how.append(
        Filled(
            "Accuracy of a classifier that learned from rewritten texts and reads rewritten texts, "
            "mean over trials that all mechanisms have in common. Two are told apart where the "
            "interval of their difference does not hold 0, all pairs together at 95 %. Places of "
            "accuracy ({reader}): {places}.",
            reader=Named(first),
            places=listed(
                Filled("{name} {place}", name=Named(line.label), place=place(line, first))
                for line in there
            ),
        )
    )
    return Caption(finding, listed(how, " "))


def _where(board: Board) -> str:
    if board.sense == GUESSED:
        return Filled("where {words} are guessed", words=board.hundred)
    if board.sense == MEMBERSHIP:
        return Filled("where the attacker's AUC is {auc:g}", auc=board.level)
    return Filled("where ε = {epsilon} is guaranteed", epsilon=number(board.epsilon or math.nan))


def frontier(benchmark: Benchmark, bounds: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the bound for every mechanism, and the curves of proved or certified guarantees.

    Args:
        benchmark: the recorded benchmark.
        bounds: `METRIC` or `LOCAL`.

    Returns:
        Columns epsilon and high; and columns label, epsilon (guaranteed, per unit of Euclidean
        distance or between any two words), quantity "word", value, low, high.
    """
    import pandas as pd

    figures = benchmark.figures
    line = figures.rows("bound", variant=bounds)[["epsilon", "high"]].sort_values("epsilon")
    promises = figures.rows("promise", tested_on=bounds)
    promised = promises[promises["variant"].isin(_HOLD)].set_index(["label", "epsilon"])["value"]
    words = figures.rows(benchmark.words).set_index(["label", "epsilon"])
    both = words.loc[words.index.isin(promised.index), ["value", "low", "high"]]
    curves = both.assign(promised=promised.loc[both.index], quantity="word").reset_index()
    curves = curves.drop(columns="epsilon").rename(columns={"promised": "epsilon"})
    named: pd.DataFrame = curves[["label", "epsilon", "quantity", "value", "low", "high"]]
    return line.reset_index(drop=True), pd.DataFrame(named)


_HOLD = ("proved", "certified on this lexicon")


def frontier_finding(boards: Sequence[Board], bounds: str, level: float) -> Caption:
    """Describe how many times the least possible ε mechanisms need at a level of words guessed."""
    stranger = boards[0].stranger
    words = Named(words_of(stranger))
    how = Filled(
        "The line is the most that a guarantee permits: no mechanism that keeps its ε lets more "
        "{words} be guessed by {stranger}. Only guarantees that are proved or certified are drawn, "
        "ε {unit} (Euclidean, if of distance).",
        words=words,
        stranger=Named(describe_stranger(stranger)),
        unit=unit_of(bounds),
    )
    wastes = _wastes(boards, bounds, level)
    if not wastes:
        return Caption(Filled("No mechanism with such a guarantee meets this level."), how)
    least, most = wastes[0], wastes[-1]
    finding = Filled(
        "Where {level:g} of 100 {words} are guessed, {least} needs at most {least_times} the least "
        "possible ε, {most} {most_times}.",
        level=100 * level,
        words=words,
        least=Named(least.label),
        least_times=_times(least),
        most=Named(most.label),
        most_times=_times(most),
    )
    every = Filled(
        "ε over the least at that level: {each}.",
        each=listed(
            Filled("{name} {place}", name=Named(line.label), place=_times(line)) for line in wastes
        ),
    )
    return Caption(finding, listed((how, every), " "))


def report(benchmark: Benchmark, boards: Sequence[Board]) -> Iterator[str]:
    """Yield the whole report as lines of Markdown: measurements, findings and boards."""
    entry, names = benchmark.figures.entry, headings(benchmark)
    yield f"{entry.sizes} Recorded with version {entry.version} by `{entry.command}`."
    yield ""
    bare = ", ".join(
        f"{names.get(name, name)} {reading}" for name, reading in benchmark.without().items()
    )
    errors = interpolation_error(benchmark)
    off = ", ".join(f"{error:.2g} ({names[name]})" for name, (error, _) in errors.items())
    mechanisms = max((count for _, count in errors.values()), default=0)
    checked = f", of {mechanisms} mechanisms." if mechanisms else ""
    left_out = f" Checked at an ε that was left out, a reading at an AUC is off by at most {off}"
    yield f"Without privacy: {bare}.{left_out + checked if checked else ''}"
    yield ""
    yield "What it comes to:"
    yield ""
    captions = [board_caption(board, benchmark) for board in boards]
    captions += [frontier_finding(boards, bounds, LEVELS[1]) for bounds in (METRIC, LOCAL)]
    yield from (f"- {caption.finding}" for caption in captions)
    yield ""
    yield from markdown(benchmark, boards)


def _wastes(boards: Sequence[Board], bounds: str, level: float) -> list[Line]:
    there = [
        line
        for board in boards
        if (board.sense, board.level) == (GUESSED, level)
        for line in board.there
        if line.bounds == bounds and line.waste is not None
    ]
    return sorted(there, key=lambda line: line.waste or math.inf)


def _times(line: Line) -> str:
    return Filled("{factor} times", factor=number(float(f"{line.waste or math.nan:.2g}")))
