"""Recorded results at equal leakage: words recovered by readers, and authors identified."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.attack.language.authors import WRITTEN
from dpcore.attack.language.context import BIGRAM, SMOLLM2, WORDS
from dpcore.attack.language.recovered import BLIND, FREQUENCY
from dpcore.errors import DpcoreError
from dpcore.papers.ours import authors
from dpcore.papers.ours.reader import FIRST, GAIN_FIRST, GAIN_TEN, LARGE, READ_BY, STUDY, TENTH
from dpcore.study.recorded import Recorded
from pages.shared.language import later, numeral, say
from pages.shared.link import segments
from pages.shared.messages import note, refuse
from pages.shared.table import show_table
from pages.shared.taking import recorded, show_line

_QUANTITIES = {later("first guess"): (FIRST, GAIN_FIRST), later("first ten"): (TENTH, GAIN_TEN)}
_PERCENT = "{value:.1%} ({low:.1%} to {high:.1%})"
_PLAIN = "{value:.2f} ({low:.2f} to {high:.2f})"
ALONE = {
    BLIND: later("knows English, sees nothing"),
    FREQUENCY: later("sees the output alone"),
}
"""Knowledge of the attackers who do not read the text."""
_TITLES = ALONE | {
    WRITTEN: later("reads what was written"),
    BIGRAM: later("reads on by bigrams"),
    WORDS: later("reads on by the network too"),
    SMOLLM2: later("reads on by a language model too"),
}


def recovered_view() -> None:
    """Draw the recorded shares, the gains of readers over the bigrams, and the authors named."""
    st.header(say("All mechanisms at equal leakage"), anchor=False)
    counted = segments(
        say("A word counts as recovered if it is the"),
        _QUANTITIES,
        "got_back",
        say("The attacker names one word, or ten in order of belief."),
        start="first ten",
    )
    try:
        _shares(recorded(STUDY.name), *_QUANTITIES[counted], WORDS)
        note(
            say(
                "A language model with 135 million weights, which scores whole sentences, read "
                "the same releases."
            )
        )
        _shares(recorded(LARGE.name), *_QUANTITIES[counted], SMOLLM2)
        st.header(say("Who wrote it"), anchor=False)
        _authors(recorded(authors.STUDY.name))
    except DpcoreError as error:
        refuse(say("The recorded study is missing."), error)


def _shares(record: Recorded, quantity: str, gained: str, reader: str) -> None:
    """Draw the table of one reader, and its gain over the bigrams."""
    told = say("Shares of the changed content words that each attacker recovers, by mechanism")
    show_table(
        _by_attacker(record, quantity, (*READ_BY, reader), say("changed words"), percent=True),
        f"{told}: {say(_TITLES[reader])}",  # a screen reader needs two names
    )
    gains = record.table[record.table["quantity"] == gained]
    note(
        say(
            "Shares with 95 % intervals from the spread between texts, each mechanism at the ε "
            "where one output gives away that share of the words. The last reader certainly "
            "recovers more than the bigrams in {better} of {all} rows, and certainly less in "
            "{worse}. Recorded by:",
            # For certain: the whole interval of the gain is on one side of 0.
            better=int((gains["low"] > 0).sum()),
            all=len(gains),
            worse=int((gains["high"] < 0).sum()),
        )
    )
    show_line(record.entry.command)


def _authors(record: Recorded) -> None:
    """Draw the mean rank of a passage's author."""
    names = (WRITTEN, FREQUENCY, BIGRAM, WORDS)
    show_table(
        _by_attacker(record, "author place", names, say("passages"), percent=False),
        say("Mean rank of the author of a released passage, by mechanism"),
    )
    chance = float(record.table.loc[record.table["quantity"] == "place by chance", "value"].max())
    note(
        say(
            "{blogs} blogs are known by the words of their other texts; the one whose words fit "
            "the released passage best comes first. By chance the rank is {chance}. With 95 % "
            "intervals from the spread between documents. For your own texts: `python -m "
            "dpcore attack --authors`. Recorded by:",
            # The mean place among n blogs by chance is (n + 1)/2.
            blogs=round(2 * chance - 1),
            chance=numeral(f"{chance:g}"),
        )
    )
    show_line(record.entry.command)


def _by_attacker(
    record: Recorded, quantity: str, names: Sequence[str], of: str, *, percent: bool
) -> pd.DataFrame:
    """Return one row per mechanism and level, one column per attacker."""
    form = _PERCENT if percent else _PLAIN
    rows = record.table[record.table["quantity"] == quantity]
    lines = []
    for (label, level), some in rows.groupby(["label", "at"], sort=False):
        by_attacker = some.set_index("variant")
        lines.append(
            {
                say("mechanism"): label,
                say("guessed of single words"): f"{level:.0%}",
                of: int(by_attacker["count"].iloc[0]),
            }
            | {
                say(_TITLES[name]): form.format_map(by_attacker.loc[name].to_dict())
                for name in names
            }
        )
    return pd.DataFrame(lines)
