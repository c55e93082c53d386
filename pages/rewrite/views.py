"""The views below the grid, as tabs; only the open one is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.rewrite.view_draws import draws_view
from pages.rewrite.view_files import files_view
from pages.rewrite.view_protection import protection_view
from pages.rewrite.view_word import word_view
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from pages.rewrite.scene import Scene

_VIEWS = {
    "What is not protected": protection_view,
    "One word: strip and odds": word_view,
    "100 draws": draws_view,
    "Link, files, command": files_view,
}


def views(scene: Scene) -> None:
    """Draw the tabs."""
    tabs(_VIEWS, "view", scene)
