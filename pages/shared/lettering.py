"""What is written in a drawing, in the language of the page: axes, curves, marks, numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pages.shared.language import ENGLISH, language, numeral, translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    import plotly.graph_objects as go

_NUMBER = re.compile(r"\d[\d,.]*")
_NUMERAL = re.compile(r"[\d,.]*\d[×%]?")
_BETWEEN = ", "


def spoken(figure: go.Figure) -> go.Figure:
    """A figure as it is shown: a copy in another language than English, else the figure itself.

    Args:
        figure: from `dpcore.plots`, in English; it may be shared between sessions.
    """
    if language() == ENGLISH:
        return figure
    import plotly.graph_objects as go

    shown = go.Figure(figure)
    shown.update_layout(separators=",.")
    for trace in shown.data:
        if trace.name:
            trace.name = lettering(trace.name)
    for part, name in _titles(shown.layout):
        part[name] = lettering(part[name])
    for axis in (*shown.select_xaxes(), *shown.select_yaxes()):
        if axis.ticktext is not None:
            axis.ticktext = [
                numeral(text) if _NUMERAL.fullmatch(text) else translated(text, language())
                for text in axis.ticktext
            ]
    return shown


def _titles(layout: Any) -> Iterator[tuple[Any, str]]:
    """Where a drawing has words outside its curves."""
    axes = [layout[name] for name in layout if re.fullmatch(r"[xy]axis\d*|coloraxis", name)]
    for axis in axes:
        title = axis.colorbar.title if hasattr(axis, "colorbar") else axis.title
        if title.text:
            yield title, "text"
    for note in layout.annotations:
        if note.text:
            yield note, "text"


def lettering(text: str) -> str:
    """A text of a drawing in this language: whole, with a number in it, or part by part."""
    to = language()
    whole = translated(text, to)
    if whole != text:
        return whole
    number = _NUMBER.search(text)
    if number is not None:
        template = text.replace(number[0], "{number}", 1)
        told = translated(template, to)
        if told != template:
            return told.replace("{number}", numeral(number[0]))
    return _BETWEEN.join(translated(part, to) for part in text.split(_BETWEEN))
