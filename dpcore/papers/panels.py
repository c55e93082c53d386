"""What the figures of a study are drawn from: tidy tables, read from a recorded result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import resolve
from dpcore.papers.huang2024.printed import figure_nw
from dpcore.plots.deniability.recorded import COLUMNS
from dpcore.study.reading import Figures

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.study.definition import Panel
    from dpcore.study.recorded import Recorded

TRADE = "trade"
_CURVE = COLUMNS[:-1]  # all but the layer


@dataclass(frozen=True, eq=False)
class Drawing:
    """A panel with its numbers.

    Attributes:
        panel: what is drawn.
        table: the columns of `dpcore.plots.deniability.recorded`.
        meaning: of ε, of the first curve.
    """

    panel: Panel
    table: pd.DataFrame
    meaning: EpsilonMeaning


def drawing(recorded: Recorded, panel: Panel) -> Drawing:
    """The numbers of a panel.

    Raises:
        StudyError: the result does not hold a curve of the panel.
    """
    rows = Figures(recorded).curve("nw", panel.curves[0])
    meaning = resolve(str(rows["mechanism"].iloc[0])).meaning
    make = _trade if panel.quantity == TRADE else _curves
    return Drawing(panel, make(recorded, panel), meaning)


def _curves(recorded: Recorded, panel: Panel) -> pd.DataFrame:
    """One row a curve, layer and ε."""
    import pandas as pd

    figures, parts = Figures(recorded), []
    for curve in panel.curves:
        best = figures.curve(panel.quantity, curve)
        parts.append(best[list(_CURVE)].assign(layer="line"))
        points = figures.protocol(panel.quantity, curve)
        if len(points):
            parts.append(points[list(_CURVE)].assign(layer="protocol"))
        printed = figure_nw(recorded.entry.name, curve) if panel.quantity == "nw" else {}
        if printed:
            row = {"curve": curve, "mechanism": best["mechanism"].iloc[0], "layer": "paper"}
            row |= {"method": "the paper", "words": 0, "runs": 0}
            rows = [row | {"epsilon": e, "mean": mean} for e, mean in printed.items()]
            parts.append(pd.DataFrame(rows).reindex(columns=list(COLUMNS)))
    kinds = {"words": "int64", "runs": "int64"}
    kinds |= dict.fromkeys(_CURVE[3:9], "float64")
    return pd.concat([part.astype(kinds) for part in parts], ignore_index=True)


def _trade(recorded: Recorded, panel: Panel) -> pd.DataFrame:
    """One row a curve and ε: mean Nw and mean Sw by the best method."""
    import pandas as pd

    figures, parts = Figures(recorded), []
    for curve in panel.curves:
        nw, sw = (figures.curve(quantity, curve) for quantity in ("nw", "sw"))
        kept = nw[["curve", "mechanism", "method", "epsilon", "words", "runs"]]
        parts.append(kept.assign(nw=nw["mean"], sw=sw["mean"]))
    return pd.concat(parts, ignore_index=True)
