"""The part of the Rewrite page that moves: sliders, grid, and the views below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.captions import epsilon_reading
from pages.rewrite.place import chosen_place
from pages.rewrite.rewritten import epsilon_at, rewritten
from pages.rewrite.scene import Scene
from pages.rewrite.view_draws import draws_view
from pages.rewrite.view_files import files_view
from pages.rewrite.view_protection import protection_view
from pages.rewrite.view_word import word_view
from pages.shared import link
from pages.shared.drawing import choose_draw, draw_again
from pages.shared.groups import grouped
from pages.shared.messages import note
from pages.shared.progress import timed
from pages.shared.slider import epsilon_slider
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.bench import Bench
    from pages.shared.sidebar import Choices

_VIEWS = {
    "What is not protected": protection_view,
    "One word: strip and odds": word_view,
    "100 draws": draws_view,
    "Link, files, command": files_view,
}


@st.fragment
def workbench(bench: Bench, mechanisms: list[Mechanism], choices: Choices, text: str) -> None:
    """Sliders, grid and views; a step of a slider runs only this."""
    dials = _sliders(bench, mechanisms)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_again()
        seed, number = choose_draw()
    missing = [m for m in mechanisms if not bench.has_draw(m, seed, number)]
    for mechanism in timed("Drawing noise", missing):
        bench.draw(mechanism, seed, number)
    chosen, place = _chosen(bench, mechanisms)
    rewritten(bench, mechanisms, dials, seed, number, key="grid", chosen=chosen, place=place)
    epsilons = {m.key: epsilon_at(m, dials) for m in mechanisms}
    scene = Scene(bench, tuple(mechanisms), epsilons, chosen, place, seed, number, choices, text)
    tabs(_VIEWS, "view", scene)


def _sliders(bench: Bench, mechanisms: list[Mechanism]) -> dict[str, float]:
    """One slider for each group that has a mechanism; ε by name of the group."""
    groups = grouped(mechanisms)
    dials: dict[str, float] = {}
    nearest = bench.nearest_distance()
    for (group, members), column in zip(groups, st.columns(len(groups)), strict=True):
        with column, st.container(gap=None):
            epsilon = dials[group.name] = epsilon_slider(group, members)
            note(epsilon_reading(members[0].meaning, epsilon, nearest))
    return dials


def _chosen(bench: Bench, mechanisms: list[Mechanism]) -> tuple[Mechanism, int]:
    """The mechanism and the place that the strip and the views are about; kept in the link."""
    if "via" not in st.session_state:
        st.session_state["via"] = st.query_params.get("via", "")
    via = st.session_state["via"]
    chosen = next((m for m in mechanisms if m.short == via), mechanisms[0])
    link.write("via", chosen.short, mechanisms[0].short)
    return chosen, chosen_place(bench)
