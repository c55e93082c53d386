"""Links that reproduce a view.

Controls write themselves to the address (`bind="query-params"`). Other settings, such as the chosen
word, are written here. Typed text gets into a link only at the user's request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st
from streamlit.elements.lib.mutable_tab_container import TabContainer
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.query_params import _coerce_value_for_query_url

from dpcore.limits import MAX_SEED
from pages.shared import link
from pages.shared.language import ENGLISH, language, numeral, say

SEED = 2024
"""Default seed: the same for everyone, so that all see one draw."""


def read_whole(name: str, low: int, high: int, default: int) -> int:
    """Read a whole number from the link; `default` if absent, not a number or out of range."""
    text = st.query_params.get(name, "")
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 17 else default
    return value if low <= value <= high else default


def write(name: str, value: str, default: str, *, named: bool = True) -> None:
    """Put a value into the address, or remove it if it is the default.

    A link that states the default explicitly matches the view and stays as it is.

    Args:
        name: name of the setting.
        value: its present value.
        default: its value on a new visit.
        named: False if the default follows from a text, so that a link must not name it.
    """
    if named:
        st.session_state.setdefault(_WRITTEN, {})[name] = value
    if st.query_params.get(name) == value:
        return
    put({name: [value] if value != default else []})


def drop(*names: str) -> None:
    """Remove parameters from the address."""
    put({name: [] for name in names})


def put(wanted: Mapping[str, Iterable[str]]) -> None:
    """Set parameters of the address, or remove those that have no values.

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


def turn_to(page: Any) -> None:
    """Open another page with the whole address.

    A field of this page, or still of the one before (`put`), lets go of its parameter first:
    Streamlit refuses to be given one to which a field is bound. The new page binds its own.

    Args:
        page: as for `st.switch_page`.
    """
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    context = get_script_run_ctx()
    if context is not None:
        with context.session_state.query_params() as address:
            for name in asked:
                if (binding := address.get_binding_for_param(name)) is not None:
                    address.unbind_widget(binding.widget_id)
    st.switch_page(page, query_params=asked)


_WRITTEN = "link_written"
_AIDS = frozenset({"explain", "large"})
"""Reading aids: settings of a reader, not of a view."""


def begin_settings() -> None:
    """Forget the settings of the page before."""
    st.session_state[_WRITTEN] = {}
    if is_laid_aside() and st.session_state[_ASIDE].page != _open_page():
        _restore()


@dataclass(frozen=True)
class _Aside:
    """Choices that a view has replaced with its own: values in the session and in the link."""

    page: str
    state: dict[str, Any]
    given: dict[str, list[str]]


_ASIDE = "link_laid_aside"


def lay_aside(usual: Mapping[str, Any]) -> None:
    """Lay choices aside while a view has its own, until `take_back` or until another page opens.

    Args:
        usual: by key in the session and in the link, the value of a choice that was never drawn;
            None for a key that the session then lacks.
    """
    state = {name: deepcopy(st.session_state.get(name, value)) for name, value in usual.items()}
    # What no page has drawn yet is in the link for this view.
    given = {
        name: st.query_params.get_all(name) if name in st.session_state else [] for name in usual
    }
    st.session_state[_ASIDE] = _Aside(_open_page(), state, given)


def is_laid_aside() -> bool:
    """Return True if a view of the open page has choices of its own."""
    return _ASIDE in st.session_state


def take_back() -> None:
    """Set the choices that were laid aside, here and in the link; call it before they are drawn."""
    put(_restore().given)


def _restore() -> _Aside:
    aside: _Aside = st.session_state.pop(_ASIDE)
    for name, value in aside.state.items():
        if value is None:
            st.session_state.pop(name, None)
        else:
            st.session_state[name] = value
    return aside


def _open_page() -> str:
    context = get_script_run_ctx()
    return "" if context is None else str(context.page_script_hash)


def _settings() -> dict[str, list[str]]:
    """Return all settings of the view, by their names in the address.

    The address leaves defaults out; a link that is kept names them, so that it shows the same view
    when a default changes.
    """
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    usual = {name: [value] for name, value in st.session_state.get(_WRITTEN, {}).items()}
    context = get_script_run_ctx()
    if context is not None:
        with context.session_state.query_params() as address:
            state = context.session_state._state
            fields = state._new_widget_state.widget_metadata
            for name, binding in address._bindings_by_param.items():
                if binding.widget_id not in fields or binding.widget_id not in state:
                    continue
                field = fields[binding.widget_id]
                value = field.serializer(state[binding.widget_id])
                if value is not None and value != []:
                    text = _coerce_value_for_query_url(value, field.value_type)
                    usual[name] = [text] if isinstance(text, str) else text
    usual = {name: values for name, values in usual.items() if any(values)}
    return {name: values for name, values in usual.items() if name not in _AIDS} | given


def permalink(text: str | None = None, field: str = "text") -> str:
    """Return the link of the present view, with all of its settings.

    Args:
        text: the typed text, to be part of the link; None leaves it out.
        field: name of the text in the link.
    """
    left_out = {field} | ({"preset"} if text is not None else set())
    pairs = [
        (name, value)
        for name, values in sorted(_settings().items())
        if name not in left_out
        for value in values
    ]
    if text is not None:
        pairs.append((field, text))
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{urlencode(pairs)}" if pairs else base


# Choices that are displayed by titles and appear in the link under short names.


_BETWEEN = ","


def choose_one(
    draw: Callable[..., Any], label: str, titles: Mapping[str, str], field: str, **more: Any
) -> str:
    """Draw a control with one choice; the first option is the default and not in the link.

    Args:
        draw: `st.selectbox` or a similar function.
        label: label of the control.
        titles: displayed English titles by short name.
        field: field of the link, and key of the control.
        more: further arguments of `draw`; with a `format_func` the titles are not translated.
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
    """Draw pills of which any number may be chosen; in the link they share one value.

    Args:
        label: label of the control.
        titles: displayed English titles by short name.
        field: field of the link, and key of the control.
        usual: default choice.
        more: further arguments of `st.pills`.

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


# Fields that are part of the link of a view: a choice, a step of a slider, a whole number, the
# seed.
#
# Streamlit checks the value of a link against the field, so that every value of a link is a valid
# choice. It writes the displayed value into the link; so a field of words binds itself only in
# English. In another language the link, which is the same in all of them, is read and written here.


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
        label: label of the field.
        options: the options; the first is the default if there is no `start`.
        key: key of the field, and its name in the link.
        explained: help.
        start: default option.
        more: further arguments of `st.segmented_control`.
    """
    given = list(options)
    first = given[0] if start is None else start
    more |= {"required": True, "help": explained}
    chosen: V | None = _linked_choice(
        st.segmented_control, label, given, first, key, {"default": first}, **more
    )
    return first if chosen is None else chosen  # a browser may send an empty choice


def _linked_choice(
    draw: Callable[..., Any],
    label: str,
    options: list[V],
    start: V,
    key: str,
    begin: Mapping[str, V],
    *,
    names: bool = False,
    format_func: Callable[[Any], str] = str,
    **more: Any,
) -> V:
    """Draw options by their names in this language; the link has their English names.

    Args:
        draw: `st.segmented_control` or another choice of one.
        label: label of the field.
        options: one of them is chosen.
        start: default option; the link leaves it out.
        key: key of the field, and its name in the link.
        begin: the argument by which `draw` takes its default.
        names: True if the options are names, the same in every language.
        format_func: returns the English name of an option.
        more: further arguments of `draw`.
    """
    chosen: V
    if names or language() == ENGLISH:
        # The field keeps the address in step by itself, which no quick second click can outrun.
        more |= {"format_func": format_func, "bind": "query-params"}
        chosen = draw(label, options, key=key, **begin, **more)
        return chosen
    titles = {option: format_func(option) for option in options}
    seen = st.session_state.setdefault(_LINKED, {})
    linked = st.query_params.get(key)
    wanted = st.session_state.get(key, start)
    if linked is not None and linked != seen.get(key):  # a link was opened, or followed
        wanted = next((option for option in options if titles[option] == linked), start)
    if wanted not in titles:
        wanted = start
    if key not in st.session_state or wanted != st.session_state[key]:
        st.session_state[key] = wanted
    chosen = draw(
        label,
        options,
        format_func=lambda option: _shown(option, titles[option]),
        key=key,
        persist_state="session",
        **more,
    )
    link.write(key, titles.get(chosen, ""), titles[start])
    seen[key] = st.query_params.get(key)
    return chosen


def _shown(option: object, name: str) -> str:
    return numeral(name) if isinstance(option, Real) else say(name)


def pick(
    label: str, options: Iterable[V], key: str, explained: str, *, names: bool = False, **more: Any
) -> V:
    """Draw a list of options that unfolds; the first one is the default.

    Args:
        label: label of the field.
        options: at least one.
        key: key of the field, and its name in the link.
        explained: help.
        names: True if the options are names, the same in every language.
        more: further arguments of `st.selectbox`.
    """
    given, more = list(options), more | {"help": explained}
    return _linked_choice(st.selectbox, label, given, given[0], key, {}, names=names, **more)


def steps(
    label: str, options: Iterable[float], start: float, key: str, explained: str, **more: Any
) -> float:
    """Draw a slider over given numbers.

    Args:
        label: label of the field.
        options: the numbers, ascending.
        start: default, one of the numbers.
        key: key of the field, and its name in the link.
        explained: help.
        more: further arguments of `st.select_slider`.
    """
    more |= {"format_func": "{:g}".format, "help": explained}
    given = list(options)
    return _linked_choice(st.select_slider, label, given, start, key, {"value": start}, **more)


def whole_number(
    label: str, low: int, high: int, start: int, key: str, explained: str, *, width: int
) -> int:
    """Draw a field of a whole number.

    Args:
        label: label of the field.
        low: the smallest allowed number.
        high: the largest.
        start: default.
        key: key of the field, and its name in the link.
        explained: help.
        width: in pixels.
    """
    return int(
        st.number_input(
            label, low, high, start, key=key, bind="query-params", width=width, help=explained
        )
    )


def name_ends(left: str, right: str) -> None:
    """Draw the meanings of a slider's two ends below it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", gap=None):
        st.markdown(f":small[{left}]", width="content")
        st.markdown(f":small[{right}]", width="content")


def choose_seed(meaning: str, width: int = 200) -> int:
    """Draw the field of the seed, the same on every page.

    Args:
        meaning: effect of the seed on this page, as help.
        width: in pixels.
    """
    return whole_number(say("Seed"), 0, MAX_SEED, link.SEED, "seed", meaning, width=width)


# Tabs of which only the open one is computed; it is part of the link.


def short_tabs(
    views: Mapping[str, Callable[[], object]], titles: Mapping[str, str], key: str
) -> None:
    """Draw tabs whose open one appears in the link under a short name.

    Args:
        views: short name -> function that draws the tab; the first one is open at first.
        titles: displayed English titles by short name.
        key: name in the link.
    """
    first = next(iter(views))
    shown = {name: say(titles[name]) for name in views}
    if st.session_state.get(key) not in shown.values():
        st.session_state[key] = shown.get(st.query_params.get(key, ""), shown[first])
    for tab, (name, view) in zip(
        st.tabs(list(shown.values()), key=key, on_change="rerun"), views.items(), strict=True
    ):
        if tab.open:
            link.write(key, name, first)
            with tab:
                view()


def tabs(views: Mapping[str, Callable[..., object]], key: str, *given: Any) -> None:
    """Draw tabs.

    The session state and the link hold the English title of the open one.

    Args:
        views: English title -> function that draws the tab; the first one is open at first.
        key: name in the link.
        given: arguments of the views.
    """
    containers = _tabs(list(views), key, f"{key}_{language()}")
    for tab, view in zip(containers, views.values(), strict=True):
        if tab.open:
            with tab:
                view(*given)


def _tabs(titles: list[str], key: str, field: str) -> Sequence[TabContainer]:
    """Return the tabs, by the language in which they are drawn.

    They are not bound to the address: Streamlit would write the displayed titles into it, and take
    them from it where another language is chosen.
    """
    shown = {say(title): title for title in titles}
    linked, seen = st.query_params.get(key), st.session_state.get(f"{key}_linked")
    # What a person did since the address was last written is in the session; another address comes
    # from a link or from the Back button, and leaves the first title out.
    title = st.session_state.get(key, linked) if linked == seen else linked
    if title not in titles:
        title = titles[0]

    def opened() -> None:
        chosen = st.session_state.get(field)
        st.session_state[key] = shown.get(str(chosen), title)  # a request may hold any text

    if st.session_state.get(field) != say(title):
        st.session_state[field] = say(title)
    st.session_state[key] = title
    drawn = st.tabs(list(shown), key=field, on_change=opened)
    link.write(key, title, titles[0])
    st.session_state[f"{key}_linked"] = st.query_params.get(key)
    return drawn
