"""Choice of the two words, and the bench of their measurements.

The default pair is public, so that its bench is shared by all sessions.
"""

from __future__ import annotations

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import VocabularyDensity, extremes, ordinary_words
from dpcore.measure.maps.fit import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from pages.shared.once import latest, once
from pages.shared.session import directions
from pages.shared.words import chosen_pair
from pages.words.bench import PairBench
from pages.words.density import density_of


def default_words(words: Lexicon) -> tuple[str, str]:
    """Return the default pair: a dense and a sparse word where they are known, else any two."""
    if all(word in words for word in DEFAULT_PAIR):
        return DEFAULT_PAIR
    density = density_of(words)
    pair = None
    if density is not None:
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
    """Return the bench of a pair: of all sessions for the default pair, else of this session.

    Raises:
        DpcoreError: a word is unknown, or both are the same.
    """
    if (first, second) == default_words(words):
        return default_bench(words)
    identity = (words.fingerprint, first, second)
    return latest("neighbouring_bench", identity, lambda: _bench(words, first, second))


def default_bench(words: Lexicon) -> PairBench:
    """Return the bench of the default pair, shared by all sessions."""
    names = default_words(words)
    return once("pair", (words.fingerprint, names), lambda: _bench(words, *names), 2)


def _bench(words: Lexicon, first: str, second: str) -> PairBench:
    return PairBench(Pair.of(words, first, second), directions(words.fingerprint))
