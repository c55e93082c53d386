"""The views of an experiment or a run: only the open one is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.messages import note
from pages.shared.recorded import made_view, papers_view
from pages.utility.command import command
from pages.utility.curves import curves_view
from pages.utility.evidence import choose_part
from pages.utility.examples import own_examples, recorded_examples
from pages.utility.frontier import frontier_view
from pages.utility.membership import membership_view
from pages.utility.recorded import recorded_rows
from pages.utility.running import title_of
from pages.utility.solving import solve_view
from pages.utility.uploading import UPLOAD

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dpcore.study.recorded import Recorded
    from pages.utility.evidence import Evidence, Rows
    from pages.utility.running import Held

    View = Callable[[Evidence], None]

VIEW = "use_view"
TABS = {
    "curves": "Curves",
    "frontier": "Frontier",
    "membership": "Membership",
    "solve": "Solve for ε",
    "examples": "Examples",
    "papers": "Paper against measurement",
    "command": "Link and command",
}


def recorded_views(found: Recorded) -> None:
    """Draw the views of a recorded experiment."""

    def made(_: Evidence) -> None:
        _link()
        made_view(found)
        _all_numbers(found.table, found.entry.name)

    more: dict[str, View] = {"command": made}
    if found.entry.source:
        more = {"papers": lambda _: papers_view(found)} | more
    examples = found.examples
    if examples is not None:
        more = {"examples": lambda evidence: recorded_examples(examples, evidence)} | more
    _views(found.entry.name, recorded_rows(found.entry.name), more)


def run_views(held: Held, rows: Rows) -> None:
    """Draw the views of a run of one's own."""

    def made(_: Evidence) -> None:
        _link()
        if held.corpus == UPLOAD:
            note("Your table is not in the link: whoever opens it chooses one of their own.")
        st.subheader("Command", anchor=False)
        st.code(command(held.live, held.corpus), language=None, wrap_lines=True)
        note("It prints the numbers of this run.")
        _all_numbers(rows.table, "run")

    more: dict[str, View] = {
        "examples": lambda _: own_examples(held),
        "command": made,
    }
    st.text(title_of(held))
    _views("run", rows, more)


@st.fragment
def _views(name: str, rows: Rows, more: dict[str, View]) -> None:
    evidence = choose_part(name, rows)
    views: dict[str, View] = {
        "curves": curves_view,
        "frontier": frontier_view,
        "membership": membership_view,
        "solve": solve_view,
    }
    views |= more
    first = TABS["curves"]
    if st.session_state.get(VIEW) not in {TABS[one] for one in views}:
        linked = st.query_params.get(VIEW, "")
        st.session_state[VIEW] = TABS[linked] if linked in views else first
    tabs = st.tabs([TABS[one] for one in views], key=VIEW, on_change="rerun")
    for tab, (key, view) in zip(tabs, views.items(), strict=True):
        if tab.open:
            link.write(VIEW, key, "curves")
            with tab:
                view(evidence)


def _link() -> None:
    st.subheader("Link", anchor=False)
    st.code(link.permalink(), language=None, wrap_lines=True)


def _all_numbers(table: pd.DataFrame, name: str) -> None:
    csv_button("All numbers as CSV", name, lambda: table, key="csv_use_all")
