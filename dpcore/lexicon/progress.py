"""Progress reports of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total); a total of 0 means that it is not known."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the report."""
