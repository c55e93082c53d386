"""State of the Attacker page: mechanism and ε, the observed output, two words to tell apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from pages.shared import link
from pages.shared.dial import group_of
from pages.shared.language import later, say
from pages.shared.words import OTHER, WORD, choose, choose_word, write_pair
from pages.words.scene import default_words, shown_words

GAME = later("Guess the word")
"""Title of the view of the game, part of links."""


def defined_steps(mechanism: Mechanism) -> list[float]:
    """Return the ε of the group's grid at which the mechanism is defined: the steps of the dial."""
    return [e for e in group_of(mechanism.meaning).grid if e in mechanism.admissible]


@dataclass(frozen=True)
class AttackerScene:
    """One mechanism at one ε.

    Attributes:
        mechanism: the mechanism under attack.
        epsilon: ε of the slider.
        lexicon: its name in the catalogue.
    """

    mechanism: Mechanism
    epsilon: float
    lexicon: str

    @property
    def steps(self) -> list[AttackerScene]:
        """The same mechanism at every step of the dial."""
        return [replace(self, epsilon=epsilon) for epsilon in defined_steps(self.mechanism)]

    @property
    def words(self) -> Lexicon:
        """The vocabulary."""
        return self.mechanism.lexicon

    @property
    def reading(self) -> str:
        """Mechanism and ε in words."""
        return say(
            "{mechanism} at {reading}",
            mechanism=self.mechanism.short,
            reading=group_of(self.mechanism.meaning).reading(self.epsilon),
        )


START_OUTPUT = "garage"
_EXAMPLES = ("garage", "monday", "doctor", "hospital", "cancer", "christian", "money", "london")
_OUTPUT = "seen"
_ANY = later("Pick one, or type any word of the vocabulary and press Enter.")

_PAIR = later(
    "One of the two words to tell apart by this output, under any prior; the other pages use the "
    "same two."
)


def choose_output(words: Lexicon) -> int:
    """Draw the choice of the output word and return its index; the choice is part of the link."""
    default, chosen = _default_output(words), output_now(words)

    def take(word: str) -> None:
        st.session_state[_OUTPUT] = word

    # The field has a key of its own: the choice outlives it when another view is open.
    choose_word(
        say("This word came out"),
        "find_seen",
        chosen,
        words,
        take,
        offered=[chosen, *_known([default, *shown_words(words), *_EXAMPLES], words)],
        explained=f"{say('What the attacker sees.')} {say(_ANY)}",
    )
    st.session_state[_OUTPUT] = chosen
    link.write(_OUTPUT, chosen, default)
    return words.index(chosen)


def output_now(words: Lexicon) -> str:
    """Return the output word: the last choice, else that of the link, else the default."""
    chosen = st.session_state.get(_OUTPUT, st.query_params.get(_OUTPUT))
    return chosen if chosen is not None and chosen in words else _default_output(words)


def _default_output(words: Lexicon) -> str:
    return START_OUTPUT if START_OUTPUT in words else words.words[0]


def _known(names: list[str], words: Lexicon) -> list[str]:
    return [name for name in names if name in words]


def choose_pair(words: Lexicon) -> tuple[int, int]:
    """Draw the choice of the two words to tell apart, the same on every page."""
    shown = shown_words(words)
    titles = (say("Was it this word"), say("or that one?"))
    for slot, title, word in zip((WORD, OTHER), titles, shown, strict=True):
        choose_word(
            title,
            f"find_{slot}",
            word,
            words,
            # Not as typed: any word of the vocabulary is public, so it may stand in the link.
            partial(choose, slot),
            offered=[word, *_known([*shown, *default_words(words), *_EXAMPLES], words)],
            explained=f"{say(_PAIR)} {say(_ANY)}",
        )
    write_pair(*shown, default_words(words))
    first, second = shown
    return words.index(first), words.index(second)
