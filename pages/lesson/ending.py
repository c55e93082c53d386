"""The end of the lesson: how the guesses went, what to read again, and where to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.lesson.guessing import forget, score
from pages.lesson.steps import STEPS, step

if TYPE_CHECKING:
    from collections.abc import Callable

_WAYS = (
    ("pages/rewrite/page.py", "Rewrite a sentence of your own, and tap its words"),
    ("pages/tradeoff/page.py", "See what it costs to hide a word, by every method"),
    ("pages/attacker/page.py", "Be the attacker: one output, and what it tells"),
)


def progress() -> None:
    """Draw how many guesses are made."""
    counted = score()
    if counted.guessed:
        st.progress(
            counted.guessed / len(STEPS),
            f"{counted.guessed} of {len(STEPS)} guesses made, {counted.right} right.",
        )


def ending(go_to: Callable[[str], None]) -> None:
    """Draw the score, once every guess is made.

    Args:
        go_to: opens a step by its key.
    """
    counted = score()
    if counted.guessed < len(STEPS):
        return
    with st.container(border=True):
        st.header("How it went", anchor=False)
        st.markdown(
            f"**{counted.right} of {len(STEPS)} right**, {counted.near} near. "
            f"{_kindly(counted.right)}"
        )
        if counted.missed:
            st.markdown("Read again what surprised you:")
            with st.container(horizontal=True):
                for key in counted.missed:
                    st.button(
                        step(key).short,
                        key=f"lesson_again_{key}",
                        on_click=go_to,
                        args=(key,),
                        help=f"Opens the step “{step(key).title}”.",
                    )
        st.markdown("Where to go from here:")
        for page, label in _WAYS:
            st.page_link(page, label=f"{label}.", icon=":material/arrow_forward:")
        st.button(
            "Begin anew",
            key="lesson_anew",
            icon=":material/restart_alt:",
            on_click=forget,
            help="Forgets your guesses. They were kept in this browser session only.",
        )


def _kindly(right: int) -> str:
    if right == len(STEPS):
        return "Nothing here surprised you: you could teach this."
    if 2 * right >= len(STEPS):
        return "That is good: most of this goes against what one expects."
    return "These questions surprise nearly everybody; a wrong guess is remembered best."
