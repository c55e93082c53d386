"""The board of the Trade-off page: the chart, and one sentence by each mechanism at equal leakage.

All steps of the dial are sent at once; a step moves them in the browser alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared.marked import SCRIPT

_HERE = Path(__file__).parent
_KEY = "word_privacy_lab.tradeoff"

STYLE = """
@media (max-width: 50rem) {
  :has(> .st-key-tradeoff_choices) { order: 1; }
}
"""
"""On a phone the picture comes before what is chosen."""


@cache
def _component() -> Callable[..., Any]:
    scripts = SCRIPT, SCRIPT.with_name("svg_files.js"), _HERE / "board.js"
    js = "\n".join(script.read_text(encoding="utf-8") for script in scripts)
    css = (_HERE / "board.css").read_text(encoding="utf-8")
    return st.components.v2.component(_KEY, css=css, js=js)


def show_board(data: dict[str, Any]) -> None:
    """Draw the board.

    Args:
        data: `group` (whose dial moves it), `step`, `alt`, `frames` (x and y: title, low, high,
            ticks as [value, text]; guides: label, kind, points, place of the label), by step
            `frame` (which of them), `level` (where the dial's line stands, or null) and `findings`,
            `lines` (label, colour, dash, glyph, points as [x, y], bars as [x low, x high, y low,
            y high], by step `at` as [x, y] or null), `left` (of what), `texts`, and `rows` (line;
            by step left, promise and words as [index into `texts`, whether it changed, the gap
            before it] or null).
    """
    _component()(key="tradeoff_board", data=data)
