"""Spans of personal data in a text, and the interface of a redactor."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """Characters start to end (exclusive) of a text, and their kind of personal data."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Redactor:
    """A method of finding personal data.

    Attributes:
        name: on the command line and in links.
        title: for display.
        summary: one phrase on the method, without a full stop.
        spans: of a text, in order and without overlap.
    """

    name: str
    title: str
    summary: str
    spans: Callable[[str], tuple[Span, ...]]


def disjoint(ranked: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans that overlap none before them, in the order of the text.

    Args:
        ranked: in order of precedence.
    """
    kept: list[Span] = []
    for span in ranked:
        place = bisect_left(kept, span)
        clear = place == 0 or kept[place - 1].end <= span.start
        if clear and (place == len(kept) or span.end <= kept[place].start):
            insort(kept, span)
    return tuple(kept)
