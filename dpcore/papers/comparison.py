"""Comparison of the figures in papers with recorded measurements, and the tables for its plots.

No measured number is typed here: each of our numbers is read from a recorded result or computed
from the formula under comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import resolve
from dpcore.papers.carvalho2021.comparison import carvalho_rows
from dpcore.papers.habernal2021.comparison import adept_rows
from dpcore.papers.huang2024 import comparison as huang
from dpcore.papers.huang2024.plans import figure_nw
from dpcore.papers.row import Row
from dpcore.papers.xu2021.comparison import figure_rows as xu_figure_rows
from dpcore.papers.xu2021.comparison import stated_sw
from dpcore.papers.xu2021.training_comparison import training_rows
from dpcore.plots.deniability.recorded import COLUMNS
from dpcore.study.plan import Panel
from dpcore.study.recorded import Figures, Recorded

if TYPE_CHECKING:
    import pandas as pd


_COMPARED: dict[str, Callable[[Figures], tuple[Row, ...]]] = {
    "xu2021-figure-1-imdb": xu_figure_rows,
    "xu2021-figure-1-snli": xu_figure_rows,
    "xu2021-tables-2-3-imdb": training_rows,
    "xu2021-tables-2-3-snli": training_rows,
    "huang2024-figure-2-yelp": huang.figure_rows,
    "huang2024-figure-5-yahoo": huang.figure_rows,
    "huang2024-figure-4-sst2": huang.accuracy_rows,
    "huang2024-figure-4-agnews": huang.accuracy_rows,
    "huang2024-figure-4-sst2-full": huang.accuracy_rows,
    "huang2024-figure-4-agnews-full": huang.accuracy_rows,
    "huang2024-tables-yelp": huang.table_rows,
    "huang2024-autoencoder-yelp": huang.autoencoder_rows,
    "huang2024-autoencoder-yahoo": huang.autoencoder_rows,
    "huang2024-autoencoder-noise-yelp": huang.noise_rows,
    "carvalho2021-figure-1": carvalho_rows,
    "carvalho2021-figure-1-full": carvalho_rows,
    "adept2021-atis-snips": adept_rows,
}
"""Comparison by name of the study; a study that is not listed reproduces no paper."""


def comparison_rows(recorded: Recorded) -> tuple[Row, ...]:
    """Return the rows of a recorded study; empty for a study that reproduces no paper.

    Raises:
        StudyError: the result lacks a curve or an ε that is compared.
    """
    rows = _COMPARED.get(recorded.entry.name)
    return rows(Figures(recorded)) if rows else ()


def comparison_table(recorded: Recorded) -> pd.DataFrame:
    """Return the rows as a table with the columns of `Row`."""
    import pandas as pd

    columns = [field.name for field in fields(Row)]
    return pd.DataFrame([asdict(row) for row in comparison_rows(recorded)], columns=columns)


# Agreement: the number of figures whose printed numbers lie within our intervals.


# With both minus signs: texts have the typographic one.
_NUMBER = r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?"
_PRINTED = re.compile(rf"{_NUMBER}(?:, {_NUMBER})*")
_INTERVAL = re.compile(rf"\(({_NUMBER}) to ({_NUMBER})\)")


@dataclass(frozen=True)
class Agreement:
    """Summary of a table of paper against measurement.

    Attributes:
        rows: number of figures compared.
        numbers: figures for which the paper prints numbers and we have intervals.
        within: of these, the figures all of whose printed numbers lie in our intervals.
        printed: figures for which the paper prints numbers, with or without an interval of ours.
    """

    rows: int
    numbers: int
    within: int
    printed: int


def agreement(rows: Iterable[Row]) -> Agreement:
    """Count the rows; rows without numbers on one side are not assessed."""
    every = list(rows)
    judged = [row_within(row) for row in every]
    numbers = [within for within in judged if within is not None]
    # Percentages, and two numbers joined by "and", are numbers alone too.
    bare = [row.in_paper.replace(" %", "").replace(" and ", ", ") for row in every]
    printed = sum(_PRINTED.fullmatch(text) is not None for text in bare)
    return Agreement(len(judged), len(numbers), sum(numbers), printed)


def row_within(row: Row) -> bool | None:
    """Return True if every number that the paper prints lies in our interval for it.

    A single number is compared with every interval (for example of several classifiers), several
    numbers with one interval each, in order. The ends are those displayed, with their rounding.

    Returns:
        None if the paper states more than numbers, or if our figures are not one interval per
        number.
    """
    # Only bare numbers: "around 0.865" is a statement, and is not judged.
    if not _PRINTED.fullmatch(row.in_paper):
        return None
    printed = [_value(text) for text in row.in_paper.split(", ")]
    intervals = [(_value(low), _value(high)) for low, high in _INTERVAL.findall(row.ours)]
    if len(printed) == 1:
        # The paper says one number for what is several rows here.
        printed *= len(intervals)
    if not intervals or len(printed) != len(intervals):
        return None
    return all(low <= value <= high for value, (low, high) in zip(printed, intervals, strict=True))


def _value(text: str) -> float:
    return float(text.replace("−", "-"))


# Tidy tables for the plots of a study, read from a recorded result.


TRADE = "trade"
_CURVE = COLUMNS[:-1]  # all but the layer


@dataclass(frozen=True, eq=False)
class Drawing:
    """A panel with its data.

    Attributes:
        panel: the panel to draw.
        table: rows with the columns of `dpcore.plots.deniability.recorded`.
        meaning: meaning of ε, taken from the first curve.
    """

    panel: Panel
    table: pd.DataFrame
    meaning: EpsilonMeaning


def drawing(recorded: Recorded, panel: Panel) -> Drawing:
    """Return the data of a panel.

    Raises:
        StudyError: the result does not hold a curve of the panel.
    """
    # Every panel has Nw, whatever it draws, and all its curves mean the same by ε.
    rows = Figures(recorded).curve("nw", panel.curves[0])
    meaning = resolve(str(rows["mechanism"].iloc[0])).meaning
    make = _trade if panel.quantity == TRADE else _curves
    return Drawing(panel, make(recorded, panel), meaning)


def _curves(recorded: Recorded, panel: Panel) -> pd.DataFrame:
    """Return one row per curve, layer and ε."""
    import pandas as pd

    figures, parts = Figures(recorded), []
    for curve in panel.curves:
        best = figures.curve(panel.quantity, curve)
        parts.append(best[list(_CURVE)].assign(layer="line"))
        points = figures.protocol(panel.quantity, curve)
        if len(points):
            parts.append(points[list(_CURVE)].assign(layer="protocol"))
        ends = float(best["epsilon"].min()), float(best["epsilon"].max())
        layer, printed = "paper", figure_nw(recorded.entry.name, curve)
        if panel.quantity != "nw":
            layer, printed = "stated", stated_sw(recorded.entry.name, curve, ends)
        if printed:
            row = {"curve": curve, "mechanism": best["mechanism"].iloc[0], "layer": layer}
            row |= {"method": "the paper", "words": 0, "runs": 0}
            rows = [row | {"epsilon": e, "mean": mean} for e, mean in printed.items()]
            parts.append(pd.DataFrame(rows).reindex(columns=list(COLUMNS)))
    # Fixed types: printed values have no counts and no intervals, and would make columns of
    # objects.
    kinds = {"words": "int64", "runs": "int64"}
    kinds |= dict.fromkeys(_CURVE[3:9], "float64")
    return pd.concat([part.astype(kinds) for part in parts], ignore_index=True)


def _trade(recorded: Recorded, panel: Panel) -> pd.DataFrame:
    """Return one row per curve and ε: mean Nw and mean Sw by the best method."""
    import pandas as pd

    figures, parts = Figures(recorded), []
    for curve in panel.curves:
        nw, sw = (figures.curve(quantity, curve) for quantity in ("nw", "sw"))
        kept = nw[["curve", "mechanism", "method", "epsilon", "words", "runs"]]
        parts.append(kept.assign(nw=nw["mean"], sw=sw["mean"]))
    return pd.concat(parts, ignore_index=True)
