"""What a step of a slider runs again: one fragment, which draws all that shows the ε.

It draws into places that the page keeps for it, so that nothing else runs; to rerun two fragments
by name takes a second run, so that is done only for an open view that shows numbers at ε.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.groups import group_of, grouped
from pages.shared.slider import epsilon_slider, run_parts

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism

MOVING, VIEWS = "pair_moving", "pair_views"
OPEN_VIEW = "more"
AT_EPSILON = "Link and command"
"""The view that shows numbers at the ε of the sliders."""


def sliders(mechanisms: list[Mechanism]) -> None:
    """One slider for each group that has a mechanism."""
    groups = grouped(mechanisms)
    for (group, members), column in zip(groups, st.columns(len(groups)), strict=True):
        with column, st.container(gap=None):
            epsilon_slider(group, members, _moved)


def readings(mechanisms: list[Mechanism]) -> tuple[dict[str, float], dict[str, str]]:
    """ε at the sliders, and in words; both by registry key."""
    epsilons: dict[str, float] = {}
    texts: dict[str, str] = {}
    for mechanism in mechanisms:
        group = group_of(mechanism.meaning)
        epsilons[mechanism.key] = st.session_state[f"eps_{group.name}"]
        texts[mechanism.key] = group.reading(epsilons[mechanism.key])
    return epsilons, texts


def _moved() -> None:
    if st.session_state.get(OPEN_VIEW) == AT_EPSILON:
        run_parts(MOVING, VIEWS)
