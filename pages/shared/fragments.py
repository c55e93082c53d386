"""Fragments: parts of a page that run by themselves."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_PATH: ContextVar[tuple[str, ...]] = ContextVar("fragments that are being drawn", default=())
_DRAWN = "drawn_parts"


def heard(key: str) -> Any:
    """Return the value of a field, for its callback; None if the field is gone.

    A change may arrive after a link has drawn another page, or the same field with other titles.
    """
    return st.session_state.get(key)


def begin_page() -> None:
    """Forget the parts that the last run of the whole page drew."""
    st.session_state[_DRAWN] = {}


def remember(name: str, part: Any) -> None:
    """Remember a part of the page until the page or this fragment is drawn again."""
    st.session_state.setdefault(_DRAWN, {})[name] = (_PATH.get(), part)


def remembered() -> dict[str, Any]:
    """Return the parts that are on the page, in the order in which they were first drawn."""
    return {name: part for name, (_, part) in st.session_state.get(_DRAWN, {}).items()}


def _draw(draw: Callable[..., object], path: tuple[str, ...], given: tuple[object, ...]) -> None:
    """Draw a fragment; what it drew before, and those inside it, is no longer on the page."""
    drawn = st.session_state.get(_DRAWN, {})
    for name in [name for name, (where, _) in drawn.items() if where[: len(path)] == path]:
        del drawn[name]
    token = _PATH.set(path)
    try:
        draw(*given)
    finally:
        _PATH.reset(token)


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
    path = (*_PATH.get(), f"{draw.__module__}.{draw.__qualname__} {key}")
    # Streamlit tells fragments apart by the names of their functions.
    run = wraps(draw)(partial(_draw, draw, path, given))
    st.fragment(run, key=key, run_every=every)()


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
