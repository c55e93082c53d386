"""Recorded success rates of three attackers on real text, against ε."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpcore.attack.language.trial import read_recorded_trial
from dpcore.errors import StudyError
from dpcore.mechanisms.registry import resolve
from dpcore.plots.attack.success import COLUMNS, success_caption, success_figure
from pages.attacker.scene import AttackerScene
from pages.shared.figure import show_figure
from pages.shared.language import later, say
from pages.shared.messages import note, refuse
from pages.shared.taking import show_line

TITLES = {
    "likeliest": later("all words alike"),
    "frequency": later("common words first"),
    "context": later("reads the sentence"),
}
"""Attacker of the record -> its title."""
_KINDS = {
    later("all words"): "all",
    later("without function words"): "content",
    later("replaced words"): "changed",
}
_START = "replaced words"


def recorded_view(scene: AttackerScene) -> None:
    """Draw the recorded figure and its source."""
    st.header(say("On real text"), anchor=False)
    try:
        trial = _recorded()
    except StudyError as error:
        refuse(say("The recorded trial is missing."), error)
        return
    names = list(dict.fromkeys(row["mechanism"] for row in trial["rows"]))
    with st.container(horizontal=True):
        mechanism = names[0]
        if len(names) > 1:
            mechanism = st.segmented_control(
                say("Mechanism of the record"),
                names,
                # The mechanism of the page if it was recorded; the field stays free to choose
                # another.
                default=scene.mechanism.short if scene.mechanism.short in names else names[0],
                required=True,
                key="trial_mechanism",
                help=say("The record was made once, on the bundled lexicon."),
            )
        kind = st.segmented_control(
            say("Words that count"),
            list(_KINDS),
            format_func=say,
            default=_START,
            required=True,
            key="trial_words",
            help=say(
                "Function words such as 'the' and 'of' are easy to guess from their context. "
                "Replaced words are those for which another word was released."
            ),
        )
    table = _table(trial, mechanism, _KINDS[kind])
    show_figure(
        success_figure(table, resolve(mechanism).meaning, scene.epsilon),
        success_caption(table, scene.epsilon),
        table,
        "trial",
    )
    note(
        say(
            "{mechanism}: {sentences} sentences of the {text}, which the model of English has "
            "not seen; 95 % intervals from the spread between sentences. Recorded by:",
            mechanism=mechanism,
            sentences=trial["sentences"],
            text=trial["text"],
        )
    )
    show_line(trial["command"])


@st.cache_resource(max_entries=1, show_spinner=False)
def _recorded() -> dict[str, Any]:
    # Read once: the record is the same for everybody.
    return read_recorded_trial()


def _table(trial: dict[str, Any], mechanism: str, kind: str) -> pd.DataFrame:
    rows = [
        (TITLES[row["attacker"]], row["epsilon"], row["share"], row["low"], row["high"])
        # In the order of the titles, from the weakest attacker to the strongest.
        for name in TITLES
        for row in trial["rows"]
        if (row["mechanism"], row["words"], row["attacker"]) == (mechanism, kind, name)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
