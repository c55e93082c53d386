"""Words, kinds and hypernyms from Open English WordNet, for the trainer.

The words include the hyphenated compounds that are one word and the words that a dictionary marks
as insults, so that no list of insults has to be stored in this repository.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.arrays import IntArray
from dpcore.errors import LexiconError
from dpcore.lexicon.kinds import UNKNOWN, Kinds
from dpcore.optional import need_of_trainer

_DIGIT = re.compile(r"\d")
_INSULT = re.compile(
    r"\b(?:offensive|obscene|vulgar|slur|disparaging|derogatory|insulting)\b[^;]*"
    r"\b(?:terms?|words?|names?|slang)\b"
    r"|\((?:[^)]*\b)?(?:offensive|obscene|vulgar|ethnic slur|slur|disparaging|derogatory)\b[^)]*\)"
    r"|^(?:ethnic slur|obscene|vulgar slang)"
)
# Marked by the pattern, but far more often a name, a dish or a creature.
_HARMLESS = frozenset("fairy hillbilly jerry mick mickey mongrel runt taco".split())
# Coarse words that the dictionary does not mark or marks in a minority of their senses: the first
# eight hexadecimal digits of their SHA-256, so that the words are not written here.
_COARSE = frozenset(
    (
        "8c5c0439 cbbd0f71 796e43a5 "
        "00188428 0033728f 044eb98b 05b71b93 0c64f3ba 0f28c496 0fcb77e9 11cf8376 13a465fc "
        "158869a9 16ea09fc 17a110e5 17bde8b4 1e02eec4 2062f800 22fc75e6 262f86db 26578569 "
        "27a62b68 27eb0c4a 30a989af 31506a84 333f7618 37b57d55 3b1e0d7c 3ff99471 402f7ebd "
        "41b4d5e8 45cd3e1b 45fb7c3b 46505206 522788b6 566f532d 594810ad 5a9d9dce 613ddd9a "
        "63333e4b 6556c1a5 665cb762 6ac3c336 6cfcdedf 6dbe0f85 70aafb42 7122c9a1 819837a1 "
        "82159dd0 85266837 85fc17f7 886d51e9 89133bc0 8f5083e3 92a9bf81 937d56e4 94a2b576 "
        "94a877e2 96c91fa8 984b5c6e 986c9900 98b52c4b 9915ba2d 99e367bc 9ae315a9 a24efab8 "
        "a40ccba8 acc96930 b04a8a40 b690cdbe bb61ef40 bbf8bb78 bd331fb1 bdb1cc25 be72176c "
        "c1cabb6f c22f315f c2c3b68b c905e73d ca05283d cc020323 ccff74c2 d75a838d da884392 "
        "daec0c23 dc2abe4e dd14a884 dd92623b e7282d82 e7b98c6a f1a5fb56 f59e28f8 f9d0d9b1 "
        "fb96c276 "
    ).split()
)
# Kinds of words that conversation is full of and an encyclopedia is not.
_EVERYDAY = frozenset(
    "adj.all adv.all noun.food noun.feeling noun.time noun.state noun.possession verb.emotion "
    "verb.communication verb.cognition verb.consumption verb.perception verb.body verb.social "
    "noun.communication noun.body".split()
)
# An ending, and the endings that it may have replaced.
_ENDINGS = tuple(
    rule.split("/")
    for rule in (
        "s/ es/ ies/y ed/ ed/e ied/y ing/ ing/e er/ er/e ier/y est/ est/e iest/y ly/ ily/y n't/"
    ).split()
)


@dataclass(frozen=True)
class WordNetWords:
    """Single words of WordNet.

    Attributes:
        common: Lemmas written in lower case.
        proper: Lemmas that are only written with a capital, lower-cased.
        insults: Words at least half of whose senses the dictionary marks as insulting.
        compounds: Lemmas with a hyphen and without a digit, lower-cased.
        everyday: Common lemmas of the kinds that conversation is full of.
    """

    common: frozenset[str]
    proper: frozenset[str]
    insults: frozenset[str]
    compounds: frozenset[str]
    everyday: frozenset[str]

    def knows(self, word: str) -> bool:
        """Return True if `word` is a common lemma or a regular inflection of one."""
        return word in self.common or any(stem in self.common for stem in stems(word))

    def chatty(self, word: str) -> bool:
        """Return True if `word` or its regular stem is an everyday word."""
        return word in self.everyday or any(stem in self.everyday for stem in stems(word))

    def insult(self, word: str) -> bool:
        """Return True if `word` or its regular stem is marked as insulting, or coarse."""
        if word in self.insults or hashlib.sha256(word.encode()).hexdigest()[:8] in _COARSE:
            return True
        return word not in self.common and any(stem in self.insults for stem in stems(word))


def stems(word: str) -> list[str]:
    """Return the possible stems of a word with a regular English ending."""
    candidates = []
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word[: len(word) - len(ending)] + replacement
            candidates.append(stem)
            if not replacement and len(stem) > 3 and stem[-1] == stem[-2]:
                candidates.append(stem[:-1])
    return candidates


def collect(synsets: Iterable[tuple[str, str, str]]) -> WordNetWords:
    """Collect single words from (members joined by "|", gloss, lexicographer file) triples."""
    lower: set[str] = set()
    upper: set[str] = set()
    everyday: set[str] = set()
    senses: defaultdict[str, int] = defaultdict(int)
    insulting: defaultdict[str, int] = defaultdict(int)
    for members, gloss, kind in synsets:
        marked = _INSULT.search(gloss) is not None
        for member in members.split("|"):
            if " " in member:
                continue
            word = member.lower()
            (lower if member == word else upper).add(word)
            if member == word and kind in _EVERYDAY:
                everyday.add(word)
            senses[word] += 1
            insulting[word] += marked
    return WordNetWords(
        frozenset(lower),
        frozenset(upper - lower),
        frozenset(
            word
            for word, times in insulting.items()
            if times and 2 * times >= senses[word] and word not in _HARMLESS
        ),
        frozenset(word for word in lower | upper if "-" in word and not _DIGIT.search(word)),
        frozenset(everyday),
    )


def read_wordnet(path: Path) -> WordNetWords:
    """Read the WordNet table (columns `members`, `gloss` and `lexfile`)."""
    frame = need_of_trainer("pandas").read_parquet(path, columns=["members", "gloss", "lexfile"])
    return collect(zip(frame["members"], frame["gloss"], frame["lexfile"], strict=True))


def kinds(path: Path, words: Iterable[str]) -> Kinds:
    """Return the lexicographer file of most senses of each word; of equals the first by name.

    A word that WordNet lacks is looked up under its regular stems.

    Args:
        path: the WordNet table (columns `members` and `lexfile`).
        words: in lower case.
    """
    frame = need_of_trainer("pandas").read_parquet(path, columns=["members", "lexfile"])
    senses: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for members, lexfile in zip(frame["members"], frame["lexfile"], strict=True):
        for member in members.split("|"):
            senses[member.lower()][lexfile] += 1
    names = (UNKNOWN, *sorted(set(frame["lexfile"])))

    def of(word: str) -> str:
        for form in (word, *stems(word)):
            if form in senses:
                return min(senses[form], key=lambda kind: (-senses[form][kind], kind))
        return UNKNOWN

    return Kinds(names, np.array([names.index(of(word)) for word in words], dtype=np.uint8))


# Hypernyms: pairs (word, word above it) of Open English WordNet, within a vocabulary.
#
# WordNet relates senses and has no frequencies of them. A noun or verb of the vocabulary is taken
# in its senses of its own kind (`wordnet.kinds`: the class of most of its senses), and is below
# every word of the vocabulary that is a lemma of a sense above one of these, at any number of
# steps. A regular inflection that is no lemma is below its stem, and below every word above the
# stem.


_CLASSES = ("noun", "verb")  # with hypernyms; adjectives and adverbs have none


@dataclass(frozen=True, eq=False)
class Hypernyms:
    """A hierarchy over words.

    Attributes:
        words: those above or below another, in the order of the vocabulary.
        pairs: indices of a word and of one above it, shape (m, 2), each pair once, ascending.
    """

    words: tuple[str, ...]
    pairs: IntArray


def hypernyms(path: Path, vocabulary: Sequence[str]) -> Hypernyms:
    """Return the hypernym pairs of a vocabulary.

    Args:
        path: the WordNet table (columns `synset`, `lexfile`, `members` and `hypernyms`).
        vocabulary: different words, in lower case.

    Raises:
        LexiconError: no word is above another.
    """
    columns = ["synset", "lexfile", "members", "hypernyms"]
    frame = need_of_trainer("pandas").read_parquet(path, columns=columns)
    frame = frame[frame["lexfile"].str.partition(".")[0].isin(_CLASSES)]
    parents = dict(zip(frame["synset"], frame["hypernyms"].str.split("|"), strict=True))
    known, classes = set(vocabulary), dict(zip(frame["synset"], frame["lexfile"], strict=True))
    senses: defaultdict[str, list[str]] = defaultdict(list)
    lemmas: dict[str, list[str]] = {}
    for synset, members in zip(frame["synset"], frame["members"], strict=True):
        lower = [member.lower() for member in members.split("|")]
        lemmas[synset] = [word for word in lower if word in known]
        for word in lower:
            senses[word].append(synset)
    table = kinds(path, vocabulary)
    higher_synsets: dict[str, frozenset[str]] = {}

    def above(synset: str) -> frozenset[str]:
        """Return all synsets above one, at any number of steps."""
        if synset not in higher_synsets:
            higher_synsets[synset] = frozenset()  # ends a cycle
            direct = [parent for parent in parents[synset] if parent in parents]
            higher_synsets[synset] = frozenset(direct).union(*map(above, direct))
        return higher_synsets[synset]

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
