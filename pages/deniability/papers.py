"""The papers' figures: recorded results, the table of paper against measurement, and how made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.guarantee import EpsilonMeaning
from dpcore.papers.comparison import compare, comparison_table
from dpcore.papers.panels import TRADE, drawing
from dpcore.papers.studies import STUDIES
from dpcore.plots.deniability.recorded import (
    recorded_caption,
    recorded_figure,
    trade_caption,
    trade_figure,
)
from dpcore.plots.style import SCALES
from dpcore.study.provenance import provenance, undefined_sentence
from pages.shared.downloads import csv_button
from pages.shared.fields import pick
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.messages import note, refuse
from pages.shared.recorded import recorded, show_compared
from pages.shared.reproducing import show_line

if TYPE_CHECKING:
    from dpcore.papers.panels import Drawing

_STUDY = "study"


def papers_view() -> None:
    """Draw the choice of a recorded study, its figures, the comparison and how it was made."""
    name = pick(
        say("Recorded study"),
        STUDIES,
        _STUDY,
        say(
            "Measured beforehand on the vocabulary that the paper names, as far as its vectors "
            "are at hand; nothing is computed when you look at it."
        ),
        names=True,
    )
    study = STUDIES[name]
    try:
        record = recorded(name)
        drawings = [drawing(record, panel) for panel in study.panels]
        compared, table = compare(record), comparison_table(record)
    except DpcoreError as error:
        refuse(say("The recorded results could not be read."), error)
        return
    source = study.source or say("no paper: mechanisms with their own settings")
    note(f"**{study.title}** ({source})")
    for start in range(0, len(drawings), 2):
        pair = drawings[start : start + 2]
        for place, (column, figure) in enumerate(
            zip(st.columns(2), pair, strict=False), start=start
        ):
            with column:
                _panel(figure, f"{name}_{place + 1}")
    undefined = undefined_sentence(record)
    if undefined:
        note(undefined)
    if compared:
        st.header(say("What the paper says, and what is measured"), anchor=False)
        for row in compared:
            show_compared(row)
        csv_button(
            say("Comparison as CSV"), f"{name}_comparison", lambda: table, key="csv_comparison"
        )
    st.header(say("How it was made"), anchor=False)
    show_line(record.entry.command)
    st.text("\n".join(provenance(record.entry)))
    csv_button(say("All numbers as CSV"), name, lambda: record.table, key="csv_recorded")


def _panel(figure: Drawing, key: str) -> None:
    """One figure with its title."""
    st.markdown(f"**{figure.panel.title}**")
    if figure.panel.quantity == TRADE:
        show_figure(trade_figure(figure.table), trade_caption(figure.table), figure.table, key)
        return
    logarithm = figure.meaning is EpsilonMeaning.METRIC_LOG
    quantity = figure.panel.quantity
    show_figure(
        recorded_figure(figure.table, quantity, SCALES[figure.meaning].axis, logarithm),
        recorded_caption(figure.table, quantity, logarithm),
        figure.table,
        key,
    )
