"""Who is least protected, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.attack.output.worst import exposure
from dpcore.errors import DpcoreError
from dpcore.plots.attack.exposed import exposed_caption, exposed_figure
from pages.attacker.believing import LIST, choose_belief
from pages.attacker.command import posterior_command, python_cell
from pages.attacker.tables import exposed_table, exposed_words
from pages.attacker.weighing import TOP, channel_for
from pages.shared.figure import show_figure
from pages.shared.language import say
from pages.shared.memo import memo
from pages.shared.messages import inform, note, refuse
from pages.shared.progress import Reporter
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, take_it_with_you
from pages.words.density import density_or_button

if TYPE_CHECKING:
    from dpcore.attack.output.worst import Exposure
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene

_RANKED = "attack_exposed"


def exposed_view(scene: Scene) -> None:
    """Draw the choice of the prior, and the words at both ends of the ranking."""
    note(
        say(
            "The same ε protects words unequally. Here is how often each word stays, and what "
            "the attacker then believes; under TEM no other output gives a word away more."
        )
    )
    if not scene.mechanism.exact_law:
        inform(
            say(
                "Words are ranked by probabilities that this mechanism does not have: choose "
                "tem, for instance. The page Words compares two words under every mechanism."
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
            python_cell(scene, worst, belief),
            scene.mechanism.cited,
            posterior_command(scene, worst, belief, TOP),
            say("It prints what the attacker believes once the first of these words is seen."),
            typed=belief.typed,
            tables={"Words": lambda: ranked},
        )
    )


def _exposure(scene: Scene, belief: Belief) -> Exposure | None:
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
