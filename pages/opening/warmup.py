"""Slow one-time work, done from the start of the server on."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.starlette import App

from dpcore.errors import DpcoreError
from pages.shared import link
from pages.shared.departure import keep_order
from pages.shared.language import Waiting
from pages.shared.process import (
    AHEAD,
    freeze,
    give_memory_back,
    give_way,
    keep_log_short,
    leave_routing_to_app,
    one_thread_each,
)
from pages.shared.server import bound_uploads, keep_types
from pages.shared.session import DEFAULT_MECHANISMS, Bench, catalogued, mechanism

_BEGUN = threading.Event()


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
        import pages.lesson.steps
        import pages.papers.store
        import pages.shared.aids
        import pages.shared.frame
        import pages.start.below
        from pages.start.changing import draw_ahead

        give_way()
        _with_first_bench(draw_ahead)
        import pandas  # noqa: F401 - this one and the next so that no click waits for them
        import plotly.graph_objects  # noqa: F401

        # Modules of other pages are imported here too, so that they are frozen with the rest.
        give_way()
        import pages.crowd.views
        import pages.curves.board
        import pages.papers.experiments
        import pages.release.board
        import pages.release.copying
        import pages.robustness.views
        import pages.shared.learning.curves
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
    from pages.crowd import scene as crowd
    from pages.curves import curves
    from pages.lesson import lesson
    from pages.papers import experiments
    from pages.robustness import views
    from pages.tradeoff import scene
    from pages.words import measuring

    try:
        words = catalogued("default")
        # In the order in which visitors are likely to come. What the first page says of a crowd
        # comes before the lesson, and the whole page after it.
        first, *others = crowd.ahead(words)
        jobs = [*scene.ahead(words), first, *lesson.ahead(), *others]
        for page in (curves, measuring, views, experiments):
            jobs += page.ahead(words)
    except DpcoreError:
        return  # as above
    _in_background(jobs)


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


# What the server does from its start, before the first visitor.


@asynccontextmanager
async def prepared(_: App) -> AsyncIterator[None]:
    """Change what this process needs changed, and warm caches so that nobody waits for them.

    Streamlit has started its runtime by now, but has no session yet.
    """
    keep_log_short()
    give_memory_back()
    leave_routing_to_app()
    keep_order()
    keep_types()
    if runtime.exists():
        bound_uploads(cast("MemoryUploadedFileManager", runtime.get_instance().uploaded_file_mgr))
    threading.Thread(target=_make_ready, name=AHEAD).start()
    yield


def _make_ready() -> None:
    from pages.opening.warmup import warm  # its caches need a running server

    warm()
