"""Measurement of the pair under the chosen mechanisms, with progress; finished parts stay."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from pages.shared import session
from pages.shared.language import say
from pages.shared.messages import note
from pages.shared.progress import timed
from pages.words.bench import Measurements, PairBench
from pages.words.scene import EXAMPLES, public_bench

_STOPPED = "neighbouring_stopped"


def found_so_far(bench: PairBench, mechanisms: list[Mechanism]) -> list[Measurements]:
    """Return the results of each mechanism with any measurement."""
    tables = [bench.table(m) for m in mechanisms]
    return [table for table in tables if table is not None]


def steps_left(bench: PairBench, mechanisms: list[Mechanism]) -> int:
    """Return the number of steps to measure; another session may have measured the same pair."""
    return sum(len(bench.missing(m)) for m in mechanisms)


def ahead(words: Lexicon) -> list[Callable[[], object]]:
    """Return what the server computes before the first request: the opening panes, then the pair.

    Args:
        words: a public lexicon.
    """
    opening = EXAMPLES[0]
    if not all(name in words for name in opening.names):
        return []
    first = session.mechanism(words, resolve(opening.mechanism).key)
    compared = [session.mechanism(words, resolve(short).key) for short in session.CURVE_MECHANISMS]

    def panes() -> None:
        bench = public_bench(words, *opening.names)
        for place in (0, 1):
            bench.fate(first, place)

    # The panes first: they are what a visitor sees first.
    return [panes, lambda: measure_ahead(words, opening.names, compared)]


def stopped(bench: PairBench) -> bool:
    """Return True if the measurement of this pair was stopped."""
    return st.session_state.get(_STOPPED) is bench


def measure(bench: PairBench, mechanisms: list[Mechanism]) -> None:
    """Measure missing steps; a stop keeps finished steps and says so.

    To be called outside fragments: a click on a button in a fragment waits for the end of the run.
    """
    # A stop is about one pair: another one is measured at once.
    if st.session_state.get(_STOPPED) is not bench:
        st.session_state.pop(_STOPPED, None)
    waiting = [(m, i) for m in mechanisms for i in bench.missing(m)]
    if not waiting:
        return
    if _STOPPED in st.session_state:
        names = ", ".join(dict.fromkeys(m.short for m, _ in waiting))
        st.warning(say("Stopped: not every ε is measured."), icon=":material/stop_circle:")
        note(say("Incomplete: {names}.", names=names))
        st.button(
            say("Continue measuring"),
            key="go_on_pair",
            icon=":material/play_circle:",
            on_click=_go_on,
            help=say("Measures the missing ε."),
        )
        return
    # All mechanisms advance together, so that a stop leaves part of each.
    waiting.sort(key=lambda item: (item[1] + 1) / bench.parts(item[0]))
    st.button(
        say("Stop and show results so far"),
        key="stop_pair",
        icon=":material/stop_circle:",
        on_click=_stop,
        args=(bench,),
        help=say("Keeps the results for the ε measured so far."),
    )
    for mechanism, step in timed(say("Measuring the two words"), waiting):
        bench.measure(mechanism, step)


def measure_ahead(words: Lexicon, names: tuple[str, str], mechanisms: list[Mechanism]) -> None:
    """Measure a public pair.

    Args:
        words: a public lexicon.
        names: the two words.
        mechanisms: the default mechanisms.
    """
    bench = public_bench(words, *names)
    for mechanism in mechanisms:
        for step in bench.missing(mechanism):
            bench.measure(mechanism, step)


def _stop(bench: PairBench) -> None:
    st.session_state[_STOPPED] = bench


def _go_on() -> None:
    st.session_state.pop(_STOPPED, None)
