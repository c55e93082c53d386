"""What a session guessed: the first guess at each exercise counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.papers.lesson import EXERCISES, Exercise, exercise
from pages.shared.language import Waiting
from pages.shared.resources import catalogued

if TYPE_CHECKING:
    from collections.abc import Mapping

_GUESSES = "lesson_guesses"
GUESS = "lesson_guess_"


@st.cache_resource(max_entries=len(EXERCISES), show_spinner=Waiting("Calculating the answer…"))
def computed(key: str) -> Exercise:
    """An exercise on the bundled words, computed once for all sessions."""
    return exercise(key, catalogued("default"))


def guesses() -> Mapping[str, float]:
    """The first guesses of this session, by key."""
    values: dict[str, float] = st.session_state.setdefault(_GUESSES, {})
    return values


def take(key: str) -> None:
    """Keep the guess that stands in the field of an exercise, if it is the first."""
    guess = st.session_state.get(f"{GUESS}{key}")
    if guess is not None:
        options = computed(key).options
        value = float(options.index(guess) if options else guess)
        st.session_state.setdefault(_GUESSES, {}).setdefault(key, value)


def forget() -> None:
    """Begin the lesson anew."""
    st.session_state.pop(_GUESSES, None)
    for key in EXERCISES:
        st.session_state.pop(f"{GUESS}{key}", None)


@dataclass(frozen=True)
class Score:
    """How the guesses of this session went.

    Attributes:
        guessed: guesses made.
        right: that count as right.
        near: that were not right, but near.
        missed: keys of those that were not right, in the order of the lesson.
    """

    guessed: int
    right: int
    near: int
    missed: tuple[str, ...]


def score() -> Score:
    """How the guesses of this session went so far."""
    values = guesses()
    missed = tuple(
        key for key in EXERCISES if key in values and not computed(key).right(values[key])
    )
    near = sum(computed(key).nearly(values[key]) for key in missed)
    return Score(len(values), len(values) - len(missed), near, missed)
