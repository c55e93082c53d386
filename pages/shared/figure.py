"""A figure as every page shows it: chart, caption, text alternative, numbers, downloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.layout import enlarged
from pages.shared.aids import LARGE
from pages.shared.downloads import csv_button, figure_buttons
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.lettering import spoken
from pages.shared.table import show_table

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import plotly.graph_objects as go
    from streamlit.delta_generator import DeltaGenerator

    from dpcore.plots.captions import Caption

HOW = later("How is this computed?")


def show_figure(
    figure: go.Figure,
    caption: Caption,
    table: pd.DataFrame,
    name: str,
    on_click: Callable[[], None] | None = None,
    *,
    files: bool = True,
) -> None:
    """Draw a figure with all that belongs to it.

    Args:
        figure: from `dpcore.plots`.
        caption: what to see in it, computed from the same numbers; the text alternative too.
        table: the numbers.
        name: of the files and of the elements' keys.
        on_click: called when a point was clicked; `st.session_state["figure_<name>"]` tells which.
        files: whether numbers, files and how it was computed belong to it here; else the page has
            drawers for them.
    """
    _chart(figure, name, caption.alternative, on_click)
    if files:
        show_caption(caption, name)
        show_numbers(table, name, caption.finding)
    else:
        _finding(caption, name)


def _finding(caption: Caption, name: str) -> None:
    with st.container(key=f"finding_{name}"):
        # st.text: names in it may be of a lexicon that a person added.
        st.text(caption.finding)


def show_caption(caption: Caption, name: str) -> None:
    """Write the finding below a drawing, and how it was computed folded away.

    Args:
        caption: of the drawing.
        name: of the elements' keys.
    """
    _finding(caption, name)
    if caption.how != caption.finding:
        with st.expander(say(HOW), key=f"how_{name}"):
            st.text(caption.how)


@dataclass(frozen=True)
class Still:
    """Beside a figure that stands still: where what moves with ε is drawn."""

    _mark: DeltaGenerator
    _caption: DeltaGenerator
    _name: str

    def show(self, caption: Caption, mark: str) -> None:
        """Draw what moves, in the fragment of what moves, each time that it runs.

        Args:
            caption: what to see in the figure now.
            mark: HTML from `dpcore.plots.mark` that is laid over the figure.
        """
        self._mark.html(mark)
        with self._caption:
            show_caption(caption, self._name)


def still_figure(figure: go.Figure, alt: str, table: pd.DataFrame, name: str) -> Still:
    """Draw a figure that is the same at every ε, outside the fragment of what moves.

    Args:
        figure: from `dpcore.plots`.
        alt: its text alternative, with nothing in it that moves.
        table: the numbers.
        name: of the files and of the elements' keys.

    Returns:
        Where its mark and its caption are to be drawn.
    """
    with st.container(gap=None, key=f"still_{name}"):
        _chart(figure, name, alt, None)
        mark = st.container()
    caption = st.container()
    fragment(show_numbers, table, name, alt)
    return Still(mark, caption, name)


def show_numbers(
    table: pd.DataFrame, name: str, alt: str, csv: Callable[[], pd.DataFrame] | None = None
) -> None:
    """Draw the numbers and files of a figure, folded away: nothing is sent until it is wanted.

    Args:
        table: the numbers.
        name: of the files and of the elements' keys.
        alt: what the table holds, in words.
        csv: makes the table of the file; then the drawing has buttons of its own for its picture.
            None for the same table, beside buttons for a figure of Plotly.
    """
    drawer = st.expander(
        say("Numbers and files"),
        key=f"table_{name}",
        icon=":material/download:",
        on_change="rerun",
    )
    if drawer.open:
        with drawer:
            with st.container(horizontal=True):
                csv_button(say("Numbers as CSV"), name, csv or (lambda: table), key=f"csv_{name}")
                if csv is None:
                    figure_buttons(name)
            show_table(table, alt)


def _chart(figure: go.Figure, name: str, alt: str, on_click: Callable[[], None] | None) -> None:
    figure = spoken(figure)
    st.plotly_chart(
        enlarged(figure) if st.session_state.get(LARGE) else figure,
        key=f"figure_{name}",
        config={"displayModeBar": False, "scrollZoom": False},
        alt=alt,
        on_select=on_click or "ignore",
        selection_mode="points",
    )
