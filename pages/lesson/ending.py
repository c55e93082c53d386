"""The end of the lesson: how the guesses went, what to read again, and where to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.lesson.guessing import forget, score
from pages.lesson.steps import STEPS, step
from pages.shared.language import later, say

if TYPE_CHECKING:
    from collections.abc import Callable

_WAYS = (
    ("pages/rewrite/page.py", later("Rewrite a sentence of your own, and tap its words")),
    ("pages/tradeoff/page.py", later("See what it costs to hide a word, by every method")),
    ("pages/attacker/page.py", later("Be the attacker: one output, and what it tells")),
)


def progress() -> None:
    """Draw how many guesses are made."""
    counted = score()
    if counted.guessed:
        st.progress(
            counted.guessed / len(STEPS),
            say(
                "{guessed} of {count} guesses made, {right} right.",
                guessed=counted.guessed,
                count=len(STEPS),
                right=counted.right,
            ),
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
        st.header(say("How it went"), anchor=False)
        st.markdown(
            say(
                "**{right} of {count} right**, {near} near. {praise}",
                right=counted.right,
                count=len(STEPS),
                near=counted.near,
                praise=_kindly(counted.right),
            )
        )
        if counted.missed:
            st.markdown(say("Read again what surprised you:"))
            with st.container(horizontal=True):
                for key in counted.missed:
                    st.button(
                        say(step(key).short),
                        key=f"lesson_again_{key}",
                        on_click=go_to,
                        args=(key,),
                        help=say("Opens the step “{title}”.", title=say(step(key).title)),
                    )
        st.markdown(say("Where to go from here:"))
        for page, label in _WAYS:
            st.page_link(page, label=f"{say(label)}.", icon=":material/arrow_forward:")
        st.button(
            say("Begin anew"),
            key="lesson_anew",
            icon=":material/restart_alt:",
            on_click=forget,
            help=say("Forgets your guesses. They were kept in this browser session only."),
        )


def _kindly(right: int) -> str:
    if right == len(STEPS):
        return say("Nothing here surprised you: you could teach this.")
    if 2 * right >= len(STEPS):
        return say("That is good: most of this goes against what one expects.")
    return say("These questions surprise nearly everybody; a wrong guess is remembered best.")
