"""The part of the Deniability page that moves: sliders, curves, and the views below them.

Everything is measured by now; a step of a slider looks numbers up and draws them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.deniability import BANDS, curves_caption, curves_figure
from dpcore.plots.style import SCALES
from pages.denying.command import How
from pages.denying.tables import curve_table, table_at
from pages.denying.views import Scene, views
from pages.shared.figure import show_figure
from pages.shared.groups import GROUPS
from pages.shared.messages import note
from pages.shared.slider import epsilon_slider

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.measure.words import Selection
    from pages.denying.choosing import Words
    from pages.denying.curves import Curve
    from pages.shared.groups import Group

    Tables = tuple[pd.DataFrame, pd.DataFrame]

_SHOWN = [
    f"{label} {what}"
    for label in ("Nw", "Sw")
    for what in ("mean", "standard error", "deviation over words", "median", "worst")
]


def board(curves: list[Curve], selection: Selection, words: Words, lexicon: str, seed: int) -> None:
    """Sliders, curves, tables and views."""
    parts = []
    for group in GROUPS:
        members = [c for c in curves if c.mechanism.meaning in group.meanings]
        if members:
            parts.append((group, members, (curve_table(members, "nw"), curve_table(members, "sw"))))
    how = How(lexicon, curves[0].found.runs, seed)
    _moving(parts, selection, words, how)


@st.fragment
def _moving(
    parts: list[tuple[Group, list[Curve], Tables]], selection: Selection, words: Words, how: How
) -> None:
    """What a step of a slider runs again: it looks up and draws, and measures nothing."""
    band = st.segmented_control(
        "Band around each mean",
        list(BANDS),
        default=next(iter(BANDS)),
        required=True,
        key="band",
        bind="query-params",
        help="How far the words differ from each other; it is no error of the measurement.",
    )
    epsilons: dict[str, float] = {}
    for group, members, tables in parts:
        at = _group(group, members, tables, BANDS[band])
        epsilons |= {c.mechanism.key: at for c in members}
    curves = tuple(curve for _, members, _ in parts for curve in members)
    views(Scene(curves, epsilons, selection, words, how))


def _group(group: Group, members: list[Curve], tables: Tables, band: str) -> float:
    """Slider, two figures and a table of one group; the chosen ε."""
    st.subheader(group.title, anchor=False)
    meanings = {c.mechanism.meaning for c in members}
    if len(meanings) > 1:
        approximate = [
            c.mechanism.short
            for c in members
            if c.mechanism.meaning is EpsilonMeaning.LOCAL_APPROXIMATE
        ]
        note(f"Only up to a probability δ: {', '.join(approximate)}. The others promise ε alone.")
    with st.container(gap=None):
        value = epsilon_slider(group, [c.mechanism for c in members])
    at = group.epsilon(value)
    nw, sw = tables
    title = SCALES[members[0].mechanism.meaning].axis
    for (quantity, table), column in zip((("nw", nw), ("sw", sw)), st.columns(2), strict=True):
        with column:
            show_figure(
                curves_figure(table, quantity, title, group.logarithm, at, band),
                curves_caption(table, quantity, group.reading(value), at),
                table,
                f"{quantity}_{group.name}",
            )
    st.dataframe(
        table_at(nw, sw, at),
        hide_index=True,
        column_config=dict.fromkeys(_SHOWN, st.column_config.NumberColumn(format="%.4g")),
        alt=f"Nw and Sw of each mechanism at {group.reading(value)}: mean, median, worst word",
    )
    note(" ".join(_method(curve) for curve in members))
    return at


def _method(curve: Curve) -> str:
    """How the numbers of one mechanism were found and how far they may be off."""
    figures, name = curve.found.figures, curve.mechanism.short
    if curve.found.method == "exact":
        return f"**{name}**: exact ({figures.detail})."
    error = float(figures.nw_mean_error.max())
    how = figures.detail
    if curve.found.method == "protocol":
        how = f"the papers' protocol ({how})"
    return (
        f"**{name}**: {how}; standard error of the mean Nw at most "
        f"{error:.2g}, of the mean Sw at most {float(figures.sw_mean_error.max()):.2g}."
    )
