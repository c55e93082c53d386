"""State of the Rewrite page: all controls, the chosen place, ε at the dials."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.rewrite.redact.redaction import Redaction
from pages.shared import link
from pages.shared.dial import grouped
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.fragments import run_parts
from pages.shared.session import Bench
from pages.shared.sidebar import Choices
from pages.shared.words import WORD, choose, chosen_pair

DIALS, GRID, VIEWS = "rewrite_dials", "rewrite_grid", "rewrite_views"
"""Fragments of the dials, and those that run when one rests."""


@dataclass(frozen=True)
class RewriteScene:
    """State of the Rewrite page.

    Attributes:
        bench: the sentence and its computed results.
        mechanisms: the shown mechanisms.
        epsilons: ε by registry key.
        chosen: the mechanism of the chosen word.
        place: place of the chosen word.
        seed: seed of the draw.
        number: number of the draw.
        choices: choices of the sidebar.
        text: the typed text.
        redactions: redactions of the redactors beside the mechanisms.
    """

    bench: Bench
    mechanisms: tuple[Mechanism, ...]
    epsilons: dict[str, float]
    chosen: Mechanism
    place: int
    seed: int
    number: int
    choices: Choices
    text: str
    redactions: tuple[Redaction, ...] = ()

    @property
    def epsilon(self) -> float:
        """ε of the chosen mechanism."""
        return self.epsilons[self.chosen.key]

    @property
    def defined(self) -> bool:
        """True if the chosen mechanism is defined at its ε."""
        return self.epsilon in self.chosen.admissible


# Chosen place of the text, in step with the word in focus on all pages.


_PLACE, _BENCH, _FOLLOWED = "place", "placed_for", "placed_word"


def chosen_place(bench: Bench) -> int:
    """Return the place that the strip and the views show; it is part of the link.

    If a word was chosen on another page and the text holds it, its place is chosen.
    """
    last = max(0, bench.sentence.protected - 1)
    first = bench.first_content_word()
    word, _ = chosen_pair(bench.lexicon)
    moved = word != st.session_state.get(_FOLLOWED)
    # Another text: places of the last one mean nothing here, and a place in the link counts once.
    if st.session_state.get(_BENCH) is not bench:
        fresh = _PLACE not in st.session_state
        st.session_state[_PLACE] = link.read_whole(_PLACE, 0, last, first) if fresh else first
        st.session_state[_BENCH] = bench
        # A place in the link is stronger than the word in focus.
        moved = not fresh or _PLACE not in st.query_params
        st.session_state[_FOLLOWED] = word  # asked again in the same run, the place stays
    if moved:
        places = (i for i in range(bench.sentence.protected) if bench.word(i) >= 0)
        same = (i for i in places if bench.label(i) == word)
        st.session_state[_PLACE] = next(same, st.session_state[_PLACE])
        st.session_state[_FOLLOWED] = word
    place = min(int(st.session_state[_PLACE]), last)
    link.write(_PLACE, str(place), str(first), named=False)
    return place


def choose_place(bench: Bench, place: int) -> None:
    """Choose a place; its word, if the lexicon holds it, becomes the word in focus on all pages."""
    st.session_state[_PLACE] = place
    # The component sends the place, so it is checked like any input.
    if 0 <= place < bench.sentence.protected and bench.word(place) >= 0:
        word = st.session_state[_FOLLOWED] = bench.label(place)
        choose(WORD, word, typed=True)


def run_dependents() -> None:
    """From a callback: run only the fragments that depend on ε or on the chosen word."""
    run_parts(GRID, VIEWS)


def dial_epsilons(mechanisms: list[Mechanism]) -> dict[str, float]:
    """Return ε at the dials, by name of the group."""
    return {group.name: epsilon_of(group) for group, _ in grouped(mechanisms)}
