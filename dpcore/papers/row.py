"""Row of the table of paper against measurement, with the formats of its numbers.

The sentences of a paper's rows are in `comparison.toml` beside its modules, one table per row;
computed numbers fill the gaps. Gaps use the syntax of `str.format`: "{half:.3g}", "{top[mean]}". A
name that is not computed refers to another sentence of the file, which several rows can share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from dpcore.papers import read_toml
from dpcore.plots.style import number
from dpcore.study.recorded import Figures
from dpcore.written import Filled

FULL = "-full"
"""Ending of the name of a study of the paper's own size, after that of the study of fewer texts."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Comparison of one quantity of a figure; all fields are text for readers.

    Attributes:
        paper: the paper.
        figure: figure, table or section.
        quantity: the quantity compared.
        in_paper: statement or plotted value of the paper.
        ours: our measurement.
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
    """Numbers of a row; any other name refers to a sentence, filled with the same numbers."""

    def __init__(self, sentences: dict[str, Any], numbers: dict[str, Any]) -> None:
        super().__init__(numbers)
        self._sentences = sentences

    def __missing__(self, name: str) -> str:
        return str(self._sentences[name].format_map(self))


def comparison_row(paper: str, key: str, figures: Figures, **numbers: Any) -> Row:
    """Build a row of a paper by filling its sentences with numbers.

    Args:
        paper: package of the paper.
        key: key of the row in the paper's file. A field missing there (`in_paper`, `ours`,
            `difference`, ...) takes the number of that name; a missing `difference` is "".
        figures: source of the numbers; available in a sentence as "figures", and the options of
            its plan as "option".
        numbers: values for the gaps.
    """
    sentences = read_toml(f"{paper}/comparison.toml")
    options = {} if figures.entry.of_words else dict(figures.entry.plan["options"])
    given = {"difference": "", "figures": figures, "option": options} | numbers
    filling = _Filling(sentences, given)
    row = {field.name: "{" + field.name + "}" for field in fields(Row)} | sentences[key]
    return Row(**{name: text.format_map(filling) for name, text in row.items()})


def signed(difference: float, form: str = "+.3g") -> str:
    """Format a difference with its sign, by default in three digits."""
    # The typographic minus, as in the sentences; `dpcore.papers.comparison` reads both.
    return f"{difference:{form}}".replace("-", "−")


def differences(ours: Iterable[float], paper: Iterable[float]) -> str:
    """Format the differences, ours minus the paper's, as a list."""
    return ", ".join(signed(a - b) for a, b in zip(ours, paper, strict=True))


def listing(values: Iterable[float], form: str = ".3g") -> str:
    """Format numbers as a list."""
    return ", ".join(f"{value:{form}}" for value in values)


def percent(share: float) -> str:
    """Format a share in percent."""
    return f"{share:.1%}"


def epsilon_text(epsilon: float | None, none: str = "never") -> str:
    """Format an ε, or return `none` if there is no ε."""
    if epsilon is None:
        return none
    return f"{epsilon:.3g}" if epsilon < 999.5 else number(epsilon)


def rounded(value: float, bound: float) -> str:
    """Explain a printed number that does not exceed its stated bound; empty if it does."""
    if value > bound:
        return ""
    return Filled(
        ", which is below it: ln ε is printed rounded (ln {bound:g} = {logarithm:.4f})",
        bound=bound,
        logarithm=math.log(bound),
    )
