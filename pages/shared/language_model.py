"""Large language model of two pages: loaded once in the process, when it is needed."""

from __future__ import annotations

import streamlit as st

from dpcore.rewrite.write.smollm import load_model
from pages.shared.language import say
from pages.shared.once import is_there, once


def load_language_model() -> None:
    """Load the model unless it is loaded; a line on the page says so meanwhile.

    Raises:
        MissingPackageError: it is not installed.
    """
    if not is_there("language model", ""):
        with st.spinner(say("Loading the language model")):
            once("language model", "", load_model, 1)
