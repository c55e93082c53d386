"""What a session guessed: the first guess at each exercise counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.lexicon.catalogue import load
from dpcore.papers.lesson import EXERCISES, Exercise, exercise

if TYPE_CHECKING:
    from collections.abc import Mapping

_GUESSES = "lesson_guesses"
GUESS = "lesson_guess_"


@st.cache_resource(max_entries=len(EXERCISES), show_spinner="Calculating the answer…")
def computed(key: str) -> Exercise:
    """An exercise on the bundled words, computed once for all sessions."""
    return exercise(key, load())


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


def score() -> tuple[int, int]:
    """Right guesses, and all."""
    values = guesses()
    return sum(computed(key).right(guess) for key, guess in values.items()), len(values)
