"""A figure as every page shows it: chart, caption, text alternative, numbers, downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.downloads import csv_button, figure_menu

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import plotly.graph_objects as go


def show_figure(
    figure: go.Figure,
    caption: str,
    table: pd.DataFrame,
    name: str,
    on_click: Callable[[], None] | None = None,
    *,
    alt: str | None = None,
    mark: str | None = None,
) -> None:
    """Draw a figure with all that belongs to it.

    Args:
        figure: from `dpcore.plots`.
        caption: what to see in it, computed from the same numbers.
        table: the numbers.
        name: of the files and of the elements' keys.
        on_click: called when a point was clicked; `st.session_state["figure_<name>"]` tells which.
        alt: its text alternative; the caption if None. Where the caption moves with a slider and
            the figure does not, one that stands still spares drawing the figure again.
        mark: HTML from `dpcore.plots.mark` that is laid over the figure.
    """
    with st.container(gap=None):
        _chart(figure, name, caption if alt is None else alt, on_click)
        if mark is not None:
            st.html(mark)
    st.text(caption)
    with st.container(horizontal=True):
        csv_button("Numbers as CSV", name, lambda: table, key=f"csv_{name}")
        shown = st.toggle(
            "Show the numbers",
            key=f"table_{name}",
            help="Shows the table behind this figure. The figure itself is saved as SVG with the "
            "camera sign that appears on it.",
        )
    if shown:
        st.dataframe(table, hide_index=True, placeholder="", alt=caption)


def _chart(figure: go.Figure, name: str, alt: str, on_click: Callable[[], None] | None) -> None:
    st.plotly_chart(
        figure,
        key=f"figure_{name}",
        config=figure_menu(name),
        alt=alt,
        on_select=on_click or "ignore",
        selection_mode="points",
    )
