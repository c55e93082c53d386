"""One row of the table of paper against measurement, and how its numbers are written.

The sentences of a paper's rows stand in `comparison.toml` beside its modules, a table a row; what a
module computes fills the gaps. A gap is named as `str.format` has it: "{half:.3g}", "{top[mean]}".
A name that is not computed is another sentence of the file, for what several rows say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from dpcore.papers.written import written
from dpcore.plots.style import number
from dpcore.study.recorded import Figures


@dataclass(frozen=True, kw_only=True)
class Row:
    """One quantity of a figure; all fields are sentences or numbers for people.

    Attributes:
        paper: which.
        figure: or table, section.
        quantity: what is compared.
        in_paper: what the paper says or draws.
        ours: what is measured here.
        difference: ours minus the paper's, where both are numbers; else "".
        reason: where and why they differ, or that they agree.
    """

    paper: str
    figure: str
    quantity: str
    in_paper: str
    ours: str
    difference: str = ""
    reason: str


class _Filling(dict[str, Any]):
    """The numbers of a row; another name is that of a sentence, filled with the same numbers."""

    def __init__(self, sentences: dict[str, Any], numbers: dict[str, Any]) -> None:
        super().__init__(numbers)
        self._sentences = sentences

    def __missing__(self, name: str) -> str:
        return str(self._sentences[name].format_map(self))


def compared(paper: str, key: str, figures: Figures, **numbers: Any) -> Row:
    """A row of a paper, its sentences filled with numbers.

    Args:
        paper: the package of the paper.
        key: of the row in the paper's file. A field that it leaves out (`in_paper`, `ours`,
            `difference`, ...) is the number of that name; no `difference` is "".
        figures: that the numbers are read from; in a sentence "figures", and "option" for the
            options of its plan.
        numbers: what fills the gaps.
    """
    sentences = written(f"{paper}/comparison.toml")
    options = {} if figures.entry.of_words else dict(figures.entry.plan["options"])
    given = {"difference": "", "figures": figures, "option": options} | numbers
    filling = _Filling(sentences, given)
    row = {field.name: "{" + field.name + "}" for field in fields(Row)} | sentences[key]
    return Row(**{name: text.format_map(filling) for name, text in row.items()})


def signed(difference: float, form: str = "+.3g") -> str:
    """A difference with its sign, three digits."""
    return f"{difference:{form}}".replace("-", "−")


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
