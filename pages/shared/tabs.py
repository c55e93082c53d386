"""Tabs of which only the open one is computed; which one that is stands in the link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def tabs(views: Mapping[str, Callable[..., object]], key: str, *given: Any) -> None:
    """Draw tabs.

    Args:
        views: title -> what draws the tab, the first one open at first.
        key: name in the link.
        given: what the views are called with.
    """
    drawn = st.tabs(list(views), key=key, bind="query-params", on_change="rerun")
    for tab, view in zip(drawn, views.values(), strict=True):
        if tab.open:
            with tab:
                view(*given)
