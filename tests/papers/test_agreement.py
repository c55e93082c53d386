"""Printed numbers within measured intervals: what is judged, what is not, and where it is read."""

import pytest

from dpcore.papers.agreement import Agreement, agreement, row_within
from dpcore.papers.comparison import compare
from dpcore.papers.row import Row
from dpcore.study.recorded import read_recorded


def row(in_paper: str, ours: str) -> Row:
    return Row(
        paper="", figure="", quantity="", in_paper=in_paper, ours=ours, reason="for a reason"
    )


@pytest.mark.parametrize(
    ("in_paper", "ours", "within"),
    [
        ("0.52", "0.517 (0.483 to 0.550)", True),
        ("0.52", "0.517 (0.483 to 0.519)", False),
        ("0.50", "as written 0.505 (0.499 to 0.512); stronger 0.500 (0.489 to 0.511)", True),
        ("0.50", "as written 0.513 (0.501 to 0.526); stronger 0.500 (0.489 to 0.511)", False),
        ("0.1, 0.7", "0.1 (0.0 to 0.2), 0.6 (0.5 to 0.7)", True),
        ("0.7, 0.1", "0.1 (0.0 to 0.2), 0.6 (0.5 to 0.7)", False),
        ("6e-05", "6.05e-05 (5.2e-05 to 0.0013)", True),
        ("−0.1", "−0.12 (−0.2 to −0.05)", True),
        ("0.1, 0.7, 0.9", "0.1 (0.0 to 0.2), 0.6 (0.5 to 0.7)", None),
        ("0.52", "0.517", None),
        ("about 0.52", "0.517 (0.483 to 0.550)", None),
        ("10,000", "7,224", None),
        ("not given", "0.017 (0.009 to 0.025)", None),
    ],
)
def test_a_row_is_judged_where_numbers_stand_beside_intervals(
    in_paper: str, ours: str, within: bool | None
) -> None:
    assert row_within(row(in_paper, ours)) is within


def test_rows_are_counted() -> None:
    rows = [
        row("0.52", "0.517 (0.483 to 0.550)"),
        row("0.9", "0.517 (0.483 to 0.550)"),
        row("more", "less"),
    ]
    assert agreement(rows) == Agreement(rows=3, numbers=2, within=1)
    assert agreement(()) == Agreement(0, 0, 0)


def test_of_carvalho_two_printed_figures_lie_in_the_intervals() -> None:
    """Madlib at ε = 2, where nothing is left; TEM has other accuracy and another attacker's AUC."""
    rows = compare(read_recorded("carvalho2021-figure-1"))
    assert [r.quantity for r in rows if row_within(r)] == [
        "accuracy of madlib at ε = 2",
        "attacker's AUC against madlib at ε = 2",
    ]
    assert [r.quantity for r in rows if row_within(r) is False] == [
        "accuracy of tem at ε = 2",
        "attacker's AUC against tem at ε = 2",
    ]
