"""What a study is made of: mechanisms at some ε, the words, and the figures drawn of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Series:
    """One mechanism at some ε, measured in one way.

    Attributes:
        name: unique in its study.
        mechanism: short name in the registry.
        epsilons: ascending; those that the mechanism does not have are recorded as undefined.
        settings: of the mechanism.
        method: as for `dpcore.measure.deniability.measure`.
        words: at most this many of the study's words; None takes them all.
        named: measure these words, one by one, instead of the study's; those that the vocabulary
            does not hold are left out.
        curve: series that are drawn as one have the same; its name if empty.
    """

    name: str
    mechanism: str
    epsilons: tuple[float, ...]
    settings: Settings = ()
    method: str = "auto"
    words: int | None = None
    named: tuple[str, ...] = ()
    curve: str = ""


@dataclass(frozen=True)
class Panel:
    """One figure of a study.

    Attributes:
        title: for people.
        quantity: nw or sw over ε, or "trade" for Sw against Nw.
        curves: that it shows; their ε must mean the same, except in a trade.
    """

    title: str
    quantity: str
    curves: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """A study to be recorded.

    Attributes:
        name: what the command line takes.
        title: for people.
        source: paper and figures to be compared with; empty if none.
        vocabulary: key of `dpcore.study.vocabularies`.
        words: how many are measured.
        series: what is measured.
        panels: what is drawn.
        by_tokens: words are drawn as the corpus holds them, frequent ones often; else one word
            from each of equal parts of the vocabulary.
        runs: R.
    """

    name: str
    title: str
    source: str
    vocabulary: str
    words: int
    series: tuple[Series, ...]
    panels: tuple[Panel, ...]
    by_tokens: bool = False
    runs: int = 1_000


def grid(low: float, high: float, count: int, *more: float) -> tuple[float, ...]:
    """A geometric grid of values with four digits, and more values between."""
    points = {float(f"{value:.4g}") for value in np.geomspace(low, high, count)}
    return tuple(sorted(points | set(more)))


def powers(*logarithms: float) -> tuple[float, ...]:
    """e to these powers."""
    return tuple(math.exp(value) for value in logarithms)
