"""State of the page Curves, and its fragments that run when a dial rests.

The fragments show numbers at the ε of a group, and no figure. The dials share one. Each group has
a fragment that draws into places that the page reserves for it; so do the views below, if the open
one shows numbers at ε, and the drawer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.words import Selection
from dpcore.mechanisms.mechanism import Mechanism
from pages.curves.choosing import Words
from pages.shared.dial import Group, group_of
from pages.shared.epsilon_dial import epsilon_dial, epsilon_of
from pages.shared.fragments import fragment, run_parts

if TYPE_CHECKING:
    from pages.curves.curves import Curve

DIALS, COMPARED, VIEWS, TAKING = "deny_dials", "deny_compared", "deny_views", "deny_taking"
"""Fragments besides those of `fragment_of`."""
OPEN_VIEW = "part"
STILL_VIEWS = frozenset({"Appendix C"})
"""Views without numbers at the ε of the dials."""


@dataclass(frozen=True)
class How:
    """Key of a measurement: name of the lexicon, R, seed."""

    lexicon: str
    runs: int
    seed: int


@dataclass(frozen=True)
class CurvesScene:
    """State of the page.

    Attributes:
        curves: one per mechanism.
        pinned: up to two words that are shown individually.
        selection: the words to measure.
        words: choice of the words.
        lexicon: name of their lexicon.
        how: settings of the measurement.
    """

    curves: tuple[Curve, ...]
    pinned: tuple[str, ...]
    selection: Selection
    words: Words
    lexicon: Lexicon
    how: How

    def epsilons(self) -> dict[str, float]:
        """Return ε of the dials by registry key; a group without a dial here has its default."""
        return {c.mechanism.key: epsilon_of(group_of(c.mechanism.meaning)) for c in self.curves}


def fragment_of(group: Group) -> str:
    """Return the name of the fragment that shows the numbers at the ε of a group."""
    return f"curves_{group.name}"


def draw_dials(
    place: DeltaGenerator,
    groups: Mapping[Group, list[Mechanism]],
    grid: list[float] | None = None,
    followed_by: str | None = None,
) -> None:
    """Draw a dial for each group, side by side; they stay in sight while the page scrolls.

    Args:
        place: a block of the page that holds nothing else.
        groups: groups with their shown mechanisms.
        grid: the values of ε to choose from; None for those of each group.
        followed_by: the fragment that runs when a dial rests; None for that of its group.
    """
    with place:
        fragment(_dials, groups, grid, followed_by, key=DIALS)


def _dials(
    groups: Mapping[Group, list[Mechanism]], grid: list[float] | None, followed_by: str | None
) -> None:
    for (group, members), column in zip(groups.items(), st.columns(len(groups)), strict=True):
        with column:
            fragment = followed_by or fragment_of(group)
            epsilon_dial(group, members, partial(_rested, fragment), grid=grid)


def _rested(fragment: str) -> None:
    # A view without numbers at ε stays as it is: drawing it again would only cost time.
    views = () if st.session_state.get(OPEN_VIEW) in STILL_VIEWS else (VIEWS,)
    run_parts(fragment, *views, TAKING)
