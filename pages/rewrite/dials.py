"""Dials of the Rewrite page, one per group of mechanisms, and the fragments they run."""

from __future__ import annotations

import streamlit as st

from dpcore.mechanisms.mechanism import Mechanism
from pages.shared.dial import grouped
from pages.shared.epsilon_dial import epsilon_dial, epsilon_of
from pages.shared.fragments import fragment, run_parts

DIALS, GRID, VIEWS = "rewrite_dials", "rewrite_grid", "rewrite_views"
"""Fragments of the dials, and those that run when one rests."""

_STYLE = """
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] h1 { font-size: 1.45rem; }
}
"""
# Three dials are visible at once, so each shows only its readings and its track. On a phone they
# are stacked in the page itself, and only the first one stays in sight.
_SEVERAL = """
.st-key-rewrite_dials {{
  --dial-ends: none; --dial-exact: none; --dial-value: 1.1rem; --dial-columns: auto 1fr;
  backdrop-filter: blur(0.75rem);
}}
@media (max-width: 640px) {{
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
    :has([class*="st-key-dial_place"]) {{ display: contents; }}
  [class*="st-key-dial_place"]:not(.st-key-dial_place_{first}) {{ margin-top: -0.75rem; }}
  .st-key-dial_place_{first} {{ position: sticky; top: 3.75rem; z-index: 90; }}
}}
"""


def dials(mechanisms: list[Mechanism]) -> None:
    """Draw the dials side by side, in their own fragment."""
    fragment(_dials, mechanisms, key=DIALS)


def _dials(mechanisms: list[Mechanism]) -> None:
    groups = grouped(mechanisms)
    with st.container(key="rewrite_dials"):
        several = _SEVERAL.format(first=groups[0][0].name) if len(groups) > 1 else ""
        st.html(f"<style>{_STYLE}{several}</style>")
        for (group, members), column in zip(groups, st.columns(len(groups)), strict=True):
            with column:
                epsilon_dial(group, members, moved)


def moved() -> None:
    """From a callback: run only the fragments that depend on ε or on the chosen word."""
    run_parts(GRID, VIEWS)


def dialled(mechanisms: list[Mechanism]) -> dict[str, float]:
    """Return ε at the dials, by name of the group."""
    return {group.name: epsilon_of(group) for group, _ in grouped(mechanisms)}
