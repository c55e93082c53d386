"""Which draw of noise is shown: a button for the next one, the number of the draw and the seed."""

from __future__ import annotations

import streamlit as st

from pages.shared import link
from pages.shared.fields import choose_seed, whole_number
from pages.shared.language import say

MAX_DRAW = 9_999
_DRAW = "draw"


def draw_again() -> None:
    """Draw the button that takes fresh noise."""
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
            "Which draw of this seed is shown. The same seed and draw show the same words to "
            "everybody."
        ),
        width=130,
    )
    seed = choose_seed(
        say(
            "The start of the random numbers. It is part of the link, so a class that opens one "
            "link sees one draw. For looking only: a release takes an unpredictable seed."
        )
    )
    return seed, number


def seed_and_draw() -> tuple[int, int]:
    """Which draw is shown where the fields are not: that of the pages that have them."""
    return int(st.session_state.get("seed", link.SEED)), int(st.session_state.get(_DRAW, 0))


def _again() -> None:
    st.session_state[_DRAW] = (int(st.session_state.get(_DRAW, 0)) + 1) % (MAX_DRAW + 1)
