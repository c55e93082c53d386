"""Rewrite grid: one row per mechanism, one button per word, drawn by our own component.

Typed text reaches the browser only as data (never as HTML, CSS or script) and is set there as text
content.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared.language import for_component, later

_HERE = Path(__file__).parent


_KEY = "word_privacy_lab.grid"
_WORDS = {
    "became": later("{input} became {output}"),
    "stayed": later("{input} stayed as it is"),
    "row": later("{title}: rewritten words"),
    "redacted": later("{title}: what it leaves of the text"),
    "block": later("blacked out: {kind}"),
    "source": later("Your text"),
    "card": later("At this ε, {input} becomes"),
    "computing": later("computing its likely outputs…"),
    "output": later("output"),
    "probability": later("probability"),
    "distance": later("distance"),
    "itself": later("0 (itself)"),
}
"""Sentences of the component itself, which fills their gaps."""


@cache
def _component() -> Callable[..., Any]:
    css, *scripts = (
        (_HERE / name).read_text(encoding="utf-8")
        for name in ("grid.css", "spoken.js", "grid_card.js", "grid.js")
    )
    return st.components.v2.component(_KEY, css=css, js="\n".join(scripts))


def rewrite_grid(
    data: dict[str, Any],
    *,
    key: str,
    on_word: Callable[[str, int], None],
    on_peek: Callable[[str, int], None],
) -> None:
    """Show the grid.

    Args:
        data: `source` (tokens of the text), `inputs` (the word at each place), `groups` (title,
            epsilon, rows), the chosen `mechanism` and `place`, and `likely` (id "mechanism/place",
            outputs as [word, probability, distance], note). A row holds key, title, glyph, colour,
            count, status, promise, strip, and tokens or a problem; a token holds gap and text, and
            a rewritten word place and changed, any other a role (`block` is a redactor's label over
            personal data).
        key: key of the element.
        on_word: called with mechanism and place when a word is chosen.
        on_peek: the same when its likely outputs are looked at and were not in `likely`.
    """

    def heard(name: str, handler: Callable[[str, int], None]) -> Callable[[], None]:
        def hear() -> None:
            # A glance at a word may arrive just after its page was left, when the state is gone.
            word = st.session_state.get(key, {}).get(name)
            if word is not None:
                handler(str(word["mechanism"]), int(word["place"]))

        return hear

    _component()(
        key=key,
        data=data | for_component(_WORDS),
        on_word_change=heard("word", on_word),
        on_peek_change=heard("peek", on_peek),
    )
