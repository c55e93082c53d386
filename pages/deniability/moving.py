"""What a step of a slider runs again: what shows the ε of its group, and no figure.

Each slider is in a fragment of its own, which draws into places that the page keeps for it. To
rerun two fragments by name takes a second run, so that is done only for an open view below that
shows numbers at ε.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.slider import run_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pages.shared.groups import Group

VIEWS = "views"
OPEN_VIEW = "part"
AT_EPSILON = ("Word by word", "Link and command")
"""The views that show numbers at the ε of the sliders."""


def fragment_of(group: Group) -> str:
    """Name of the fragment that holds the slider of a group."""
    return f"curves_{group.name}"


def moved(fragment: str) -> Callable[[], None]:
    """What to do when a slider in this fragment has moved."""

    def run() -> None:
        if st.session_state.get(OPEN_VIEW) in AT_EPSILON:
            run_parts(fragment, VIEWS)

    return run


def epsilon_at(group: Group) -> float:
    """ε at the slider of a group; where it begins if the page shows none for the group."""
    return float(st.session_state.get(f"eps_{group.name}", group.start))


def set_slider(group: Group, epsilon: float) -> None:
    """Move the slider of a group to one of its steps."""
    step = next(e for e in group.grid if math.isclose(e, epsilon, rel_tol=1e-9))
    st.session_state[f"eps_{group.name}"] = step
