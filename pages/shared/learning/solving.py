"""Solve for ε: the smallest that keeps accuracy within a margin of the one without privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.plots.layout import percent
from dpcore.study.utility_solve import solve
from pages.shared.downloads import csv_button
from pages.shared.language import later, numeral, say
from pages.shared.messages import note, refuse
from pages.shared.table import numbers, show_table

if TYPE_CHECKING:
    from pages.shared.learning.evidence import Evidence

_COLUMNS = (
    later("mechanism"),
    later("smallest ε"),
    later("interval from"),
    later("interval to"),
    later("measured from"),
    later("to"),
)


def solve_view(evidence: Evidence) -> None:
    """Draw the margin, the answer in words, and the table."""
    if "accuracy" not in evidence.quantities:
        note(say("No accuracy was measured in this experiment."))
        return
    points = st.number_input(
        say("Accuracy may fall by at most (percentage points)"),
        0.0,
        100.0,
        5.0,
        step=1.0,
        format="%g",
        key="use_within",
        bind="query-params",
        width=330,
        help=say("Of the accuracy without privacy, with the same classifier on clean text."),
    )
    try:
        answers = solve(evidence.table, points / 100, **evidence.where("accuracy"))
    except DpcoreError as error:
        refuse(say("There is no answer from these trials."), error)
        return
    reference = next(iter(evidence.lines("accuracy")))
    st.markdown(
        say(
            "**Within {points:g} points of {accuracy}**, the accuracy without privacy:",
            points=points,
            accuracy=numeral(percent(reference.value)),
        )
    )
    st.text("\n".join(answer.sentence for answer in answers))
    table = pd.DataFrame(
        [(a.curve, a.epsilon, a.low, a.high, a.smallest, a.largest) for a in answers],
        columns=list(_COLUMNS),
    ).astype(dict.fromkeys(_COLUMNS[1:], "float64"))
    show_table(
        table,
        say("The smallest ε of each mechanism, with its interval"),
        column_config=numbers(_COLUMNS[1:]),
    )
    csv_button(
        say("Answers as CSV"), f"{evidence.name}_epsilon", lambda: table, key="csv_use_solution"
    )
    note(
        say(
            "From this ε on, up to the largest that was measured, the mean loss of accuracy is "
            "within the margin. The interval is where both ends of the loss's 95 % interval "
            "(over trials, each compared with its own baseline) come within the margin. Read on "
            "a straight line in ln ε between measured values. **The ε of two mechanisms are not "
            "one quantity.**"
        )
    )
