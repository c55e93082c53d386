"""What can be turned in a step: bars, or one draw of noise, at settings that are all sent at once.

What would give the answer away is kept on the server until the guess is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dpcore.papers.lesson_turns import TURNS, Turn, turn
from pages.shared.language import Waiting, later, say
from pages.shared.resources import catalogued

if TYPE_CHECKING:
    from dpcore.papers.lesson_turns import Frame

_HERE = Path(__file__).parent
_FIRST = later("Take your guess below; then this is shown.")


@st.cache_resource(max_entries=len(TURNS), show_spinner=Waiting("Calculating…"))
def turned(key: str) -> Turn:
    """What can be turned in a step, on the bundled words, computed once for all sessions."""
    return turn(key, catalogued("default"))


@cache
def _component() -> Callable[..., Any]:
    css, js = ((_HERE / f"turning.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component("word_privacy_lab.turning", css=css, js=js)


def show_turn(key: str, *, guessed: bool) -> None:
    """Draw what can be turned.

    Args:
        key: of the step.
        guessed: whether its guess is made, so that everything may be seen.
    """
    shown = turned(key)
    data = {
        "label": say(shown.label),
        "action": say(shown.action),
        "noise": say("the noise"),
        "start": shown.start,
        "frames": [_sent(frame, guessed=guessed) for frame in shown.frames],
    }
    _component()(key=f"turning_{key}", data=data)


def _sent(frame: Frame, *, guessed: bool) -> dict[str, Any]:
    hidden = frame.asked and not guessed
    return {
        "name": say(frame.name),
        "bars": [
            [say(bar.name), None, "?"]
            if hidden
            else [say(bar.name), round(bar.share, 4), say(bar.text)]
            for bar in frame.bars
        ],
        "finding": say(_FIRST if hidden else frame.finding),
        "landing": None if frame.landing is None else asdict(frame.landing),
    }


def turn_table(key: str, *, guessed: bool) -> pd.DataFrame:
    """The bars of a step, one row each, as far as they may be seen."""
    shown = turned(key)
    rows = [
        (frame.name, bar.name, bar.share, bar.text)
        for frame in shown.frames
        if guessed or not frame.asked
        for bar in frame.bars
    ]
    return pd.DataFrame(rows, columns=[shown.label, "what", say("length of the bar"), "number"])
