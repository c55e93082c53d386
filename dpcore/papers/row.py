"""One row of the table of paper against measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
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
    difference: str
    reason: str


def signed(difference: float) -> str:
    """A difference with its sign, three digits."""
    return f"{difference:+.3g}".replace("-", "−")


def rounded(value: float, bound: float) -> str:
    """What explains a printed number that is not above the bound that it is said to be above."""
    if value > bound:
        return ""
    return f", which is below it: ln ε is printed rounded (ln {bound:g} = {math.log(bound):.4f})"
