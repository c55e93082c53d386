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
from pages.shared.language import language, say, speaking
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
        say("Step"),
        keys,
        format_func=lambda key: say(
            "{place} of {count}: {short}",
            place=keys.index(key) + 1,
            count=len(keys),
            short=say(step(key).short),
        ),
        key=STEP,
        width=260,
        label_visibility="collapsed",
        help=say("Two minutes each. You can go back at any time; the link opens the same step."),
    )
    link.write(STEP, key, keys[0])
    place = keys.index(key)
    _step(step(key), place)
    _way(keys, place)
    progress()
    ending(_open)
    with st.expander(say("For teachers: worksheet and answers")):
        _handouts()
    take_it_with_you(lambda: takeaway(key))


def _step(shown: Step, place: int) -> None:
    with st.container(key="lesson_title"):
        st.html(f"<style>{_STYLE}</style>")
        st.header(f"{place + 1}. {say(shown.title)}", anchor=False)
    show_turn(shown.key, guessed=shown.key in guesses())
    st.markdown(say(shown.story))
    task = computed(shown.key)
    with st.container(border=True):
        st.markdown(say("**Take a guess, then check**"))
        st.text(say(task.question))
        _guess(task)
        if task.key in guesses():
            _answer(task, guesses()[task.key])
    with st.expander(say("The formula")):
        st.markdown(say(shown.formula))
    if task.key in guesses():
        st.page_link(
            shown.page,
            label=f"{say(shown.look)}.",
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
            say("Your guess"),
            task.options,
            format_func=say,
            index=None,
            key=field,
            disabled=guess is not None,
            help=say("The first guess counts."),
        )
    else:
        if guess is not None:
            st.session_state[field] = guess
        st.number_input(
            say(
                "Your guess, from {low:g} to {high:g}{unit}",
                low=task.low,
                high=task.high,
                unit=task.unit,
            ),
            float(task.low),
            float(task.high),
            None,
            step=float(task.step),
            format="%g",
            key=field,
            disabled=guess is not None,
            width=260,
            placeholder=say("a number"),
            help=say(
                "The first guess counts; up to {near:g}{unit} beside the truth is right.",
                near=task.near,
                unit=task.unit,
            ),
        )
    if guess is None and st.button(
        say("Check"),
        key=f"lesson_check_{task.key}",
        icon=":material/check:",
        on_click=take,
        args=(task.key,),
        help=say("Shows what is true, computed by the laboratory."),
    ):
        note(
            say("Guess first: choose an answer.")
            if task.options
            else say("Guess first: type a number.")
        )


def _answer(task: Exercise, guess: float) -> None:
    if task.right(guess):
        st.success(say("Right."), icon=":material/check_circle:")
    elif task.options:
        st.info(say("Not so."), icon=":material/cancel:")
    else:
        more = task.answer > guess
        told = say("It is more than that.") if more else say("It is less than that.")
        st.info(told, icon=":material/cancel:")
    st.text(say(task.truth))


def _way(keys: list[str], place: int) -> None:
    with st.container(horizontal=True):
        for label, other, icon in (
            (say("Back"), place - 1, "back"),
            (say("Next step"), place + 1, "forward"),
        ):
            if 0 <= other < len(keys):
                st.button(
                    label,
                    key=f"lesson_{icon}",
                    icon=f":material/arrow_{icon}:",
                    on_click=_open,
                    args=(keys[other],),
                    help=say(
                        "Opens step {number}: {title}.",
                        number=other + 1,
                        title=say(step(keys[other]).title),
                    ),
                )


def _open(key: str) -> None:
    st.session_state[STEP] = key


def _sheet(make: Callable[[tuple[Exercise, ...]], str], spoken: str) -> str:
    with speaking(spoken):
        return make(tuple(computed(each.key) for each in STEPS))


def _handouts() -> None:
    note(
        say(
            "Eight steps, about two minutes each alone; with a class, let everybody write down "
            "a guess before anybody checks, and an hour is soon over. **Reading aids** in the "
            "sidebar has letters for a projector. The sheets open in a browser and print on "
            "paper."
        )
    )
    with st.container(horizontal=True):
        for label, name, make in (
            (say("Worksheet"), "worksheet", worksheet),
            (say("Answers"), "answers", answers),
        ):
            st.download_button(
                label,
                data=partial(_sheet, make, language()),
                file_name=f"word-privacy-{name}.html",
                mime="text/html",
                key=f"lesson_{name}",
                icon=":material/download:",
                on_click="ignore",
                help=say("One file of text that any browser opens and prints; it loads nothing."),
            )
