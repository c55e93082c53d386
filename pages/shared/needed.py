"""Lexicon, mechanisms, sentence and model of a page; without them it says why, and ends."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.rewrite.write.smollm import load_model
from pages.shared.dial import group_of
from pages.shared.language import say
from pages.shared.messages import inform, refuse
from pages.shared.once import is_there, once
from pages.shared.session import Bench, Settings, admissible, bench_for, lexicon, mechanism
from pages.shared.sidebar import Choices


def lexicon_or_stop(name: str) -> Lexicon:
    """Return a lexicon of the catalogue; if it cannot be loaded, say why and end the page.

    Args:
        name: name in the catalogue.
    """
    try:
        return lexicon(name)
    except DpcoreError as error:
        refuse(say("The lexicon could not be loaded."), error)
        st.stop()


def bench_or_stop(text: str, words: Lexicon, choices: Choices) -> Bench:
    """Return the bench of a sentence; if it cannot be rewritten, say why and end the page."""
    try:
        return bench_for(text, words, choices)
    except DpcoreError as error:
        refuse(say("This could not be rewritten."), error)
        st.stop()


def mechanisms_or_stop(
    words: Lexicon, chosen: Iterable[tuple[str, Settings]], *, on_dial: bool = False
) -> list[Mechanism]:
    """Return the chosen mechanisms over a lexicon; report and skip those that refuse a setting.

    If none is left, the page says how to choose one, and ends.

    Args:
        words: the lexicon.
        chosen: registry keys and settings.
        on_dial: True to leave out mechanisms that admit no ε of the dial on this lexicon as well.
    """
    mechanisms: list[Mechanism] = []
    for key, settings in chosen:
        try:
            made = mechanism(words, key, settings)
            if on_dial and not admissible(made).size:
                made.check_epsilon(group_of(made.meaning).grid[-1])  # says what it admits
            mechanisms.append(made)
        except DpcoreError as error:
            refuse(say("A mechanism is left out: change its settings in the sidebar."), error)
    if not mechanisms:
        inform(say("Choose at least one mechanism in the sidebar."))
        st.stop()
    return mechanisms


# Large language model of two pages: loaded once in the process, when it is needed.


def load_language_model() -> None:
    """Load the model unless it is loaded; a line on the page says so meanwhile.

    Raises:
        MissingPackageError: it is not installed.
    """
    if not is_there("language model", ""):
        with st.spinner(say("Loading the language model")):
            once("language model", "", load_model, 1)
