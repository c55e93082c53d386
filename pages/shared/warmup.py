"""Slow one-time work, done from the start of the server on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from dpcore.errors import DpcoreError
from pages.shared import link
from pages.shared.language import Waiting
from pages.shared.process import (
    AHEAD,
    freeze,
    give_way,
    one_thread_each,
    send_at_once,
)
from pages.shared.server import bound_uploads
from pages.shared.session import CURVE_MECHANISMS, DEFAULT_MECHANISMS, Bench, catalogued, mechanism

_BEGUN = threading.Event()


@st.cache_resource(show_spinner=False)
def receive() -> None:
    """Do the set-up that needs a listening server, before the first page is drawn."""
    send_at_once()
    bound_uploads()


@st.cache_resource(show_spinner=Waiting("Starting the laboratory: loading words and mechanisms…"))
def warm_up() -> None:
    """Finish the slow one-time work; a caller that needs it meanwhile waits for it."""
    warm()


@st.cache_resource(show_spinner=False)
def warm() -> None:
    """Import, load the bundled lexicon, draw the first example, freeze."""
    with one_thread_each():
        import faiss  # noqa: F401

        # The imports of the first page come first: a visitor may be waiting for it.
        import pages.papers.store
        import pages.shared.aids
        import pages.shared.frame
        import pages.start.links
        import pages.start.verdicts
        from pages.start.changing import draw_ahead

        give_way()
        _with_first_bench(draw_ahead)
        import pandas  # noqa: F401 - this one and the next so that no click waits for them
        import plotly.graph_objects  # noqa: F401

        # Modules of other pages are imported here too, so that they are frozen with the rest.
        give_way()
        import pages.deniability.board
        import pages.papers.experiments
        import pages.release.board
        import pages.release.copying
        import pages.robustness.views
        import pages.shared.learning.views
        import pages.tradeoff.views
        import pages.words.board  # noqa: F401
    from dpcore.papers.studies import EXPERIMENTS
    from pages.papers.experiments import recorded_rows

    give_way()
    _with_first_bench(_draw_all)
    with suppress(DpcoreError):
        recorded_rows(next(iter(EXPERIMENTS)))
    freeze()
    _look_ahead()


def _with_first_bench(prepare: Callable[[Bench], None]) -> None:
    """Prepare the first example if possible; the page meets and reports the same error."""
    from pages.shared.session import first_bench
    from pages.shared.sidebar import Choices

    with suppress(DpcoreError):
        prepare(first_bench(catalogued("default"), Choices("default").treatment))


def _draw_all(bench: Bench) -> None:
    from dpcore.mechanisms.registry import resolve

    for short in DEFAULT_MECHANISMS:
        bench.draw(mechanism(bench.lexicon, resolve(short).key), link.SEED, 0)


def _look_ahead() -> None:
    """Start background work for the first views of other pages."""
    from dpcore.mechanisms.registry import resolve
    from pages.deniability.choosing import START_RUNS, first_selection
    from pages.deniability.curves import Work, measure_ahead
    from pages.papers.experiments import compare_ahead
    from pages.robustness.pictures_work import SCALES, Bounded, Noise, accuracy_table
    from pages.robustness.pictures_work import measure_ahead as measure_scale
    from pages.robustness.words_work import Rules, share_table
    from pages.shared.sidebar import START_MECHANISM
    from pages.tradeoff.scene import draw_ahead
    from pages.words.measuring import measure_ahead as measure_pair
    from pages.words.measuring import panes_ahead

    try:
        words = catalogued("default")
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
            *(partial(measure_scale, scale) for scale in SCALES),
            compare_ahead,
        ]
    )


def _in_background(jobs: Sequence[Callable[[], object]]) -> None:
    """Run jobs on public data in a thread, one after the other, once in a process.

    A session that needs a result in progress waits for it.

    Args:
        jobs: the most useful first. One that raises an error of ours is skipped: the page meets the
            same error and says what to do.
    """
    if _BEGUN.is_set():
        return
    _BEGUN.set()

    @st.cache_resource(show_spinner=False)  # it draws no spinner: there is no page here
    def run() -> None:
        for job in jobs:
            give_way()
            with suppress(DpcoreError):
                job()
        freeze()

    threading.Thread(target=run, name=AHEAD).start()
