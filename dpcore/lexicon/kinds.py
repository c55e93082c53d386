"""Kinds of words (a person, a disease, a place, a change), and shares of ε by public rules.

WordNet divides its senses into 45 lexicographer files, such as noun.person and verb.change. The
kind of a word is that of most of its senses (`dpcore.lexicon.train.wordnet.kinds`, which made the
bundled table); words that WordNet does not know have the kind `UNKNOWN`. The words of another
lexicon have the kind that the bundled table gives them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon.cache import ARRAYS, bundled_folder, refuse_of_the_system, replacing
from dpcore.lexicon.lexicon import ENGLISH, Lexicon

FILE = "kinds.npz"
UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of the words of a lexicon.

    Attributes:
        names: of the kinds; the first is `UNKNOWN`.
        codes: index in `names` of the kind of each word, shape (n,), uint8; read-only.
    """

    names: tuple[str, ...]
    codes: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)

    @property
    def none(self) -> bool:
        """True if no kinds are known for the language of the words."""
        return self.names == (UNKNOWN,)

    @property
    def known(self) -> float:
        """Share of the words whose kind is known."""
        return float((self.codes > 0).mean())

    def of(self, word: int) -> str:
        """Return the kind of a word."""
        return self.names[int(self.codes[word])]


def kinds_of(lexicon: Lexicon) -> Kinds:
    """Return the kind of every word of a lexicon from the bundled table.

    The table is of English: of another language no kind is known, even of words that look alike.

    Raises:
        LexiconError: the bundled table cannot be read.
    """
    if lexicon.language != ENGLISH:
        return Kinds((UNKNOWN,), np.zeros(len(lexicon), dtype=np.uint8))
    names, known = _bundled()
    codes = np.array([known.get(word, 0) for word in lexicon.words], dtype=np.uint8)
    return Kinds(names, codes)


def write_kinds(path: Path, kinds: Kinds) -> None:
    """Write the table of the bundled words, in their order, whole or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, names=np.array(kinds.names), codes=kinds.codes)


@lru_cache(maxsize=1)
def _bundled() -> tuple[tuple[str, ...], dict[str, int]]:
    folder = bundled_folder()
    try:
        words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
        with np.load(folder / FILE, allow_pickle=False) as stored:
            names, codes = tuple(stored["names"].tolist()), stored["codes"].tolist()
        known = dict(zip(words, codes, strict=True))
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"the kinds of words ({FILE}) cannot be read; restore the folder data/lexicon"
        ) from error
    return names, known


# Share of ε of each word, by a public rule: its kind, or its frequency rank.
#
# A rule is a text: entries WHAT:SHARE with commas between, such as
#
#     noun.person:0.2,noun.location:0.2,rank>20000:0.5
#
# WHAT is a kind of words (`dpcore.lexicon.kinds`: a class of WordNet such as noun.person, its first
# part such as noun for all of these, or unknown), digit for words that hold one, personal for the
# kinds of personal data (people, places, times, words with a digit, and words that WordNet does not
# know, as most names are, and function words), or rank>N for the words beyond the N most frequent
# ones of the lexicon's public order. SHARE is a number above 0 and at most 1. A word that several
# entries name has the smallest of their shares, any other word the share 1. So a share depends on
# the word and on public tables alone, never on the text around it. The labels of a redactor's model
# are no such table: the model reads the words around, so a share by it would be a fact about the
# private text that is released and charged nowhere.


DIGIT, PERSONAL = "digit", "personal"
_PERSONAL = ("noun.person", "noun.location", "noun.time", UNKNOWN, DIGIT)
# WordNet has first names under other meanings (tom is an animal): the list is rough, and public.
_RANK = re.compile(r"rank>(\d{1,9})")
_MOST_ENTRIES = 100


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of ε of the words of a lexicon; arrays are read-only.

    Attributes:
        values: the distinct shares, ascending, shape (k,).
        names: name in the rule of the words with each share.
        codes: index in `values` of the share of each word, shape (n,), int64.
    """

    values: FloatArray
    names: tuple[str, ...]
    codes: IntArray

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
        self.codes.setflags(write=False)

    @property
    def of(self) -> FloatArray:
        """Share of each word, shape (n,)."""
        return np.asarray(self.values[self.codes])

    def words(self, code: int) -> IntArray:
        """Return the words with one of the shares, ascending."""
        return np.flatnonzero(self.codes == code)


@lru_cache(maxsize=16)
def shares_of(lexicon: Lexicon, rule: str) -> Shares:
    """Return the shares that a rule gives the words of a lexicon.

    Args:
        lexicon: words, most frequent first.
        rule: see above.

    Raises:
        ParameterError: the rule cannot be read, or names something that is no public fact about a
            word.
        LexiconError: the table of kinds cannot be read.
    """
    kinds, share = kinds_of(lexicon), np.ones(len(lexicon))
    entries = _entries(rule)
    named = {what: _words(what, lexicon, kinds) for what in entries}
    for what, value in entries.items():
        share[named[what]] = np.minimum(share[named[what]], value)
    values, codes = np.unique(share, return_inverse=True)
    calls = {
        value: " and ".join(what for what, given in entries.items() if given == value)
        for value in values.tolist()
    }
    if 1.0 in calls:  # the words that no entry names
        calls[1.0] = " and ".join(filter(None, (calls[1.0], "all other words")))
    return Shares(values, tuple(calls[value] for value in values.tolist()), codes.astype(np.int64))


def _entries(rule: str) -> dict[str, float]:
    """Return the entries of a rule in their order: name, and share."""
    parts = [part.strip() for part in rule.split(",") if part.strip()]
    if not 1 <= len(parts) <= _MOST_ENTRIES:
        raise ParameterError(
            f"a rule has 1 to {_MOST_ENTRIES} entries such as noun.person:0.5, got {len(parts)}"
        )
    entries: dict[str, float] = {}
    for part in parts:
        what, colon, text = (piece.strip() for piece in part.rpartition(":"))
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not (what and colon and 0 < value <= 1):
            raise ParameterError(
                f"an entry of a rule is WHAT:SHARE with a share > 0 and at most 1, such as "
                f"noun.person:0.5, got {part[:40]!r}"
            )
        if what in entries:
            raise ParameterError(f"a rule names {what[:40]!r} twice: give it one share")
        entries[what] = value
    return entries


def _words(what: str, lexicon: Lexicon, kinds: Kinds) -> NDArray[np.bool_]:
    """Mark the words that an entry names, shape (n,)."""
    if what == PERSONAL:
        parts = [_words(part, lexicon, kinds) for part in _PERSONAL]
        return np.asarray(np.any(parts, axis=0))
    if what == DIGIT:
        return np.array([any(map(str.isdigit, word)) for word in lexicon.words], dtype=bool)
    rank = _RANK.fullmatch(what)
    if rank is not None:
        return np.asarray(np.arange(kinds.codes.size) >= int(rank[1]))
    codes = [
        code for code, name in enumerate(kinds.names) if what in (name, name.partition(".")[0])
    ]
    if kinds.none and not codes:
        raise ParameterError(
            f"{what[:40]!r} is no kind of these words: kinds are known of English words alone, so "
            "a rule of this lexicon goes by rank>N"
        )
    if not codes:
        raise ParameterError(
            f"{what[:40]!r} is no public fact about a word: a rule goes by kinds "
            f"({', '.join(kinds.names)}; noun, verb, adj and adv for all of these), by {DIGIT}, "
            f"{PERSONAL} and rank>N. "
            "A share that is computed from the private text shows in what is released and is "
            "charged nowhere, so there is none (`python -m dpcore audit --claim budget-from-text`)"
        )
    return np.isin(kinds.codes, codes)
