"""HTML for public values in a notebook.

All text is escaped here, so that no caller can forget it. Text and lines take the colour of the
notebook (`currentColor`), and the one blue and one orange that are added (Okabe and Ito 2008) have
a contrast of at least 3 to white and to black: dark mode needs nothing else. There is no script,
style sheet or network address, so a notebook that is not trusted may show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_BLUE = "#0072B2"
_ORANGE = "#D55E00"
_ROWS = 20  # of a table; a longer one says how many rows are not shown
_TABLE = "border-collapse:collapse;color:inherit"
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"


def card(title: str, *lines: str, body: Iterable[str] = ()) -> str:
    """Return a card with a title, a body and a line for each note.

    Args:
        title: text.
        lines: notes, in small print below the body.
        body: HTML from functions of this module.
    """
    notes = "".join(
        f'<div style="opacity:0.8;font-size:90%">{escape(line)}</div>' for line in lines if line
    )
    return (
        f'<div style="border-left:4px solid {_BLUE};padding:4px 12px;margin:4px 0;max-width:60em">'
        f'<div style="font-weight:bold">{escape(title)}</div>{"".join(body)}{notes}</div>'
    )


def bars(shares: Sequence[tuple[str, float]], caption: str) -> str:
    """Return a horizontal bar for each label, as long as its share of 1.

    Args:
        shares: labels and numbers in [0, 1].
        caption: text above them.
    """
    rows = "".join(
        f'<tr><td style="{_CELL}">{escape(label)}</td>'
        '<td style="padding:2px 8px 2px 0;text-align:left;width:16em">'
        f'<div style="background:{_BLUE};height:0.9em;width:{100 * share:.4g}%;min-width:1px">'
        f'</div></td><td style="{_CELL}">{share:.4g}</td></tr>'
        for label, share in shares
    )
    return f'<div>{escape(caption)}</div><table style="{_TABLE}">{rows}</table>'


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table of texts and numbers; numbers with four digits, None as an empty cell."""
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in columns)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(_cell(v))}</td>' for v in row) + "</tr>"
        for row in rows[:_ROWS]
    )
    left = len(rows) - _ROWS
    more = f'<div style="opacity:0.8">{left:,} more rows are not shown</div>' if left > 0 else ""
    return (
        f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table>{more}"
    )


def marked(pieces: Iterable[tuple[str, str, bool]], before: str = "") -> str:
    """Return a sentence in which some words are marked by colour, weight and an underline.

    Args:
        pieces: white space, word, and True if the word is marked.
        before: label before the sentence.
    """
    text = "".join(
        escape(space)
        + (
            f'<b style="border-bottom:2px solid {_ORANGE}">{escape(word)}</b>'
            if mark
            else escape(word)
        )
        for space, word, mark in pieces
    )
    label = f'<span style="opacity:0.8">{escape(before)}</span> ' if before else ""
    return f'<div style="margin:2px 0;white-space:pre-wrap">{label}{text}</div>'


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
