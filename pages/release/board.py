"""Table with one row per mechanism, at the ε that meets the goal, for every step of the dial.

Our own component shows it: moving the dial needs only the browser. All its words come from the
server and are set as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.errors import StudyError
from dpcore.guarantee import Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.equal_leakage import task_curves
from dpcore.papers.ours.offers import (
    COIN,
    UNLEARNED,
    Clean,
    Offer,
    accuracy_offer,
    clean_accuracy,
    guess_offer,
    run_curves,
    solved_for,
)
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.plots.style import style_of
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.study.recorded import Figures, MeanInterval
from dpcore.study.utility import Solved
from pages.release.running import Run
from pages.release.uploading import Source
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.figure import SVG_FILES
from pages.shared.fragments import fragment, run_parts
from pages.shared.guessed import of_hundred
from pages.shared.language import later, numeral, say
from pages.shared.link import choose_one
from pages.shared.messages import SIGNS
from pages.shared.once import latest, once, session_memo
from pages.shared.promised import of_100, of_100_at_least, promised_epsilon
from pages.shared.sidebar import START_MECHANISM
from pages.shared.taking import recorded

_HERE = Path(__file__).parent
_KEY = "word_privacy_lab.offers"
_NARROW = 0.03
"""Relative width up to which an interval is hidden: interpolation is less accurate than that."""
_GAP = later("not measured here")
_UNMEASURED = later("Accuracy on your file is not measured yet.")
_UNLEARNABLE = later(
    "Nothing shows that this label can be learned from these texts: without privacy a classifier "
    "is right on {share}, and always guessing the largest class on {majority}. So accuracy cannot "
    "be compared."
)
CHOSEN = "offer"
"""Field of the link: the chosen mechanism."""


@dataclass(frozen=True, eq=False)
class Row:
    """One mechanism.

    Attributes:
        mechanism: the mechanism.
        label: its name.
        offers: one per step of the dial.
    """

    mechanism: Mechanism
    label: str
    offers: tuple[Offer, ...]


@cache
def _component() -> Callable[..., Any]:
    css = (_HERE / "board.css").read_text(encoding="utf-8")
    scripts = *SVG_FILES, _HERE / "board.js"
    js = "\n".join(script.read_text(encoding="utf-8") for script in scripts)
    return st.components.v2.component(_KEY, css=css, js=js)


def chosen_row(rows: Sequence[Row]) -> Row:
    """Return the chosen row: that of this session, else of the link, else the default."""
    by_name = {row.mechanism.short: row for row in rows}
    wanted = st.session_state.get(CHOSEN, st.query_params.get(CHOSEN, START_MECHANISM))
    # The chosen mechanism may have been taken off the table in the sidebar.
    return by_name.get(wanted) or by_name.get(START_MECHANISM) or rows[0]


def show_board(
    rows: Sequence[Row], goal: Goal, step: int, clean: Clean | None, choose: Callable[[str], None]
) -> None:
    """Draw the table.

    Args:
        rows: at least one.
        goal: goal whose dial moves the table.
        step: current step of the dial.
        clean: accuracy on the original texts; None if unknown.
        choose: called with the short name of a mechanism when its row is clicked.
    """
    names = {row.mechanism.short for row in rows}

    def hear() -> None:
        heard = st.session_state.get("board", {}).get("chosen")
        # The key comes from a browser, so it is checked like any input.
        if heard is not None and heard["key"] in names:
            choose(str(heard["key"]))

    data = packet(rows, goal, clean) | {"step": step, "chosen": chosen_row(rows).mechanism.short}
    _component()(key="board", data=data, on_chosen_change=hear)


def packet(rows: Sequence[Row], goal: Goal, clean: Clean | None) -> dict[str, Any]:
    """Return the data of the component: every cell at every step, as words."""
    offers = [offer for row in rows for offer in row.offers]
    columns = [say("Mechanism"), say("ε that meets the goal"), say("Words guessed")]
    columns.append(say("Near ones"))
    short = ["", "ε", say("Guessed"), say("Near")]
    # A column of nothing but gaps would say as often as there are rows that it is empty.
    learned = [
        name
        for name in _LEARNED
        if any(getattr(offer, name) for offer in offers) or (name == "accuracy" and clean)
    ]
    if "accuracy" in learned:
        short.append(say("Accuracy"))
        columns.append(
            short[-1]
            if clean is None
            else say("Accuracy (clean {share})", share=percent(clean.accuracy.mean))
        )
    if "auc" in learned:
        columns.append(say("Who was in it? (AUC)"))
        short.append(columns[-1])
    return {
        "group": goal.dial,
        "label": say("Mechanisms at the ε that meets the goal"),
        "columns": columns,
        "short": short,
        "rows": [
            {
                "key": row.mechanism.short,
                "name": row.label,
                "colour": style_of(row.label).colour,
                "glyph": style_of(row.label).glyph,
                "steps": [_cells(row.mechanism, offer, learned) for offer in row.offers],
            }
            for row in rows
        ],
        "findings": [
            finding([(row.label, row.offers[number]) for row in rows], goal, clean)
            for number in range(len(goal.steps))
        ],
    }


def _cells(mechanism: Mechanism, offer: Offer, learned: Sequence[str]) -> dict[str, Any]:
    if offer.epsilon is None:
        rest = [""] * (2 + len(learned))
        return {"status": "", "refuted": False, "cells": [say(offer.why), *rest]}
    cells = [
        guessed_text(offer.guessed, offer.at_least),
        guessed_text(offer.near, offer.at_least),
        *(_LEARNED[name](getattr(offer, name)) for name in learned),
    ]
    gap = say(_GAP)
    first = cells.index(gap) if gap in cells else len(cells)
    return {
        "status": badge(offer.status),
        # Marked in its row: a refuted promise may still have the best numbers.
        "refuted": offer.status is Status.REFUTED,
        "cells": [
            promised_epsilon(mechanism, offer.epsilon)
            + (f" ({say(offer.why)})" if offer.why else ""),
            # Said once in a row; the other gaps are dashes.
            *("–" if cell == gap and i > first else cell for i, cell in enumerate(cells)),
        ],
    }


def badge(status: Status | None) -> str:
    """Return the status of a guarantee as a sign and a word."""
    return "" if status is None else f"{SIGNS[status]} {say(status.partition(' ')[0])}"


def guessed_text(reading: MeanInterval | None, at_least: bool) -> str:
    """Format a share of words that are guessed, with its interval if informative."""
    if reading is None:
        return say(_GAP)
    value = say("{share:.2g} of 100", share=100 * reading.mean)
    if at_least:
        # A lower bound, so it is rounded down.
        value = of_100_at_least(reading.mean)
    if not reading.high - reading.low > _NARROW * reading.mean:
        return value
    ends = {"low": 100 * reading.low, "high": 100 * reading.high}
    return say("{value} ({low:.2g} to {high:.2g})", value=value, **ends)


def percent(share: float) -> str:
    """Format a share in whole percent."""
    return f"{100 * share:.0f} %"


def accuracy_text(reading: MeanInterval | None) -> str:
    """Format accuracy, with its interval if there is one."""
    if reading is None:
        return say(_GAP)
    # A single trial has no spread, and so no interval.
    if not (math.isfinite(reading.low) and math.isfinite(reading.high)):
        return say("{value} (one trial)", value=percent(reading.mean))
    ends = {"low": 100 * reading.low, "high": 100 * reading.high}
    return say("{value} ({low:.0f} to {high:.0f})", value=percent(reading.mean), **ends)


def auc_text(reading: MeanInterval | None) -> str:
    """Describe how well an attacker recognises members; an AUC of a half or less is a coin toss."""
    if reading is None:
        return say(_GAP)
    if not reading.mean > COIN:
        return say("{mean:.2f}: a coin toss", mean=reading.mean)
    if not (math.isfinite(reading.low) and math.isfinite(reading.high)):
        return say("{value} (one trial)", value=numeral(f"{reading.mean:.2f}"))
    ends = {"mean": reading.mean, "low": reading.low, "high": reading.high}
    if reading.low <= COIN:
        return say("{mean:.2f} ({low:.2f} to {high:.2f}), maybe a coin toss", **ends)
    return say("{mean:.2f} ({low:.2f} to {high:.2f})", **ends)


_LEARNED: dict[str, Callable[[MeanInterval | None], str]] = {
    "accuracy": accuracy_text,
    "auc": auc_text,
}
"""Attributes of an offer that a run measures, and their text."""


def finding(offers: Sequence[tuple[str, Offer]], goal: Goal, clean: Clean | None) -> str:
    """Summarise the table at one step in a sentence."""
    if clean is None and not goal.quantity:
        return say(_UNMEASURED)
    if clean is not None and not clean.learnable:
        return say(
            _UNLEARNABLE,
            share=accuracy_text(clean.accuracy),
            majority=percent(clean.majority),
        )
    met = [(label, offer) for label, offer in offers if offer.epsilon is not None]
    best = best_of(offers, goal)
    if not met:
        return say(
            "No mechanism in the table meets this goal: relax it, or choose others in the sidebar."
        )
    if goal.quantity:
        accuracies = {label: each.accuracy for label, each in met if each.accuracy is not None}
        if best is None:
            return say(_UNMEASURED)
        most = accuracies.pop(best)
        # Written so that NaN, the interval of a single trial, counts as alike.
        alike = any(not each.high < most.low for each in accuracies.values())
        original, tail = "", ""
        if clean is not None:
            share = percent(clean.accuracy.mean)
            original = say(", {share} without privacy", share=share)
        if alike:
            tail = say("; others may be as good")
        return say(
            "Most useful: {best}. A classifier is right on {share} of the texts{clean}{tail}; "
            "{near} of 100 words are guessed if near ones count.",
            best=best,
            share=percent(most.mean),
            clean=original,
            tail=tail,
            near=_near(met, best),
        )
    least = None if best is None else dict(met)[best].guessed
    if best is None or least is None:
        return say("How many words are guessed was not measured with these settings.")
    return say(
        "{best} gives least away: {share} of 100 content words guessed, {near} if near ones count.",
        best=best,
        share=of_hundred(least.mean, dict(met)[best].at_least),
        near=_near(met, best),
    )


def best_of(offers: Sequence[tuple[str, Offer]], goal: Goal) -> str | None:
    """Return the mechanism that `finding` names: most accurate, or least guessed; None if none."""
    met = [(label, offer) for label, offer in offers if offer.epsilon is not None]
    if goal.quantity:
        losses = {label: -each.accuracy.mean for label, each in met if each.accuracy is not None}
    else:
        losses = {label: each.guessed.mean for label, each in met if each.guessed is not None}
    return min(losses, key=losses.__getitem__, default=None)


def was_chosen() -> bool:
    """Return True if a row was chosen, in this session or by the link."""
    return CHOSEN in st.session_state or CHOSEN in st.query_params


def _near(met: Sequence[tuple[str, Offer]], label: str) -> str:
    offer = dict(met)[label]
    if offer.near is None:
        return say("an unknown number")
    return of_hundred(offer.near.mean, offer.at_least)


# Goal: a limit on guessed words, or on lost accuracy; one dial for each.


_TURNING = "release_turning"


@dataclass(frozen=True)
class Goal:
    """Goal of a release.

    Attributes:
        key: name in links.
        name: label in the choice.
        title: title at the dial.
        steps: steps of the dial, in percent, ascending.
        start: default step.
        unit: text after the number.
        ends: meanings of the two ends of the dial.
        quantity: the leakage that it limits; empty for accuracy.
    """

    key: str
    name: str
    title: str
    steps: tuple[float, ...]
    start: float
    unit: str
    ends: tuple[str, str]
    quantity: str = ""

    @property
    def field(self) -> str:
        """Field of the link."""
        return f"aim_{self.key}"

    @property
    def dial(self) -> str:
        """Name of the dial."""
        return f"goal_{self.key}"


_LEARNS = later("← learns less"), later("learns more →")
GOALS = {
    "guess": Goal(
        "guess",
        later("Words"),
        later("Guessed by frequency, at most"),
        # From 1: with nothing released, .44 of 100 are guessed.
        (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90),
        10,
        later("of 100 content words"),
        _LEARNS,
        GUESSED,
    ),
    "near": Goal(
        "near",
        later("Near words"),
        later("Guessed with near ones, by frequency, at most"),
        # From 2: with nothing released, 1.7 of 100 are guessed within nine neighbours.
        (2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90),
        20,
        later("of 100 content words"),
        _LEARNS,
        NEARLY,
    ),
    "accuracy": Goal(
        "accuracy",
        later("Accuracy"),
        later("Accuracy lost, at most"),
        (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 25, 28, 30, 35, 40),
        20,
        "points",
        # The other way round than the dials of leakage: more accuracy lost is more privacy.
        (later("← more useful"), later("more private →")),
    ),
}


def choose_goal() -> Goal:
    """Draw the choice of the goal."""
    return GOALS[
        choose_one(
            st.segmented_control,
            say("Goal"),
            {key: goal.name for key, goal in GOALS.items()},
            "aim",
            required=True,
            label_visibility="collapsed",
            help=say(
                "The limit to keep. Words: of 100 content words, how many are guessed by someone "
                "who knows how common words are. Near words: the same, where one of the nine "
                "nearest words counts too. Accuracy: how many points a classifier loses that "
                "learns from private texts."
            ),
        )
    ]


def step_of(goal: Goal) -> int:
    """Return the current step of the dial: from the session, else the link, else the default."""
    text = st.session_state.get(goal.field, st.query_params.get(goal.field, ""))
    try:
        wanted = float(text)
    except ValueError:
        wanted = goal.start
    return min(range(len(goal.steps)), key=lambda i: abs(goal.steps[i] - wanted))


def goal_dial(goal: Goal, offers: Sequence[Sequence[Offer]], follows: str) -> None:
    """Draw the dial in its own fragment.

    Args:
        goal: goal that the dial sets.
        offers: offers of each mechanism, one per step.
        follows: the fragment that runs when it rests, since run and release depend on the step.
    """
    fragment(_turning, goal, offers, follows, key=_TURNING)


def _turning(goal: Goal, offers: Sequence[Sequence[Offer]], follows: str) -> None:
    def rested(step: int) -> None:
        _set(goal, step)
        run_parts(follows)

    show_dial(_dial(goal, offers), step_of(goal), rested)


def _set(goal: Goal, step: int) -> None:
    value = f"{goal.steps[step]:g}"
    st.session_state[goal.field] = value
    link.write(goal.field, value, f"{goal.start:g}")


def _dial(goal: Goal, offers: Sequence[Sequence[Offer]]) -> Dial:
    steps = []
    for number, value in enumerate(goal.steps):
        left = say(goal.title), f"{numeral(f'{value:g}')} {say(goal.unit)}"
        right = _reading(goal, [each[number] for each in offers])
        spoken = f"{' '.join(left)}; {right[0]}: {right[1]}"
        steps.append(Step(left, right, spoken, share=value / 100))
    return Dial(goal.dial, say(goal.title), tuple(steps), goal.ends, (("share", say(goal.unit)),))


def _reading(goal: Goal, offers: Sequence[Offer]) -> tuple[str, str]:
    """Return the range of ε of the mechanisms that meet the goal, or of the words guessed there."""
    met = [offer for offer in offers if offer.epsilon is not None]
    # For a goal of leakage the ε is news; for one of accuracy it is what is guessed.
    if goal.quantity:
        about, numbers = say("ε each method needs"), [offer.epsilon or 0.0 for offer in met]
        ends = [
            numeral(f"{number:.3g}")
            for number in (min(numbers, default=0), max(numbers, default=0))
        ]
        span = f"ε = {ends[0]}"
        if ends[0] != ends[1]:
            span = say("ε = {low} to {high}", low=ends[0], high=ends[1])
    else:
        about = say("Content words guessed")
        shares = [offer.guessed.mean for offer in met if offer.guessed is not None]
        low, high = (of_100(share) for share in (min(shares, default=0), max(shares, default=0)))
        span = (
            say("{low} words", low=low)
            if low == high
            else say("{low} to {high}", low=low, high=high)
        )
        met = met if shares else []
    if not met and all(offer.why == UNLEARNED for offer in offers):
        return about, say("not measured yet")
    return about, span if met else say("none meets it")


# Offers for these texts: every chosen mechanism at every step of the dial.


RECORD, LEARNER = "equal-leakage", "tf-idf"
"""Record of the teaching corpus, and the classifier whose accuracy it holds."""
_READ = 20_000  # largest number of words read to find the share in the vocabulary
_KEPT = 400  # rows, over all mechanisms, goals and labellings


def offers_for(
    source: Source | None, run: Run | None, members: Sequence[Mechanism], goal: Goal
) -> tuple[list[Row], Clean | None]:
    """Return the rows of the table, and the accuracy on the original texts if it is known.

    Results of a run on a file apply to that file; those of the teaching corpus are recorded.

    Args:
        source: the texts; None where a table was refused.
        run: run on these texts, if there is one.
        members: the chosen mechanisms.
        goal: goal that they should meet.

    Raises:
        DpcoreError: a record cannot be read.
    """
    if source is not None and not source.own:
        labelling = source.corpus
        curves, solved, recorded_clean = _recorded(labelling)

        def kept(kind: Mechanism, make: Callable[[], tuple[Offer, ...]]) -> tuple[Offer, ...]:
            # Shared by all sessions: record, mechanism and goal, and nothing of a file.
            return once("offers", (kind, goal.key, labelling), make, _KEPT)

        rows = [_row(kind, goal, curves, solved, "", kept) for kind in members]
        return rows, recorded_clean
    measured, answers, clean = _measured(run)

    def mine(kind: Mechanism, make: Callable[[], tuple[Offer, ...]]) -> tuple[Offer, ...]:
        # In the session, and made again with every part of the run that is done.
        done = (id(run), run.seen) if run is not None else None
        return session_memo("offers_here", (kind, goal.key, done), make, 60)

    return [_row(kind, goal, measured, answers, kind.short, mine) for kind in members], clean


def _row(
    kind: Mechanism,
    goal: Goal,
    taught: Mapping[str, TradeCurve],
    solved: Sequence[Mapping[str, Solved]],
    label: str,
    kept: Callable[[Mechanism, Callable[[], tuple[Offer, ...]]], tuple[Offer, ...]],
) -> Row:
    curve = recorded_curve(kind)
    # A record names its curves by mechanism and setting, a run by the mechanism alone.
    learned = label or ("" if curve is None else curve.label)

    def make() -> tuple[Offer, ...]:
        texts = taught.get(learned)
        if goal.quantity:
            return tuple(
                guess_offer(kind, curve, texts, share / 100, goal.quantity) for share in goal.steps
            )
        return tuple(accuracy_offer(kind, curve, texts, answers.get(learned)) for answers in solved)

    return Row(kind, kind.short if curve is None else curve.label, kept(kind, make))


@cache
def _recorded(
    labelling: str,
) -> tuple[dict[str, TradeCurve], list[dict[str, Solved]], Clean]:
    figures = Figures(recorded(RECORD))
    solved = solved_for(figures.recorded.table, GOALS["accuracy"].steps, LEARNER, labelling)
    clean = clean_accuracy(figures.recorded.table, LEARNER, labelling)
    return task_curves(figures, labelling), solved, clean


def _measured(
    run: Run | None,
) -> tuple[Mapping[str, TradeCurve], Sequence[Mapping[str, Solved]], Clean | None]:
    """Return the results of a run so far; empty if it has not begun."""
    nothing: list[dict[str, Solved]] = [{} for _ in GOALS["accuracy"].steps]
    if run is None or run.rows is None:
        return {}, nothing, None
    table, learner = run.rows.table, run.live.learner
    clean, solved = None, nothing
    with suppress(StudyError):  # a run with one trial, or without its baseline yet
        clean = clean_accuracy(table, learner)
        solved = solved_for(table, GOALS["accuracy"].steps, learner)
    return run_curves(table, learner), solved, clean


def in_vocabulary(source: Source, words: Lexicon) -> tuple[int, int, int]:
    """Count the words of the first texts in the vocabulary, all words, and texts with words."""

    def count() -> tuple[int, int, int]:
        texts: list[str] = []
        left = _READ
        for text in source.texts:
            left -= len(text.split())
            # At least one text, however long: a share of no words says nothing.
            if texts and left < 0:
                break
            texts.append(text)
        words_read = encode_all(texts, words, DEFAULT_TREATMENT, for_text=False).words
        filled = sum(bool(text.strip()) for text in texts)
        return int((words_read >= 0).sum()), int(words_read.size), filled

    identity = (source.identity, source.text, words.fingerprint)
    if not source.own:  # our own texts, the same for all sessions
        return once("release vocabulary", identity, count, 4)
    return latest("release_vocabulary", identity, count)
