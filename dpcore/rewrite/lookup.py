"""In which form a token is looked up in a vocabulary, and how it may be split."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from dpcore.rewrite.english import POSSESSIVE, split_contraction
from dpcore.rewrite.tokens import bare

if TYPE_CHECKING:
    from collections.abc import Callable

# Longer tokens are not looked up: normalising a long run of combining marks takes quadratic time.
_LONGEST_WORD = 100
_PLAIN = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-"})
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")


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


def parts_of(text: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """The parts of a token that the vocabulary holds, without the symbols that touch them.

    Args:
        text: Of a token that is no mark.
        known: Whether a part is in the vocabulary, in this or in lower case.

    Returns:
        `split_word` of the whole token if there is one (a vocabulary may hold "c++"); else, where
        every word in it has parts, all of these; else nothing. Symbols are never written.
    """
    whole = split_word(canonical(text), known)
    words = bare(text)
    if whole or words == (text,):
        return whole
    parts_of_words = [split_word(canonical(word), known) for word in words]
    return tuple(part for parts in parts_of_words for part in parts) if all(parts_of_words) else ()


def split_word(text: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """Split a token into parts that the vocabulary holds.

    Args:
        text: The canonical form of a token.
        known: Whether a part is in the vocabulary, in this or in lower case.

    Returns:
        The token itself if it is known; else, where all words in them are known, the two words
        of a contraction, a word and its possessive ending "'s", or the parts of a hyphenated
        word with "-" between them; else nothing.
    """
    if not text:
        return ()
    if known(text):
        return (text,)
    # The ending as a word of its own comes first: it is written as it was typed.
    for parts in split_contraction(text):
        if all(map(known, parts)):
            return parts
    if text.lower().endswith(POSSESSIVE):
        stem = split_word(text[: -len(POSSESSIVE)], known)
        return (*stem, POSSESSIVE) if stem else ()
    if "-" in text:
        pieces = text.split("-")
        if all(map(known, pieces)):
            return tuple(part for piece in pieces for part in ("-", piece))[1:]
    if _GROUPED.fullmatch(text) and known(text.replace(",", "")):
        return (text.replace(",", ""),)
    if text.endswith(".") and known(text[:-1]):  # an abbreviation
        return (text[:-1],)
    return ()
