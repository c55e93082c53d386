"""The settings of the chosen mechanisms, drawn from what each mechanism declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared.language import say

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.resources import Settings


_LONGEST = 500  # characters of a rule


def settings_form(kinds: list[type[Mechanism]]) -> dict[str, Settings]:
    """Draw one field for each declared parameter; every field stands in the link.

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
    """A step of about a tenth of the default."""
    return 1.0 if default is None else float(f"{default / 10:.0e}") if default < 0.1 else 0.05
