"""Links that reproduce a view.

Controls write themselves to the address (`bind="query-params"`). What is no control, such as the
chosen word, is written here. Typed text gets into a link only when a person asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SEED = 2024
"""The seed that a fresh visit begins with: the same for everybody, so that all see one draw."""


def read_whole(name: str, low: int, high: int, default: int) -> int:
    """A whole number from the link; `default` if it is absent, no number or out of range."""
    text = st.query_params.get(name, "")
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 17 else default
    return value if low <= value <= high else default


def write(name: str, value: str, default: str) -> None:
    """Put a value into the address, or take it out where it is the default.

    A link that says the default in so many words says what is shown, and stays as it is.
    """
    if st.query_params.get(name) == value:
        return
    put({name: [value] if value != default else []})


def drop(*names: str) -> None:
    """Take parameters out of the address."""
    put({name: [] for name in names})


def put(wanted: Mapping[str, Iterable[str]]) -> None:
    """Set parameters of the address, or take out those that have no values.

    `st.query_params` refuses to change a parameter while a field is bound to it. A field of the
    page before stays bound until the next run has ended, and a field may write a value into the
    address that no page can be opened with, so the refusal would end the page with an error.
    """
    context = get_script_run_ctx()
    present = {name: st.query_params.get_all(name) for name in wanted}
    changed = {name: list(values) for name, values in wanted.items()}
    changed = {name: values for name, values in changed.items() if values != present[name]}
    if context is None or not changed:
        return
    with context.session_state.query_params() as address:
        for name, values in changed.items():
            if values:
                address.set_with_no_forward_msg(name, values if len(values) > 1 else values[0])
            else:
                address.discard_param_no_forward_msg(name)
        address._send_query_param_msg()


def permalink(text: str | None = None, field: str = "text") -> str:
    """The link of the present view.

    Args:
        text: the typed text, to be part of the link; None leaves it out.
        field: under which name the text stands in the link.
    """
    pairs = [
        (name, value)
        for name in st.query_params
        if name not in {field} | ({"preset"} if text is not None else set())
        for value in st.query_params.get_all(name)
    ]
    if text is not None:
        pairs.append((field, text))
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{urlencode(pairs)}" if pairs else base
