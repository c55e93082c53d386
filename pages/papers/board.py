"""Leaderboard of a benchmark: one board at a time, and the bound that no mechanism exceeds."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpcore.guarantee import EpsilonMeaning
from dpcore.papers.ours.benchmark.board import GUESSED, MEMBERSHIP, PROMISED, Board, boards
from dpcore.papers.ours.benchmark.cells import LEVELS, LOCAL, METRIC
from dpcore.papers.ours.benchmark.findings import board_caption, frontier, frontier_finding
from dpcore.papers.ours.benchmark.record import MODULE, Benchmark, read_benchmark
from dpcore.papers.ours.benchmark.tables import absent, cells, frame, headings
from dpcore.plots.attack.tradeoff import frontier_figure
from dpcore.plots.style import SCALES, number
from dpcore.study.recorded import Recorded
from pages.shared.figure import show_caption, show_figure
from pages.shared.language import later, numeral, say
from pages.shared.link import choose_one
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.table import show_table

_SENSES = {
    GUESSED: later("words guessed"),
    MEMBERSHIP: later("membership found"),
    f"{PROMISED}-{METRIC}": later("guaranteed ε per distance"),
    f"{PROMISED}-{LOCAL}": later("guaranteed ε of any two words"),
}
_BOUNDS = {METRIC: later("per unit of distance"), LOCAL: later("between any two words")}
_MEANINGS = {METRIC: EpsilonMeaning.METRIC, LOCAL: EpsilonMeaning.LOCAL}


def is_benchmark(record: Recorded) -> bool:
    """Return True if a record has its own boards."""
    plan = record.entry.plan
    return str(plan.get("task")).startswith(f"{MODULE}:") and "" in plan["data"]


def boards_of(record: Recorded) -> tuple[Benchmark, tuple[Board, ...]]:
    """Return a benchmark and its boards, read once for all sessions.

    Raises:
        DpcoreError: it is damaged, or a record that belongs to it is.
    """

    def read() -> tuple[Benchmark, tuple[Board, ...]]:
        benchmark = read_benchmark(record.entry.name)
        return benchmark, boards(benchmark)

    # Under the hash of the record: another record of the same name is read again.
    return once("boards of a benchmark", record.entry.sha256, read)


def all_boards(record: Recorded) -> pd.DataFrame:
    """Return every board in one table of numbers."""
    return frame(boards_of(record)[1])


def board_view(record: Recorded) -> None:
    """Draw the choice of a board, the board, and the mechanisms that are not on it."""
    benchmark, every = boards_of(record)
    board = _choose(every)
    caption = board_caption(board, benchmark)
    names, lines = headings(benchmark), cells(board, benchmark)
    shown = [key for key in names if any(line.get(key) for line in lines)]
    if lines:
        table = _table(lines, shown, names)
        show_table(table, say(caption.finding), height="content")
    numbers = frame([board])
    show_caption(caption, f"board_{board.sense}_{board.level:g}", numbers, numbers.copy)
    missing = absent(board)
    if missing:
        with st.expander(say("Not on this board: {count}", count=len(board.absent)), key="absent"):
            st.text("\n".join(missing))
    note(
        say(
            "≥: of an attacker who need not be the best one. Near: guessed is one as near as the "
            "nine nearest words. Place: of accuracy, as far as the trials tell two apart. "
            "Nearness: of an output to its word, 0 as by chance. A line without accuracy: a better "
            "attacker may guess far more, so it is not compared. × least: ε over the largest known "
            "at which none gives as much away. Cost: of a word, over that of k-ary."
        )
    )


def line_view(record: Recorded) -> None:
    """Draw the bound that no mechanism exceeds, and how far below it mechanisms run."""
    benchmark, every = boards_of(record)
    bounds = choose_one(
        st.segmented_control,
        say("Guarantees"),
        # The two kinds of ε are a choice and not two curves: they never share an axis.
        _BOUNDS,
        "board_bounds",
        required=True,
        help=say("The two kinds of ε are different quantities, so they never share an axis."),
    )
    line, curves = frontier(benchmark, bounds)
    if not (len(line) and len(curves)):
        note(say("There is no record of such guarantees on this lexicon."))
        return
    figure = frontier_figure(line, curves, SCALES[_MEANINGS[bounds]].axis)
    caption = frontier_finding(every, bounds, LEVELS[1])
    show_figure(figure, caption, curves, f"{record.entry.name}_line_{bounds}")


def _choose(every: tuple[Board, ...]) -> Board:
    """Draw the choice of the sense and the level."""
    kinds = {_kind(board) for board in every}
    with st.container(horizontal=True):
        sense = choose_one(
            st.selectbox,
            say("Equal in"),
            # A record need not hold every sense.
            {name: text for name, text in _SENSES.items() if name in kinds},
            "board_sense",
            help=say(
                "Equal ε is not equal privacy. Words guessed: content words, by someone who "
                "knows the mechanism and how common words are. Membership: whether a text was "
                "in a classifier's training data. Guarantees: the ε that is proved or "
                "certified, per unit of distance or between any two words, never both."
            ),
            width=260,
        )
        there = [board for board in every if _kind(board) == sense]
        level = choose_one(
            st.segmented_control,
            say("Level"),
            {f"{board.level:g}": _level(board) for board in there},
            # A key for each sense: the levels of one mean nothing in another.
            f"board_level_{sense}",
            required=True,
        )
    return next(board for board in there if f"{board.level:g}" == level)


def _kind(board: Board) -> str:
    return f"{board.sense}-{board.bounds}" if board.bounds else board.sense


def _level(board: Board) -> str:
    if board.epsilon is not None:
        return f"ε = {numeral(number(board.epsilon))}"
    if board.sense == MEMBERSHIP:
        return f"AUC {numeral(f'{board.level:g}')}"
    return say("{percent:g} of 100", percent=100 * board.level)


def _table(lines: list[dict[str, str]], shown: list[str], names: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame([{names[key]: line[key] for key in shown} for line in lines])
