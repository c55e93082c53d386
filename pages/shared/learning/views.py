"""Views of a live run: only the open one is computed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.papers.experiments import frontier_view
from pages.release.running import Run, title_of
from pages.shared import link
from pages.shared.figure import csv_button
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.learning.curves import curves_view, solve_view
from pages.shared.learning.evidence import (
    Evidence,
    Rows,
    choose_part,
    membership_view,
    own_examples,
)

View = Callable[[Evidence], None]

VIEW = "use_view"
TABS = {
    "curves": later("Curves"),
    "frontier": later("Frontier"),
    "membership": later("Membership"),
    "solve": later("Solve for ε"),
    "examples": later("Examples"),
}


def run_views(run: Run, rows: Rows) -> None:
    """Draw the views of a live run."""
    more: dict[str, View] = {"examples": lambda _: own_examples(run)}
    st.text(title_of(run))
    fragment(_views, "run", rows, more)
    csv_button(say("All numbers of the run as CSV"), "run", lambda: rows.table, key="csv_use_all")


def _views(name: str, rows: Rows, more: dict[str, View]) -> None:
    evidence = choose_part(name, rows)
    views: dict[str, View] = {
        "curves": curves_view,
        "frontier": frontier_view,
        "membership": membership_view,
        "solve": solve_view,
    }
    views |= more
    titles = {key: say(TABS[key]) for key in views}
    if st.session_state.get(VIEW) not in titles.values():
        linked = st.query_params.get(VIEW, "")
        st.session_state[VIEW] = titles.get(linked, titles["curves"])
    tabs = st.tabs(list(titles.values()), key=VIEW, on_change="rerun")
    for tab, (key, view) in zip(tabs, views.items(), strict=True):
        if tab.open:
            link.write(VIEW, key, "curves")
            with tab:
                view(evidence)
