"""A run of one's own: what is run, starting and stopping it, how far it is, what is there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.classifiers import LEARNERS, TITLES
from dpcore.limits import LIVE_EPSILONS, LIVE_SEEDS
from dpcore.study import live_jobs
from dpcore.study.definition import grid
from dpcore.study.live import Live
from dpcore.study.plan import Arm
from dpcore.study.tables import tidy
from pages.shared.fields import pick, whole_number
from pages.shared.groups import grouped
from pages.shared.messages import inform, refuse
from pages.utility.evidence import Rows
from pages.utility.uploading import CORPORA, choose_texts

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.live_jobs import LiveRun
    from pages.shared.resources import Settings
    from pages.utility.uploading import Texts

_RUN, _REFUSED = "use_run", "use_refused"
_PULSE_SECONDS = 1.0
_PATIENCE_SECONDS = 2.0  # until the process of a run that was stopped has ended
_RANGES = {"metric": (1.4, 20.0), "log": (math.exp(6.0), math.exp(16.0)), "local": (50.0, 400.0)}
"""By group, the smallest and the largest ε that a fresh visit runs; steps of the slider."""


@dataclass(eq=False)
class Run:
    """The run of this session.

    Attributes:
        job: at work, or done.
        live: what was asked for.
        corpus: key of `pages.utility.uploading.CORPORA`.
        seen: cells whose rows are in `table`.
        rows: of the cells that are done; None before the first.
    """

    job: LiveRun
    live: Live
    corpus: str
    seen: int = 0
    rows: Rows | None = None


def run_of_ones_own(
    members: list[Mechanism], settings: dict[str, Settings], lexicon: str
) -> Run | None:
    """Draw the set-up, the buttons and the progress; return the run, if there is one.

    Args:
        members: the chosen mechanisms.
        settings: of each, by its key.
        lexicon: name in the catalogue.
    """
    run: Run | None = st.session_state.get(_RUN)
    if run is not None:
        _take_in(run)  # before the watch, which has the page drawn anew while there is more
    refused = st.session_state.pop(_REFUSED, None)
    if refused is not None:
        refuse("This run cannot be started.", DpcoreError(refused))
    with st.expander("What is run", expanded=run is None):
        texts = choose_texts()
        arms, options = _arms(members, settings), _options()
    if run is not None and not run.job.done:
        _watch()
        st.button(
            "Stop and keep what is there",
            key="use_stop",
            icon=":material/stop_circle:",
            on_click=_stop,
            args=(run,),
            help="Ends the run in the middle of its present part; the parts that are done stay "
            "below.",
        )
    else:
        st.button(
            "Run" if run is None else "Run again",
            key="use_start",
            icon=":material/play_arrow:",
            disabled=texts is None,
            on_click=_start,
            args=(texts, arms, lexicon, options),
            help="Runs in a process of its own, one part after the other: the baseline, then every "
            "mechanism in the first trial, in the second and so on. What is done is shown at once.",
        )
    if run is not None and run.job.done:
        _ending(run)
    return run


def _arms(members: list[Mechanism], settings: dict[str, Settings]) -> tuple[Arm, ...]:
    """The mechanisms at the ε that are chosen for the groups that they belong to."""
    count = st.slider(
        "Values of ε for each mechanism",
        2,
        LIVE_EPSILONS,
        6,
        key="use_steps",
        bind="query-params",
        help="All values of ε of a mechanism come from one noise draw: more cost little.",
    )
    arms: list[Arm] = []
    for group, inside in grouped(members):
        first, last = st.select_slider(
            f"{group.title}, from and to",
            group.grid,
            value=_RANGES[group.name],
            format_func=group.label,
            key=f"use_ends_{group.name}",
            bind="query-params",
            help=f"{group.explanation} The values lie between these two, in equal ratios.",
        )
        epsilons = grid(first, last, count) if first < last else (first,)
        for mechanism in inside:
            some = tuple(value for value in epsilons if value in mechanism.admissible)
            if some:
                arms.append(Arm(mechanism.short, some, settings.get(mechanism.key, ())))
            else:
                st.text(f"{mechanism.short} has no ε between these two ends and is left out.")
    return tuple(arms)


def _options() -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        learner = pick(
            "Classifier of the run",
            LEARNERS,
            "use_learner",
            "; ".join(f"{name}: {TITLES[kind.kind]}" for name, kind in LEARNERS.items()) + ".",
            width=230,
        )
        seeds = whole_number(
            "Trials",
            1,
            LIVE_SEEDS,
            3,
            "use_trials",
            "Each draws all noise and the division into training and test texts anew. "
            "An interval needs two, and is of use from three on.",
            width=130,
        )
        attack = st.toggle(
            "Infer membership too",
            value=True,
            key="use_attack",
            bind="query-params",
            help="An attacker asks which texts the classifier was trained on; takes a second or "
            "two for every ε.",
        )
    return {"learner": learner, "seeds": seeds, "attack": attack}


def _start(texts: Texts, arms: tuple[Arm, ...], lexicon: str, options: dict[str, Any]) -> None:
    old: Run | None = st.session_state.pop(_RUN, None)
    if old is not None:
        old.job.stop()
    try:
        live = Live(texts.texts, texts.corpus, arms, lexicon, **options)
    except DpcoreError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state[_RUN] = Run(live_jobs.start(live), live, texts.corpus)


@st.fragment(run_every=_PULSE_SECONDS)
def _watch() -> None:
    """How far the run is; the page is drawn anew when another part is done."""
    run: Run | None = st.session_state.get(_RUN)
    if run is None:
        return
    if run.job.done or run.job.finished != run.seen:
        st.rerun()
    share, sentence = run.job.progress()
    st.progress(share, text=f"{sentence}.")


def _stop(run: Run) -> None:
    run.job.stop()
    run.job.wait(_PATIENCE_SECONDS)


def _take_in(run: Run) -> None:
    """Make a table of what is there, if there is more than before."""
    finished, rows = run.job.finished, run.job.rows
    if finished != run.seen:
        run.rows, run.seen = Rows(tidy(rows)), finished


def _ending(run: Run) -> None:
    """Say how a run ended that is not whole."""
    job = run.job
    if job.error is not None:
        refuse("The run ended early; what was done before is shown.", DpcoreError(job.error))
    elif job.stopped:
        inform(f"Stopped after {run.seen} of {len(run.live.plan.cells())} parts.")


def title_of(run: Run) -> str:
    """What was run, in a few words."""
    live = run.live
    trials = "1 trial" if live.seeds == 1 else f"{live.seeds} trials"
    return (
        f"{CORPORA[run.corpus]}: {len(live.texts):,} texts, {trials}, classifier {live.learner}, "
        f"lexicon {live.lexicon}"
    )
