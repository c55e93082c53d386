"""Readings of the tests of the Robustness page."""

from typing import Any


def curve(figure: dict[str, Any], name: str) -> dict[float, float]:
    """One curve of a figure: y by x."""
    trace = next(each for each in figure["data"] if each.get("name") == name)
    return dict(zip(trace["x"], trace["y"], strict=True))
