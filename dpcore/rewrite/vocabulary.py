"""Lexicon indices of tokens, and their roles: protected, unknown or released.

The result of `encode` holds no character of an unknown word, so that no later step can publish
one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError, TextError
from dpcore.rewrite.languages import Language, rules_of
from dpcore.rewrite.policy import DEFAULT_TREATMENT, MASK, Treatment, UnknownWordPolicy
from dpcore.rewrite.tokens import (
    Case,
    CasePolicy,
    Kind,
    Token,
    bare,
    plain_space,
    released_case,
    released_cases,
)

# Look-up form of a token in a vocabulary, and its splitting.


# Longer tokens are not looked up: normalising a long run of combining marks takes quadratic time.
_LONGEST_WORD = 100
_PLAIN = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-"})


def canonical(text: str) -> str:
    """Return the form in which a token is looked up.

    Invisible characters are taken out, compatibility characters (ligatures, full-width letters)
    normalised by NFKC, apostrophes and hyphens made plain; case is kept.
    """
    if len(text) > _LONGEST_WORD:
        return ""
    if text.isascii():  # already in this form, and most words are
        return text
    visible = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", visible).translate(_PLAIN)


def spellings(lexicon: Vocabulary, language: Language) -> Callable[[str], str | None]:
    """Return a function that gives a word's spelling in the lexicon, or None if it is not there.

    A word is looked up unchanged, and in lower case. In another language than English, where a
    lexicon may have nouns with a capital alone, then by its small letters, and last with "SS" for
    "ß" and similar forms (Unicode's full case folding); of several words the first counts. A "ß" is
    never taken for "ss": "Maße" is not "Masse".

    Args:
        lexicon: The vocabulary.
        language: Of the lexicon.
    """
    if not language.any_capitals:

        def plainly(word: str) -> str | None:
            if word in lexicon:
                return word
            lower = language.lower(word)
            return lower if lower in lexicon else None

        return plainly
    small, folded = _foldings(lexicon)

    def anyhow(word: str) -> str | None:
        if word in lexicon:
            return word
        lower = language.lower(word)
        fold = lower.casefold()
        return small.get(lower) or (folded.get(fold) if lower == fold else None)

    return anyhow


@lru_cache(maxsize=2)
def _foldings(lexicon: Vocabulary) -> tuple[dict[str, str], dict[str, str]]:
    """Return the first word of a lexicon for each form in small letters, and each folded one."""
    language = rules_of(lexicon.language)
    small: dict[str, str] = {}
    folded: dict[str, str] = {}
    for word in lexicon.words:
        lower = language.lower(canonical(word))
        small.setdefault(lower, word)
        folded.setdefault(lower.casefold(), word)
    return small, folded


def parts_of(text: str, known: Callable[[str], bool], language: Language) -> tuple[str, ...]:
    """Return the parts of a token in the vocabulary, without the symbols that touch them.

    Args:
        text: Of a token that is no mark.
        known: Returns True for a part in the vocabulary, in any capitals.
        language: Of the text.

    Returns:
        `split_word` of the whole token if there is one (a vocabulary may hold "c++"); else, where
        every word in it has parts, all of these; else nothing. Symbols are never written.
    """
    whole = split_word(canonical(text), known, language)
    words = bare(text)
    if whole or words == (text,):
        return whole
    parts_of_words = [split_word(canonical(word), known, language) for word in words]
    return tuple(part for parts in parts_of_words for part in parts) if all(parts_of_words) else ()


def split_word(text: str, known: Callable[[str], bool], language: Language) -> tuple[str, ...]:
    """Split a token into parts that the vocabulary holds.

    Args:
        text: The canonical form of a token.
        known: Returns True for a part in the vocabulary, in any capitals.
        language: Of the text.

    Returns:
        The token itself if it is known; else, where all words in them are known, the two words
        of a contraction, a word and its possessive ending such as "'s", or the parts of a
        hyphenated word with "-" between them; else nothing.
    """
    if not text:
        return ()
    if known(text):
        return (text,)
    # The ending as a separate word comes first: it is written as it was typed.
    for parts in language.split_contraction(text):
        if all(map(known, parts)):
            return parts
    possessive = language.possessive
    if possessive and language.lower(text).endswith(possessive):
        stem = split_word(text[: -len(possessive)], known, language)
        return (*stem, possessive) if stem else ()
    if "-" in text:
        pieces = text.split("-")
        if all(map(known, pieces)):
            return tuple(part for piece in pieces for part in ("-", piece))[1:]
    number = language.ungrouped(text)
    if number and known(number):
        return (number,)
    if text.endswith(".") and known(text[:-1]):  # an abbreviation
        return (text[:-1],)
    return ()


class Vocabulary(Protocol):
    """A lexicon, as far as reading a text needs it."""

    @property
    def language(self) -> str:
        """Code of its language."""

    @property
    def words(self) -> Sequence[str]:
        """Words in their order."""

    def __hash__(self) -> int:
        """Return the same number for the same lexicon, as a key for caches."""

    def __len__(self) -> int:
        """Return the number of words n."""

    def __contains__(self, word: object) -> bool:
        """Return True if it holds a word."""

    def index(self, word: str) -> int:
        """Return the index of a word that it holds."""


class Role(StrEnum):
    """Treatment of a token."""

    PROTECTED = "protected"
    UNKNOWN = "unknown"
    RELEASED = "released"


# Marks that follow a word without a space; the others may also open something.
CLOSING = frozenset(".,;:!?)]}\"'’”»/") | {"…", "..."}
_NAMED = 10  # positions named in a refusal
UNFIT = "is it in capitals or with prefixes, or of another language?"
"""Question to a user about a vocabulary that lacks most words of a text."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One position of the text to be written.

    Attributes:
        source: Number of the token that it comes from, counted from 0; the parts of a split
            word have the same.
        role: Its treatment.
        before: White space before it, as `plain_space` gives it.
        case: Capitalisation of its output: LOWER, TITLE or UPPER.
        index: Index in the lexicon of a protected word, else -1.
        text: The fixed text, if there is one: a released token or the mask; else "".
        joined: True if it is an ending of the slot before, such as "n't".
    """

    source: int
    role: Role
    before: str
    case: Case
    index: int
    text: str
    joined: bool

    @property
    def is_open(self) -> bool:
        """True if a mechanism decides the text of this slot."""
        return not self.text

    @property
    def is_word(self) -> bool:
        """True if the slot holds a word or the mask, not a mark."""
        return self.role is not Role.RELEASED or self.text[0].isalnum() or self.joined


@dataclass(frozen=True)
class Encoding:
    """A text as a skeleton of released tokens with open slots.

    Attributes:
        slots: Everything that will be written, in order.
        vocabulary: Number of words n of the lexicon.
        treatment: Of the words.
        unknown: Numbers of the tokens outside the vocabulary, counted from 0.
        language: Of the lexicon.
    """

    slots: tuple[Slot, ...]
    vocabulary: int
    treatment: Treatment
    unknown: tuple[int, ...]
    language: Language

    @cached_property
    def open_slots(self) -> tuple[Slot, ...]:
        """The k slots that a mechanism fills."""
        return tuple(slot for slot in self.slots if slot.is_open)

    @cached_property
    def words(self) -> IntArray:
        """Lexicon index of each open slot, shape (k,); -1 for a word outside the vocabulary."""
        return np.array([slot.index for slot in self.open_slots], dtype=np.int64)

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Return the words that a mechanism is to rewrite.

        Under REPLACE the input of the mechanism M for an unknown word u is a uniformly random
        word. So P(y | u) is the mean of P(y | v) over all words v: it does not depend on u, and
        if P(y | v) <= exp(ε d(v, w)) P(y | w) for all v, then
        P(y | u) <= exp(ε max_v d(v, w)) P(y | w), and the same the other way round. Writing the
        random word itself would hide u as well, but not that it was unknown.

        Args:
            rng: Source of the random stand-ins, fresh for each rewriting.

        Returns:
            Shape (k,), read-only: one lexicon index for each open slot.
        """
        words = stand_in(self.words, self.vocabulary, rng)
        words.setflags(write=False)
        return words


def stand_in(words: IntArray, vocabulary: int, rng: np.random.Generator) -> IntArray:
    """Return a copy with a uniformly random word for each unknown one (-1): see `Encoding.draw`."""
    inputs = words.copy()
    absent = np.flatnonzero(words < 0)
    if absent.size:
        inputs[absent] = rng.integers(vocabulary, size=absent.size)
    return inputs


def _wider(first: str, second: str) -> str:
    """Return the wider of two white spaces in the form of `plain_space`."""
    return max(first, second, key=("", " ", "\n", "\n\n").index)


def _without(tokens: Sequence[Token], dropped: frozenset[int]) -> list[tuple[int, Token]]:
    """Leave tokens out; the white space before one goes to the next, except to a closing mark."""
    kept: list[tuple[int, Token]] = []
    carried = ""
    for source, token in enumerate(tokens):
        space = plain_space(token.before)
        if source in dropped:
            carried = _wider(carried, space)
            continue
        if carried and (space or token.text not in CLOSING):
            space = _wider(carried, space)
        carried = ""
        kept.append((source, token if space == token.before else replace(token, before=space)))
    return kept


def encode(
    tokens: Iterable[Token],
    lexicon: Vocabulary,
    treatment: Treatment = DEFAULT_TREATMENT,
) -> Encoding:
    """Determine for every token whether it is protected, unknown or released.

    A token is looked up in canonical form, unchanged and then in lower case; in another language
    than English also in the capitals of the lexicon (`spellings`). A token that is neither in the
    lexicon nor a mark of the fixed list is unknown: names, numbers, addresses and symbols alike.
    Symbols that touch a word are looked up with it, else left out (`parts_of`).

    Args:
        tokens: The tokens of one text.
        lexicon: The vocabulary.
        treatment: Of unknown words, function words and capital letters.

    Returns:
        The encoding; it holds no character of an unknown word.

    Raises:
        ParameterError: Function words are to be kept, and none are known of this language.
        TextError: The policy is REJECT and there are unknown words; the message names their
            positions, not the words.
    """
    policy, language = treatment.unknown_words, rules_of(lexicon.language)
    if treatment.keep_stop_words and not language.stop_words:
        raise ParameterError(
            f"no function words are known of the language {language.code!r} of this lexicon: "
            "protect all words, without the option that keeps function words"
        )
    tokens = tuple(tokens)
    spelt = spellings(lexicon, language)

    def stop_word(part: str) -> bool:
        return treatment.keep_stop_words and language.lower(part) in language.stop_words

    def known(part: str) -> bool:
        return spelt(part) is not None or stop_word(part)

    def slot(source: int, place: int, part: str, before: str, case: Case) -> Slot:
        lower = language.lower(part)
        joined = place > 0 and lower in language.clitics
        if stop_word(part):
            return Slot(source, Role.RELEASED, before, case, -1, lower, joined)
        word = spelt(part)
        if word is not None and not (place and part == "-"):
            return Slot(source, Role.PROTECTED, before, case, lexicon.index(word), "", joined)
        # Only the hyphens and the possessive ending that the splitting put there remain.
        return Slot(source, Role.RELEASED, before, case, -1, lower, joined)

    parts = [
        (token.text,) if token.kind is Kind.PUNCTUATION else parts_of(token.text, known, language)
        for token in tokens
    ]
    unknown = tuple(source for source, pieces in enumerate(parts) if not pieces)
    # All unknown positions are collected before anything is written, so that a refusal names each.
    if unknown and policy is UnknownWordPolicy.REJECT:
        raise TextError(_refusal(unknown, tokens, len(lexicon)))
    dropped = frozenset(unknown if policy is UnknownWordPolicy.DROP else ())
    kept = _without(tokens, dropped)
    # Of the tokens that stay: after a dropped word the next one begins the sentence.
    cases = released_cases([token for _, token in kept], treatment.case, language)
    slots: list[Slot] = []
    for (source, token), case in zip(kept, cases, strict=True):
        if token.kind is Kind.PUNCTUATION:
            slots.append(Slot(source, Role.RELEASED, token.before, case, -1, token.text, False))
        elif not parts[source]:
            fixed = MASK if policy is UnknownWordPolicy.MASK else ""
            slots.append(Slot(source, Role.UNKNOWN, token.before, case, -1, fixed, False))
        else:
            slots.extend(
                slot(source, place, part, "" if place else token.before, part_case)
                for place, (part, part_case) in enumerate(
                    zip(
                        parts[source], _part_cases(parts[source], case, treatment.case), strict=True
                    )
                )
            )
    return Encoding(tuple(slots), len(lexicon), treatment, unknown, language)


def _part_cases(parts: Sequence[str], case: Case, policy: CasePolicy) -> list[Case]:
    """Return the capitalisation of the parts of a word that has `case` as a whole."""
    if case is Case.UPPER:
        return [case] * len(parts)
    keep = policy is CasePolicy.KEEP
    return [case, *(released_case(part) if keep else Case.LOWER for part in parts[1:])]


def _refusal(unknown: Sequence[int], tokens: Sequence[Token], vocabulary: int) -> str:
    """Return the message of the policy REJECT."""
    number = 0
    places: list[str] = []
    absent = frozenset(unknown)
    for source, token in enumerate(tokens):
        number += token.kind is not Kind.PUNCTUATION
        if source in absent:
            places.append(f"{number:,}")
    shown = ", ".join(places[:_NAMED])
    more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    single = len(places) == 1
    word, verb, pronoun = ("word", "is", "it") if single else ("words", "are", "them")
    return (
        f"{word} {shown}{more} of the text {verb} not among the {vocabulary:,} words of the "
        f"lexicon; exchange {pronoun} or choose another policy than 'reject': replace, mask or drop"
    )
