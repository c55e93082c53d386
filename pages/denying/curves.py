"""The measurements behind the curves: made in groups of words, kept in the session alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.measure.deniability import Deniability, Method, choose_method, measure
from dpcore.measure.parts import joined, part_of
from pages.shared.bench import admissible
from pages.shared.messages import note
from pages.shared.progress import timed

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism

_HELD = "denying_held"
_STOPPED = "denying_stopped"
_KEPT = 24  # mechanisms with their settings
_GROUP = 8  # words measured at a time; one where every ε and run is drawn by itself
_PULSE_SECONDS = 0.5


@dataclass
class _Held:
    """What this session has measured of one set of words."""

    identity: tuple[Any, ...]
    parts: dict[tuple[Any, ...], dict[int, Deniability]] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """One mechanism and what is measured of it."""

    mechanism: Mechanism
    found: Deniability


def compute(
    words: Lexicon, mechanisms: list[Mechanism], selection: Selection, runs: int, seed: int
) -> list[Curve]:
    """Measure what this session has not measured yet, and return a curve for each mechanism.

    It may be stopped between two groups of words; then the curves are of the words done so far,
    and the page says so. Groups take every n-th word, so that a part is spread like the whole.
    """
    identity = (words.fingerprint, tuple(selection.words.tolist()), runs, seed)
    held = st.session_state.get(_HELD)
    if held is None or held.identity != identity:
        held = st.session_state[_HELD] = _Held(identity)
        st.session_state.pop(_STOPPED, None)
    for mechanism in mechanisms:  # those in use last, so that the oldest others are dropped
        held.parts[_name(mechanism)] = held.parts.pop(_name(mechanism), {})
    while len(held.parts) > max(_KEPT, len(mechanisms)):
        held.parts.pop(next(iter(held.parts)))
    groups = {m.key: _groups(m, len(selection)) for m in mechanisms}
    waiting = [
        (m, i)
        for m in mechanisms
        for i in range(len(groups[m.key]))
        if i not in held.parts[_name(m)]
    ]
    # All mechanisms advance together, so that a stop leaves something of each.
    waiting.sort(key=lambda item: (item[1] + 1) / len(groups[item[0].key]))
    if waiting and _STOPPED not in st.session_state:
        _measure(held, waiting, groups, selection)
        waiting = []
    curves = [
        Curve(m, joined([parts[i] for i in sorted(parts)], selection))
        for m in mechanisms
        if (parts := held.parts[_name(m)])
    ]
    if waiting:
        _say_what_is_missing(mechanisms, curves, len(selection))
    return curves


def _name(mechanism: Mechanism) -> tuple[Any, ...]:
    return (mechanism.key, *sorted(mechanism.settings().items()))


def _groups(mechanism: Mechanism, count: int) -> list[range]:
    size = 1 if choose_method(mechanism, Method.AUTO) is Method.PROTOCOL else _GROUP
    number = -(-count // size)
    return [range(i, count, number) for i in range(number)]


def _measure(
    held: _Held,
    waiting: list[tuple[Mechanism, int]],
    groups: dict[str, list[range]],
    selection: Selection,
) -> None:
    *_, runs, seed = held.identity
    place = st.empty()
    with place.container():
        st.button(
            "Stop and show what is there",
            key="stop_measuring",
            icon=":material/stop_circle:",
            on_click=_stop,
        )
        pulse = _pulse(st.empty())
        for mechanism, i in timed("Measuring groups of words", waiting):
            held.parts[_name(mechanism)][i] = measure(
                mechanism,
                part_of(selection, groups[mechanism.key][i]),
                admissible(mechanism),
                runs=runs,
                seed=seed,
                progress=pulse,
            )
    place.empty()


def _pulse(slot: Any) -> Progress:
    """Says now and then which mechanism is being measured; that is also where a stop is heard."""
    last = time.monotonic()

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PULSE_SECONDS:
            last = time.monotonic()
            slot.text(f"{stage}: {done} of {total} in this group")

    return report


def _stop() -> None:
    st.session_state[_STOPPED] = True


def _go_on() -> None:
    st.session_state.pop(_STOPPED, None)


def _say_what_is_missing(mechanisms: list[Mechanism], curves: list[Curve], count: int) -> None:
    done = {curve.mechanism.key: len(curve.found.selection) for curve in curves}
    st.warning("Stopped: not all words are measured.", icon=":material/stop_circle:")
    note("; ".join(f"{m.short}: {done.get(m.key, 0)} of {count} words" for m in mechanisms) + ".")
    st.button("Go on measuring", icon=":material/play_circle:", on_click=_go_on)
