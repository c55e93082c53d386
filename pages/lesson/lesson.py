"""One step of the lesson at a time: read, guess, check, look."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.lesson.ending import ending, progress
from pages.lesson.guessing import GUESS, computed, guesses, take
from pages.lesson.steps import STEPS, step
from pages.lesson.taking import takeaway
from pages.lesson.turning import show_turn
from pages.lesson.worksheet import answers, worksheet
from pages.shared import link
from pages.shared.messages import note
from pages.shared.taking import take_it_with_you

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.papers.lesson import Exercise
    from pages.lesson.steps import Step

STEP = "step"
_STYLE = ".st-key-lesson_title h2 { font-size: 1.5rem; padding: 0.25rem 0; }"
"""Smaller than the title of the page, and the picture begins higher on a phone."""


def lesson() -> None:
    """Draw the list of steps, the open step, the way on, and what a teacher takes along."""
    keys = [each.key for each in STEPS]
    if STEP not in st.session_state:
        linked = st.query_params.get(STEP, keys[0])
        st.session_state[STEP] = linked if linked in keys else keys[0]
    key = st.selectbox(
        "Step",
        keys,
        format_func=lambda key: f"{keys.index(key) + 1} of {len(keys)}: {step(key).short}",
        key=STEP,
        width=260,
        label_visibility="collapsed",
        help="Two minutes each. You can go back at any time; the link opens the same step.",
    )
    link.write(STEP, key, keys[0])
    place = keys.index(key)
    _step(step(key), place)
    _way(keys, place)
    progress()
    ending(_open)
    with st.expander("For teachers: worksheet and answers"):
        _handouts()
    take_it_with_you(lambda: takeaway(key))


def _step(shown: Step, place: int) -> None:
    with st.container(key="lesson_title"):
        st.html(f"<style>{_STYLE}</style>")
        st.header(f"{place + 1}. {shown.title}", anchor=False)
    show_turn(shown.key, guessed=shown.key in guesses())
    st.markdown(shown.story)
    task = computed(shown.key)
    with st.container(border=True):
        st.markdown("**Take a guess, then check**")
        st.text(task.question)
        _guess(task)
        if task.key in guesses():
            _answer(task, guesses()[task.key])
    with st.expander("The formula"):
        st.markdown(shown.formula)
    if task.key in guesses():
        st.page_link(
            shown.page,
            label=f"{shown.look}.",
            icon=":material/arrow_forward:",
            query_params=shown.link,
        )


def _guess(task: Exercise) -> None:
    guess = guesses().get(task.key)
    field = f"{GUESS}{task.key}"
    if task.options:
        if guess is not None:
            st.session_state[field] = task.options[int(guess)]
        st.radio(
            "Your guess",
            task.options,
            index=None,
            key=field,
            disabled=guess is not None,
            help="The first guess counts.",
        )
    else:
        if guess is not None:
            st.session_state[field] = guess
        st.number_input(
            f"Your guess, from {task.low:g} to {task.high:g}{task.unit}",
            float(task.low),
            float(task.high),
            None,
            step=float(task.step),
            format="%g",
            key=field,
            disabled=guess is not None,
            width=260,
            placeholder="a number",
            help=f"The first guess counts; up to {task.near:g}{task.unit} beside the truth is "
            "right.",
        )
    if guess is None and st.button(
        "Check",
        key=f"lesson_check_{task.key}",
        icon=":material/check:",
        on_click=take,
        args=(task.key,),
        help="Shows what is true, computed by the laboratory.",
    ):
        note("Guess first: choose an answer." if task.options else "Guess first: type a number.")


def _answer(task: Exercise, guess: float) -> None:
    if task.right(guess):
        st.success("Right.", icon=":material/check_circle:")
    elif task.options:
        st.info("Not so.", icon=":material/cancel:")
    else:
        side = "more" if task.answer > guess else "less"
        st.info(f"It is {side} than that.", icon=":material/cancel:")
    st.text(task.truth)


def _way(keys: list[str], place: int) -> None:
    with st.container(horizontal=True):
        for label, other, icon in (
            ("Back", place - 1, "back"),
            ("Next step", place + 1, "forward"),
        ):
            if 0 <= other < len(keys):
                st.button(
                    label,
                    key=f"lesson_{icon}",
                    icon=f":material/arrow_{icon}:",
                    on_click=_open,
                    args=(keys[other],),
                    help=f"Opens step {other + 1}: {step(keys[other]).title}.",
                )


def _open(key: str) -> None:
    st.session_state[STEP] = key


def _sheet(make: Callable[[tuple[Exercise, ...]], str]) -> str:
    return make(tuple(computed(each.key) for each in STEPS))


def _handouts() -> None:
    note(
        "Eight steps, about two minutes each alone; with a class, let everybody write down a guess "
        "before anybody checks, and an hour is soon over. **Reading aids** in the sidebar has "
        "letters for a projector. The sheets open in a browser and print on paper."
    )
    with st.container(horizontal=True):
        for label, name, make in (
            ("Worksheet", "worksheet", worksheet),
            ("Answers", "answers", answers),
        ):
            st.download_button(
                label,
                data=partial(_sheet, make),
                file_name=f"word-privacy-{name}.html",
                mime="text/html",
                key=f"lesson_{name}",
                icon=":material/download:",
                on_click="ignore",
                help="One file of text that any browser opens and prints; it loads nothing.",
            )
