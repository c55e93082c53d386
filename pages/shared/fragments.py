"""Fragments of a page that run by themselves."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def run_parts(*keys: str) -> None:
    """From a callback: run these fragments, unless the whole page runs anyway.

    What was done in one hurry arrives together. A field without a callback asks for a run of the
    page by being silent, and Streamlit would not hear it beside a wish for fragments: what was
    chosen there would not be shown, and if the last run of the page had been cut short, places that
    it had not filled would be missing for good.
    """
    context = get_script_run_ctx()
    if context is None or context.fragment_ids_this_run:
        st.rerun(list(keys))
