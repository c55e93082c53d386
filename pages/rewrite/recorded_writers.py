"""What was measured of writers beside mechanisms for words, at one ε of the whole text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.papers.ours.writers import STUDY
from pages.shared.language import later, say
from pages.shared.messages import note, refuse
from pages.shared.recorded import recorded
from pages.shared.reproducing import show_line
from pages.shared.table import show_table

if TYPE_CHECKING:
    from dpcore.study.recorded import Recorded

_COLUMNS = {
    ("cosine", ""): later("meaning"),
    ("kept", ""): later("words kept"),
    ("accuracy", "sentiment"): later("sentiment told"),
    ("accuracy", "topic"): later("topic told"),
}
"""Quantity and variant, and what a column is called."""


def recorded_writers() -> None:
    """Draw the recorded means with their intervals."""
    st.header(say("Measured at one ε of the whole text"), anchor=False)
    try:
        record = recorded(STUDY.name)
    except DpcoreError as error:
        refuse(say("The recorded study is missing."), error)
        return
    show_table(
        _table(record),
        say("What is left of a text: its meaning, its words, and what a classifier tells of it"),
        height=420,
    )
    rows = record.table[record.table["quantity"] == "majority"].set_index("variant")["value"]
    note(
        say(
            "Means over {count} test texts of the teaching corpus, with 95 % intervals. Meaning is "
            "the cosine with the sentence vector of the text as it was written. Sentiment and "
            "topic are told by classifiers that learned from texts as they were written; always "
            "naming the largest class is right for {sentiment} of sentiments and {topic} of "
            "topics. Recorded by:",
            count=int(record.table["count"].max()),
            sentiment=f"{rows['sentiment']:.0%}",
            topic=f"{rows['topic']:.0%}",
        )
    )
    show_line(record.entry.command)


def _table(record: Recorded) -> pd.DataFrame:
    """One row a writer or mechanism and ε."""
    rows = record.table[record.table["quantity"] != "majority"]
    names = ("label", "epsilon", "quantity", "variant", "value", "low", "high")
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for label, epsilon, quantity, variant, value, low, high in zip(
        *(rows[name] for name in names), strict=True
    ):
        said = (say("as written"), "") if math.isnan(epsilon) else (label, f"{epsilon:g}")
        line = lines.setdefault(said, {})
        line[say(_COLUMNS[quantity, variant])] = f"{value:.2f} ({low:.2f} to {high:.2f})"
    first = say("writer or mechanism"), say("ε of the whole text")
    return pd.DataFrame([dict(zip(first, said, strict=True)) | lines[said] for said in lines])
