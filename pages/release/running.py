"""Run on the texts: set-up, start and stop, progress, views of the results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.errors import DpcoreError
from dpcore.learn.classifiers import LEARNERS, TITLES
from dpcore.learn.corpus import LabelledTexts
from dpcore.limits import LIVE_EPSILONS, LIVE_SEEDS, LIVE_TEXTS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.study import live as live_jobs
from dpcore.study.live import Live, LiveRun
from dpcore.study.plan import Arm, grid
from dpcore.study.tables import tidy
from pages.release.uploading import CORPORA, Source, labelled
from pages.shared.dial import grouped
from pages.shared.figure import csv_button
from pages.shared.fragments import fragment
from pages.shared.language import say
from pages.shared.learning.curves import LEARNING_TABS, VIEW, learning_views
from pages.shared.learning.evidence import Rows, choose_part, show_examples
from pages.shared.link import pick, short_tabs, whole_number
from pages.shared.messages import inform, note, refuse
from pages.shared.own_vectors import NAME
from pages.shared.session import Settings

_RUN, _REFUSED = "use_run", "use_refused"
_PULSE_SECONDS = 1.0
_PATIENCE_SECONDS = 2.0  # wait for the process of a stopped run to end
_START_TEXTS = 300
_RANGES = {"metric": (1.4, 20.0), "log": (math.exp(6.0), math.exp(16.0)), "local": (50.0, 400.0)}
"""Smallest and largest ε of a default run by group, both steps of the slider."""


@dataclass(eq=False)
class Run:
    """Run of this session.

    Attributes:
        job: running or done.
        live: the request.
        source: source of the texts.
        seen: number of cells whose rows are in `rows`.
        rows: rows of the finished cells; None before the first.
    """

    job: LiveRun
    live: Live
    source: Source
    seen: int = 0
    rows: Rows | None = None


def run_of(source: Source) -> Run | None:
    """Return the run of this session with its results so far if it has these texts and labels."""
    run: Run | None = st.session_state.get(_RUN)
    if run is None or (run.source.identity, run.source.label) != (source.identity, source.label):
        return None
    _take_in(run)
    return run


def choose_run(
    source: Source,
    run: Run | None,
    members: list[Mechanism],
    settings: dict[str, Settings],
    lexicon: str,
    wanted: Mapping[str, float],
) -> None:
    """Draw the set-up, the buttons and the progress.

    Args:
        source: source of the texts to learn from.
        run: run of this session on these texts.
        members: the chosen mechanisms.
        settings: settings of each, by its key.
        lexicon: name in the catalogue.
        wanted: by short name, an ε that is measured beside the others: that of the goal.
    """
    if run is not None and run.job.finished != run.seen:
        st.rerun()  # the table lacks it yet, and no fragment watches a finished run
    refused = st.session_state.pop(_REFUSED, None)
    if refused is not None:
        refuse(say("This run cannot be started."), DpcoreError(refused))
    if source.label is None:
        inform(say("Choose a column of labels in step 1: accuracy is measured with it."))
        return
    # The run is another process, which loads its lexicon by name; uploaded vectors are written
    # nowhere.
    if lexicon == NAME:
        inform(
            say(
                "A run needs a lexicon of the catalogue: `python -m dpcore lexicon add` adds yours."
            )
        )
        return
    refusal = st.container()
    with st.expander(say("Test settings")):
        texts = _texts(source, refusal)
        arms, options = _arms(members, settings, wanted), _options()
    if run is not None and not run.job.done:
        fragment(_watch, every=_PULSE_SECONDS)
        st.button(
            say("Stop and keep results so far"),
            key="use_stop",
            icon=":material/stop_circle:",
            on_click=_stop,
            args=(run,),
            help=say("Ends the test at once; the parts that are done stay below."),
        )
    else:
        st.button(
            say("Start the test") if run is None else say("Test again"),
            key="use_start",
            icon=":material/play_arrow:",
            disabled=texts is None,
            on_click=_start,
            args=(source, texts, arms, lexicon, options),
            help=say(
                "Runs in a process of its own: the baseline, then every mechanism, trial by trial. "
                "Results are shown as they come."
            ),
        )
    if run is not None and run.job.done:
        _ending(run)


def _texts(source: Source, refusal: DeltaGenerator) -> LabelledTexts | None:
    """Return texts and labels of a run; if unusable, say why and return None.

    Args:
        source: source of the texts.
        refusal: place of the reason, visible when the set-up is folded.
    """
    most = st.slider(
        say("Texts used, at most"),
        100,
        LIVE_TEXTS,
        _START_TEXTS,
        step=50,
        key="use_texts",
        bind="query-params",
        help=say(
            "Seven in ten train the classifier, three in ten test it. More texts take longer "
            "and give narrower intervals."
        ),
    )
    try:
        return labelled(source, most)
    except DpcoreError as error:
        with refusal:
            refuse(say("Nothing can be learned from this table."), error)
        return None


def _arms(
    members: list[Mechanism], settings: dict[str, Settings], wanted: Mapping[str, float]
) -> tuple[Arm, ...]:
    """Return the mechanisms at the ε chosen for their groups, and at the ε of the goal."""
    count = st.slider(
        say("Values of ε for each mechanism"),
        2,
        LIVE_EPSILONS,
        6,
        key="use_steps",
        bind="query-params",
        help=say("One noise draw serves all values of ε of a mechanism: more cost little."),
    )
    arms: list[Arm] = []
    for group, inside in grouped(members):
        first, last = st.select_slider(
            say("{group}, from and to", group=say(group.title)),
            group.grid,
            value=_RANGES[group.name],
            format_func=group.label,
            key=f"use_ends_{group.name}",
            bind="query-params",
            help=say(
                "{explanation} The values lie between these two, in equal ratios.",
                explanation=say(group.explanation),
            ),
        )
        # Both ends on one step: a single ε is a valid wish.
        epsilons = grid(first, last, count) if first < last else (first,)
        for mechanism in inside:
            some = tuple(value for value in epsilons if value in mechanism.admissible)
            # The ε of the goal may be outside the range of the slider.
            if mechanism.short in wanted:
                some = _with(some, wanted[mechanism.short])
            if some:
                arms.append(Arm(mechanism.short, some, settings.get(mechanism.key, ())))
            else:
                st.text(
                    say(
                        "{short} has no ε between these two ends and is left out.",
                        short=mechanism.short,
                    )
                )
    return tuple(arms)


def _with(epsilons: tuple[float, ...], wanted: float) -> tuple[float, ...]:
    """Add an ε to the others; where there are too many, it replaces the nearest one."""
    if wanted in epsilons:
        return epsilons
    kept = list(epsilons)
    if len(kept) >= LIVE_EPSILONS:
        # Nearest in ln ε, as the values are spread in equal ratios.
        kept.remove(min(kept, key=lambda value: abs(math.log(value / wanted))))
    return tuple(sorted((*kept, wanted)))


def _options() -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        learner = pick(
            say("Classifier of the run"),
            LEARNERS,
            "use_learner",
            "; ".join(f"{name}: {say(TITLES[kind.kind])}" for name, kind in LEARNERS.items()) + ".",
            names=True,
            width=230,
        )
        seeds = whole_number(
            say("Trials"),
            1,
            LIVE_SEEDS,
            3,
            "use_trials",
            say(
                "Each draws fresh noise, and fresh training and test texts. An interval needs two "
                "trials, and is useful from three on."
            ),
            width=130,
        )
        attack = st.toggle(
            say("Infer membership too"),
            value=True,
            key="use_attack",
            bind="query-params",
            help=say(
                "An attacker asks which texts the classifier was trained on; takes a second or "
                "two for every ε."
            ),
        )
    return {"learner": learner, "seeds": seeds, "attack": attack}


def _start(
    source: Source,
    texts: LabelledTexts,
    arms: tuple[Arm, ...],
    lexicon: str,
    options: dict[str, Any],
) -> None:
    old: Run | None = st.session_state.pop(_RUN, None)
    if old is not None:
        # One run at a time in a session.
        old.job.stop()
    try:
        live = Live(texts, source.corpus, arms, lexicon, **options)
    except DpcoreError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state[_RUN] = Run(live_jobs.start_run(live), live, source)
    st.rerun()  # the table shows a run, too


def _watch() -> None:
    """Draw the progress of the run; run the page again when another part is done."""
    run: Run | None = st.session_state.get(_RUN)
    if run is None:
        return
    if run.job.done or run.job.finished != run.seen:
        st.rerun()
    share, sentence = run.job.progress()
    st.progress(share, text=f"{say(sentence)}.")


def _stop(run: Run) -> None:
    run.job.stop()
    run.job.wait(_PATIENCE_SECONDS)
    st.rerun()  # as above


def _take_in(run: Run) -> None:
    """Make a table of the results if there are new ones."""
    finished, rows = run.job.finished, run.job.rows
    if finished != run.seen:
        run.rows, run.seen = Rows(tidy(rows)), finished


def _ending(run: Run) -> None:
    """Say why a run that is incomplete ended."""
    job = run.job
    if job.error is not None:
        refuse(say("The run ended early; what was done before is shown."), DpcoreError(job.error))
    elif job.stopped:
        inform(
            say(
                "Stopped after {seen} of {parts} parts.",
                seen=run.seen,
                parts=len(run.live.plan.cells()),
            )
        )


def run_views(run: Run, rows: Rows) -> None:
    """Draw the views of the results so far."""
    st.text(_title(run))
    # A fragment: its tabs and choices do not concern the table above.
    fragment(_views, run, rows)
    csv_button(say("All numbers of the run as CSV"), "run", lambda: rows.table, key="csv_use_all")


def _views(run: Run, rows: Rows) -> None:
    part = choose_part("run", rows)
    views = learning_views(lambda: part) | {"examples": lambda: _examples(run)}
    short_tabs(views, LEARNING_TABS, VIEW)


def _examples(run: Run) -> None:
    """Draw the examples of a live run."""
    if not run.job.examples:
        note(
            say(
                "There are none: no text was classified correctly as written and wrongly in its "
                "private form."
            )
            if run.job.done
            else say("There are none yet: they come with the first mechanism of the first trial.")
        )
        return
    show_examples(run.job.examples)
    note(say("The original is shown only here, to you: do not publish it with the private text."))


def _title(run: Run) -> str:
    live = run.live
    trials = say("1 trial") if live.seeds == 1 else say("{seeds} trials", seeds=live.seeds)
    return say(
        "{corpus}: {texts:,} texts, {trials}, classifier {learner}, lexicon {lexicon}",
        corpus=say(CORPORA[run.source.corpus]),
        texts=len(live.texts),
        trials=trials,
        learner=live.learner,
        lexicon=live.lexicon,
    )
