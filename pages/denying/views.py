"""The views below the curves: solving for ε, the words one by one, link and command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.measure.targets import OVER, Target
from pages.denying.choosing import WORDS
from pages.denying.command import command
from pages.denying.tables import solution_sentences, solution_table, word_table
from pages.shared import link
from pages.shared.downloads import csv_button
from pages.shared.groups import group_of
from pages.shared.messages import note

if TYPE_CHECKING:
    from dpcore.measure.words import Selection
    from pages.denying.choosing import Words
    from pages.denying.command import How
    from pages.denying.curves import Curve

_QUANTITIES = {"Nw at most": "nw", "Sw at least": "sw"}
_STARTS = {"nw": 0.5, "sw": 10.0}


@dataclass(frozen=True)
class Scene:
    """What the views show: the curves, the ε by registry key, the words, how they were measured."""

    curves: tuple[Curve, ...]
    epsilons: dict[str, float]
    selection: Selection
    words: Words
    how: How


def views(scene: Scene) -> None:
    """Draw the tabs; only the open one is computed."""
    kinds = {
        "Solve for ε": _solve_view,
        "Word by word": _words_view,
        "Link and command": _files_view,
    }
    tabs = st.tabs(list(kinds), key="part", bind="query-params", on_change="rerun")
    for tab, view in zip(tabs, kinds.values(), strict=True):
        if tab.open:
            with tab:
                view(scene)


def _solve_view(scene: Scene) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        over = st.selectbox("Of the", list(OVER), key="over", bind="query-params", width=150)
        said = st.selectbox(
            "Wanted", list(_QUANTITIES), key="wanted", bind="query-params", width=180
        )
        quantity = _QUANTITIES[said]
        low, high = (0.0, 1.0) if quantity == "nw" else (1.0, float(scene.how.runs))
        bound = st.number_input(
            "Bound",
            low,
            high,
            min(_STARTS[quantity], high),
            step=0.05 if quantity == "nw" else 1.0,
            format="%g",
            key=f"bound_{quantity}",
            bind="query-params",
            width=150,
        )
    target = Target(quantity, float(bound), over)
    table = solution_table(list(scene.curves), target)
    st.markdown(f"**{said} {bound:g}** ({over} of the measured words) is met by")
    logarithmic = {
        c.mechanism.short for c in scene.curves if group_of(c.mechanism.meaning).logarithm
    }
    st.text("\n".join(solution_sentences(table, logarithmic)))
    note(
        "Read from the curves above: only measured ε are claimed, and an estimate counts only if "
        "it is on the right side by two standard errors. The worst word is the worst of the "
        "measured ones. `python -m dpcore solve` searches between the measured ε."
    )
    csv_button("Intervals as CSV", "epsilon_for_target", lambda: table, key="csv_solution")


def _words_view(scene: Scene) -> None:
    table = word_table(list(scene.curves), scene.epsilons)
    st.dataframe(table, hide_index=True, alt="Nw and Sw of every word at the chosen ε")
    note(
        "At the ε of the sliders. The effective number is the count of equally likely outputs "
        "that would agree as often as two runs do."
    )
    csv_button("Words as CSV", "deniability_words", lambda: table, key="csv_words")


def _files_view(scene: Scene) -> None:
    st.subheader("Link", anchor=False)
    text = None
    if scene.words.text is not None and st.toggle(
        "Put my words into the link",
        key="link_words",
        help="Whoever gets the link, and every server and history that it passes, can read them.",
    ):
        text = scene.words.text
        st.warning("This link contains your words.", icon=":material/visibility:")
    st.code(link.permalink(text, WORDS), language=None, wrap_lines=True)
    st.subheader("Command", anchor=False)
    lines = [
        command(c.mechanism, at, scene.words, scene.selection.names, scene.how)
        for c in scene.curves
        if (at := scene.epsilons[c.mechanism.key]) in c.mechanism.admissible
    ]
    st.code("\n".join(lines), language=None, wrap_lines=True)
    note("One line a mechanism: it prints the numbers of the table at the chosen ε.")
