"""The boards of a benchmark, on numbers that are known beforehand."""

import math

import numpy as np
import pytest

from dpcore.errors import StudyError
from dpcore.guarantee import Status
from dpcore.papers.ours.benchmark.board import (
    GUESSED,
    MEMBERSHIP,
    PROMISED,
    Board,
    boards,
    interpolation_error,
)
from dpcore.papers.ours.benchmark.cells import ATTACK_LEVELS, LEVELS, LOCAL, METRIC
from dpcore.papers.ours.benchmark.findings import board_caption, frontier_finding
from dpcore.papers.ours.benchmark.record import COSINE, KEPT, Benchmark, Line
from dpcore.papers.ours.benchmark.tables import (
    absent,
    cells,
    frame,
    headings,
    line_fields,
    markdown,
)
from dpcore.study.recorded import Figures, read_recorded
from tests.papers.ours.benchmark.made import EPSILONS, LEAST, Made, benchmark

FIRST = Made("first", METRIC, accuracy=(0.5, 0.6, 0.7, 0.8, 0.85))
SECOND = Made("second", METRIC)
SAME = Made("the same", METRIC)
RANDOM = Made("random", LOCAL, accuracy=(0.5, 0.5, 0.52, 0.6, 0.7))
FALSE = Made("false", METRIC, status="refuted", accuracy=(0.5, 0.52, 0.58, 0.65, 0.75))
ALL = benchmark(SECOND, FIRST, SAME, RANDOM, FALSE, absent=[("gone", "needs two words")])


def board(made: Benchmark, sense: str, level: float, bounds: str = "") -> Board:
    (found,) = (b for b in boards(made) if (b.sense, b.level, b.bounds) == (sense, level, bounds))
    return found


def line(some: Board, label: str) -> Line:
    (found,) = (one for one in some.lines if one.label == label)
    return found


def test_there_is_a_board_for_each_level_of_each_sense() -> None:
    kinds = [(b.sense, b.level, b.bounds) for b in boards(ALL)]
    assert kinds == [
        *((GUESSED, level, "") for level in LEVELS),
        *((MEMBERSHIP, level, "") for level in ATTACK_LEVELS),
        *((PROMISED, level, METRIC) for level in LEVELS),
        *((PROMISED, level, LOCAL) for level in LEVELS),
    ]


def test_where_as_many_words_are_guessed_all_is_as_it_was_measured_there() -> None:
    tenth = board(ALL, GUESSED, 0.1)
    assert tenth.there[0].label == "first"
    first = line(tenth, "first")
    assert first.epsilon is not None
    assert first.guessed is not None
    assert first.epsilon.mean == 4.0
    assert first.guessed == pytest.approx((0.1, 0.097, 0.103))
    assert not first.at_least
    assert first.promised == 4.0
    assert first.waste == pytest.approx(4.0 / (2 * LEAST[METRIC]))
    assert first.left["sentiment"].mean == pytest.approx(0.7)
    assert first.left[KEPT].mean == pytest.approx(0.1)
    assert first.left[COSINE].mean == pytest.approx(0.1)
    assert (first.cost, first.microseconds) == (1.5, 3.0)
    spread = np.std((-0.003, -0.001, 0.001, 0.003), ddof=1) / 2
    assert first.left["sentiment"].high == pytest.approx(0.7 + 3.182446305 * spread)


def test_places_are_ranges_where_trials_cannot_tell() -> None:
    tenth = board(ALL, GUESSED, 0.1)
    places = {one.label: one.places["sentiment"] for one in tenth.there}
    assert places["first"] == (1, 1)
    assert places["second"] == places["the same"] == (2, 3)
    assert places["false"] == (4, 4)
    assert places["random"] == (5, 5)
    assert [one.label for one in tenth.best("sentiment")] == ["first"]
    assert tenth.there[0].places[KEPT] == (1, 5)  # of all as many words stay


def test_a_guarantee_that_does_not_hold_is_none() -> None:
    false = line(board(ALL, GUESSED, 0.1), "false")
    assert (false.status, false.promised, false.waste) == (Status.REFUTED, None, None)
    missing = line(board(ALL, PROMISED, LEVELS[1], METRIC), "false")
    assert missing.why == "is not promised"
    assert missing.promised is None
    assert not missing.left


def test_guarantees_of_two_kinds_never_share_a_board() -> None:
    for some in boards(ALL):
        if some.sense == PROMISED:
            assert {one.bounds for one in some.lines} == {some.bounds}
            assert some.epsilon == LEAST[some.bounds] * (1 + LEVELS.index(some.level))
    there = board(ALL, PROMISED, LEVELS[0], LOCAL).there
    assert [(one.label, one.promised) for one in there] == [("random", 2.0)]


def test_who_is_not_there_says_why() -> None:
    made = benchmark(
        FIRST,
        Made("low", METRIC, levels=(1.0, 2.0, "gives too little away", 8.0, 16.0)),
        Made("off", METRIC, shares=(0.02, 0.05, 0.2, 0.25, 0.5)),
        absent=[("gone", "needs two words")],
    )
    tenth = board(made, GUESSED, 0.1)
    assert [one.label for one in tenth.there] == ["first"]
    reasons = {one.label: one.why for one in tenth.absent}
    assert reasons["low"] == "gives too little away"
    assert reasons["off"] == "at ε = 4, where it was looked for, 0.2 are guessed"
    assert reasons["gone"] == "needs two words"
    assert "gone: needs two words" in absent(tenth)


def test_a_poor_attacker_is_marked_and_has_no_place() -> None:
    made = benchmark(FIRST, SECOND, Made("mute", METRIC, attacker="repeats", poor=(4.0,)))
    mute = line(board(made, GUESSED, 0.1), "mute")
    assert mute.at_least
    assert not mute.places
    assert not mute.left
    other = line(board(made, GUESSED, 0.25), "mute")
    assert other.at_least  # of one who repeats it is always a lower bound
    assert other.places


def test_an_auc_is_met_between_two_measured_epsilons() -> None:
    """Of .56 at ε = 4 and .66 at 8, .60 lies four tenths of the way: all is read there."""
    sixth = board(ALL, MEMBERSHIP, 0.6)
    first = line(sixth, "first")
    assert first.epsilon is not None
    assert first.auc is not None
    assert first.epsilon.mean == pytest.approx(4.0 * 2.0**0.4)
    assert first.auc.mean == pytest.approx(0.6)
    assert first.promised == pytest.approx(4.0 * 2.0**0.4)
    assert first.left["sentiment"].mean == pytest.approx(0.7 + 0.4 * 0.1)
    assert first.guessed is not None
    assert first.guessed.mean == pytest.approx(0.1 + 0.4 * 0.15)


def test_noise_of_the_auc_is_no_crossing_and_where_it_never_comes_is_said() -> None:
    made = benchmark(
        FIRST,
        Made("bumpy", METRIC, auc=(0.56, 0.50, 0.50, 0.54, 0.80)),
        Made("blind", METRIC, auc=(0.5, 0.51, 0.5, 0.51, 0.52)),
        Made("open", METRIC, auc=(0.9, 0.9, 0.9, 0.9, 0.9)),
    )
    fifth = board(made, MEMBERSHIP, 0.55)
    bumpy = line(fifth, "bumpy")
    assert bumpy.epsilon is not None
    assert bumpy.epsilon.mean > 8.0  # .56 at the least ε is pooled with what follows
    assert line(fifth, "blind").why == "the AUC is 0.520 or less at all ε measured"
    assert line(fifth, "open").why == "the AUC is 0.900 or more at all ε measured"


def test_a_straight_line_is_read_without_error() -> None:
    straight = Made("straight", METRIC, accuracy=(0.5, 0.52, 0.56, 0.66, 0.80))
    (error, count) = interpolation_error(benchmark(straight))["sentiment"]
    assert error == pytest.approx(0.0, abs=1e-12)
    assert count == 1
    bent = Made("bent", METRIC, accuracy=(0.5, 0.52, 0.60, 0.66, 0.80))
    assert interpolation_error(benchmark(bent))["sentiment"][0] == pytest.approx(0.04)


def test_a_record_that_is_no_benchmark_is_refused() -> None:
    with pytest.raises(StudyError, match="no benchmark"):
        boards(Benchmark(Figures(read_recorded("trade-off"))))


def test_what_people_read_is_what_was_measured() -> None:
    tenth = board(ALL, GUESSED, 0.1)
    rows = {row["label"]: row for row in cells(tenth, ALL)}
    assert set(rows["first"]) == set(headings(ALL))
    assert rows["first"]["promise"] == "4 per distance; proved"
    assert rows["random"]["promise"] == "4 any two words; proved"
    assert rows["false"]["promise"] == "none: refuted"
    assert rows["false"]["waste"] == ""
    assert rows["first"]["sentiment place"] == "1"
    assert rows["second"]["sentiment place"] == "2–3"
    assert rows["first"]["sentiment"].startswith("0.700 (0.69")
    text = "\n".join(markdown(ALL, boards(ALL)))
    assert text.count("### ") == len(boards(ALL))
    assert "- gone: needs two words" in text
    assert "nan" not in text


def test_the_table_of_all_boards_holds_every_number() -> None:
    every = boards(ALL)
    table = frame(every)
    assert len(table) == sum(len(one.lines) for one in every)
    some = table[(table["sense"] == GUESSED) & (table["level"] == 0.1)]
    row = some[some["label"] == "first"].iloc[0]
    assert row["sentiment"] == pytest.approx(0.7)
    assert (row["sentiment first"], row["sentiment last"]) == (1, 1)
    assert math.isnan(some[some["label"] == "false"]["promised"].iloc[0])
    values = line_fields(line(every[1], "first"))
    assert values["epsilon"] == [4.0, None, None]
    assert values["places"]["sentiment"] == [1, 1]


def test_a_finding_is_computed_from_its_board() -> None:
    tenth = board(ALL, GUESSED, 0.1)
    caption = board_caption(tenth, ALL)
    assert caption.finding == (
        "first has the largest accuracy: 70 of 100 texts, where 10 of 100 words are guessed; 4 of "
        "5 are surely behind."
    )
    found = frontier_finding(boards(ALL), METRIC, 0.1)
    assert "needs at most 4 times the least possible ε" in found.finding
    alike = board_caption(board(benchmark(SECOND, SAME), GUESSED, 0.1), ALL)
    assert alike.finding.startswith("No two mechanisms are told apart where 10 of 100 words")
    read = board_caption(board(ALL, MEMBERSHIP, 0.6), ALL)
    assert "are off by up to 0." in str(read)
    assert "are off by" not in str(caption)


def test_every_epsilon_of_the_made_up_benchmark_is_measured() -> None:
    for (utility, label), numbers in ALL.trials.items():
        assert tuple(sorted(numbers)) == EPSILONS, (utility, label)
        assert all(values.shape == (4,) for values in numbers.values())
