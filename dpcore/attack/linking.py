"""Linking attack: texts without names are singled out by a few of their ordinary words.

An attacker knows k words of someone's text, none of them a name, and looks up which texts of a
collection, or which releases of them, hold all k words. Nothing is drawn: every set of k words of
every text is tried.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.learn.corpus import Bags, Corpus, bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.languages import rules_of

MOST_KNOWN = 3  # words: a long text has some ten thousand sets of three


@dataclass(frozen=True)
class Linking:
    """Success of linking with k known words; every text counts equally.

    Attributes:
        known: k.
        alone: share of the sets of k words of a text that no other text holds.
        error: standard error of `alone`, from the spread between texts; NaN for a single one.
        fitting: texts that hold such a set, on average; the text itself is one.
        texts: number of texts that have at least k words, and were tried.
        skipped: number of shorter ones.
    """

    known: int
    alone: float
    error: float
    fitting: float
    texts: int
    skipped: int


def linking(
    texts: Sequence[Collection[int]],
    known: int,
    released: Sequence[Collection[int]] | None = None,
) -> Linking:
    """Link texts by every set of k of their words.

    Args:
        texts: distinct words of each text, as numbers.
        known: k, from 1 to `MOST_KNOWN`.
        released: collection that the attacker searches: the words of each text's release; the
            original texts if not given. A set singles out its text if the text's release holds it
            and no other does.

    Raises:
        ParameterError: k is out of range, no text has so many words, or there is not one release
            for each text.
    """
    if released is not None and len(released) != len(texts):
        raise ParameterError(f"{len(texts)} texts need as many releases, got {len(released)}")
    if not 1 <= known <= MOST_KNOWN:
        raise ParameterError(f"known words must be 1 to {MOST_KNOWN}, got {known}")
    sets = [sorted(set(text)) for text in texts]
    long = [i for i, words in enumerate(sets) if len(words) >= known]
    if not long:
        raise ParameterError(f"no text has {known} words")
    holders: dict[int, list[int]] = {word: [] for words in sets for word in words}
    for i, words in enumerate(texts if released is None else released):
        for word in set(words) & holders.keys():
            holders[word].append(i)
    # One bit for each text and word: the texts that hold a set are the `and` of its words' bits.
    marks = {word: _marked(rows, len(sets)) for word, rows in holders.items()}
    alone, fitting = [], []

    @cache  # most texts share a few numbers of candidates
    def choices(count: int) -> IntArray:
        return np.array(list(combinations(range(count), known)))

    for i in long:
        bits = np.stack([marks[word] for word in sets[i]])
        holding = np.unpackbits(bits, axis=1)
        own = holding[:, i].astype(bool)
        # Only a text that shares k words can hold k of them: mostly a few dozen of thousands.
        bits = np.packbits(holding[:, holding.sum(axis=0, dtype=np.int64) >= known], axis=1)
        chosen = choices(len(bits))
        both = np.bitwise_and.reduce(bits[chosen], axis=1)
        counts = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
        alone.append(float(((counts == 1) & own[chosen].all(axis=1)).mean()))
        fitting.append(float(counts.mean()))
    error = float(np.std(alone, ddof=1)) / math.sqrt(len(long)) if len(long) > 1 else math.nan
    return Linking(
        known,
        float(np.mean(alone)),
        error,
        float(np.mean(fitting)),
        len(long),
        len(sets) - len(long),
    )


def _marked(rows: list[int], count: int) -> np.ndarray:
    """Return one bit for each text, set for those in `rows`."""
    marked = np.zeros(count, dtype=bool)
    marked[rows] = True
    return np.packbits(marked)


def ordinary_words_of(corpus: Corpus, lexicon: Lexicon) -> list[frozenset[int]]:
    """Return each text's words without names, dates, places, … and without function words.

    Spans that are marked in the corpus are cut out of the text; of the rest only words of the
    lexicon count.
    """
    texts = []
    for text, spans in zip(corpus.texts, corpus.spans, strict=True):
        ends = [0, *(span.end for span in spans)]
        starts = [*(span.start for span in spans), len(text)]
        texts.append(" ".join(text[a:b] for a, b in zip(ends, starts, strict=True)))
    stop_words = rules_of(lexicon.language).stop_words
    function_words = {lexicon.index(word) for word in stop_words if word in lexicon}
    bags: Bags = bags_of(texts, lexicon)
    return [
        frozenset(bags.part([i]).words.tolist()) - function_words - {-1} for i in range(len(bags))
    ]
