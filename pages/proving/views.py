"""The views of the Robustness page, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.proving.pictures_view import pictures_view

if TYPE_CHECKING:
    from collections.abc import Callable

VIEWS: dict[str, Callable[[], None]] = {
    "Pictures": pictures_view,
}
"""Title, as it stands in the link -> what draws it."""
