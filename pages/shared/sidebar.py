"""Sidebar: the vocabulary, the treatment of a text's words, and the mechanisms to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, package_of, resolve
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment, UnknownWordPolicy, describe
from dpcore.rewrite.tokens import CASE_RELEASES, CasePolicy
from pages.shared import link
from pages.shared.dial import GROUPS
from pages.shared.fragments import heard
from pages.shared.language import say
from pages.shared.link import pick
from pages.shared.messages import note
from pages.shared.own_vectors import NAME, choose_own, own_lexicon
from pages.shared.session import DEFAULT_MECHANISMS, Settings, lexicon_names

# Settings of the chosen mechanisms, drawn from the parameters that each mechanism declares.


_LONGEST = 500  # characters of a rule


def settings_form(kinds: list[type[Mechanism]]) -> dict[str, Settings]:
    """Draw one field for each declared parameter; every field is part of the link.

    Returns:
        By registry key, the settings that differ from their defaults.
    """
    chosen: dict[str, Settings] = {}
    with st.expander(say("Settings of the mechanisms")):
        for kind in kinds:
            declared = kind.parameters()
            if not declared:
                continue
            st.markdown(f"**{kind.short}**")
            values = {name: _field(kind.short, name, how) for name, how in declared.items()}
            chosen[kind.key] = _changed(kind, values)
    return chosen


def _changed(kind: type[Mechanism], values: dict[str, Any]) -> Settings:
    declared = kind.parameters()
    return tuple((name, v) for name, v in values.items() if v != declared[name]["default"])


def _key(short: str, name: str) -> str:
    return f"{short}_{name}"


def _field(short: str, name: str, declared: dict[str, Any]) -> Any:
    label, key, default = say(name.replace("_", " ")), _key(short, name), declared["default"]
    explained = declared["help"]
    common: dict[str, Any] = {"key": key, "bind": "query-params"}
    if declared["choices"] is not None:
        options = list(declared["choices"])
        return st.selectbox(
            label, options, index=options.index(default), help=say(explained), **common
        )
    if str(declared["type"]).startswith("str"):  # a rule in words, which the mechanism checks
        return st.text_input(label, default, max_chars=_LONGEST, help=say(explained), **common)
    whole = str(declared["type"]).startswith("int")
    kind = int if whole else float
    # Streamlit wants ends and default of one type.
    low, high = (None if end is None else kind(end) for end in (declared["low"], declared["high"]))
    return st.number_input(
        label,
        low,
        high,
        default,
        step=1 if whole else _step(default),
        format="%d" if whole else "%g",
        placeholder=say("its default"),
        help=say(explained),
        **common,
    )


def _step(default: float | None) -> float:
    """Return a step of about a tenth of the default."""
    return 1.0 if default is None else float(f"{default / 10:.0e}") if default < 0.1 else 0.05


START_MECHANISM = "tem"
"""Default where one mechanism is chosen: the probabilities of its outputs are exact and fast."""
MECHANISM_WIDTH = 190
"""Pixels of a choice of one mechanism beside a title."""
_CHOSEN, _SEEN = "mechanisms_chosen", "mechanisms_seen"


@dataclass(frozen=True)
class Choices:
    """Choices in the sidebar.

    Attributes:
        lexicon: name in the catalogue.
        treatment: treatment of unknown words, function words and capital letters.
        mechanisms: registry keys and settings, in the registry's order within each group.
    """

    lexicon: str
    treatment: Treatment = DEFAULT_TREATMENT
    mechanisms: tuple[tuple[str, Settings], ...] = ()


def sidebar() -> Choices:
    """Draw the sidebar and return the choices; every control is part of the link."""
    with st.sidebar:
        mechanisms = choose_mechanisms(DEFAULT_MECHANISMS)
        name = choose_lexicon()
        st.subheader(say("The text"), anchor=False)
        policy = pick(
            say("Words outside the vocabulary"),
            [str(option) for option in UnknownWordPolicy],
            "unknown",
            say(
                "Names, numbers and addresses are often not in the vocabulary. They are never "
                "passed through, because that would publish them. One that is in the "
                "vocabulary, such as 14 or london, is replaced like any other word, and may "
                "come out."
            ),
        )
        note(_sentence(say(describe(UnknownWordPolicy(policy)))))
        keep = st.toggle(
            say("Leave function words as they are"),
            key="stop",
            bind="query-params",
            help=say(
                "Keeps words such as 'the' and 'of', which reads better but releases them: "
                "their presence and position are not protected."
            ),
        )
        case = pick(
            say("Capital letters"),
            [str(option) for option in CasePolicy],
            "case",
            say(
                "keep: capitals stay where they were. sentence: only the first word of each "
                "sentence gets one."
            ),
        )
        note(say("Releases {what}.", what=say(CASE_RELEASES[CasePolicy(case)])))
    return Choices(name, Treatment(UnknownWordPolicy(policy), keep, CasePolicy(case)), mechanisms)


def carried_choices(lexicon: str) -> Choices:
    """Return the treatment chosen on the pages that ask for it, with no mechanism.

    Args:
        lexicon: name in the catalogue.
    """
    keys = ("unknown", "stop", "case")
    chosen = map(st.session_state.get, keys, astuple(DEFAULT_TREATMENT))
    return Choices(lexicon, Treatment(*chosen))


def choose_lexicon() -> str:
    """Draw the choice of the lexicon; return its name in the catalogue."""
    st.subheader(say("Vocabulary"), anchor=False)
    place = st.container()
    choose_own()
    brought = [] if own_lexicon() is None else [NAME]
    with place:
        return pick(
            say("Lexicon"),
            [*(lexicon_names() or ["default"]), *brought],
            "lexicon",
            say(
                "The words that can come out, and the vectors that define their distances. "
                "Upload your own below for this session, or add them with `python -m dpcore "
                "lexicon add`."
            ),
        )


def choose_mechanism(explained: str, place: DeltaGenerator | None = None) -> tuple[str, Settings]:
    """Draw the choice of one mechanism and its settings; it carries over from page to page.

    Args:
        explained: meaning of the choice on this page, as help.
        place: place of the choice in the first screen; None for the sidebar, where its settings
            are in any case.

    Returns:
        Its registry key and the settings that differ from their defaults.
    """
    st.subheader(say("Mechanism"), anchor=False)
    names = [kind.short for kind in MECHANISMS.values()]
    with place or st.container():
        short = st.selectbox(
            say("Mechanism"),
            names,
            index=names.index(START_MECHANISM),
            key="attacked",
            bind="query-params",
            width=MECHANISM_WIDTH if place else "stretch",
            help=explained,
        )
    kind = resolve(short)
    if place:
        st.markdown(f"**{kind.short}**")
    st.markdown(f":small[{_described(kind)}]")
    _say_what_is_left_out()
    return kind.key, settings_form([kind]).get(kind.key, ())


def choose_mechanisms(default: Sequence[str], prefix: str = "") -> tuple[tuple[str, Settings], ...]:
    """Draw the choice of mechanisms and their settings.

    Args:
        default: short names of the default mechanisms.
        prefix: prefix of the names in the link; pages with other default mechanisms have different
            ones. The user's choice nevertheless carries over from page to page.

    Returns:
        Registry keys and the settings that differ from their defaults.
    """
    st.subheader(say("Mechanisms"), anchor=False)
    chosen: list[type[Mechanism]] = []
    for group in GROUPS:
        kinds = [kind for kind in MECHANISMS.values() if kind.meaning in group.meanings]
        if not kinds:
            continue
        lines = "\n".join(f"- **{kind.short}**: {_described(kind)}." for kind in kinds)
        key = f"{prefix}{group.name}"
        start: list[str] | None = [kind.short for kind in kinds if kind.short in default]
        carried = _news(group.name, key)
        if carried is not None and key not in st.query_params:
            st.session_state[key] = carried
            if carried != start:  # the widget writes into the link only choices made in it
                link.put({key: carried or [""]})
            start = None  # no default beside a value in the session state
        names = st.pills(
            say(group.title),
            [kind.short for kind in kinds],
            selection_mode="multi",
            default=start,
            key=key,
            bind="query-params",
            on_change=_carry,
            args=(group.name, key),
            help=f"{say(group.explanation)}\n\n{lines}",
        )
        if key in st.query_params and names != _last(group.name)[1]:
            _carry(group.name, key)  # a choice from a link carries over too
        chosen += [resolve(kind.short) for kind in kinds if kind.short in names]
    _say_what_is_left_out()
    chosen = list(dict.fromkeys(chosen))
    settings = settings_form(chosen)
    return tuple((kind.key, settings.get(kind.key, ())) for kind in chosen)


def _described(kind: type[Mechanism]) -> str:
    """Describe a mechanism, with its package if it is not ours."""
    package = package_of(kind)
    whose = "" if package is None else say(" (from the package {package})", package=package)
    return f"{say(kind.title)}. {say(kind.summary)}{whose}"


def _say_what_is_left_out() -> None:
    """List the offers of installed packages that could not be loaded."""
    for problem in MECHANISMS.problems:
        st.text(_sentence(problem))  # it repeats text of foreign code


def _news(group: str, key: str) -> list[str] | None:
    """Return the manual choice in a group since the field `key` was last drawn; else None."""
    number, names = _last(group)
    seen = st.session_state.setdefault(_SEEN, {})
    news = names if number > seen.get(key, 0) else None
    seen[key] = number
    return news


def _last(group: str) -> tuple[int, list[str] | None]:
    """Return the number of choices made in a group, and the last one."""
    last: tuple[int, list[str] | None] = st.session_state.get(_CHOSEN, {}).get(group, (0, None))
    return last


def _carry(group: str, key: str) -> None:
    """Record a choice; the field in which it was made need not be updated."""
    names = heard(key)
    if names is None:
        return
    chosen = st.session_state.setdefault(_CHOSEN, {})
    number = _last(group)[0] + 1
    chosen[group] = number, list(names)
    st.session_state.setdefault(_SEEN, {})[key] = number


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
