"""Curves of all mechanisms: measurement of missing parts, and their combination."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import (
    Deniability,
    Method,
    choose_method,
    join_measurements,
    measure,
    part_of,
)
from dpcore.measure.words import Selection, select_words
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from dpcore.plots.deniability.equal_nw import equal_alt, equal_caption, equal_figure, equal_mark
from dpcore.plots.style import short_name
from pages.curves.choosing import START_RUNS, first_selection
from pages.curves.scene import COMPARED, draw_dials
from pages.curves.tables import equal_table, read_table
from pages.shared import link, session
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.figure import Still, still_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import pick
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.progress import timed
from pages.shared.session import Identity, admissible, identity
from pages.shared.table import numbers, show_table

if TYPE_CHECKING:
    import pandas as pd


# Measurements in groups of words: those of public samples are shared by all sessions.


_GROUP = 8  # words measured at a time; one where a word takes seconds
_SHARED = 400  # groups of public words, about 30 kB each
_PULSE_SECONDS = 0.5
_FIRST_SECONDS, _SLICE_SECONDS = 0.5, 2.0
"""Seconds of measuring after which curves are drawn: the first ones, and those after them."""


@dataclass(frozen=True)
class Work:
    """Specification of a measurement.

    Attributes:
        selection: the words.
        runs: R.
        seed: seed of the noise.
        public: True if the words are a sample that anyone can draw again; only then are the
            measurements shared between sessions.
    """

    selection: Selection
    runs: int
    seed: int
    public: bool


@dataclass
class Measurements:
    """Measurements of one set of words in a session, by mechanism and number of the group."""

    identity: tuple[Any, ...]
    parts: dict[Identity, dict[int, Deniability]] = field(default_factory=dict)


def groups(mechanism: Mechanism, count: int) -> list[range]:
    """Return the places of the words of each group: every n-th, so that a part is spread evenly."""
    size = 1 if _takes_long(mechanism) else _GROUP
    number = -(-count // size)  # rounded up
    return [range(i, count, number) for i in range(number)]


def _takes_long(mechanism: Mechanism) -> bool:
    """Return True if every ε and run is drawn separately, or every probability is an integral."""
    return mechanism.law_bounded or choose_method(mechanism, Method.AUTO) is Method.PROTOCOL


def measure_group(
    mechanism: Mechanism, work: Work, places: range, progress: Progress
) -> Deniability:
    """Measure one group of words at all ε of the dial."""
    part = part_of(work.selection, places)
    if not work.public:
        return _measured(mechanism, part, work, progress)
    # Everything that the numbers depend on, and nothing that was typed.
    key = (
        identity(mechanism),
        tuple(part.words.tolist()),
        tuple(part.weights.tolist()),
        work.runs,
        work.seed,
    )
    # Silent: another session may wait for this result, and progress could interrupt it.
    return once("deniability", key, lambda: _measured(mechanism, part, work, silent), _SHARED)


def _measured(mechanism: Mechanism, part: Selection, work: Work, progress: Progress) -> Deniability:
    epsilons = admissible(mechanism)
    return measure(mechanism, part, epsilons, runs=work.runs, seed=work.seed, progress=progress)


def measure_waiting(
    store: Measurements,
    waiting: list[tuple[Mechanism, int]],
    work: Work,
    stop: str,
    seconds: float,
) -> None:
    """Measure groups for a moment, with progress and a button that stops between two of them.

    Args:
        store: receives the results, one by one.
        waiting: pairs of a mechanism and the number of a group; at least one is measured.
        work: specification of the measurement.
        stop: key of the session state that the button sets.
        seconds: after which no other group is begun.
    """
    # One place for button and bars, so that both are gone at the end.
    place = st.empty()
    with place.container():
        st.button(
            say("Stop and show results so far"),
            key=f"button_{stop}",
            icon=":material/stop_circle:",
            on_click=lambda: st.session_state.update({stop: True}),
            help=say(
                "Stops after the current group of words. The curves then cover the finished "
                "words, and you can continue later."
            ),
        )
        pulse, start = _pulse(st.empty()), time.monotonic()
        for done, (mechanism, i) in enumerate(timed(say("Measuring groups of words"), waiting)):
            # What is there is drawn before the first group that takes long.
            slow = _takes_long(mechanism) and not _takes_long(waiting[done - 1][0])
            if done and (slow or time.monotonic() - start > seconds):
                return  # button and progress stay, for the run that goes on
            places = groups(mechanism, len(work.selection))[i]
            # Stored group by group: whatever ends this run, finished groups stay.
            store.parts[identity(mechanism)][i] = measure_group(mechanism, work, places, pulse)
    place.empty()


def ahead(words: Lexicon) -> list[Callable[[], object]]:
    """Return what the server computes before the first request.

    Args:
        words: a public lexicon.
    """
    # Exactly the defaults of a first visit, or the results would lie under other keys.
    work = Work(first_selection(words), START_RUNS, link.SEED, public=True)
    mechanisms = [
        session.mechanism(words, resolve(short).key) for short in session.CURVE_MECHANISMS
    ]
    return [lambda: measure_ahead(mechanisms, work)]


def measure_ahead(mechanisms: list[Mechanism], work: Work) -> None:
    """Measure a public sample."""
    for mechanism in mechanisms:
        for places in groups(mechanism, len(work.selection)):
            measure_group(mechanism, work, places, silent)


def _pulse(slot: Any) -> Progress:
    """Report now and then which mechanism is being measured; a stop takes effect there too."""
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


_STORE = "denying_held"
_STOPPED = "denying_stopped"
_BEGAN = "denying_began"  # this run measured its first curves
_KEPT = 24  # mechanisms with their settings


@dataclass(frozen=True)
class Curve:
    """One mechanism and its measurements.

    Attributes:
        mechanism: with its settings.
        measured: the measured words.
        more: pinned words that are not among them; None if there are none.
    """

    mechanism: Mechanism
    measured: Deniability
    more: Deniability | None = None

    def place(self, word: str) -> tuple[Deniability, int] | None:
        """Return the measurement that holds a word, and the word's index in it, else None."""
        for part in (self.measured, self.more):
            if part is not None and word in part.selection.names:
                return part, part.selection.names.index(word)
        return None


def measured_curves(
    lexicon: Lexicon, mechanisms: list[Mechanism], work: Work, pinned: Sequence[str]
) -> tuple[Curve, ...]:
    """Return a curve for each mechanism with any measurement; pinned words are included.

    Where nothing is measured yet, it measures for a moment; `go_on` measures the rest. Measuring
    may be stopped between two groups of words: the curves then cover the words done so far, and
    the page says so.
    """
    jobs = _jobs(lexicon, mechanisms, work, pinned)
    first = not any(jobs[0].store.parts[identity(m)] for m in mechanisms)
    st.session_state[_BEGAN] = first and _measure_some(jobs, mechanisms, _FIRST_SECONDS)
    if jobs[0].waiting(mechanisms) and jobs[0].stop in st.session_state:
        _say_what_is_missing(mechanisms, jobs[0].collected(mechanisms), len(work.selection))
    measured, *more = (job.collected(mechanisms) for job in jobs)
    extra = more[0] if more else {}
    return tuple(
        Curve(m, measured[m.key], extra.get(m.key)) for m in mechanisms if m.key in measured
    )


def go_on(lexicon: Lexicon, mechanisms: list[Mechanism], work: Work, pinned: Sequence[str]) -> None:
    """Measure for another moment if anything is missing, and run the page again.

    Call it at the end of the page: what is drawn stays in sight while it measures.
    """
    jobs = _jobs(lexicon, mechanisms, work, pinned)
    # A run draws one button that stops it.
    began = st.session_state.pop(_BEGAN, False)
    unfinished = any(job.waiting(mechanisms) and job.stop not in st.session_state for job in jobs)
    if unfinished if began else _measure_some(jobs, mechanisms, _SLICE_SECONDS):
        st.rerun()


@dataclass(frozen=True)
class _Job:
    """One set of words with its measurements.

    Attributes:
        store: measurements so far.
        work: specification.
        stop: key of the session state that stops it.
    """

    store: Measurements
    work: Work
    stop: str

    def waiting(self, mechanisms: list[Mechanism]) -> list[tuple[Mechanism, int]]:
        """Return the missing groups."""
        count = len(self.work.selection)
        missing = [
            (m, i)
            for m in mechanisms
            for i in range(len(groups(m, count)))
            if i not in self.store.parts[identity(m)]
        ]
        # What takes long comes last; within both all mechanisms advance together, so that a stop
        # leaves part of each.
        return sorted(
            missing,
            key=lambda item: (_takes_long(item[0]), (item[1] + 1) / len(groups(item[0], count))),
        )

    def collected(self, mechanisms: list[Mechanism]) -> dict[str, Deniability]:
        """Return the measurements so far by registry key."""
        return {
            # By number and not in the order of measuring: results do not depend on a stop between.
            m.key: join_measurements([parts[i] for i in sorted(parts)], self.work.selection)
            for m in mechanisms
            if (parts := self.store.parts[identity(m)])
        }


def _jobs(
    lexicon: Lexicon, mechanisms: list[Mechanism], work: Work, pinned: Sequence[str]
) -> list[_Job]:
    """Return the job of the chosen words, and that of pinned words that are not among them."""
    jobs = [_Job(_store(_STORE, lexicon, mechanisms, work), work, _STOPPED)]
    missing = [word for word in pinned if word not in work.selection.names]
    if missing:
        # Not public: a pinned word may be typed, so its measurement stays in this session.
        extra = Work(select_words(lexicon, missing), work.runs, work.seed, public=False)
        store = _store(f"{_STORE}_more", lexicon, mechanisms, extra)
        jobs.append(_Job(store, extra, f"{_STOPPED}_more"))
    return jobs


def _measure_some(jobs: list[_Job], mechanisms: list[Mechanism], seconds: float) -> bool:
    """Measure for a moment; return True if anything was missing."""
    for job in jobs:
        waiting = job.waiting(mechanisms)
        if waiting and job.stop not in st.session_state:
            measure_waiting(job.store, waiting, job.work, job.stop, seconds)
            return True
    return False


def _store(slot: str, lexicon: Lexicon, mechanisms: list[Mechanism], work: Work) -> Measurements:
    measured = (
        lexicon.fingerprint,
        tuple(work.selection.words.tolist()),
        tuple(work.selection.weights.tolist()),
        work.runs,
        work.seed,
    )
    store: Measurements | None = st.session_state.get(slot)
    if store is None or store.identity != measured:
        store = st.session_state[slot] = Measurements(measured)
        # A stop is about one measurement: another one starts by itself.
        st.session_state.pop(slot.replace(_STORE, _STOPPED), None)
    for mechanism in mechanisms:  # mechanisms in use last, so that the oldest others are dropped
        store.parts[identity(mechanism)] = store.parts.pop(identity(mechanism), {})
    while len(store.parts) > max(_KEPT, len(mechanisms)):
        store.parts.pop(next(iter(store.parts)))
    return store


def _say_what_is_missing(
    mechanisms: list[Mechanism], measured: dict[str, Deniability], count: int
) -> None:
    done = {key: len(each.selection) for key, each in measured.items()}
    st.warning(say("Stopped: not all words are measured."), icon=":material/stop_circle:")
    note(
        "; ".join(
            say(
                "{mechanism}: {done} of {count} words",
                mechanism=m.short,
                done=done.get(m.key, 0),
                count=count,
            )
            for m in mechanisms
        )
        + "."
    )
    st.button(
        say("Continue measuring"),
        icon=":material/play_circle:",
        on_click=lambda: st.session_state.pop(_STOPPED, None),
        help=say("Measures the missing words and keeps the results so far."),
    )


# Mechanisms at equal mean Nw: one axis for all, since Nw has one meaning for all of them.


_QUANTITIES = ("sw", "effective")
_COLUMNS = {
    "mechanism": "mechanism",
    "epsilon": later("ε at this Nw"),
    "low": later("more than"),
    "high": later("less than"),
    "sw": later("mean Sw"),
    "effective": later("median effective number"),
}


def comparison(curves: Sequence[Curve], dial_place: DeltaGenerator) -> None:
    """Draw the choice of the reference, its dial, two figures and the table.

    Args:
        curves: curves of all mechanisms.
        dial_place: place of the dial.
    """
    names = {curve.mechanism.short: curve for curve in curves}
    reference = pick(
        say("Reference"),
        names,
        "reference",
        say(
            "The mechanism whose ε you set. The others are read at the ε where words stay as often."
        ),
        names=True,
        width=260,
    )
    mechanism = names[reference].mechanism
    # Steps of the dial are the measured ε: between them the reference has no Nw.
    defined = names[reference].measured.epsilons.tolist()
    draw_dials(dial_place, {group_of(mechanism.meaning): [mechanism]}, defined, COMPARED)
    table = equal_table(curves)
    # The same R for all: it is one control of the page.
    runs = curves[0].measured.runs
    places = {}
    for quantity, column in zip(_QUANTITIES, st.columns(2), strict=True):
        with column:
            places[quantity] = still_figure(
                equal_figure(table, quantity, runs),
                equal_alt(table, quantity, runs),
                table,
                f"{quantity}_at_equal_nw",
            )
    below = st.container()
    note(
        say(
            "**Equal Nw is not equal privacy**: the guarantees of two mechanisms may still "
            "differ in meaning and protect different pairs of words. ε is interpolated "
            "linearly in ln ε between measurements; it lies between “more than” and “less than”, "
            "where 95 % intervals of the mean Nw no longer hold the value. Empty row: the mean "
            "Nw of this mechanism never reaches the value. Several rows: it is not monotone."
        )
    )
    fragment(_moving, list(curves), names[reference], table, places, below, key=COMPARED)


def _moving(
    curves: list[Curve],
    reference: Curve,
    table: pd.DataFrame,
    places: dict[str, Still],
    below: DeltaGenerator,
) -> None:
    """Draw the sentence, captions, marks and table at the ε of the reference."""
    mechanism, runs = reference.mechanism, reference.measured.runs
    group = group_of(mechanism.meaning)
    epsilon = epsilon_of(group)
    read, nw = read_table(curves, reference, epsilon)
    st.markdown(
        say(
            "**{mechanism}** at {reading}: the mean Nw is **{nw:.3g}**.",
            mechanism=mechanism.short,
            reading=group.reading(epsilon),
            nw=nw,
        )
    )
    for quantity, place in places.items():
        place.show(
            equal_caption(read, nw, quantity),
            equal_mark(table, read, quantity, runs, nw),
        )
    # Short names in the table; the figure and the files keep registry keys.
    shown = read.assign(mechanism=read["mechanism"].map(short_name)).rename(columns=_COLUMNS)
    show_table(
        shown,
        say("ε of each mechanism at which the mean Nw is {nw:.3g}", nw=nw),
        place=below,
        column_config=numbers(list(_COLUMNS.values())[1:]),
    )
