"""Whose outputs are in the panes: one mechanism of all, with its settings from the sidebar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.mechanisms.registry import MECHANISMS, resolve
from pages.shared.fields import pick
from pages.shared.language import say
from pages.shared.messages import refuse
from pages.shared.resources import mechanism
from pages.shared.sidebar import START_MECHANISM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.resources import Settings


def shown_mechanism(words: Lexicon, chosen: Iterable[tuple[str, Settings]]) -> Mechanism:
    """Draw the choice of the mechanism; one that refuses its settings ends the page.

    Args:
        words: the lexicon.
        chosen: registry keys and settings of the sidebar.
    """
    short = pick(
        say("Outputs of"),
        dict.fromkeys((START_MECHANISM, *(kind.short for kind in MECHANISMS.values()))),
        "outputs_of",
        say(
            "The mechanism whose outputs the two panes and the map show. The others are "
            "compared below; the sidebar chooses which, and has their settings."
        ),
        names=True,
        width=190,
    )
    key = resolve(short).key
    try:
        return mechanism(words, key, dict(chosen).get(key, ()))
    except DpcoreError as error:
        refuse(say("This mechanism is not there for these words or settings."), error)
        st.stop()
