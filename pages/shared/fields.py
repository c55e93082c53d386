"""Fields that stand in the link of a view: a choice, a step of a slider, a whole number, the seed.

Streamlit checks the value of a link against the field, so that whatever a link says is a choice.
It writes into the link what it shows; so a field of words is its own only in English, and in
another language the link, which is the same in all of them, is read and written here.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from dpcore.limits import MAX_SEED
from pages.shared import link
from pages.shared.language import ENGLISH, language, numeral, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

V = TypeVar("V")
_LINKED = "fields_linked"


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
    first = given[0] if start is None else start
    if language() != ENGLISH:
        more |= {"required": True, "help": explained}
        told = translated_choice(st.segmented_control, label, given, first, key, **more)
        return first if told is None else told
    chosen: V | None = st.segmented_control(
        label,
        given,
        default=first,
        required=True,
        key=key,
        bind="query-params",
        help=explained,
        **more,
    )
    return first if chosen is None else chosen  # no page offers it, but a browser may send it


def translated_choice(
    draw: Callable[..., Any],
    label: str,
    options: list[V],
    start: V,
    key: str,
    *,
    format_func: Callable[[Any], str] = str,
    **more: Any,
) -> V:
    """Draw options by their names in this language; the link has their English names.

    Args:
        draw: `st.segmented_control` or another choice of one.
        label: of the field.
        options: of which one is chosen, or none where `start` is None.
        start: what a fresh visit begins with; the link leaves it out.
        key: of the field, and its name in the link.
        format_func: the English name of an option.
        more: for `draw`.
    """
    names = {option: format_func(option) for option in options}
    seen = st.session_state.setdefault(_LINKED, {})
    linked = st.query_params.get(key)
    wanted = st.session_state.get(key, start)
    if linked is not None and linked != seen.get(key):  # a link was opened, or followed
        wanted = next((option for option in options if names[option] == linked), start)
    if wanted not in names:
        wanted = start
    if key not in st.session_state or wanted != st.session_state[key]:
        st.session_state[key] = wanted
    chosen: V = draw(
        label,
        options,
        format_func=lambda option: _shown(option, names[option]),
        key=key,
        persist_state="session",
        **more,
    )
    link.write(key, names.get(chosen, ""), names.get(start, ""))
    seen[key] = st.query_params.get(key)
    return chosen


def _shown(option: object, name: str) -> str:
    return numeral(name) if isinstance(option, Real) else say(name)


def pick(
    label: str, options: Iterable[V], key: str, explained: str, *, names: bool = False, **more: Any
) -> V:
    """Draw a list of options that unfolds; the first one is chosen at first.

    Args:
        label: of the field.
        options: at least one.
        key: of the field, and its name in the link.
        explained: help.
        names: whether the options are names, the same in every language.
        more: for `st.selectbox`.
    """
    if language() != ENGLISH and not names:
        given, more = list(options), more | {"help": explained}
        return translated_choice(st.selectbox, label, given, given[0], key, **more)
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
    if language() != ENGLISH:
        more |= {"format_func": "{:g}".format, "help": explained}
        return translated_choice(st.select_slider, label, list(options), start, key, **more)
    return st.select_slider(
        label,
        options,
        value=start,
        format_func="{:g}".format,
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
    return whole_number(say("Seed"), 0, MAX_SEED, link.SEED, "seed", meaning, width=width)
