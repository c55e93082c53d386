"""The dial: what is given away and what is promised, in one control that stays in sight.

A step moves in the browser alone: other components of the page hear the event "dpcore:dial" and
have the numbers of every step. The server hears of a step when the hand is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared.language import later, say

_HERE = Path(__file__).parent
_KEY = "word_privacy_lab.dial"
_PLACE = "dial_place"
_TURNS = "dial_turns"

# Below Streamlit's own bar, above what scrolls. An element sticks within what it stands in, so what
# sticks is the block of the page that holds the dial: a page gives the dial a block of its own.
_STYLE = f"""
[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
  > :has([class*="st-key-{_PLACE}"]) {{
  position: sticky;
  top: 3.75rem;
  z-index: 90;
}}
"""


@dataclass(frozen=True)
class Step:
    """One step of a dial, in words.

    Attributes:
        left: what is given away: what the number is, and the number.
        right: what is promised for it, likewise.
        spoken: both in one sentence, for a screen reader.
        epsilon: ε; None where it differs between what is shown.
        share: what is given away, 0 to 1; None if it is not known.
    """

    left: tuple[str, str]
    right: tuple[str, str]
    spoken: str
    epsilon: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Dial:
    """A dial.

    Attributes:
        name: of the quantity: what moves with it listens for this name.
        label: what it sets, for a screen reader.
        steps: from the most private one on.
        ends: what its two ends mean.
        fields: titles of numbers that can be typed, by attribute of `Step`; "logarithm" is ln ε.
    """

    name: str
    label: str
    steps: tuple[Step, ...]
    ends: tuple[str, str] = (later("← learns less"), later("learns more →"))
    fields: tuple[tuple[str, str], ...] = ()


@cache
def _component() -> Callable[..., Any]:
    css, js = ((_HERE / f"dial.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component(_KEY, css=css, js=js)


def show_dial(dial: Dial, step: int, on_rest: Callable[[int], None]) -> None:
    """Draw the dial, in sight wherever one scrolls; in a block of the page with nothing else.

    Args:
        dial: what it sets.
        step: where it stands; heeded in the first run and after `turn_dial`.
        on_rest: called with the step when the hand is off.
    """
    key = f"dial_{dial.name}"

    def hear() -> None:
        heard = st.session_state.get(key, {}).get("rest")
        if heard is not None and 0 <= int(heard["step"]) < len(dial.steps):
            on_rest(int(heard["step"]))

    with st.container(key=f"{_PLACE}_{dial.name}", gap=None):
        st.html(f"<style>{_STYLE}</style>")
        _component()(key=key, data=_data(dial, step), on_rest_change=hear)


def turn_dial(name: str) -> None:
    """Let the dial go where the page says in its next run, wherever it was left."""
    turns = st.session_state.setdefault(_TURNS, {})
    turns[name] = turns.get(name, 0) + 1


def _data(dial: Dial, step: int) -> dict[str, Any]:
    percent = {"share": [_percent(s.share) for s in dial.steps]}
    epsilons = [s.epsilon for s in dial.steps]
    logarithms = [None if e is None else round(math.log(e), 4) for e in epsilons]
    numbers = percent | {"epsilon": epsilons, "logarithm": logarithms}
    return {
        "group": dial.name,
        "label": dial.label,
        "ends": [say(end) for end in dial.ends],
        "exact": say("Type a number"),
        "fields": {name: {"title": title, "values": numbers[name]} for name, title in dial.fields},
        "steps": [{"left": s.left, "right": s.right, "spoken": s.spoken} for s in dial.steps],
        "epsilons": epsilons,
        "shares": [s.share for s in dial.steps],
        "step": step,
        "turn": st.session_state.get(_TURNS, {}).get(dial.name, 0),
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else float(f"{100 * share:.3g}")
