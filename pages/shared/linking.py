"""Choices that are shown by titles and stand in the link under short names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared import link
from pages.shared.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_BETWEEN = ","


def choose_one(
    draw: Callable[..., Any], label: str, titles: Mapping[str, str], field: str, **more: Any
) -> str:
    """Draw a control with one choice; the first option is the usual one and not in the link.

    Args:
        draw: `st.selectbox` or the like.
        label: of the control.
        titles: by short name, what is shown, in English.
        field: of the link, and key of the control.
        more: for `draw`; with a `format_func` the titles are not translated.
    """
    usual = next(iter(titles))
    wanted = st.session_state.get(field, st.query_params.get(field, usual))
    if field not in st.session_state or wanted not in titles:
        st.session_state[field] = wanted if wanted in titles else usual
    more = {"format_func": lambda name: say(titles[name])} | more
    value: str = draw(label, list(titles), key=field, **more)
    link.write(field, value, usual)
    return value


def choose_some(
    label: str, titles: Mapping[str, str], field: str, usual: Sequence[str], **more: Any
) -> list[str]:
    """Draw pills of which any number may be chosen; in the link they stand in one value.

    Args:
        label: of the control.
        titles: by short name, what is shown, in English.
        field: of the link, and key of the control.
        usual: what a fresh visit begins with.
        more: for `st.pills`.

    Returns:
        Short names in the order of `titles`.
    """
    wanted = st.session_state.get(field)
    if wanted is None:
        linked = st.query_params.get(field)
        wanted = list(usual) if linked is None else linked.split(_BETWEEN)
        if linked and not set(wanted) & set(titles):
            wanted = list(usual)
    there = [name for name in titles if name in wanted]
    if there != st.session_state.get(field):
        st.session_state[field] = there
    picked = st.pills(
        label,
        list(titles),
        selection_mode="multi",
        format_func=lambda name: say(titles[name]),
        key=field,
        **more,
    )
    chosen = [name for name in titles if name in picked]
    link.write(field, _BETWEEN.join(chosen), _BETWEEN.join(n for n in titles if n in usual))
    return chosen
