"""Adversarial accuracy on a sample of texts, with its interval, over the runs of a session."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.plots.robust.shares import COLUMNS, lines_figure
from dpcore.plots.style import Caption, percent
from pages.robustness.attack_work import NETWORKS, Hunt, Trial, trial
from pages.shared.dial import group_of
from pages.shared.figure import show_figure
from pages.shared.language import numeral, say
from pages.shared.link import segments
from pages.shared.messages import note, refuse
from pages.shared.once import memo
from pages.shared.progress import Reporter
from pages.shared.table import PERCENT, numbers, show_table

_ASKED, _RUNS = "sample_asked", "sample_runs"
_SIZES = (10, 25, 50, 100, 200)
_MOST = 40  # runs that are kept


def sample_view(words: Lexicon, hunt: Hunt) -> None:
    """Draw the size, the button, and the runs of this session."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = segments(
            say("Texts that are attacked"),
            _SIZES,
            "sample_size",
            say(
                "Spread over the 432 test texts. The laws of their words take most of the time: "
                "about a hundredth of a second a word under tem."
            ),
            start=25,
            format_func=str,
        )
        st.button(
            say("Attack the sample"),
            key="sample_start",
            icon=":material/play_arrow:",
            on_click=lambda: st.session_state.update({_ASKED: True}),
            help=say(
                "With the classifier, words and settings above. Runs stay below until the "
                "session ends, so that another ε or classifier can be compared."
            ),
        )
    # All runs of the session: one learns from comparing them.
    runs: dict[Any, tuple[Hunt, Trial]] = st.session_state.setdefault(_RUNS, {})
    # Only on request: a sample takes from seconds to minutes.
    if st.session_state.pop(_ASKED, False):
        _run(words, hunt, count, runs)
    if not runs:
        note(say("Nothing has been attacked yet."))
        return
    _runs(runs)


def _run(words: Lexicon, hunt: Hunt, count: int, runs: dict[Any, tuple[Hunt, Trial]]) -> None:
    key = (hunt, words.fingerprint, count)
    if key in runs:
        runs[key] = runs.pop(key)  # moved to the end, since the last one is described
        return
    try:
        with Reporter(say("Attacking texts"), stop="sample_stop") as progress:
            memo(runs, key, lambda: (hunt, trial(words, hunt, count, progress)), _MOST)
    except DpcoreError as error:
        refuse(say("The sample cannot be attacked."), error)


def _runs(runs: dict[Any, tuple[Hunt, Trial]]) -> None:
    rows = []
    for hunt, done in runs.values():
        mechanism = hunt.mechanism
        rows.append(
            {
                "classifier": hunt.victim,
                "labels": hunt.rules.labels,
                "words tried": say("{count} nearest", count=hunt.neighbours)
                if mechanism is None
                else mechanism.short,
                "ε": None if mechanism is None else hunt.epsilon,
                "may change": hunt.settings.share,
                "population": hunt.settings.population,
                "generations": hunt.settings.generations,
                "texts": done.accuracy.documents,
                "before": done.accuracy.clean,
                "after": done.accuracy.accuracy,
                "from": done.accuracy.low,
                "to": done.accuracy.high,
                "certified": done.certified,
            }
        )
    table = pd.DataFrame(rows)
    # The last one is described; the table has them all.
    last = table.iloc[-1]
    kind = (
        say("certificate by interval bounds")
        if last["classifier"] in NETWORKS
        else say("exact certificate")
    )
    ends = {name: numeral(percent(last[name])) for name in ("before", "after", "from", "to")}
    told = say(
        "Last run: of {texts} texts {before} are classified correctly before and {after} after "
        "the attack (95 % interval over such texts {from} to {to}).",
        texts=last["texts"],
        **ends,
    )
    # A certificate exists for the nearest words alone.
    if pd.notna(last["certified"]):
        sure = say(
            "The {kind} covers {share} of them: no attack with these words gets below that.",
            kind=kind,
            share=percent(last["certified"]),
        )
        told = f"{told} {sure}"
    st.text(told)
    _against_epsilon(runs)
    shares = ("may change", "before", "after", "from", "to", "certified")
    show_table(
        table,
        say("The runs of this session: what was attacked, and the accuracy before and after"),
        spoken=["classifier", "labels"],
        column_config={**numbers(shares, PERCENT), **numbers(["ε"])},
    )
    note(
        say(
            "Adversarial accuracy is an upper bound: a better attack may get below it. The "
            "interval is Clopper–Pearson's."
        )
    )


def _against_epsilon(runs: dict[Any, tuple[Hunt, Trial]]) -> None:
    """Draw runs that differ in ε alone, as a curve with intervals."""
    (last, done) = list(runs.values())[-1]
    if last.mechanism is None:
        return
    same = [
        (hunt.epsilon, other.accuracy)
        for hunt, other in runs.values()
        if hunt.mechanism == last.mechanism
        and (hunt.rules, hunt.victim, hunt.settings, hunt.seed)
        == (last.rules, last.victim, last.settings, last.seed)
        and other.accuracy.documents == done.accuracy.documents
    ]
    # A curve needs two points.
    if len({epsilon for epsilon, _ in same}) < 2:
        note(say("Attack the sample at another ε as well, and the two are drawn as a curve."))
        return
    rows: list[tuple[str, float, float, float | None, float | None]] = [
        ("after the attack", epsilon, run.accuracy, run.low, run.high)
        for epsilon, run in sorted(same, key=lambda pair: pair[0])
    ]
    rows += [("before", epsilon, run.clean, None, None) for epsilon, run in sorted(
        same, key=lambda pair: pair[0]
    )]  # fmt: skip
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"low": float, "high": float})
    after = table[table["curve"] == "after the attack"].set_index("x")["mean"]
    show_figure(
        lines_figure(table, group_of(last.mechanism.meaning).title, "accuracy", logarithm=True),
        Caption(
            say(
                "Accuracy after the attack is lowest, {least}, at ε = {first:.3g} and highest, "
                "{most}, at ε = {second:.3g}.",
                least=percent(after.min()),
                first=after.idxmin(),
                most=percent(after.max()),
                second=after.idxmax(),
            ),
            say("{documents} texts; bands are 95 % intervals.", documents=done.accuracy.documents),
        ),
        table,
        "sample_epsilon",
    )
