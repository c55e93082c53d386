"""Links that reproduce a view.

Controls write themselves to the address (`bind="query-params"`). What is no control, such as the
chosen word, is written here. Typed text gets into a link only when a person asks for it.
"""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

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
    if value != default:
        st.query_params[name] = value
    elif name in st.query_params:
        del st.query_params[name]


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
