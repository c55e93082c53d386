"""The frontier: what text still teaches against what it gives away, one mark a mechanism and ε."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.utility.curves import TITLES
from dpcore.plots.utility.equal import X_TITLES
from dpcore.plots.utility.frontier import frontier_caption, frontier_figure
from dpcore.study.utility_calibrated import LOSS, at_equal, loss_sentence
from dpcore.study.utility_summary import frontier
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.linking import choose_one
from pages.shared.messages import note

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from dpcore.plots.captions import Caption
    from pages.shared.learning.evidence import Evidence


def frontier_view(evidence: Evidence) -> None:
    """Draw the choice of both axes, and the figure."""
    there = evidence.quantities
    costs: list[str] = [name for name in ("auc", "nw", "word") if name in there]
    if evidence.has_losses:
        costs.append(LOSS)
    gains = [name for name in there if name not in {"auc", "nw", "word"}]
    if not (costs and gains):
        note(say("There is nothing to compare yet."))
        return
    with st.container(horizontal=True):
        private = choose_one(
            st.selectbox,
            say("Privacy measured by"),
            {name: X_TITLES[name] for name in costs},
            "use_cost",
            help=say("Less is more private."),
            width=360,
        )
        useful = choose_one(
            st.selectbox,
            say("Utility measured by"),
            {name: TITLES[name] for name in gains},
            "use_gain",
            help=say("More is more useful."),
            width=300,
        )
    points, figure, caption = evidence.once(
        ("frontier", private, useful), lambda: _drawn(evidence, private, useful)
    )
    if figure is None or caption is None:
        note(say("Nothing is known of any mechanism on these axes."))
        return
    show_figure(figure, caption, points, f"{evidence.name}_frontier_{private}_{useful}")
    if private == LOSS:
        st.text(loss_sentence(evidence.table, lexicon=evidence.lexicon))
    trials = (
        say("one trial") if evidence.trials == 1 else say("{trials} trials", trials=evidence.trials)
    )
    note(
        say(
            "Marks are means over {trials}; two marks that differ by less than their intervals "
            "(see the curves) may change places in another experiment.",
            trials=trials,
        )
    )


def _drawn(
    evidence: Evidence, private: str, useful: str
) -> tuple[pd.DataFrame, go.Figure | None, Caption | None]:
    """The marks, their figure and its caption."""
    where = {"lexicon": evidence.lexicon} if private == LOSS else evidence.where(private)
    table = at_equal(evidence.table, (private, where), evidence.of(useful))
    if not len(table):
        return table, None, None
    points = frontier(table.rename(columns={"mean": "useful", "x": "private"}), "private", "useful")
    axes = X_TITLES[private], TITLES[useful]
    lines, logarithm = evidence.lines(useful), private == LOSS
    figure = frontier_figure(points, *axes, lines, logarithm=logarithm)
    return points, figure, frontier_caption(points, *axes)
