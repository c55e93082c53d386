"""Fields that stand in the link of a view: a choice, a step of a slider, a whole number, the seed.

Streamlit checks the value of a link against the field, so that whatever a link says is a choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from dpcore.limits import MAX_SEED
from pages.shared import link

if TYPE_CHECKING:
    from collections.abc import Iterable

V = TypeVar("V")


def segments(
    label: str,
    options: Iterable[V],
    key: str,
    explained: str,
    *,
    start: V | None = None,
    **more: Any,
) -> V:
    """Draw options side by side, one of which is always chosen.

    Args:
        label: of the field.
        options: of which the first is chosen at first if there is no `start`.
        key: of the field, and its name in the link.
        explained: help.
        start: what a fresh visit begins with.
        more: for `st.segmented_control`.
    """
    given = list(options)
    chosen: V = st.segmented_control(
        label,
        given,
        default=given[0] if start is None else start,
        required=True,
        key=key,
        bind="query-params",
        help=explained,
        **more,
    )
    return chosen


def pick(label: str, options: Iterable[V], key: str, explained: str, **more: Any) -> V:
    """Draw a list of options that unfolds; the first one is chosen at first.

    Args:
        label: of the field.
        options: at least one.
        key: of the field, and its name in the link.
        explained: help.
        more: for `st.selectbox`.
    """
    chosen: V = st.selectbox(
        label, list(options), key=key, bind="query-params", help=explained, **more
    )
    return chosen


def steps(
    label: str, options: Iterable[float], start: float, key: str, explained: str, **more: Any
) -> float:
    """Draw a slider over given numbers.

    Args:
        label: of the field.
        options: the numbers, ascending.
        start: what a fresh visit begins with, one of them.
        key: of the field, and its name in the link.
        explained: help.
        more: for `st.select_slider`.
    """
    return st.select_slider(
        label,
        options,
        value=start,
        format_func=lambda value: f"{value:g}",
        key=key,
        bind="query-params",
        help=explained,
        **more,
    )


def whole_number(
    label: str, low: int, high: int, start: int, key: str, explained: str, *, width: int
) -> int:
    """Draw a field of a whole number.

    Args:
        label: of the field.
        low: the smallest that is allowed.
        high: the largest.
        start: what a fresh visit begins with.
        key: of the field, and its name in the link.
        explained: help.
        width: in pixels.
    """
    return int(
        st.number_input(
            label, low, high, start, key=key, bind="query-params", width=width, help=explained
        )
    )


def name_ends(left: str, right: str) -> None:
    """Say below a slider what its two ends mean."""
    with st.container(horizontal=True, horizontal_alignment="distribute", gap=None):
        st.markdown(f":small[{left}]", width="content")
        st.markdown(f":small[{right}]", width="content")


def choose_seed(meaning: str, width: int = 200) -> int:
    """Draw the field of the seed, the same on every page.

    Args:
        meaning: what the seed decides on this page, as help.
        width: in pixels.
    """
    return whole_number("Seed", 0, MAX_SEED, link.SEED, "seed", meaning, width=width)
