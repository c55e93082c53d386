"""Dial that shows leakage and guarantee in one control, and the groups of mechanisms.

Moving it needs only the browser: other components of the page listen to the event "dpcore:dial" and
hold the numbers of every step. The server receives a step when the dial rests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.style import number
from pages.shared.language import for_component, later, numeral, say

_HERE = Path(__file__).parent
_KEY = "word_privacy_lab.dial"
_PLACE = "dial_place"
_TURNS = "dial_turns"
_TYPED = {
    "below": later("Between two steps: {took} is the nearest that is at most {typed}."),
    "nearest": later("Between two steps: {took} is the nearest to {typed}."),
    "largest": later("The largest step here is {took}."),
    "least": later("The smallest step here is {took}."),
    "nonsense": later("Nothing has changed: type a number above 0."),
}
"""Answers to a typed number that is at no step; the component fills their gaps."""

# Below Streamlit's own bar, above the scrolling content. A sticky element stays within its parent,
# so the sticky element is the block of the page that holds the dial: each page gives the dial a
# block of its own. In a low window, as at a zoom of 200 %, it would hide what it changes.
_STYLE = f"""
@media (min-height: 500px) {{ [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
  > :has([class*="st-key-{_PLACE}"]) {{
  position: sticky;
  top: 3.75rem;
  z-index: 90;
}} }}
@media (max-height: 499px) {{ [class*="st-key-{_PLACE}"] {{ position: static !important; }} }}
"""


@dataclass(frozen=True)
class Step:
    """One step of a dial, in words.

    Attributes:
        left: the leakage: its name, and its number.
        right: the guarantee, likewise.
        spoken: both in one sentence, for a screen reader.
        epsilon: ε; None where it differs between the shown mechanisms.
        share: the leakage, 0 to 1; None if it is not known.
    """

    left: tuple[str, str]
    right: tuple[str, str]
    spoken: str
    epsilon: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Dial:
    """Dial with all its steps.

    Attributes:
        name: name of the quantity: the components that follow it listen for this name.
        label: label for a screen reader.
        steps: from the most private one on.
        ends: meanings of its two ends.
        fields: titles of numbers that can be typed, by attribute of `Step`; "logarithm" is ln ε.
        sweep: True if it moves to its place by itself when it is first seen.
    """

    name: str
    label: str
    steps: tuple[Step, ...]
    ends: tuple[str, str] = (later("← learns less"), later("learns more →"))
    fields: tuple[tuple[str, str], ...] = ()
    sweep: bool = False


@cache
def _component() -> Callable[..., Any]:
    names = "dial.css", "spoken.js", "slider.js", "dial.js"
    css, *js = ((_HERE / name).read_text(encoding="utf-8") for name in names)
    return st.components.v2.component(_KEY, css=css, js="\n".join(js))


def show_dial(dial: Dial, step: int, on_rest: Callable[[int], None]) -> None:
    """Draw the dial, always in sight; it needs a block of the page that holds nothing else.

    Args:
        dial: the dial.
        step: its position; used in the first run and after `turn_dial`.
        on_rest: called with the step when the dial rests.
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
    """Let the page set the position of the dial in its next run, wherever the user left it."""
    turns = st.session_state.setdefault(_TURNS, {})
    turns[name] = turns.get(name, 0) + 1


def _data(dial: Dial, step: int) -> dict[str, Any]:
    shares = [s.share for s in dial.steps]
    epsilons = [s.epsilon for s in dial.steps]
    numbers = {
        "share": [None if share is None else 100 * share for share in shares],
        "epsilon": epsilons,
        "logarithm": [None if e is None else round(math.log(e), 4) for e in epsilons],
    }
    fields = {
        name: {"title": title, "values": numbers[name], "most": name == "share"}
        for name, title in dial.fields
        if numbers[name] != [None] * len(dial.steps)
    }
    return {
        "group": dial.name,
        "label": dial.label,
        "ends": [say(end) for end in dial.ends],
        "exact": say("Type a number"),
        "fields": fields,
        "steps": [{"left": s.left, "right": s.right, "spoken": s.spoken} for s in dial.steps],
        "epsilons": epsilons,
        "shares": shares,
        "step": step,
        "sweep": dial.sweep,
        "turn": st.session_state.get(_TURNS, {}).get(dial.name, 0),
    } | for_component(_TYPED)


# The three groups of mechanisms, each with its own slider: their ε are different quantities.


# Finer where a decade begins, so that neighbouring steps differ by 11 to 25 % everywhere.
_STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)


def _decades(first: int, last: int) -> tuple[float, ...]:
    grid = [float(f"{step:g}e{power}") for power in range(first, last) for step in _STEPS]
    return (*grid, float(f"1e{last}"))


@dataclass(frozen=True)
class Group:
    """Mechanisms whose ε has the same meaning.

    Attributes:
        name: name in links: the slider is `eps_<name>`, the choice of mechanisms `<name>`.
        title: displayed title.
        explanation: one sentence on what ε bounds.
        meanings: meanings of ε in the group.
        grid: values of ε at the steps of the slider.
        logarithm: True if ln ε is displayed and used in links. The slider itself returns ε, so
            callers convert nothing.
    """

    name: str
    title: str
    explanation: str
    meanings: tuple[EpsilonMeaning, ...]
    grid: tuple[float, ...]
    logarithm: bool = False

    def label(self, epsilon: float) -> str:
        """Return a step of the slider as displayed and as used in links."""
        return f"{math.log(epsilon) if self.logarithm else epsilon:g}"

    def reading(self, epsilon: float) -> str:
        """Return a step of the slider in running text: ε, and ln ε where that is displayed."""
        if self.logarithm:
            return f"ln ε = {numeral(self.label(epsilon))} (ε = {numeral(number(epsilon))})"
        return f"ε = {numeral(f'{epsilon:,g}')}"


GROUPS = (
    Group(
        "metric",
        later("Metric privacy: ε per distance"),
        later(
            "The odds between two words are bounded by e^(ε × their distance): near words are "
            "harder to tell apart than far ones."
        ),
        (EpsilonMeaning.METRIC,),
        _decades(-1, 3),
    ),
    Group(
        "log",
        later("Metric privacy, huge ε: ln ε"),
        later(
            "The claim is the same, e^(ε × distance), but these mechanisms change so slowly "
            "with ε that papers give it in thousands and millions; so the slider shows its "
            "logarithm."
        ),
        (EpsilonMeaning.METRIC_LOG,),
        tuple(math.exp(quarters / 4) for quarters in range(8, 81)),
        logarithm=True,
    ),
    Group(
        "local",
        later("Local privacy: ε for any two words"),
        later(
            "The odds between any two words of the vocabulary, near or far, are bounded by e^ε; "
            "where a δ is shown, probabilities may exceed that bound by δ."
        ),
        (EpsilonMeaning.LOCAL, EpsilonMeaning.LOCAL_APPROXIMATE),
        _decades(-1, 4),
    ),
)


def group_of(meaning: EpsilonMeaning) -> Group:
    """Return the group that a meaning of ε belongs to."""
    return next(group for group in GROUPS if meaning in group.meanings)


def grouped(mechanisms: Iterable[Mechanism]) -> list[tuple[Group, list[Mechanism]]]:
    """Return the groups that have a mechanism, each with its own, in their order."""
    every = list(mechanisms)
    parts = [(group, [m for m in every if m.meaning in group.meanings]) for group in GROUPS]
    return [(group, members) for group, members in parts if members]


def admissible_grid(group: Group, mechanisms: Iterable[Mechanism]) -> tuple[float, ...]:
    """Return the steps of a group's slider at which at least one of its mechanisms is defined.

    The grid is the same for all lexicons except that A4-like mechanisms begin at the low end of
    their domain, which depends on the lexicon.
    """
    if not group.logarithm:
        return group.grid
    low = min((mechanism.admissible.low for mechanism in mechanisms), default=0.0)
    inside = tuple(epsilon for epsilon in group.grid if epsilon > low)
    return inside or group.grid[-1:]
