"""What a step of a slider runs again: a fragment of the slider, and one of the open view.

The panes are in neither: they have the numbers of every ε, and only hear which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.groups import START_EPSILON, admissible_grid, group_of, grouped
from pages.shared.slider import epsilon_slider, run_parts
from pages.words.panes import tell_step

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.groups import Group

MOVING, VIEWS = "pair_moving", "pair_views"
OPEN_VIEW = "more"
STILL_VIEWS = frozenset({"Facts", "Dense and sparse words", "How to misread the map"})
"""The views that show no number at an ε."""


def first_slider(mechanism: Mechanism, members: list[Mechanism]) -> None:
    """The slider of the mechanism in the panes, in a fragment of its own.

    Args:
        mechanism: in the panes.
        members: of its group that are shown, it among them.
    """
    st.fragment(_first_slider, key=MOVING)(group_of(mechanism.meaning), members)


def _first_slider(group: Group, members: list[Mechanism]) -> None:
    # What this ε permits is said below the panes, which shall be in sight.
    epsilon = epsilon_slider(
        group, members, _moved, start=START_EPSILON.get(group.name), metered=False
    )
    tell_step(group.name, admissible_grid(group, members).index(epsilon), epsilon)


def other_sliders(mechanism: Mechanism, compared: list[Mechanism]) -> None:
    """A slider for each group that is compared and has none above."""
    own = group_of(mechanism.meaning)
    others = [(group, members) for group, members in grouped(compared) if group is not own]
    if others:
        for (group, members), column in zip(others, st.columns(len(others)), strict=True):
            with column, st.container(gap=None):
                epsilon_slider(group, members, start=START_EPSILON.get(group.name))


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
    if st.session_state.get(OPEN_VIEW) not in STILL_VIEWS:
        run_parts(MOVING, VIEWS)
