"""Mechanisms without a law that can be computed: the attacker who takes the nearest word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.attack.output.nearest import nearest_success
from dpcore.errors import DpcoreError
from dpcore.plots.attack.success import COLUMNS, success_caption, success_figure
from pages.attacker.believing import COMMON, choose_belief
from pages.attacker.choosing import output_now
from pages.attacker.command import posterior_command
from pages.attacker.weighing import TOP
from pages.shared import link
from pages.shared.bench import admissible, memo
from pages.shared.figure import show_figure
from pages.shared.messages import note, refuse
from pages.shared.progress import Reporter
from pages.shared.reproducing import link_and_command

if TYPE_CHECKING:
    from dpcore.attack.output.nearest import NearestSuccess
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene

WORDS = 40
"""Words that are drawn and tried."""
_HELD = "attack_nearest_success"


def nearest_view(scene: Scene) -> None:
    """Say what this attacker is, and how often it is right at every ε."""
    note(
        f"The probabilities of {scene.mechanism.short}'s outputs cannot be computed word by word, "
        "so there is no exact Bayes attacker. This one guesses the word that came out or, with a "
        "list, the listed word nearest to it. Bayes does at least as well: what you see is a "
        "lower bound of what leaks."
    )
    belief = choose_belief()
    try:
        found = _success(scene, belief)
    except DpcoreError as error:
        refuse("The attacker cannot work with this.", error)
        return
    if found is not None:
        _show(scene, found)
    link_and_command(
        posterior_command(scene, output_now(scene.words), belief, TOP),
        "It prints how often this attacker is right.",
        typed=belief.typed,
    )


def _show(scene: Scene, found: NearestSuccess) -> None:
    table = pd.DataFrame(
        {
            "attacker": "nearest word",
            "epsilon": found.epsilons,
            "right": found.value,
            "low": found.low,
            "high": found.high,
        },
        columns=list(COLUMNS),
    )
    meaning = scene.mechanism.meaning
    show_figure(
        success_figure(table, meaning, scene.epsilon),
        success_caption(table, scene.epsilon),
        table,
        "nearest",
    )
    drawn = "words drawn from the prior" if found.drawn else "possible words, all of them"
    note(f"{found.words} {drawn}; {found.detail}; the band is an interval of level 95 %.")


def _success(scene: Scene, belief: Belief) -> NearestSuccess | None:
    mechanism = scene.mechanism
    # Along one ray all ε are one computation; other noise is drawn for each ε by itself.
    whole = mechanism.rays is not None
    epsilons = admissible(mechanism) if whole else np.array([scene.epsilon])
    held = _shared() if belief.kind == COMMON else st.session_state.setdefault(_HELD, {})
    key = (mechanism, belief, -1.0 if whole else scene.epsilon)
    if key not in held and not whole and not _asked():
        return None
    prior = belief.prior(scene.words)

    def compute() -> NearestSuccess:
        reporter = Reporter("Trying the attacker")
        found = nearest_success(
            mechanism, prior, epsilons, words=WORDS, seed=link.SEED, progress=reporter.progress
        )
        reporter.close()
        return found

    made: NearestSuccess = memo(held, key, compute, 100)
    return made


def _asked() -> bool:
    return st.button(
        f"Try the attacker on {WORDS} words at this ε",
        key="attack_try",
        icon=":material/casino:",
        help="The noise of this mechanism is drawn for every ε by itself: some ten seconds.",
    )


@st.cache_resource(show_spinner=False)
def _shared() -> dict[object, NearestSuccess]:
    """What was measured under priors that nobody typed, for all sessions."""
    return {}
