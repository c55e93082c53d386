"""The slides' condition for a certified prediction, its counterexample, and an equivalence."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.renyi import example
from dpcore.papers.lecuyer2019.claims import largest_margin
from pages.shared.figure import csv_button
from pages.shared.language import later, say
from pages.shared.link import segments, steps
from pages.shared.messages import note, refuse
from pages.shared.table import numbers, show_table

_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0)
_DELTAS = (0.01, 0.02, 0.05, 0.1)
# Above the rounding of the linear program.
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
            say("The δ of the guarantee."),
        )
    try:
        # The factors of δ in the two conditions: 1 + ε on the slides, 1 + e^ε in the paper.
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
            "class": ["k", "i", say("all others")],
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
            "pair satisfies δ = {delta:g}. At x the slides say {left:.3g} > {right:.3g} + "
            "{added:.3g}; at x′ class k has {second:.3g} and class i {other:.3g}. The others, "
            "{others} or more, share what is left, so that none is above i at x.",
            epsilon=epsilon,
            first=wrong.deltas[0],
            back=wrong.deltas[1],
            delta=delta,
            left=wrong.first[0],
            right=math.exp(2 * epsilon) * wrong.first[1],
            added=(1 + epsilon) * delta,
            second=wrong.second[0],
            other=wrong.second[1],
            others=max(1, math.ceil(wrong.first[2] / max(wrong.first[1], _POSITIVE))),
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


# Robust is private, almost surely: the equivalence on four inputs, small enough to inspect.


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
    # Order 2 is the second of `_ORDERS`.
    failing = inputs.failing(2.0, 1.0, float(robust[1]))
    # Both are maxima of the same divergences where every input occurs, up to rounding.
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
