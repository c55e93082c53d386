"""The tables behind figures and views of the Deniability page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from dpcore.measure.equal_nw import crossings
from dpcore.measure.summary import summarise
from dpcore.plots.deniability import equal_nw
from dpcore.plots.deniability.curves import COLUMNS, WORD_COLUMNS
from pages.shared.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pages.deniability.curves import Curve

_QUANTITIES = ("nw", "sw", "effective")
_ROLES = ("word", "other")


def curve_table(curves: list[Curve], quantity: str) -> pd.DataFrame:
    """One quantity of all curves at all measured ε, the columns `COLUMNS`."""
    parts = []
    for curve in curves:
        measured = curve.measured
        s = summarise(measured, quantity)
        names = measured.selection.names
        columns = {
            "mechanism": measured.mechanism,
            "epsilon": measured.epsilons,
            "mean": s.mean,
            "standard_error": s.mean_error,
            "mean_low": s.mean_low,
            "mean_high": s.mean_high,
            "standard_deviation": s.deviation,
            "q05": s.bands[0],
            "q95": s.bands[-1],
            "median": s.median,
            "worst": s.worst,
            "worst_word": [names[i] for i in s.worst_word.tolist()],
            "words": len(names),
            "method": str(measured.method),
            "runs": measured.runs,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def line_table(curves: list[Curve], pinned: Sequence[str], every: bool) -> pd.DataFrame | None:
    """Nw and Sw of single words, the columns `WORD_COLUMNS`; None if no word is asked for.

    Args:
        curves: of one group.
        pinned: up to two words, the first and the second of a comparison.
        every: whether all measured words are wanted too.
    """
    parts = []
    for curve in curves:
        names = [name for name in curve.measured.selection.names if every and name not in pinned]
        for name, role in [*((name, "") for name in names), *zip(pinned, _ROLES, strict=False)]:
            place = curve.place(name)
            if place is not None:
                part, i = place
                values = {"nw": part.figures.nw[i], "sw": part.figures.sw[i]}
                head = {"mechanism": part.mechanism, "epsilon": part.epsilons}
                parts.append(pd.DataFrame(head | {"word": name, "role": role} | values))
    return pd.concat(parts, ignore_index=True)[list(WORD_COLUMNS)] if parts else None


def table_at(curves: list[Curve], pinned: Sequence[str], epsilon: float) -> pd.DataFrame:
    """All quantities at one ε, for people: mean, median, worst and pinned words a mechanism."""
    rows = []
    for curve in curves:
        places = (curve.measured.epsilons == epsilon).nonzero()[0]
        if places.size:
            rows += _rows_at(curve, pinned, int(places[0]))
    return pd.DataFrame(rows)


def _rows_at(curve: Curve, pinned: Sequence[str], e: int) -> list[dict[str, Any]]:
    names = curve.measured.selection.names
    of = {quantity: summarise(curve.measured, quantity) for quantity in _QUANTITIES}

    def row(which: str, values: Any, errors: Any = None, words: str = "") -> dict[str, Any]:
        nw, sw, effective = values
        low, high, sw_error = (None, None, None) if errors is None else errors
        return {
            "mechanism": curve.mechanism.short,
            "of": which,
            "Nw": nw,
            "Nw at least": low,
            "Nw at most": high,
            "Sw": sw,
            "± Sw": sw_error,
            "effective number": effective,
            "which word": words,
        }

    def each(name: str) -> list[float]:
        return [float(getattr(of[quantity], name)[e]) for quantity in _QUANTITIES]

    worst = dict.fromkeys(names[int(of[quantity].worst_word[e])] for quantity in _QUANTITIES)
    nw = of["nw"]
    errors = [float(a[e]) for a in (nw.mean_low, nw.mean_high, of["sw"].mean_error)]
    rows = [
        row(
            say("mean of {count}", count=len(names)) if len(names) > 1 else say("one word"),
            each("mean"),
            errors,
        ),
        row(say("median"), each("median")),
        row(say("worst"), each("worst"), words=" / ".join(worst)),
    ]
    for name in pinned:
        place = curve.place(name)
        if place is not None:
            figures, i = place[0].figures, place[1]
            values = [float(getattr(figures, quantity)[i, e]) for quantity in _QUANTITIES]
            errors = [float(a[i, e]) for a in (figures.nw_low, figures.nw_high, figures.sw_error)]
            kind = say("pinned") if name == pinned[0] else say("compared")
            rows.append(row(kind, values, errors, name))
    return rows


def word_table(
    curves: list[Curve], epsilons: dict[str, float], pinned: Sequence[str]
) -> pd.DataFrame:
    """Every word under every mechanism at the chosen ε (by registry key), pinned words first."""
    rows = []
    for curve in curves:
        epsilon = epsilons[curve.measured.mechanism]
        for part in (curve.more, curve.measured):
            if part is not None:
                rows += part.rows(epsilon)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    # A stable order: pinned words come first, the others stay as they were measured.
    table.insert(3, "pinned", table["word"].isin(list(pinned)))
    return table.sort_values("pinned", ascending=False, kind="stable", ignore_index=True)


def equal_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """Mean Nw, mean Sw and median effective number of all curves, for their comparison."""
    parts = []
    for curve in curves:
        measured = curve.measured
        columns = {
            "mechanism": measured.mechanism,
            "epsilon": measured.epsilons,
            "nw": summarise(measured, "nw").mean,
            "sw": summarise(measured, "sw").mean,
            "effective": summarise(measured, "effective").median,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)[list(equal_nw.COLUMNS)]


def read_table(
    curves: Sequence[Curve], reference: Curve, epsilon: float
) -> tuple[pd.DataFrame, float]:
    """Where each curve has the mean Nw of a reference at its ε, and that Nw.

    Args:
        curves: all that are compared, the reference among them.
        reference: the one whose ε is given.
        epsilon: its ε, one that is measured.
    """
    place = int((reference.measured.epsilons == epsilon).nonzero()[0][0])
    nw = float(summarise(reference.measured, "nw").mean[place])
    rows: list[tuple[Any, ...]] = []
    for curve in curves:
        key = curve.measured.mechanism
        met = crossings(curve.measured, nw)
        rows += [(key, c.epsilon, c.low, c.high, c.sw, c.effective) for c in met]
        if not met:
            rows.append((key, None, None, None, None, None))
    columns = list(equal_nw.READ_COLUMNS)
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], "float64")), nw
