"""The slider of ε of one group of mechanisms, the same on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.attack.frontier.meter import meter
from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.attack.words import meter_text
from pages.shared.fields import name_ends
from pages.shared.groups import admissible_grid
from pages.shared.messages import note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.groups import Group


def epsilon_slider(
    group: Group,
    members: list[Mechanism],
    on_change: Callable[[], None] | None = None,
    *,
    start: float | None = None,
    grid: Sequence[float] | None = None,
    metered: bool = True,
) -> float:
    """Draw the slider; it stands in the link as `eps_<group>`.

    Args:
        group: the group.
        members: its mechanisms that are shown; one of them at least is defined at every step.
        on_change: called when it has moved.
        start: where a fresh visit begins; the group's own start if None.
        grid: the values of ε to choose from; None for those of the group.
        metered: whether to say below what ε permits; else the page says it elsewhere.

    Returns:
        ε, a value of the grid.
    """
    grid = admissible_grid(group, members) if grid is None else grid
    start = group.start if start is None else start
    epsilon: float = st.select_slider(
        group.title,
        grid,
        value=start if start in grid else grid[len(grid) // 2],
        format_func=group.label,
        key=f"eps_{group.name}",
        bind="query-params",
        on_change=on_change,
        help=f"{group.explanation} ε is the privacy parameter: to the left stronger "
        "privacy, to the right closer meaning.",
    )
    name_ends("← stronger privacy", "closer meaning →")
    if metered:
        say_meter(group, members[0].lexicon, epsilon)
    return epsilon


def run_parts(*keys: str) -> None:
    """From a callback: run these fragments, unless the whole page runs anyway.

    What was done in one hurry arrives together. A field without a callback asks for a run of the
    page by being silent, and Streamlit would not hear it beside a wish for fragments: what was
    chosen there would not be shown, and if the last run of the page had been cut short, places that
    it had not filled would be missing for good.
    """
    context = get_script_run_ctx()
    if context is None or context.fragment_ids_this_run:
        st.rerun(list(keys))


def say_meter(group: Group, lexicon: Lexicon, epsilon: float) -> None:
    """What ε permits on this lexicon, whatever the mechanism; nothing where that is not known."""
    local = EpsilonMeaning.LOCAL in group.meanings
    (reading,) = meter(lexicon, epsilon, local=local, compute=False).rows
    if reading.high < 1.0 or reading.low > 0.5:
        kind = "between any two words" if local else "per Euclidean distance"
        note(meter_text(reading.low, reading.high, f"{group.reading(epsilon)} {kind}"))
