"""State of the Rewrite page: all controls, the chosen place, ε at the dials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.rewrite.redact.redaction import Redaction
from dpcore.rewrite.sentence import SentenceDraw
from pages.shared import link
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.fragments import run_parts
from pages.shared.language import later, say
from pages.shared.link import segments
from pages.shared.once import once
from pages.shared.session import Bench, admissible, identity
from pages.shared.sidebar import Choices
from pages.shared.words import WORD, choose, chosen_pair
from pages.tradeoff.packet import absent
from pages.tradeoff.packet import epsilons as epsilons_at
from pages.tradeoff.quantities import LEAKAGES
from pages.tradeoff.scene import step_of

DIALS, GRID, VIEWS = "rewrite_dials", "rewrite_grid", "rewrite_views"
"""Fragments of the dials, and those that run when one rests."""


@dataclass(frozen=True)
class RewriteScene:
    """State of the Rewrite page.

    Attributes:
        bench: the sentence and its computed results.
        mechanisms: the shown mechanisms.
        epsilons: ε by registry key; NaN, at which nothing is defined, where there is none.
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
    def defined_rows(self) -> list[tuple[Mechanism, float]]:
        """Mechanisms that are defined at their ε, and that ε."""
        pairs = ((m, self.epsilons[m.key]) for m in self.mechanisms)
        return [(m, epsilon) for m, epsilon in pairs if epsilon in m.admissible]

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


# What is the same in all rows: ε, a dial for each meaning of it, or the leakage, one dial for all.


SAME_EPSILON, SAME_LEAKAGE = later("same ε"), later("same leakage")
_COMPARED = "compared"
LEAKAGE = LEAKAGES[0]
"""Content words guessed by someone who knows how common words are, as on the page Trade-off."""


def choose_compared() -> None:
    """Draw the choice of what the rows have in common; it is part of the link."""
    segments(
        say("Compare at"),
        (SAME_EPSILON, SAME_LEAKAGE),
        _COMPARED,
        say(
            "Same ε: mechanisms whose ε means the same share a dial. Same leakage: one dial sets "
            "how many of 100 content words are guessed by someone who knows how common words are, "
            "and each mechanism gets the ε that gives just this."
        ),
        label_visibility="collapsed",
    )


def at_same_leakage() -> bool:
    """Return True if the rows have their leakage in common."""
    return bool(st.session_state.get(_COMPARED) == SAME_LEAKAGE)


def leaking(mechanism: Mechanism) -> list[float | None]:
    """Return ε at each step of the leakage; empty if it was not measured for this mechanism."""

    def compute() -> list[float | None]:
        curve = recorded_curve(mechanism)
        return [] if curve is None else epsilons_at(curve, LEAKAGE)

    return once("leaking", identity(mechanism), compute)


def row_epsilons(mechanisms: Sequence[Mechanism]) -> dict[str, float]:
    """Return ε of each row by registry key, NaN where it has none."""
    if not at_same_leakage():
        return {m.key: epsilon_of(group_of(m.meaning)) for m in mechanisms}
    step = step_of(LEAKAGE)
    found = {m.key: leaking(m) for m in mechanisms}
    wanted = {key: known[step] if known else None for key, known in found.items()}
    return {key: math.nan if epsilon is None else epsilon for key, epsilon in wanted.items()}


def without_epsilon(mechanism: Mechanism) -> str:
    """Say why a row has no ε at this leakage."""
    curve = recorded_curve(mechanism)
    if curve is None:
        return say(
            "What it gives away was not measured with these settings on these words: compare it at "
            "the same ε."
        )
    return absent(curve, LEAKAGE, LEAKAGE.steps[step_of(LEAKAGE)])


def row_draw(
    bench: Bench, mechanism: Mechanism, seed: int, number: int, epsilon: float
) -> SentenceDraw:
    """Return the draw of one row, whose outputs at ε are exact."""
    drawn = bench.draw(mechanism, seed, number)
    steps = admissible(mechanism).tolist()
    if drawn.paths.exact or epsilon in steps or epsilon not in mechanism.admissible:
        return drawn
    # Known at the ε of a grid alone: those of all steps of the other dial, too.
    more = [each for each in leaking(mechanism) if each is not None]
    return bench.draw(mechanism, seed, number, tuple(sorted({*steps, *more, epsilon})))
