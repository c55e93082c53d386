"""Fragments that run when a dial rests: that of the open view.

The panes are not in it: they have the numbers of every ε, and only receive the current one.
"""

from __future__ import annotations

import streamlit as st

from dpcore.mechanisms.mechanism import Mechanism
from pages.shared.dial import Group, group_of, grouped
from pages.shared.epsilon_dial import epsilon_dial, epsilon_of
from pages.shared.fragments import fragment, run_parts
from pages.shared.taking import drawer_is_open

MOVING, VIEWS = "pair_moving", "pair_views"
OPEN_VIEW = "more"
STILL_VIEWS = frozenset({"Facts", "Dense and sparse words", "How to misread the map"})
"""Views without numbers at an ε."""


def first_dial(mechanism: Mechanism, members: list[Mechanism]) -> None:
    """Draw the dial of the mechanism in the panes, in its own fragment.

    Args:
        mechanism: mechanism in the panes.
        members: the shown mechanisms of its group, this one first.
    """
    fragment(_first_dial, group_of(mechanism.meaning), members, key=MOVING)


def _first_dial(group: Group, members: list[Mechanism]) -> None:
    # The panes listen to the dial themselves.
    epsilon_dial(group, members, _moved)


def other_dials(mechanism: Mechanism, compared: list[Mechanism]) -> None:
    """Draw a dial for each compared group that has none above."""
    own = group_of(mechanism.meaning)
    for group, members in grouped(compared):
        if group is not own:
            epsilon_dial(group, members)


def readings(mechanisms: list[Mechanism]) -> tuple[dict[str, float], dict[str, str]]:
    """Return ε at the dials, and in words; both by registry key."""
    epsilons: dict[str, float] = {}
    texts: dict[str, str] = {}
    for mechanism in mechanisms:
        group = group_of(mechanism.meaning)
        epsilons[mechanism.key] = epsilon_of(group)
        texts[mechanism.key] = group.reading(epsilons[mechanism.key])
    return epsilons, texts


def _moved() -> None:
    if st.session_state.get(OPEN_VIEW) not in STILL_VIEWS or drawer_is_open():
        run_parts(VIEWS)
