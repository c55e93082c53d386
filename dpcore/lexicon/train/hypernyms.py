"""What stands above which word: pairs (word, hypernym) of Open English WordNet, in a vocabulary.

WordNet relates senses and knows no frequencies of them. A noun or verb of the vocabulary is taken
in its senses of its own kind (`wordnet.kinds`: the class of most of its senses), and stands below
every word of the vocabulary that is a lemma of a sense above one of these, at any number of steps.
A regular inflection that is no lemma stands below its stem, and below what the stem is below.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import LexiconError
from dpcore.lexicon.train.wordnet import kinds, stems
from dpcore.optional import need_of_trainer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dpcore.arrays import IntArray

_CLASSES = ("noun", "verb")  # with hypernyms; adjectives and adverbs have none


@dataclass(frozen=True, eq=False)
class Hypernyms:
    """A hierarchy over words.

    Attributes:
        words: those that stand above or below another, in the order of the vocabulary.
        pairs: indices of a word and of one above it, shape (m, 2), each pair once, ascending.
    """

    words: tuple[str, ...]
    pairs: IntArray


def hypernyms(path: Path, vocabulary: Sequence[str]) -> Hypernyms:
    """The pairs of a vocabulary.

    Args:
        path: the WordNet table (columns `synset`, `lexfile`, `members` and `hypernyms`).
        vocabulary: different words, in lower case.

    Raises:
        LexiconError: no word stands above another.
    """
    columns = ["synset", "lexfile", "members", "hypernyms"]
    frame = need_of_trainer("pandas").read_parquet(path, columns=columns)
    frame = frame[frame["lexfile"].str.partition(".")[0].isin(_CLASSES)]
    above = _Above(dict(zip(frame["synset"], frame["hypernyms"].str.split("|"), strict=True)))
    known, classes = set(vocabulary), dict(zip(frame["synset"], frame["lexfile"], strict=True))
    senses: defaultdict[str, list[str]] = defaultdict(list)
    lemmas: dict[str, list[str]] = {}
    for synset, members in zip(frame["synset"], frame["members"], strict=True):
        lower = [member.lower() for member in members.split("|")]
        lemmas[synset] = [word for word in lower if word in known]
        for word in lower:
            senses[word].append(synset)
    table = kinds(path, vocabulary)

    def over(word: str, kind: str) -> Iterator[str]:
        for synset in senses.get(word, []):
            if classes[synset] == kind:
                for higher in above(synset):
                    yield from lemmas[higher]

    pairs: set[tuple[str, str]] = set()
    for place, word in enumerate(vocabulary):
        kind = table.of(place)
        stem = next((s for s in stems(word) if s in senses), "") if word not in senses else ""
        upper = set(over(stem or word, kind))
        if stem in known and any(classes[synset] == kind for synset in senses[stem]):
            upper.add(stem)
        pairs |= {(word, higher) for higher in upper - {word}}
    if not pairs:
        raise LexiconError(f"{path} puts no word of this vocabulary above another")
    used = {word for pair in pairs for word in pair}
    words = tuple(word for word in vocabulary if word in used)
    index = {word: i for i, word in enumerate(words)}
    rows = sorted((index[word], index[higher]) for word, higher in pairs)
    return Hypernyms(words, np.array(rows, dtype=np.int64))


class _Above:
    """All synsets above one, at any number of steps."""

    def __init__(self, parents: dict[str, list[str]]) -> None:
        self._parents = parents
        self._known: dict[str, frozenset[str]] = {}

    def __call__(self, synset: str) -> frozenset[str]:
        if synset not in self._known:
            self._known[synset] = frozenset()  # a circle ends here
            higher: set[str] = set()
            for parent in self._parents[synset]:
                if parent in self._parents:
                    higher |= {parent, *self(parent)}
            self._known[synset] = frozenset(higher)
        return self._known[synset]
