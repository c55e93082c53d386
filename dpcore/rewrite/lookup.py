"""In which form a token is looked up in a vocabulary, and how it may be split."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from dpcore.rewrite.languages.known import rules_of
from dpcore.rewrite.tokens import bare

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.rewrite.languages.language import Language
    from dpcore.rewrite.vocabulary import Vocabulary

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
    """How the lexicon spells a word, as a function; None for a word that it does not hold.

    A word is looked up as it stands, and in lower case. In another language than English, where a
    lexicon may have nouns with a capital alone, then by its small letters, and last with "SS" for
    "ß" and the like (Unicode's full case folding); of several words the first counts. A "ß" is
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
    """The first word of a lexicon for each form in small letters, and for each folded one."""
    language = rules_of(lexicon.language)
    small: dict[str, str] = {}
    folded: dict[str, str] = {}
    for word in lexicon.words:
        lower = language.lower(canonical(word))
        small.setdefault(lower, word)
        folded.setdefault(lower.casefold(), word)
    return small, folded


def parts_of(text: str, known: Callable[[str], bool], language: Language) -> tuple[str, ...]:
    """The parts of a token that the vocabulary holds, without the symbols that touch them.

    Args:
        text: Of a token that is no mark.
        known: Whether a part is in the vocabulary, whatever its capitals.
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
        known: Whether a part is in the vocabulary, whatever its capitals.
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
    # The ending as a word of its own comes first: it is written as it was typed.
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
