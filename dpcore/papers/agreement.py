"""How many of the numbers that a paper prints lie within the intervals that are measured here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.papers.row import Row

_NUMBER = r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?"
_PRINTED = re.compile(rf"{_NUMBER}(?:, {_NUMBER})*")
_INTERVAL = re.compile(rf"\(({_NUMBER}) to ({_NUMBER})\)")


@dataclass(frozen=True)
class Agreement:
    """What a table of paper against measurement comes to.

    Attributes:
        rows: figures that are compared.
        numbers: those of which the paper prints numbers, and ours have intervals.
        within: of these, those all of whose printed numbers lie in their intervals.
    """

    rows: int
    numbers: int
    within: int


def agreement(rows: Iterable[Row]) -> Agreement:
    """Count the rows; those without numbers on one side are not judged."""
    judged = [row_within(row) for row in rows]
    numbers = [within for within in judged if within is not None]
    return Agreement(len(judged), len(numbers), sum(numbers))


def row_within(row: Row) -> bool | None:
    """Whether each number that the paper prints lies in its interval of ours.

    One number is compared with every interval (of several classifiers, say), several with one
    interval each, in their order. Ends are those that are shown, so rounded as they are.

    Returns:
        None where the paper says more than numbers, or ours are not one interval a number.
    """
    if not _PRINTED.fullmatch(row.in_paper):
        return None
    printed = [_value(text) for text in row.in_paper.split(", ")]
    intervals = [(_value(low), _value(high)) for low, high in _INTERVAL.findall(row.ours)]
    if len(printed) == 1:
        printed *= len(intervals)
    if not intervals or len(printed) != len(intervals):
        return None
    return all(low <= value <= high for value, (low, high) in zip(printed, intervals, strict=True))


def _value(text: str) -> float:
    return float(text.replace("−", "-"))
