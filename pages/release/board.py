"""The table: one row a mechanism, at the ε that meets the goal, for every step of the dial at once.

A component of ours shows it: the dial moves it in the browser alone. Every word of it comes from
here and is set as text there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.guarantee import Status
from dpcore.papers.ours.offers import COIN, Offer
from dpcore.plots.style import style_of
from pages.shared.language import numeral, say
from pages.shared.promised import of_100_at_least, promised_epsilon
from pages.shared.sidebar import START_MECHANISM
from pages.shared.signs import SIGNS

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.reading import Reading
    from pages.release.goal import Goal

_HERE = Path(__file__).parent
_KEY = "word_privacy_lab.offers"
_NARROW = 0.03
"""Of a share: an interval narrower than this says less than reading between two measurements."""
CHOSEN = "offer"
"""Field of the link: the mechanism that is chosen."""


@dataclass(frozen=True, eq=False)
class Row:
    """One mechanism.

    Attributes:
        mechanism: which.
        label: its name.
        offers: one a step of the dial.
    """

    mechanism: Mechanism
    label: str
    offers: tuple[Offer, ...]


@cache
def _component() -> Callable[..., Any]:
    css, js = ((_HERE / f"board.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component(_KEY, css=css, js=js)


def chosen_row(rows: Sequence[Row]) -> Row:
    """The row that is chosen: in this session, by the link, or where a fresh visit begins."""
    by_name = {row.mechanism.short: row for row in rows}
    wanted = st.session_state.get(CHOSEN, st.query_params.get(CHOSEN, START_MECHANISM))
    return by_name.get(wanted) or by_name.get(START_MECHANISM) or rows[0]


def show_board(
    rows: Sequence[Row], goal: Goal, step: int, without: float | None, choose: Callable[[str], None]
) -> None:
    """Draw the table.

    Args:
        rows: at least one.
        goal: whose dial moves it.
        step: where the dial stands.
        without: accuracy on texts as they are; None where nothing is known.
        choose: called with the short name of a mechanism when its row is chosen.
    """
    names = {row.mechanism.short for row in rows}

    def hear() -> None:
        heard = st.session_state.get("board", {}).get("chosen")
        if heard is not None and heard["key"] in names:
            choose(str(heard["key"]))

    data = packet(rows, goal, without) | {"step": step, "chosen": chosen_row(rows).mechanism.short}
    _component()(key="board", data=data, on_chosen_change=hear)


def packet(rows: Sequence[Row], goal: Goal, without: float | None) -> dict[str, Any]:
    """What the component is given: every cell at every step, as words."""
    accuracy = say("Accuracy")
    if without is not None:
        accuracy = say("Accuracy (clean {share})", share=percent(without))
    return {
        "group": goal.dial,
        "label": say("Mechanisms at the ε that meets the goal"),
        "columns": [
            say("Mechanism"),
            say("ε that meets the goal"),
            say("A stranger guesses"),
            accuracy,
            say("Who was in it? (AUC)"),
        ],
        "short": ["", "ε", say("Guessed"), say("Accuracy"), say("Who was in it? (AUC)")],
        "rows": [
            {
                "key": row.mechanism.short,
                "name": row.label,
                "colour": style_of(row.label).colour,
                "glyph": style_of(row.label).glyph,
                "steps": [_cells(row.mechanism, offer) for offer in row.offers],
            }
            for row in rows
        ],
        "findings": [
            finding([(row.label, row.offers[number]) for row in rows], goal, without)
            for number in range(len(goal.steps))
        ],
    }


def _cells(mechanism: Mechanism, offer: Offer) -> dict[str, Any]:
    if offer.epsilon is None:
        return {"status": "", "refuted": False, "cells": [say(offer.why), "", "", ""]}
    return {
        "status": badge(offer.status),
        "refuted": offer.status is Status.REFUTED,
        "cells": [
            promised_epsilon(mechanism, offer.epsilon)
            + (f" ({say(offer.why)})" if offer.why else ""),
            guessed_text(offer),
            say("not measured here") if offer.accuracy is None else accuracy_text(offer.accuracy),
            say("not measured here") if offer.auc is None else auc_text(offer.auc),
        ],
    }


def badge(status: Status | None) -> str:
    """How a promise stands, in a sign and a word."""
    return "" if status is None else f"{SIGNS[status]} {say(status.partition(' ')[0])}"


def guessed_text(offer: Offer) -> str:
    """The share of words that a stranger guesses, with its interval where that says something."""
    reading = offer.guessed
    if reading is None:
        return say("not measured here")
    value = say("{share:.2g} of 100", share=100 * reading.mean)
    if offer.at_least:
        value = of_100_at_least(reading.mean)
    if not reading.high - reading.low > _NARROW * reading.mean:
        return value
    ends = {"low": 100 * reading.low, "high": 100 * reading.high}
    return say("{value} ({low:.2g} to {high:.2g})", value=value, **ends)


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %"


def accuracy_text(reading: Reading) -> str:
    """Accuracy, with its interval if there is one."""
    if not (math.isfinite(reading.low) and math.isfinite(reading.high)):
        return say("{value} (one trial)", value=percent(reading.mean))
    ends = {"low": 100 * reading.low, "high": 100 * reading.high}
    return say("{value} ({low:.0f} to {high:.0f})", value=percent(reading.mean), **ends)


def auc_text(reading: Reading) -> str:
    """How well an attacker tells members; at or below a half he tosses a coin."""
    if not reading.mean > COIN:
        return say("{mean:.2f}: a coin, no gain", mean=reading.mean)
    if not (math.isfinite(reading.low) and math.isfinite(reading.high)):
        return say("{value} (one trial)", value=numeral(f"{reading.mean:.2f}"))
    ends = {"mean": reading.mean, "low": reading.low, "high": reading.high}
    if reading.low <= COIN:
        return say("{mean:.2f} ({low:.2f} to {high:.2f}), perhaps a coin", **ends)
    return say("{mean:.2f} ({low:.2f} to {high:.2f})", **ends)


def finding(offers: Sequence[tuple[str, Offer]], goal: Goal, without: float | None) -> str:
    """What the table shows at one step, in a sentence."""
    met = [(label, offer) for label, offer in offers if offer.epsilon is not None]
    if not met:
        return say("No mechanism of the table meets this goal: allow more, or choose others.")
    if goal.key == "guess":
        known = [(label, each.accuracy) for label, each in met if each.accuracy is not None]
        if not known:
            return say("What these texts teach was not measured yet: a run below does that.")
        best, most = max(known, key=lambda pair: pair[1].mean)
        rest = [each for label, each in known if label != best]
        alike = any(not each.high < most.low for each in rest)
        clean, tail = "", ""
        if without is not None:
            clean = say(", {share} without privacy", share=percent(without))
        if alike:
            tail = say("; others may be as good")
        return say(
            "{best} keeps most: {share} of texts read rightly{clean}{tail}.",
            best=best,
            share=percent(most.mean),
            clean=clean,
            tail=tail,
        )
    shares = [(label, each.guessed) for label, each in met if each.guessed is not None]
    if not shares:
        return say("How many words are guessed was not measured with these settings.")
    best, least = min(shares, key=lambda pair: pair[1].mean)
    return say(
        "{best} gives least away: {share:.2g} of 100 words guessed.",
        best=best,
        share=100 * least.mean,
    )
