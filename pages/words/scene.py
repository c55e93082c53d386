"""State of the page Words: the two words, the bench of their measurements, the mechanisms.

The pairs of the examples are public, so that their benches are shared by all sessions.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import VocabularyDensity, extremes, ordinary_words
from dpcore.measure.maps.fit import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from pages.shared import link
from pages.shared.dial import group_of, turn_dial
from pages.shared.epsilon_dial import epsilon_is_chosen, epsilon_of, set_epsilon
from pages.shared.frame import arrived_by_address
from pages.shared.language import LANGUAGE, later
from pages.shared.once import latest, once
from pages.shared.session import directions
from pages.shared.words import OTHER, WORD, choose, chosen_pair
from pages.words.bench import PairBench
from pages.words.density import density_of


@dataclass(frozen=True)
class Example:
    """Two words under one mechanism at one ε per distance.

    Attributes:
        title: displayed title.
        names: the two words.
        mechanism: its short name.
        epsilon: a step of the dial.
    """

    title: str
    names: tuple[str, str]
    mechanism: str
    epsilon: float


EXAMPLES = (
    Example(later("june and umbrella, madlib at 14"), ("june", "umbrella"), "madlib", 14.0),
    Example(later("june and insulin, madlib at 16"), ("june", "insulin"), "madlib", 16.0),
    Example(later("monday and garage, madlib at 16"), ("monday", "garage"), "madlib", 16.0),
    Example(later("TEM: little difference. Why?"), ("june", "umbrella"), "tem", 2.5),
)
"""Examples of the page, the opening view first.

Everyday words of the bundled lexicon between which the same noise makes the largest difference:
madlib leaves june in 25 of 100 outputs and umbrella in 57, at no step of the dial farther apart
than 38 and 78 (ε = 16). Under tem they differ by 14 of 100 at the most, and by 6 at ε = 2.5.
"""
MECHANISM = "outputs_of"
"""Mechanism of the panes: key of its field, and its name in the link."""


def begin(words: Lexicon) -> None:
    """Put the opening view into an address that asks for nothing, in a session without choices.

    Whatever an address leaves out keeps its meaning (`DEFAULT_PAIR`, the first mechanism of the
    list), so that old links show what they showed.
    """
    # On a page reached by the menu, the link holds settings of earlier pages.
    asked = arrived_by_address() and any(name != LANGUAGE for name in st.query_params)
    chosen = MECHANISM in st.session_state or chosen_pair(words) != (None, None)
    opening = EXAMPLES[0]
    if not (asked or chosen) and all(name in words for name in opening.names):
        show_example(opening, carried=False)


def show_mechanism(short: str) -> None:
    """Choose the mechanism of the panes, before its field is drawn."""
    st.session_state[MECHANISM] = short
    link.put({MECHANISM: [short]})


def show_example(example: Example, *, carried: bool = True) -> None:
    """Choose the words, the mechanism and ε of an example.

    Args:
        example: the example.
        carried: False if no person chose it: then an ε that one chose before is kept, and this one
            stays on this page.
    """
    for slot, name in zip((WORD, OTHER), example.names, strict=True):
        choose(slot, name)
    show_mechanism(example.mechanism)
    group = group_of(resolve(example.mechanism).meaning)
    if carried or not epsilon_is_chosen(group):
        set_epsilon(group, example.epsilon, carried=carried)
        turn_dial(group.name)


def default_words(words: Lexicon) -> tuple[str, str]:
    """Return the default pair: a dense and a sparse word where they are known, else any two."""
    if all(word in words for word in DEFAULT_PAIR):
        return DEFAULT_PAIR
    density = density_of(words)
    pair = None
    if density is not None:
        # Ranking the vocabulary takes a moment, and every run of the page asks for the default
        # pair.
        pair = once("extreme words", words.fingerprint, lambda: _extremes(words, density), 4)
    return pair or (words.words[0], words.words[1])


def _extremes(words: Lexicon, density: VocabularyDensity) -> tuple[str, str] | None:
    """Return the densest and the sparsest ordinary word; None if there are no two."""
    densest, sparsest = (end.tolist() for end in extremes(density, 1, ordinary_words(words)))
    if not (densest and sparsest) or densest == sparsest:
        return None
    return words.words[densest[0]], words.words[sparsest[0]]


def shown_words(words: Lexicon) -> tuple[str, str]:
    """Return the chosen words; a missing one is the default, or the other default."""
    first, second = chosen_pair(words)
    usual, other = default_words(words)
    if first is None:
        first = other if second == usual else usual
    if second is None:
        second = usual if first == other else other
    return first, second


def follow(bench: PairBench) -> None:
    """Run the whole page again if a click in a fragment has chosen another word."""
    if shown_words(bench.pair.lexicon) != bench.pair.names:
        st.rerun()


def bench_for(words: Lexicon, first: str, second: str) -> PairBench:
    """Return the bench of a pair: of all sessions for a public pair, else of this session.

    Raises:
        DpcoreError: a word is unknown, or both are the same.
    """
    if (first, second) in (default_words(words), *(example.names for example in EXAMPLES)):
        return public_bench(words, first, second)
    identity = (words.fingerprint, first, second)
    # The last pair alone: a bench holds laws over the whole vocabulary.
    return latest("neighbouring_bench", identity, lambda: _bench(words, first, second))


def public_bench(words: Lexicon, first: str, second: str) -> PairBench:
    """Return the bench of a pair that nobody typed, shared by all sessions."""
    names = (first, second)
    return once("pair", (words.fingerprint, names), lambda: _bench(words, *names), 4)


def _bench(words: Lexicon, first: str, second: str) -> PairBench:
    return PairBench(Pair.of(words, first, second), directions(words.fingerprint))


@dataclass(frozen=True)
class WordsScene:
    """Two words and the mechanisms under which they are shown.

    Attributes:
        bench: the pair and its measurements.
        mechanism: mechanism whose outputs are in the panes and on the map.
        compared: mechanisms of the tables and curves.
        lexicon: its name in the catalogue.
    """

    bench: PairBench
    mechanism: Mechanism
    compared: list[Mechanism]
    lexicon: str

    @property
    def members(self) -> list[Mechanism]:
        """Mechanisms that share the ε of the panes."""
        group = group_of(self.mechanism.meaning)
        others = [each for each in self.compared if each.meaning in group.meanings]
        # The mechanism in the panes first: the default ε of the dial is made for the first one.
        return list(dict.fromkeys((self.mechanism, *others)))

    @property
    def together(self) -> list[Mechanism]:
        """All mechanisms."""
        return list(dict.fromkeys((*self.compared, self.mechanism)))


def readings(mechanisms: list[Mechanism]) -> tuple[dict[str, float], dict[str, str]]:
    """Return ε at the dials, and in words; both by registry key."""
    epsilons: dict[str, float] = {}
    texts: dict[str, str] = {}
    for mechanism in mechanisms:
        group = group_of(mechanism.meaning)
        epsilons[mechanism.key] = epsilon_of(group)
        texts[mechanism.key] = group.reading(epsilons[mechanism.key])
    return epsilons, texts
