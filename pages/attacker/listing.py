"""The list of words that the secret of the game is drawn from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from dpcore.limits import MAX_GAME_WORDS, MAX_TEXT_CHARACTERS
from dpcore.measure.density.density import neighbourhood, ordinary_words
from dpcore.measure.words import named
from dpcore.noise.streams import generator
from pages.attacker.playing import round_number
from pages.shared.fields import pick, whole_number
from pages.shared.language import later, say
from pages.shared.pair import chosen_pair
from pages.shared.words import spelled

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

LISTS = {
    later("Illnesses"): "flu cancer asthma diabetes depression pneumonia",
    later("Faiths"): "christian muslim jewish hindu buddhist atheist",
    later("Jobs"): "teacher nurse lawyer farmer soldier priest",
    later("Cities"): "london paris berlin tokyo boston moscow",
    later("Animals"): "dog cat horse rabbit bird fish",
    later("Days"): "monday tuesday wednesday thursday friday saturday sunday",
}
"""Name -> words; the names stand in links."""
ANY, NEAR, OWN = later("Any words"), later("Neighbours"), later("My own list")
OWN_WORDS = "game_words"
_DEFAULT_COUNT = 6
_CENTRE = "doctor"


@dataclass(frozen=True)
class Listed:
    """A list to guess from: its name, and the words in the order in which they are shown."""

    title: str
    candidates: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """How the list is chosen.

    Attributes:
        title: a name of `LISTS`, or ANY, NEAR or OWN.
        count: words of the list, where it has no length of its own.
        text: the typed words.
    """

    title: str
    count: int = 0
    text: str = ""

    def listed(self, words: Lexicon, seed: int) -> Listed:
        """The words in a lexicon, in alphabetic order.

        Args:
            words: the lexicon.
            seed: of ANY, which takes other words in every round.

        Raises:
            DpcoreError: a typed word is not in the vocabulary, or there is none.
        """
        count = min(self.count, len(words))
        if self.title == OWN:
            typed = dict.fromkeys(word for word in re.split(r"[\s,;]+", self.text) if word)
            names = [spelled(word, words) or word.lower() for word in typed]
            chosen = named(words, names).words.tolist()
        elif self.title == NEAR:
            around = neighbourhood(words, words.index(_centre(words)), count - 1)
            chosen = [around.word, *around.neighbours.tolist()]
        elif self.title == ANY:
            pool = ordinary_words(words)
            if pool.size < count:  # a lexicon of other signs than letters
                pool = np.arange(len(words))
            rng = generator(seed, "words of the game", round_number())
            chosen = rng.choice(pool, count, replace=False).tolist()
        else:
            chosen = words.indices(LISTS[self.title].split()).tolist()
        # The order of the list must not tell how it was made: the centre would stand first.
        return Listed(self.title, tuple(sorted(chosen, key=lambda i: words.words[i])))


def choose_list(words: Lexicon) -> Choice:
    """Draw the choice of a list; return it."""
    known = [name for name, text in LISTS.items() if all(w in words for w in text.split())]
    title = pick(
        say("The secret is one of"),
        [*known, ANY, NEAR, OWN],
        "game_list",
        say(
            "Everybody knows the list. *Any words*: other ordinary words in every round. "
            "*Neighbours*: a word and those nearest to it, the hardest list. *My own list*: "
            "what you type."
        ),
        width=200,
    )
    if title == OWN:
        return Choice(title, text=_typed())
    return Choice(title, count=_count() if title in (ANY, NEAR) else 0)


def _count() -> int:
    return whole_number(
        say("How many words"),
        2,
        MAX_GAME_WORDS,
        _DEFAULT_COUNT,
        "game_count",
        say("To choose from; the more, the harder."),
        width=150,
    )


def _typed() -> str:
    return st.text_input(
        say("Your words"),
        "doctor nurse patient hospital",
        key=OWN_WORDS,
        max_chars=MAX_TEXT_CHARACTERS,
        width=360,
        help=say(
            "2 to {most} words of the vocabulary, with spaces or commas between them. They stay "
            "in this browser session and are not put into the link.",
            most=MAX_GAME_WORDS,
        ),
    )


def _centre(words: Lexicon) -> str:
    """The word whose neighbours are listed: the one in focus on every page, else a usual one."""
    chosen = chosen_pair(words)[0]
    if chosen is not None:
        return chosen
    return _CENTRE if _CENTRE in words else words.words[0]
