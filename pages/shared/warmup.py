"""Everything that is slow once, done once, before the first page is drawn."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from pages.shared import link
from pages.shared.language import Waiting
from pages.shared.presets import CURVE_MECHANISMS, DEFAULT_MECHANISMS
from pages.shared.process import (
    give_memory_back,
    leave_with_the_process,
    one_thread_each,
    send_at_once,
    settle,
)
from pages.shared.resources import lexicon, mechanism
from pages.shared.uploads import bound_uploads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AHEAD = "ahead"
"""Name of the thread that computes what fresh visits will ask for."""
_BEGUN = threading.Event()


@st.cache_resource(show_spinner=Waiting("Starting the laboratory: loading words and mechanisms…"))
def warm_up() -> None:
    """Import, load the bundled lexicon, draw the first example, freeze."""
    send_at_once()
    give_memory_back()
    bound_uploads()
    with one_thread_each():
        import faiss  # noqa: F401 - this one and the next so that no click waits for them
        import pandas  # noqa: F401
        import plotly.graph_objects  # noqa: F401

        # What other pages consist of is imported here too, so that it is frozen with the rest.
        import pages.deniability.board
        import pages.papers.experiment
        import pages.release.board
        import pages.release.copying
        import pages.robustness.views
        import pages.shared.learning.views
        import pages.tradeoff.views
        import pages.words.board  # noqa: F401
    from dpcore.mechanisms.registry import resolve
    from dpcore.papers.studies import EXPERIMENTS
    from pages.papers.experiment import recorded_rows
    from pages.shared.session import first_bench
    from pages.shared.sidebar import Choices

    try:
        words = lexicon("default")
        bench = first_bench(words, Choices("default").treatment)
        for short in DEFAULT_MECHANISMS:
            bench.draw(mechanism(words, resolve(short).key), link.SEED, 0)
        recorded_rows(next(iter(EXPERIMENTS)))
    except DpcoreError:
        pass  # the page meets the same error and says what to do
    settle()
    _look_ahead()


def _look_ahead() -> None:
    """Begin in the background what the first view of another page would wait for."""
    from dpcore.mechanisms.registry import resolve
    from pages.deniability.choosing import START_RUNS, first_selection
    from pages.deniability.measuring import Work, measure_ahead
    from pages.papers.experiments import compare_ahead
    from pages.robustness.pictures_work import SCALES, Bounded, Noise, accuracy_table
    from pages.robustness.words_work import Rules, share_table
    from pages.shared.sidebar import START_MECHANISM
    from pages.tradeoff.scene import draw_ahead
    from pages.words.measuring import measure_ahead as measure_pair
    from pages.words.measuring import panes_ahead

    try:
        words = lexicon("default")
        kinds = [resolve(short) for short in CURVE_MECHANISMS]
        work = Work(first_selection(words), START_RUNS, link.SEED, public=True)
        mechanisms = [mechanism(words, kind.key) for kind in kinds]
    except DpcoreError:
        return  # as above
    _in_background(
        [
            lambda: draw_ahead(words),
            lambda: measure_ahead(mechanisms, work),
            lambda: panes_ahead(words, mechanism(words, resolve(START_MECHANISM).key)),
            lambda: measure_pair(words, mechanisms),
            lambda: accuracy_table(Noise(), Bounded()),
            lambda: share_table(words, Rules()),
            # A step of that slider trains a classifier: half a second, once for all sessions.
            *(partial(accuracy_table, Noise(scale=scale), Bounded()) for scale in SCALES),
            compare_ahead,
        ]
    )


def _in_background(jobs: Sequence[Callable[[], object]]) -> None:
    """Run jobs on public data in a thread, one after the other, once in a process.

    A session that needs what is just being computed waits for it.

    Args:
        jobs: the most wanted first. One that meets an error of ours is left out: the page meets
            the same error and says what to do.
    """
    if _BEGUN.is_set():
        return
    _BEGUN.set()

    def run() -> None:
        for job in jobs:
            leave_with_the_process()
            with suppress(DpcoreError):
                job()
        settle()

    threading.Thread(target=run, name=AHEAD).start()
