"""The views below the grid, as tabs; only the open one is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.rewriting.view_draws import draws_view
from pages.rewriting.view_files import files_view
from pages.rewriting.view_protection import protection_view
from pages.rewriting.view_word import word_view

if TYPE_CHECKING:
    from pages.rewriting.scene import Scene

_VIEWS = {
    "What is not protected": protection_view,
    "One word: strip and odds": word_view,
    "100 draws": draws_view,
    "Link, files, command": files_view,
}


def views(scene: Scene) -> None:
    """Draw the tabs."""
    tabs = st.tabs(list(_VIEWS), key="view", bind="query-params", on_change="rerun")
    for tab, view in zip(tabs, _VIEWS.values(), strict=True):
        if tab.open:
            with tab:
                view(scene)
