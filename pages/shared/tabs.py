"""Tabs of which only the open one is computed; which one that is stands in the link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared import link
from pages.shared.language import ENGLISH, language, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamlit.elements.lib.mutable_tab_container import TabContainer


def tabs(views: Mapping[str, Callable[..., object]], key: str, *given: Any) -> None:
    """Draw tabs.

    The English title of the open one stands in the session state and in the link.

    Args:
        views: English title -> what draws the tab, the first one open at first.
        key: name in the link.
        given: what the views are called with.
    """
    spoken = language()
    if spoken == ENGLISH:
        drawn = st.tabs(list(views), key=key, bind="query-params", on_change="rerun")
    else:
        drawn = _translated(list(views), key, f"{key}_{spoken}")
    for tab, view in zip(drawn, views.values(), strict=True):
        if tab.open:
            with tab:
                view(*given)


def _translated(titles: list[str], key: str, field: str) -> Sequence[TabContainer]:
    """The tabs in another language: what Streamlit shows of them is what it keeps and links."""
    shown = {say(title): title for title in titles}
    linked, seen = st.query_params.get(key), st.session_state.get(f"{field}_linked")
    title = st.session_state.get(key) if linked in {None, seen} else linked
    if title not in titles:
        title = titles[0]

    def opened() -> None:
        st.session_state[key] = shown[st.session_state[field]]

    if st.session_state.get(field) != say(title):
        st.session_state[field] = say(title)
    st.session_state[key] = title
    drawn = st.tabs(list(shown), key=field, on_change=opened)
    link.write(key, title, titles[0])
    st.session_state[f"{field}_linked"] = st.query_params.get(key)
    return drawn
