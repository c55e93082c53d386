"""Dial and views of the Attacker page."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.mechanisms.mechanism import Mechanism
from pages.attacker.exposed_view import exposed_view
from pages.attacker.game_view import game_view
from pages.attacker.output_view import output_view
from pages.attacker.person_view import found_view, person_view
from pages.attacker.scene import GAME, AttackerScene, defined_steps
from pages.attacker.sentence_view import again_view, budget_view, sentence_view
from pages.shared import link
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_dial
from pages.shared.language import later, say
from pages.shared.link import segments, tabs
from pages.shared.messages import inform

OPEN_VIEW = "view"
ABOUT = "about"
OUTPUT, SENTENCE, EXPOSED = later("One output"), later("A sentence"), later("Least protected")
WORDS, PERSON, PEOPLE, BUDGET, AGAIN = (
    later("Its words"),
    later("A person"),
    later("People found"),
    later("Budget"),
    later("Day after day"),
)
_SENTENCE_VIEWS = {
    WORDS: sentence_view,
    PERSON: person_view,
    PEOPLE: found_view,
    BUDGET: budget_view,
    AGAIN: again_view,
}


def _sentence(scene: AttackerScene) -> None:
    """Draw a view of a sentence: words, person, people found by texts, ε, what is posted often."""
    # No tabs of their own: a first screen has eight controls at most.
    about = segments(
        say("Guess"),
        _SENTENCE_VIEWS,
        ABOUT,
        say(
            "The words one by one, the facts about a person in the sentence, or, as measured on "
            "other texts, who of 100 people wrote them. Budget: what the guarantees of all words "
            "add up to. Day after day: what is posted again and again."
        ),
    )
    _SENTENCE_VIEWS[about](scene)


_VIEWS = {
    OUTPUT: output_view,
    GAME: game_view,
    SENTENCE: _sentence,
    EXPOSED: exposed_view,
}


def old_link() -> None:
    """Lead links to the former tab of the budget to its place below a sentence."""
    if st.query_params.get(OPEN_VIEW) == BUDGET:
        link.put({OPEN_VIEW: [SENTENCE], ABOUT: [BUDGET]})
        st.rerun()  # fields read a link when they are first drawn


def open_view() -> str:
    """Return the English title of the open view, before it is drawn."""
    return str(st.session_state.get(OPEN_VIEW) or st.query_params.get(OPEN_VIEW, OUTPUT))


def board(mechanism: Mechanism, lexicon: str, dial_place: DeltaGenerator) -> None:
    """Draw the dial and the open view.

    Args:
        mechanism: the mechanism under attack.
        lexicon: its name in the catalogue.
        dial_place: place of the dial.
    """
    defined = defined_steps(mechanism)
    if not defined:
        inform(
            say(
                "With these settings the mechanism is defined at no ε of the dial: change them "
                "in the sidebar."
            )
        )
        return
    group = group_of(mechanism.meaning)
    with dial_place:
        # Only the steps at which this mechanism is defined: nothing on this page has meaning
        # elsewhere.
        epsilon = epsilon_dial(group, [mechanism], grid=defined, read=mechanism)
    # Nothing here is a fragment: a run of the whole page takes no longer than one of its view.
    tabs(_VIEWS, OPEN_VIEW, AttackerScene(mechanism, epsilon, lexicon))
