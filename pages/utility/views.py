"""The views of a run of one's own: only the open one is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.papers.frontier import frontier_view
from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.messages import note
from pages.shared.reproducing import command_line, show_line, show_link
from pages.utility.curves import curves_view
from pages.utility.evidence import choose_part
from pages.utility.examples import own_examples
from pages.utility.membership import membership_view
from pages.utility.running import title_of
from pages.utility.solving import solve_view
from pages.utility.uploading import UPLOAD

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dpcore.study.live import Live
    from pages.utility.evidence import Evidence, Rows
    from pages.utility.running import Run

    View = Callable[[Evidence], None]

VIEW = "use_view"
TABS = {
    "curves": "Curves",
    "frontier": "Frontier",
    "membership": "Membership",
    "solve": "Solve for ε",
    "examples": "Examples",
    "command": "Link and command",
}


def run_views(run: Run, rows: Rows) -> None:
    """Draw the views of a run of one's own."""

    def link_and_making(_: Evidence) -> None:
        show_link()
        if run.corpus == UPLOAD:
            note("Your table is not in the link: whoever opens it chooses one of their own.")
        st.subheader("Command", anchor=False)
        show_line(_command(run.live, run.corpus))
        note("It prints the numbers of this run.")
        _all_numbers(rows.table, "run")

    more: dict[str, View] = {
        "examples": lambda _: own_examples(run),
        "command": link_and_making,
    }
    st.text(title_of(run))
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
    if st.session_state.get(VIEW) not in {TABS[key] for key in views}:
        linked = st.query_params.get(VIEW, "")
        st.session_state[VIEW] = TABS[linked] if linked in views else first
    tabs = st.tabs([TABS[key] for key in views], key=VIEW, on_change="rerun")
    for tab, (key, view) in zip(tabs, views.items(), strict=True):
        if tab.open:
            link.write(VIEW, key, "curves")
            with tab:
                view(evidence)


def _command(live: Live, corpus: str) -> str:
    """One line; a table of one's own stands in it as FILE.csv with TEXT and LABEL.

    Args:
        live: what was run.
        corpus: key of `pages.utility.uploading.CORPORA`.
    """
    words = ["utility"]
    if corpus == UPLOAD:
        words += ["--file", "FILE.csv", "--text-column", "TEXT", "--label-column", "LABEL"]
    else:
        words += ["--labels", corpus]
    for arm in live.arms:
        values = ",".join(f"{epsilon:.6g}" for epsilon in arm.epsilons)
        words += ["--mechanism", arm.mechanism, "--epsilon", f"{arm.mechanism}={values}"]
    settings = dict.fromkeys(f"{name}={value}" for arm in live.arms for name, value in arm.settings)
    words += [word for setting in settings for word in ("--set", setting)]
    words += ["--texts", str(len(live.texts)), "--trials", str(live.seeds)]
    words += ["--classifier", live.learner]
    if live.attack:
        words.append("--attack")
    if live.lexicon != "default":
        words += ["--lexicon", live.lexicon]
    return command_line(*words)


def _all_numbers(table: pd.DataFrame, name: str) -> None:
    csv_button("All numbers as CSV", name, lambda: table, key="csv_use_all")
