"""Grid of rewritten rows with its data and callbacks, for every page that shows one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.rewrite.redact.redaction import Redaction
from pages.rewrite.redactors import redactor_group
from pages.rewrite.rows import likely, mechanism_row, source_row
from pages.rewrite.scene import at_same_leakage, choose_place, row_draw, run_dependents
from pages.shared.dial import grouped
from pages.shared.figure import SVG_FILES
from pages.shared.language import for_component, later, say
from pages.shared.session import Bench

# Rewrite grid: one row per mechanism, one button per word, drawn by our own component.
#
# Typed text reaches the browser only as data (never as HTML, CSS or script) and is set there as
# text content.


_HERE = Path(__file__).parent
_SPOKEN = _HERE.parent / "shared" / "spoken.js"


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
        path.read_text(encoding="utf-8")
        for path in (
            _HERE / "grid.css",
            _SPOKEN,
            *SVG_FILES,
            _HERE / "grid_card.js",
            _HERE / "grid.js",
        )
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


def rewritten(
    bench: Bench,
    mechanisms: list[Mechanism],
    epsilons: dict[str, float],
    seed: int,
    draw: int,
    *,
    key: str,
    chosen: Mechanism | None = None,
    place: int | None = None,
    redactions: Sequence[Redaction] = (),
) -> None:
    """Draw the rows of some mechanisms, group by group, and of redactors below them.

    Args:
        bench: the sentence.
        mechanisms: one row each.
        epsilons: ε by registry key, NaN where a row has none.
        seed: seed of the noise.
        draw: number of the draw.
        key: key of the element.
        chosen: the mechanism whose word is marked as chosen; None for none.
        place: the chosen place, which has an ε-strip in every row; None for none.
        redactions: one row each.
    """
    # A place past the end marks no place as chosen.
    marked = bench.sentence.protected if place is None else place
    groups = [
        {
            "title": say(group.title),
            # At the same leakage each row has its own.
            "epsilon": "" if at_same_leakage() else group.reading(epsilons[members[0].key]),
            "rows": [
                mechanism_row(
                    bench,
                    m,
                    row_draw(bench, m, seed, draw, epsilons[m.key]),
                    epsilons[m.key],
                    marked,
                )
                for m in members
            ],
        }
        for group, members in grouped(mechanisms)
    ]
    if redactions:
        groups.append(redactor_group(redactions))
    rewrite_grid(
        {
            "source": source_row(bench.sentence),
            "inputs": [bench.label(i) for i in range(bench.sentence.protected)],
            "groups": groups,
            "mechanism": "" if chosen is None else chosen.key,
            "place": marked,
            "likely": _likely(bench, mechanisms, epsilons),
        },
        key=key,
        on_word=partial(_choose, bench),
        on_peek=_peek,
    )


def _choose(bench: Bench, key: str, place: int) -> None:
    choose_place(bench, place)
    # The link holds the short name: a new version of a mechanism is another key.
    st.session_state["via"] = key.rsplit(".v", 1)[0]
    # The card of a chosen word needs its likely outputs as well.
    _peek(key, place)
    run_dependents()


def _peek(key: str, place: int) -> None:
    st.session_state["looked_at"] = (key, place)


def _likely(
    bench: Bench, mechanisms: list[Mechanism], epsilons: dict[str, float]
) -> list[dict[str, Any]]:
    """Return the likely outputs of the word whose card was requested last."""
    # Of this word alone: a law runs over the whole vocabulary and may take seconds.
    key, place = st.session_state.get("looked_at", ("", 0))
    mechanism = next((m for m in mechanisms if m.key == key), None)
    if mechanism is None or not 0 <= place < bench.sentence.protected:
        return []
    epsilon = epsilons[mechanism.key]
    # The dial may have moved since the card was opened.
    if epsilon not in mechanism.admissible:
        return []
    return [likely(bench, mechanism, place, epsilon)]
