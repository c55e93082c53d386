"""Table of a language's rules: function (stop) words, contractions, capitals, numbers.

A table is part of the tokenizer and thus public: nothing in it may be adapted to a text that is to
be protected. A rule that a table leaves empty does not apply in that language; nothing is borrowed
from another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Ending:
    """A contracted ending.

    Attributes:
        text: as it is written, such as "n't".
        full: the word that it abbreviates.
        after: the words that it may follow, in lower case; None for any.
    """

    text: str
    full: str
    after: frozenset[str] | None = None


@dataclass(frozen=True, eq=False)
class Language:
    """Rules of a language.

    Attributes:
        code: of ISO 639, as `Lexicon.language`.
        name: in English; empty for a language without a table.
        stop_words: function words that the stop-word option releases, in lower case.
        clitics: endings that some lexicons hold as separate words; written without a space before
            them.
        possessive: an ending that is released where the word before it is known; "" for none.
        contractions: words that abbreviate two others, in lower case.
        endings: contracted endings, the first that fits counts.
        always_capital: words, in lower case, that are always written with a capital, so that it
            says nothing about a name.
        thousands: the character between groups of three digits; "" for none.
        capitals_released: information released where capitals are kept, to be shown to users; ""
            for the text of `CASE_RELEASES`.
        possessive_released: information released by `possessive`, to be shown to users; "" for
            none.
        stop_words_released: information released with the function words, to be shown to users.
        upper_of: capitals of small letters that are not Unicode's, both ways.
        any_capitals: True if a word is also found in other capitals of the lexicon ("HAUS" as
            "Haus"), not only in small letters.
    """

    code: str
    name: str = ""
    stop_words: frozenset[str] = frozenset()
    clitics: frozenset[str] = frozenset()
    possessive: str = ""
    contractions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    endings: tuple[Ending, ...] = ()
    always_capital: frozenset[str] = frozenset()
    thousands: str = ""
    capitals_released: str = ""
    possessive_released: str = ""
    stop_words_released: str = ""
    upper_of: Mapping[str, str] = field(default_factory=dict)
    any_capitals: bool = True

    def lower(self, text: str) -> str:
        """Return a text in small letters."""
        return text.translate(self._small).lower() if self.upper_of else text.lower()

    def upper(self, text: str) -> str:
        """Return a text in capitals."""
        return text.translate(self._large).upper() if self.upper_of else text.upper()

    def title(self, letter: str) -> str:
        """Return a letter as the first of a word with a capital."""
        return self.upper_of.get(letter) or letter.title()

    def split_contraction(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return the ways to write a contraction as two words.

        Args:
            word: With a straight apostrophe, in any case.

        Returns:
            Candidates, the best first: word and ending ("do", "n't"), then word and word ("do",
            "not"). Empty for a word that is not a contraction. The case of the first part is kept.
        """
        lower = self.lower(word)
        if lower in self.contractions:
            return (self.contractions[lower],)
        for ending in self.endings:
            before = lower.removesuffix(ending.text)
            if before in ("", lower) or not (ending.after is None or before in ending.after):
                continue
            stem = word[: -len(ending.text)]
            return (stem, ending.text), (stem, ending.full)
        return ()

    def ungrouped(self, number: str) -> str:
        """Return a number without the marks between its thousands; "" if there are none."""
        if not self.thousands or not self._grouped.fullmatch(number):
            return ""
        return number.replace(self.thousands, "")

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        return re.compile(rf"\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+")

    @cached_property
    def _small(self) -> dict[int, str]:
        return {ord(large): small for small, large in self.upper_of.items()}

    @cached_property
    def _large(self) -> dict[int, str]:
        return {ord(small): large for small, large in self.upper_of.items()}
