"""Sentence box with its presets, and the choice of a draw. Typed text stays in the session."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpcore.limits import MAX_SEED
from pages.shared import link
from pages.shared.fragments import heard
from pages.shared.frame import open_address
from pages.shared.language import ENGLISH, language, say
from pages.shared.link import choose_seed, read_whole, whole_number
from pages.shared.session import DEFAULT_PRESET, PRESETS

TEXT = "text"
_PRESET, _PAGE = "preset", "text_box_page"


def text_box() -> str:
    """Draw the presets and the box; return the text.

    A link may name a preset (`preset=`) or, at its maker's request, hold a text (`text=`).
    """
    _start()
    _presets()
    return st.text_area(
        say("Your sentence"),
        key=TEXT,
        height=80,
        on_change=_typed,
        persist_state="session",
        help=say(
            "Type or paste up to 200 words, then press Ctrl+Enter or leave the box. The text "
            "stays in this browser session: it is not stored, not logged and not put into the "
            "link."
        ),
    )


def _presets() -> None:
    label, options = say("Start from an example"), list(PRESETS)
    more: dict[str, Any] = {
        "key": _PRESET,
        "on_change": _take_preset,
        "required": True,
        "help": say("Puts an example into the box below; you can change it there."),
    }
    if language() == ENGLISH:
        # Streamlit logs a warning for a default beside a value in the session state.
        default = None if _PRESET in st.session_state else DEFAULT_PRESET
        st.pills(label, options, default=default, bind="query-params", **more)
        return
    if _PRESET not in st.session_state:
        linked = st.query_params.get(_PRESET)
        st.session_state[_PRESET] = linked if linked in PRESETS else DEFAULT_PRESET
    more |= {"format_func": say, "persist_state": "session"}
    chosen = st.pills(label, options, **more)
    link.write(_PRESET, chosen or DEFAULT_PRESET, DEFAULT_PRESET)


def _start() -> None:
    page = open_address()
    moved = st.session_state.get(_PAGE) != page
    st.session_state[_PAGE] = page
    if TEXT in st.session_state:
        if moved:  # Streamlit does not carry over text that code put into an untouched box
            st.session_state[TEXT] = st.session_state[TEXT]
        return
    given = st.query_params.get(TEXT)
    preset = st.query_params.get(_PRESET, DEFAULT_PRESET)
    if given is not None:
        st.session_state[_PRESET] = None
    st.session_state[TEXT] = (
        PRESETS.get(preset, PRESETS[DEFAULT_PRESET]) if given is None else given
    )


def _take_preset() -> None:
    preset = heard(_PRESET)
    if preset is not None:
        st.session_state[TEXT] = PRESETS[preset]
        link.drop(TEXT)


def _typed() -> None:
    """Select the preset with the typed text, if any, and remove an old text from the link."""
    text = heard(TEXT)
    if text is None:
        return
    st.session_state[_PRESET] = next((n for n, t in PRESETS.items() if t == text), None)
    link.drop(TEXT)


# Choice of the draw of noise: a button for the next one, the number of the draw and the seed.


MAX_DRAW = 9_999
_DRAW = "draw"


def draw_again() -> None:
    """Draw the button that draws new noise."""
    st.button(
        say("Draw again"),
        key="again",
        icon=":material/casino:",
        on_click=_again,
        help=say("Takes fresh noise: the next draw of the same seed."),
    )


def choose_draw() -> tuple[int, int]:
    """Draw the fields; return seed and number of the draw."""
    number = whole_number(
        say("Draw"),
        0,
        MAX_DRAW,
        0,
        _DRAW,
        say(
            "The draw of this seed to show. The same seed and draw show the same words to everyone."
        ),
        width=130,
    )
    seed = choose_seed(
        say(
            "Starting point of the random numbers. It is part of the link, so everyone who "
            "opens the link sees the same draw. For looking only: a release uses an "
            "unpredictable seed."
        )
    )
    return seed, number


def seed_and_draw() -> tuple[int, int]:
    """Return seed and draw on a page without the fields, and write them to the link.

    They are those of the pages that have the fields, else those of the link.
    """
    seed = int(st.session_state.get("seed", read_whole("seed", 0, MAX_SEED, link.SEED)))
    link.write("seed", str(seed), str(link.SEED))
    link.write(_DRAW, str(_number()), "0")
    return seed, _number()


def _number() -> int:
    return int(st.session_state.get(_DRAW, read_whole(_DRAW, 0, MAX_DRAW, 0)))


def _again() -> None:
    st.session_state[_DRAW] = (_number() + 1) % (MAX_DRAW + 1)
