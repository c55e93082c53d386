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
from pages.attacker.command import nearest_cell, posterior_command
from pages.attacker.weighing import TOP
from pages.shared import link
from pages.shared.bench import admissible
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.memo import memo
from pages.shared.messages import note, refuse
from pages.shared.progress import Reporter
from pages.shared.taking import Takeaway, take_it_with_you

if TYPE_CHECKING:
    from dpcore.attack.output.nearest import NearestSuccess
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene

WORDS = 40
"""Words that are drawn and tried."""
_KNOWN = "attack_nearest_success"


def nearest_view(scene: Scene) -> None:
    """Say what this attacker is, and how often it is right at every ε."""
    note(
        say(
            "The probabilities of {mechanism}'s outputs cannot be computed word by word, so "
            "there is no exact Bayes attacker. This one guesses the word that came out or, with "
            "a list, the listed word nearest to it. Bayes does at least as well: what you see "
            "is a lower bound of what leaks.",
            mechanism=scene.mechanism.short,
        )
    )
    belief = choose_belief()
    try:
        success = _success(scene, belief)
    except DpcoreError as error:
        refuse(say("The attacker cannot work with this."), error)
        return
    if success is not None:
        _show(scene, success)
    take_it_with_you(
        lambda: Takeaway(
            nearest_cell(scene, belief, WORDS),
            scene.mechanism.cited,
            posterior_command(scene, output_now(scene.words), belief, TOP),
            say("It prints how often this attacker is right."),
            typed=belief.typed,
        )
    )


def _show(scene: Scene, success: NearestSuccess) -> None:
    table = pd.DataFrame(
        {
            "attacker": "nearest word",
            "epsilon": success.epsilons,
            "right": success.value,
            "low": success.low,
            "high": success.high,
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
    drawn = (
        say("words drawn from the prior") if success.drawn else say("possible words, all of them")
    )
    note(
        say(
            "{count} {drawn}; {detail}; the band is an interval of level 95 %.",
            count=success.words,
            drawn=drawn,
            detail=success.detail,
        )
    )


def _success(scene: Scene, belief: Belief) -> NearestSuccess | None:
    mechanism = scene.mechanism
    # Along one ray all ε are one computation; other noise is drawn for each ε by itself.
    whole = mechanism.rays is not None
    epsilons = admissible(mechanism) if whole else np.array([scene.epsilon])
    known: dict[object, NearestSuccess] = st.session_state.setdefault(_KNOWN, {})
    if belief.kind == COMMON:
        known = _shared()
    key = (mechanism, belief, -1.0 if whole else scene.epsilon)
    if key not in known and not whole and not _asked():
        return None
    prior = belief.prior(scene.words)

    def compute() -> NearestSuccess:
        with Reporter(say("Trying the attacker")) as progress:
            return nearest_success(
                mechanism, prior, epsilons, words=WORDS, seed=link.SEED, progress=progress
            )

    return memo(known, key, compute, 100)


def _asked() -> bool:
    return st.button(
        say("Try the attacker on {count} words at this ε", count=WORDS),
        key="attack_try",
        icon=":material/casino:",
        help=say("The noise of this mechanism is drawn for every ε by itself: some ten seconds."),
    )


@st.cache_resource(show_spinner=False)
def _shared() -> dict[object, NearestSuccess]:
    """What was measured under priors that nobody typed, for all sessions."""
    return {}
