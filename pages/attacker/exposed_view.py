"""View of the least protected words, and of the nearest-word attacker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.attack.output.nearest import NearestSuccess, nearest_success
from dpcore.attack.output.success import Exposure, exposure
from dpcore.errors import DpcoreError
from dpcore.plots.attack.exposed import exposed_caption, exposed_figure
from dpcore.plots.attack.success import COLUMNS, success_caption, success_figure
from pages.attacker.believing import COMMON, LIST, Belief, choose_belief
from pages.attacker.command import nearest_cell, posterior_command, python_cell
from pages.attacker.scene import AttackerScene, output_now
from pages.attacker.tables import exposed_table, exposed_words
from pages.attacker.weighing import TOP, channel_for
from pages.shared import link
from pages.shared.figure import show_figure
from pages.shared.language import later, say
from pages.shared.messages import inform, note, refuse
from pages.shared.once import memo
from pages.shared.progress import Reporter
from pages.shared.session import admissible
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.words.density import density_or_button

_RANKED = "attack_exposed"


def exposed_view(scene: AttackerScene) -> None:
    """Draw the choice of the prior, and the words at both ends of the ranking."""
    note(
        say(
            "The same ε protects words unequally. Here is how often each word stays, and what "
            "the attacker then believes; under TEM no other output is more revealing."
        )
    )
    if not scene.mechanism.exact_law:
        inform(
            say(
                "The ranking needs probabilities that cannot be computed for this mechanism: "
                "choose tem, for instance. The page Words compares two words under every mechanism."
            )
        )
        return
    belief = choose_belief()
    density = density_or_button(scene.words)
    if density is None:
        return
    try:
        exposed = _exposure(scene, belief)
    except DpcoreError as error:
        refuse(say("The words cannot be ranked."), error)
        return
    if exposed is None:
        return
    ranked = exposed_words(scene.words, exposed, density)
    caption = exposed_caption(ranked, exposed.correlation, exposed.words.size)
    show_figure(exposed_figure(ranked), caption, ranked, "exposed")
    for column, title, words in zip(
        st.columns(2),
        (say("Least protected"), say("Best protected")),
        (exposed.worst, exposed.best),
        strict=True,
    ):
        with column:
            st.markdown(f"**{title}**")
            show_table(
                exposed_table(scene.words, words),
                say(
                    "{title}: word, how often it stays, what the attacker believes then, "
                    "distance to its nearest word",
                    title=title,
                ),
            )
    worst = scene.words.words[exposed.worst[0].word]
    take_it_with_you(
        lambda: Takeaway(
            # The least protected word as the output: the same word in and out is what the ranking
            # is about.
            python_cell(scene, worst, belief),
            scene.mechanism.cited,
            posterior_command(scene, worst, belief, TOP),
            say("It prints what the attacker believes once the first of these words is seen."),
            typed=belief.typed,
            tables={later("Words"): lambda: ranked},
        )
    )


def _exposure(scene: AttackerScene, belief: Belief) -> Exposure | None:
    # In the session, since a belief may hold typed words.
    ranked: dict[Any, Exposure] = st.session_state.setdefault(_RANKED, {})
    key = (scene.mechanism, scene.epsilon, belief)
    if key in ranked:
        return ranked[key]
    prior = belief.prior(scene.words)
    channel = channel_for(scene, prior, listed=belief.kind == LIST)
    if channel is None:
        return None

    def compute() -> Exposure:
        with Reporter(say("Asking the attacker")) as progress:
            return exposure(channel, scene.epsilon, prior, progress=progress)

    return memo(ranked, key, compute, 40)


# Mechanisms whose law cannot be computed: the attacker guesses the nearest word.


WORDS = 40
"""Number of words that are drawn and tried."""
_KNOWN = "attack_nearest_success"


def nearest_view(scene: AttackerScene) -> None:
    """Explain this attacker, and draw its success rate at every ε."""
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


def _show(scene: AttackerScene, success: NearestSuccess) -> None:
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


def _success(scene: AttackerScene, belief: Belief) -> NearestSuccess | None:
    mechanism = scene.mechanism
    # Along one ray all ε are one computation; other noise is drawn separately for each ε.
    whole = mechanism.rays is not None
    epsilons = admissible(mechanism) if whole else np.array([scene.epsilon])
    known: dict[object, NearestSuccess] = st.session_state.setdefault(_KNOWN, {})
    # Without typed words in the key, the results may serve all sessions.
    if belief.kind == COMMON:
        known = _shared()
    # One result covers the whole dial where all ε come from the same rays; −1 is no ε.
    key = (mechanism, belief, -1.0 if whole else scene.epsilon)
    # Ten seconds are not spent without being asked for.
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
        help=say("The noise of this mechanism is drawn separately for each ε: some ten seconds."),
    )


@st.cache_resource(show_spinner=False)
def _shared() -> dict[object, NearestSuccess]:
    """Return the results under priors without typed text, for all sessions."""
    return {}
