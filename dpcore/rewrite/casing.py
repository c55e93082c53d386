"""Capital letters: what of them is released, and how it is put back.

How a word is capitalised says something about it: a capital inside a sentence marks a name. Only
three patterns are ever released, so that "iPhone" or "McDonald" cannot be told by its shape.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dpcore.rewrite.tokens import Kind, bare, plain_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.rewrite.languages.language import Language
    from dpcore.rewrite.tokens import Token


class Case(StrEnum):
    """The capitalisation of a word."""

    LOWER = "lower"
    TITLE = "title"
    UPPER = "upper"
    MIXED = "mixed"


class CasePolicy(StrEnum):
    """What is released about capital letters."""

    KEEP = "keep"
    SENTENCE = "sentence"


CASE_RELEASES = {
    CasePolicy.KEEP: (
        "which words begin with a capital letter and which are all in capitals "
        "(a capital inside a sentence often marks a name)"
    ),
    CasePolicy.SENTENCE: (
        "nothing about capital letters: the first word of every sentence gets one, "
        "wherever the text had them"
    ),
}
"""For each policy, what it releases, to be shown to users."""

_SENTENCE_END = frozenset(".!?")
# Between the end of a sentence and the next word these may stand.
_TRANSPARENT = frozenset("\"'“”„‘’‚«»‹›()[]{}-‐‑–—¿¡")


def _cased(word: str) -> list[str]:
    """Return the letters that have an upper and a lower case."""
    return [letter for letter in word if letter.lower() != letter.upper()]


def shape_of(word: str) -> Case:
    """Return how a word is capitalised.

    Args:
        word: Any string.

    Returns:
        LOWER also where there is no cased letter at all, TITLE for a single capital letter.
    """
    if word.isascii() and word == word.lower():  # most words: no capital letter
        return Case.LOWER
    if word.isascii() and word.isalpha():
        if word.isupper() and len(word) > 1:
            return Case.UPPER
        return Case.TITLE if word.istitle() else Case.MIXED
    capital = [letter != letter.lower() for letter in _cased(word)]
    if not any(capital):
        return Case.LOWER
    if all(capital) and len(capital) > 1:
        return Case.UPPER
    return Case.TITLE if capital[0] and not any(capital[1:]) else Case.MIXED


def released_case(word: str) -> Case:
    """Return the pattern that is released for a word: LOWER, TITLE or UPPER, never MIXED."""
    shape = shape_of(word)
    if shape is not Case.MIXED:
        return shape
    first = _cased(word)[0]
    return Case.TITLE if first != first.lower() else Case.LOWER


def apply(case: Case, word: str, language: Language) -> str:
    """Write a word with a given capitalisation.

    Args:
        case: LOWER leaves the word as the lexicon has it. MIXED is refused by `released_case`
            and treated as LOWER.
        word: Any string.
        language: Of the word.

    Returns:
        The word; in English the pronoun "I" and its contractions always have their capital.
    """
    if case is Case.UPPER:
        return language.upper(word)
    if case is Case.TITLE or word in language.always_capital:
        for place, letter in enumerate(word):
            if letter.isalnum():
                return word[:place] + language.title(letter) + word[place + 1 :]
    return word


def begins_sentence(token: Token) -> bool | None:
    """Say whether the word after a token begins a sentence; None if the token changes nothing."""
    if token.kind is not Kind.PUNCTUATION:
        return False
    return True if token.text in _SENTENCE_END else None if token.text in _TRANSPARENT else False


def sentence_starts(tokens: Sequence[Token]) -> tuple[bool, ...]:
    """Say which tokens are the first word of a sentence.

    Args:
        tokens: Tokens of one text.

    Returns:
        One flag a token, computed from released information only: kinds of punctuation, paragraph
        breaks and places of words.
    """
    flags: list[bool] = []
    fresh = True
    for token in tokens:
        if plain_space(token.before) == "\n\n":
            fresh = True
        flags.append(fresh and token.kind is not Kind.PUNCTUATION)
        begins = begins_sentence(token)
        fresh = fresh if begins is None else begins
    return tuple(flags)


def _without_symbols(text: str) -> str:
    """A token that is one word with symbols around it as that word: "I-" is the pronoun."""
    words = () if text.isalpha() else bare(text)
    return words[0] if len(words) == 1 else text


def own_case(token: Token, language: Language) -> tuple[Case | None, bool]:
    """Return how a token is capitalised by itself.

    Args:
        token: Any token.
        language: Of the text.

    Returns:
        LOWER, TITLE or UPPER; None if that is for its place in the sentence to say. And whether it
        is a single capital letter, which looks alike in a title and in capitals: its neighbours
        decide.
    """
    if token.kind is not Kind.WORD:
        return None, False
    shape = released_case(token.text)
    text = _without_symbols(token.text).replace("’", "'")
    single = len(text) == 1 and shape is Case.TITLE
    if text[0].isupper() and language.lower(text) in language.always_capital:
        # Its capital says nothing about a name and must not move to another word.
        return None, single
    return shape if (text.isascii() and text.isalpha()) or _cased(text) else None, single


def released_cases(
    tokens: Sequence[Token], policy: CasePolicy, language: Language
) -> tuple[Case, ...]:
    """Return the capitalisation with which each token will be written.

    Args:
        tokens: Tokens of one text.
        policy: What may be released.
        language: Of the text.

    Returns:
        One of LOWER, TITLE and UPPER for each token. Under SENTENCE it depends on no letter of
        any word.
    """
    cases = [Case.TITLE if start else Case.LOWER for start in sentence_starts(tokens)]
    if CasePolicy(policy) is CasePolicy.SENTENCE:
        return tuple(cases)
    words = [place for place, token in enumerate(tokens) if token.kind is Kind.WORD]
    for number, place in enumerate(words):
        own, single = own_case(tokens[place], language)
        around = words[max(number - 1, 0) : number] + words[number + 1 : number + 2]
        if single and around and all(released_case(tokens[i].text) is Case.UPPER for i in around):
            cases[place] = Case.UPPER
        elif own is not None:
            cases[place] = own
    return tuple(cases)
