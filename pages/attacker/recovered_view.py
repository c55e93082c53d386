"""What was measured at equal leakage: how many changed words a reader of English gets back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.attack.language.context import BIGRAM, SMOLLM2, WORDS
from dpcore.attack.language.recovered import BLIND, FREQUENCY
from dpcore.errors import DpcoreError
from dpcore.papers.ours.reader import LARGE, STUDY
from dpcore.study.reader_trial import FIRST, GAIN_TEN, READ_BY, TENTH
from pages.shared.fields import segments
from pages.shared.language import later, say
from pages.shared.messages import note, refuse
from pages.shared.recorded import recorded
from pages.shared.reproducing import show_line
from pages.shared.table import show_table

if TYPE_CHECKING:
    from dpcore.study.recorded import Recorded

_QUANTITIES = {later("first guess"): FIRST, later("first ten"): TENTH}
ALONE = {
    BLIND: later("knows English, sees nothing"),
    FREQUENCY: later("sees the output alone"),
}
"""What attackers know who do not read the text."""
_TITLES = ALONE | {
    BIGRAM: later("reads on by bigrams"),
    WORDS: later("reads on by the network too"),
    SMOLLM2: later("reads on by a language model too"),
}


def recovered_view() -> None:
    """Draw the recorded shares, and what each network gets back beyond the bigrams."""
    st.header(say("All mechanisms at equal leakage"), anchor=False)
    counted = segments(
        say("A word is got back if it is the"),
        _QUANTITIES,
        "got_back",
        say("The attacker names one word, or ten in order of belief."),
        start="first ten",
    )
    try:
        _shares(recorded(STUDY.name), _QUANTITIES[counted], WORDS)
        note(
            say(
                "A language model of 135 million weights, which weighs whole sentences, read the "
                "same texts of a few mechanisms."
            )
        )
        _shares(recorded(LARGE.name), _QUANTITIES[counted], SMOLLM2)
    except DpcoreError as error:
        refuse(say("The recorded study is missing."), error)


def _shares(record: Recorded, quantity: str, reader: str) -> None:
    """The table of one reader, and what it gets back beyond the bigrams."""
    rows = record.table[record.table["quantity"] == quantity]
    lines = []
    for (label, level), some in rows.groupby(["label", "at"], sort=False):
        by_attacker = some.set_index("variant")
        lines.append(
            {
                say("mechanism"): label,
                say("guessed of single words"): f"{level:.0%}",
                say("changed words"): int(by_attacker["count"].iloc[0]),
            }
            | {
                say(_TITLES[name]): "{value:.1%} ({low:.1%} to {high:.1%})".format_map(
                    by_attacker.loc[name].to_dict()
                )
                for name in (*READ_BY, reader)
            }
        )
    show_table(
        pd.DataFrame(lines),
        say("Shares of the changed content words that each attacker gets back, by mechanism"),
    )
    gains = record.table[record.table["quantity"] == GAIN_TEN]
    note(
        say(
            "Shares with 95 % intervals from the spread between texts, each mechanism at the ε "
            "where one output gives away that share of the words. In the first ten the network "
            "gets back more than the bigrams for certain in {better} of {all} rows, and less for "
            "certain in {worse}. Recorded by:",
            better=int((gains["low"] > 0).sum()),
            all=len(gains),
            worse=int((gains["high"] < 0).sum()),
        )
    )
    show_line(record.entry.command)
