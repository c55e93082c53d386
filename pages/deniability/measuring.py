"""Measurements in groups of words: of public samples shared by all sessions, else held by one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.lexicon.progress import silent
from dpcore.measure.deniability import Deniability, Method, choose_method, measure
from dpcore.measure.parts import part_of
from pages.shared.bench import admissible
from pages.shared.language import say
from pages.shared.once import once
from pages.shared.progress import timed
from pages.shared.resources import identity

if TYPE_CHECKING:
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.resources import Identity

_GROUP = 8  # words measured at a time; one where every ε and run is drawn by itself
_SHARED = 400  # groups of public words, about 30 kB each
_PULSE_SECONDS = 0.5


@dataclass(frozen=True)
class Work:
    """What is to be measured.

    Attributes:
        selection: the words.
        runs: R.
        seed: of the noise.
        public: whether the words are a sample that anybody can draw again; only then are the
            measurements shared between sessions.
    """

    selection: Selection
    runs: int
    seed: int
    public: bool


@dataclass
class Measured:
    """What a session has measured of one set of words, by mechanism and number of the group."""

    identity: tuple[Any, ...]
    parts: dict[Identity, dict[int, Deniability]] = field(default_factory=dict)


def groups(mechanism: Mechanism, count: int) -> list[range]:
    """Places of the words of each group: every n-th, so that a part is spread like the whole."""
    size = 1 if choose_method(mechanism, Method.AUTO) is Method.PROTOCOL else _GROUP
    number = -(-count // size)  # rounded up
    return [range(i, count, number) for i in range(number)]


def measure_group(
    mechanism: Mechanism, work: Work, places: range, progress: Progress
) -> Deniability:
    """One group of words at all ε of the dial."""
    part = part_of(work.selection, places)
    if not work.public:
        return _measured(mechanism, part, work, progress)
    key = (
        identity(mechanism),
        tuple(part.words.tolist()),
        tuple(part.weights.tolist()),
        work.runs,
        work.seed,
    )
    return once("deniability", key, lambda: _measured(mechanism, part, work, silent), _SHARED)


def _measured(mechanism: Mechanism, part: Selection, work: Work, progress: Progress) -> Deniability:
    epsilons = admissible(mechanism)
    return measure(mechanism, part, epsilons, runs=work.runs, seed=work.seed, progress=progress)


def measure_waiting(
    store: Measured, waiting: list[tuple[Mechanism, int]], work: Work, stop: str
) -> None:
    """Measure groups, with progress and a button that stops between two of them.

    Args:
        store: where the results go, one by one.
        waiting: mechanism and number of the group.
        work: what is measured.
        stop: key of the session state that the button sets.
    """
    place = st.empty()
    with place.container():
        st.button(
            say("Stop and show what is there"),
            key=f"button_{stop}",
            icon=":material/stop_circle:",
            on_click=lambda: st.session_state.update({stop: True}),
            help=say(
                "Ends the measuring after the present group of words; the curves are then those "
                "of the words that are done, and you can go on later."
            ),
        )
        pulse = _pulse(st.empty())
        for mechanism, i in timed(say("Measuring groups of words"), waiting):
            places = groups(mechanism, len(work.selection))[i]
            store.parts[identity(mechanism)][i] = measure_group(mechanism, work, places, pulse)
    place.empty()


def measure_ahead(mechanisms: list[Mechanism], work: Work) -> None:
    """Measure a public sample before anybody asks for it."""
    for mechanism in mechanisms:
        for places in groups(mechanism, len(work.selection)):
            measure_group(mechanism, work, places, silent)


def _pulse(slot: Any) -> Progress:
    """Says now and then which mechanism is being measured; that is also where a stop is heard."""
    last = time.monotonic()

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PULSE_SECONDS:
            last = time.monotonic()
            slot.text(
                say(
                    "{stage}: {done} of {total} in this group",
                    stage=say(stage),
                    done=done,
                    total=total,
                )
            )

    return report
