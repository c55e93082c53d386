"""The slides' condition for a certified prediction, and the counterexample that refutes it."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.papers.lecuyer2019.claims import largest_margin
from pages.shared.downloads import csv_button
from pages.shared.fields import steps
from pages.shared.language import say
from pages.shared.messages import note, refuse
from pages.shared.table import numbers, show_table

_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0)
_DELTAS = (0.01, 0.02, 0.05, 0.1)
_POSITIVE = 1e-9


def slides_view() -> None:
    """Draw both conditions, the counterexample of one and the proof of the other."""
    with st.container(horizontal=True):
        epsilon = steps(
            say("ε of the noise layer"),
            _EPSILONS,
            1.0,
            "slides_epsilon",
            say("The classifier is (ε, δ)-private towards attacks up to L."),
        )
        delta = steps(
            say("δ of the noise layer"),
            _DELTAS,
            0.05,
            "slides_delta",
            say("The second number of the promise."),
        )
    try:
        wrong = largest_margin(epsilon, delta, 1.0 + epsilon)
        right = largest_margin(epsilon, delta, 1.0 + math.exp(epsilon))
    except DpcoreError as error:
        refuse(say("The counterexample could not be computed."), error)
        return
    st.markdown(
        say(
            "PixelDP keeps class k if $E_k(x) > e^{2ε}·\\max_i E_i(x) + (1 + e^ε)·δ$. Lecture "
            "slides have $(1 + ε)·δ$ in the last term. Among all pairs of predictions that are "
            "(ε, δ)-private for each other and where k is **not** ahead at x′, a linear program "
            "looks for the one that satisfies the condition at x by most:"
        )
    )
    _outcome(
        say("The slides' condition, (1 + ε)·δ = {product:.3g}", product=(1 + epsilon) * delta),
        wrong.margin,
    )
    table = pd.DataFrame(
        {
            "class": ["k", "i", "another"],
            "at x": wrong.first,
            "at x′, an attack away": wrong.second,
        }
    )
    show_table(
        table,
        say("The predictions of the counterexample at x and at x′"),
        column_config=numbers(table.columns[1:]),
    )
    csv_button(say("Counterexample as CSV"), "slides", lambda: table, key="csv_slides")
    st.text(
        say(
            "Exact δ at ε = {epsilon:g}: {first:.3g} from x to x′ and {back:.3g} back, so the "
            "pair keeps the promise δ = {delta:g}. At x the slides say {left:.3g} > {right:.3g} "
            "+ {added:.3g}; at x′ class k has {second:.3g} and class i {other:.3g}.",
            epsilon=epsilon,
            first=wrong.deltas[0],
            back=wrong.deltas[1],
            delta=delta,
            left=wrong.first[0],
            right=math.exp(2 * epsilon) * wrong.first[1],
            added=(1 + epsilon) * delta,
            second=wrong.second[0],
            other=wrong.second[1],
        )
    )
    _outcome(
        say(
            "PixelDP's condition, (1 + e^ε)·δ = {product:.3g}",
            product=(1 + math.exp(epsilon)) * delta,
        ),
        right.margin,
    )
    note(
        say(
            "Why: $E_k(x) ≤ e^ε·E_k(x') + δ ≤ e^ε·E_i(x') + δ ≤ e^ε·(e^ε·E_i(x) + δ) + δ$: the "
            "inner δ is multiplied by $e^ε$, not by $ε$. The page Papers has the same claim "
            "with its command."
        )
    )


def _outcome(title: str, margin: float) -> None:
    if margin > _POSITIVE:
        st.warning(
            say(
                "{title}: refuted. It holds by {margin:.3g} where class k is not ahead.",
                title=title,
                margin=margin,
            ),
            icon=":material/close:",
        )
    else:
        st.success(
            say(
                "{title}: no counterexample exists, the largest margin is 0 up to rounding.",
                title=title,
            ),
            icon=":material/check:",
        )
