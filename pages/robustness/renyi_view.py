"""Robust is private, almost surely: the equivalence on four inputs that can be looked at."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.learn.renyi import example
from pages.shared.downloads import csv_button
from pages.shared.fields import segments
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.table import numbers, show_table

_PRIORS = {
    later("only the first two occur"): (0.5, 0.5, 0.0, 0.0),
    later("all four occur"): (0.25, 0.25, 0.25, 0.25),
}
_ORDERS = (1.0, 2.0, 5.0, 20.0, math.inf)


def renyi_view() -> None:
    """Draw the example, and the two ε side by side."""
    chosen = segments(
        say("Inputs that occur"),
        _PRIORS,
        "renyi_prior",
        say("The law of inputs under which a classifier is called robust."),
    )
    inputs = example(_PRIORS[chosen])
    st.markdown(
        say(
            "A random classifier is **robust** if an attack within reach moves its answer by a "
            "Rényi divergence of at most ε, for almost every input that occurs. It is "
            "**private**, in Rényi's sense and at the same order λ, if that holds for every "
            "pair within reach. Pinot et al. 2019 call the two equivalent almost surely. Four "
            "inputs in a row, reach one step:"
        )
    )
    laws = pd.DataFrame(
        {
            "input": [1, 2, 3, 4],
            "occurs with probability": inputs.prior,
            "answers yes with probability": inputs.laws[:, 0],
        }
    )
    orders = pd.DataFrame(
        {
            "order λ": ["∞" if math.isinf(order) else f"{order:g}" for order in _ORDERS],
            "ε, robust": [inputs.robust_epsilon(order, 1.0) for order in _ORDERS],
            "ε, private": [inputs.private_epsilon(order, 1.0) for order in _ORDERS],
        }
    )
    left, right = st.columns(2)
    with left:
        _table(laws, "renyi_laws", say("The four inputs of the example"))
    with right:
        _table(orders, "renyi_orders", say("The two values of ε at every order"))
    robust, private = orders["ε, robust"].to_numpy(), orders["ε, private"].to_numpy()
    failing = inputs.failing(2.0, 1.0, float(robust[1]))
    if np.allclose(robust, private):
        st.text(
            say("Every input occurs, and the two are one number at every order: robust is private.")
        )
    else:
        st.text(
            say(
                "At λ = 2 it is robust with ε = {robust:.3g} (an attack gets further on a share "
                "of {failing:g} of the inputs), but private only with ε = {private:.3g}: pairs "
                "of inputs that never occur are not looked at by robustness, and are by privacy.",
                robust=robust[1],
                failing=failing,
                private=private[1],
            )
        )
    note(
        say(
            "So the equivalence holds up to inputs of probability 0, which is what “almost "
            "surely” hides. All numbers are computed from the four laws above."
        )
    )


def _table(table: pd.DataFrame, name: str, alt: str) -> None:
    show_table(table, alt, column_config=numbers(table.columns[1:]))
    csv_button(say("Table as CSV"), name, lambda: table, key=f"csv_{name}")
