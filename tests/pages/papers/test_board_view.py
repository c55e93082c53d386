"""The leaderboard on the page Papers: a board at a time, who is not on it, and the line."""

import functools

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.papers.ours.benchmark.board import Board, boards
from dpcore.papers.ours.benchmark.cells import LEVELS, LOCAL, METRIC
from dpcore.papers.ours.benchmark.findings import board_caption, frontier_finding
from dpcore.papers.ours.benchmark.record import STUDIES, read_benchmark
from dpcore.papers.ours.benchmark.tables import absent, cells
from pages.papers.board import boards_of, is_benchmark
from pages.shared.taking import recorded
from tests.pages.app import figures, open_link, shown_text

NAMES = [study.name for study in STUDIES]
benchmark = functools.cache(read_benchmark)
every_board = functools.cache(lambda name=NAMES[0]: boards(benchmark(name)))
KINDS = {
    "guessed": ("guessed", ""),
    "membership": ("membership", ""),
    f"promised-{METRIC}": ("promised", METRIC),
    f"promised-{LOCAL}": ("promised", LOCAL),
}


def opened(name: str = NAMES[0], **link: str) -> AppTest:
    return open_link("papers", look="experiments", experiment=name, **link)


def of(name: str, kind: str) -> list[Board]:
    return [board for board in every_board(name) if (board.sense, board.bounds) == KINDS[kind]]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_board_shows_who_is_on_it_and_who_is_not(name: str, kind: str) -> None:
    board = of(name, kind)[-1]
    test = opened(name, board_sense=kind, **{f"board_level_{kind}": f"{board.level:g}"})
    lines = cells(board, benchmark(name))
    shown = shown_text(test)
    assert board_caption(board, benchmark(name)).finding in shown
    if lines:
        (table,) = test.dataframe
        assert table.value["mechanism"].tolist() == [line["label"] for line in lines]
        assert table.value["guarantee there"].tolist() == [line["promise"] for line in lines]
    for sentence in absent(board):
        assert sentence in shown


@pytest.mark.slow
def test_a_visit_begins_with_words_guessed_and_the_link_says_what_is_chosen() -> None:
    test = opened()
    assert test.selectbox(key="board_sense").value == "guessed"
    test.selectbox(key="board_sense").select("membership").run()
    assert test.query_params["board_sense"] == "membership"
    assert not test.exception


@pytest.mark.parametrize(("view", "offered"), [("board", False), ("line", False), ("curves", True)])
def test_what_a_board_does_not_heed_is_not_offered_above_it(view: str, offered: bool) -> None:
    test = opened(use_view=view)
    labels = {box.label for box in [*test.selectbox, *test.segmented_control]}
    assert ("Accuracy on" in labels) == ("Attacker" in labels) == offered


@pytest.mark.parametrize("bounds", [METRIC, LOCAL])
def test_the_line_that_nobody_crosses_is_drawn_for_one_kind_of_promise(bounds: str) -> None:
    test = opened(use_view="line", board_bounds=bounds)
    finding = frontier_finding(every_board(), bounds, LEVELS[1]).finding
    assert finding in shown_text(test)
    assert len(figures(test)) == 1


def test_boards_are_read_once_and_of_benchmarks_alone() -> None:
    record = recorded(NAMES[0])
    assert boards_of(record) is boards_of(record)
    assert is_benchmark(record)
    assert not is_benchmark(recorded("equal-leakage"))
    assert not is_benchmark(recorded("teaching-corpus"))


def test_all_boards_can_be_taken_along() -> None:
    test = opened()
    test.session_state["taking"] = True
    test.run()
    assert not test.exception
    assert "python -m dpcore study run benchmark" in shown_text(test)
