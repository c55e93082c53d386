"""One row of the table of paper against measurement, and how its numbers are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dpcore.plots.layout import number


@dataclass(frozen=True, kw_only=True)
class Row:
    """One quantity of a figure; all fields are sentences or numbers for people.

    Attributes:
        paper: which.
        figure: or table, section.
        quantity: what is compared.
        said: what the paper says or draws.
        ours: what is measured here.
        difference: ours minus the paper's, where both are numbers; else "".
        reason: where and why they differ, or that they agree.
    """

    paper: str
    figure: str
    quantity: str
    said: str
    ours: str
    difference: str = ""
    reason: str


def signed(difference: float) -> str:
    """A difference with its sign, three digits."""
    return f"{difference:+.3g}".replace("-", "−")


def differences(ours: Iterable[float], paper: Iterable[float]) -> str:
    """Ours minus the paper's, one after the other."""
    return ", ".join(signed(a - b) for a, b in zip(ours, paper, strict=True))


def joined(values: Iterable[float], form: str = ".3g") -> str:
    """Numbers in a row."""
    return ", ".join(f"{value:{form}}" for value in values)


def percent(share: float) -> str:
    """A share in percent."""
    return f"{share:.1%}"


def epsilon_text(epsilon: float | None, none: str = "never") -> str:
    """An ε, or that there is none."""
    if epsilon is None:
        return none
    return f"{epsilon:.3g}" if epsilon < 999.5 else number(epsilon)


def rounded(value: float, bound: float) -> str:
    """What explains a printed number that is not above the bound that it is said to be above."""
    if value > bound:
        return ""
    return f", which is below it: ln ε is printed rounded (ln {bound:g} = {math.log(bound):.4f})"
