"""What becomes of strings that are no words of the lexicon: do they come through?

A promise about the words of a vocabulary says nothing of a telephone number. What a function does
with one is found out by handing it some that nobody has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.blackbox.function import Refusal

if TYPE_CHECKING:
    from dpcore.audit.blackbox.function import Output, WordFunction
    from dpcore.lexicon.lexicon import Lexicon

CALLS = 20  # of each probe
_STARTS = "b d f g h k l m n p r s t v z br dr kl pl tr st".split()
_VOWELS = "a e i o u".split()
_SYLLABLES = 3


@dataclass(frozen=True)
class Tally:
    """What came out for a string.

    Attributes:
        text: the string that was handed over.
        calls: how often.
        unchanged: calls that gave it back, capital letters apart.
        capitals: calls whose output begins with a capital letter.
        refused: calls that raised an exception, or gave something that is no word.
        outside: calls that gave another string that is not in the lexicon.
        refusal: why, if it was refused.
    """

    text: str
    calls: int
    unchanged: int
    capitals: int
    refused: int
    outside: int
    refusal: str = ""

    @classmethod
    def of(cls, function: WordFunction, text: str, lexicon: Lexicon) -> Tally:
        """Hand a string over a few times."""
        outputs = function.outputs([text] * CALLS)
        words = [output for output in outputs if isinstance(output, str)]
        reasons = [output.reason for output in outputs if isinstance(output, Refusal)]
        others = [output for output in words if output.casefold() != text.casefold()]
        return cls(
            text=text,
            calls=len(outputs),
            unchanged=len(words) - len(others),
            capitals=sum(output[:1].isupper() for output in words),
            refused=len(reasons),
            outside=sum(
                output not in lexicon and output.lower() not in lexicon for output in others
            ),
            refusal=reasons[0] if reasons else "",
        )


@dataclass(frozen=True)
class Probe:
    """A kind of string that is no word of the lexicon, and what came out for it.

    Attributes:
        kind: what it is, such as "an e-mail address".
        tally: what came out.
        plain: of the same without its capital letter or space; None if it has none.
        error: probability with which a finding that compares the two may be wrong.
    """

    kind: str
    tally: Tally
    plain: Tally | None
    error: float

    @property
    def passed(self) -> bool:
        """Whether it comes through: at all, or more often than the word that it is but for that."""
        if self.plain is None:
            return self.tally.unchanged > 0
        return self._more(self.tally.unchanged, self.plain.unchanged)

    @property
    def capitals_show(self) -> bool:
        """Whether capital letters come out more often for it than without its own."""
        return self.plain is not None and self._more(self.tally.capitals, self.plain.capitals)

    def _more(self, first: int, second: int) -> bool:
        """Whether so many of the calls are more than so many, by Fisher's exact test."""
        from scipy.stats import hypergeom

        return bool(hypergeom.sf(first - 1, 2 * CALLS, first + second, CALLS) <= self.error)


def unknown_texts(lexicon: Lexicon, rng: np.random.Generator) -> dict[str, tuple[str, str | None]]:
    """Strings that the lexicon has in no spelling, by kind; in the form of `known_texts`."""

    def word() -> str:
        while True:
            parts = zip(
                rng.choice(_STARTS, _SYLLABLES), rng.choice(_VOWELS, _SYLLABLES), strict=True
            )
            text = "".join(start + vowel for start, vowel in parts)
            if text not in lexicon and text.capitalize() not in lexicon:
                return text

    digits = "".join(map(str, rng.integers(0, 10, 6)))
    name = word()
    return {
        "a made-up word": (word(), None),
        "a made-up name": (name.capitalize(), None),
        "a number": (f"7{digits}", None),
        "a telephone number": (f"+00-555-{digits}", None),
        "an e-mail address": (f"{word()}.{word()}@{word()}.example", None),
        "a made-up word with a hyphen": (f"{word()}-{word()}", None),
    }


def known_texts(words: Sequence[str], lexicon: Lexicon) -> dict[str, tuple[str, str | None]]:
    """Words as the lexicon does not have them, by kind, each with the word as it has it."""
    plain = [word for word in words if word.isalpha() and word.islower() and word.isascii()][:2]
    if not plain:
        return {}
    texts: dict[str, tuple[str, str | None]] = {
        "a word with a capital letter": (plain[0].capitalize(), plain[0]),
        "a word in capital letters": (plain[0].upper(), plain[0]),
        "a word with a space before it": (f" {plain[0]}", plain[0]),
        "two words with a space between": (" ".join(plain), plain[0]),
    }
    return {kind: pair for kind, pair in texts.items() if pair[0] not in lexicon}


def probed(
    function: WordFunction, kind: str, text: str, plain: str | None, lexicon: Lexicon, error: float
) -> Probe:
    """Hand a string over a few times, and its plain form as often."""
    return Probe(
        kind,
        Tally.of(function, text, lexicon),
        None if plain is None else Tally.of(function, plain, lexicon),
        error,
    )


def unchanged_words(words: Sequence[str], outputs: Sequence[Output]) -> int:
    """How many of some words came out as they were."""
    return sum(word == output for word, output in zip(words, outputs, strict=True))
