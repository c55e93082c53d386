"""Fragments: parts of a page that run by themselves."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def fragment(
    draw: Callable[..., object], *given: object, key: str | None = None, every: float | None = None
) -> None:
    """Draw a part of the page as a fragment.

    A run that was stopped goes on until it next draws something, beside the run that follows it. If
    it declared the fragment after the newer run had, the part would from then on show the older
    request: the words of an older draw of noise below the number of the newer. So it ends here.
    Streamlit 1.67 declares first and looks afterwards
    (`test_streamlit_still_declares_a_fragment_in_a_run_that_was_stopped`).

    Args:
        draw: the function.
        given: its arguments.
        key: name of the fragment for `run_parts`; None where nothing else runs it.
        every: seconds after which it runs by itself; None for never.
    """
    context = get_script_run_ctx()
    if context is not None:
        context.yield_check()
    st.fragment(draw, key=key, run_every=every)(*given)


def run_parts(*keys: str) -> None:
    """From a callback: run these fragments, unless the whole page runs anyway.

    Quick successive actions arrive together. A field without a callback requests a run of the whole
    page implicitly, and Streamlit would ignore it if fragments were requested as well: the choice
    in that field would not be shown, and if the last run of the page had been cut short, places
    that it had not filled would be missing for good. Seen in Streamlit 1.67
    (`test_streamlit_still_ignores_a_field_that_changes_when_a_fragment_is_requested`).
    """
    context = get_script_run_ctx()
    if context is None or context.fragment_ids_this_run:
        st.rerun(list(keys))
