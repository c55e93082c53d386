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

CALLS = 12  # of each probe
_STARTS = "b d f g h k l m n p r s t v z br dr kl pl tr st".split()
_VOWELS = "a e i o u".split()
_SYLLABLES = 3


@dataclass(frozen=True)
class Probe:
    """A kind of string, and what came out for it.

    Attributes:
        kind: what it is, such as "an e-mail address".
        text: the string that was handed over.
        calls: how often.
        unchanged: calls that gave it back, capital letters apart.
        refused: calls that raised an exception, or gave something that is no word.
        outside: calls that gave another string that is not in the lexicon.
        capitals: calls whose output, another one, has its first letter in the same case as the
            string, where that is a capital; None for a string without one.
        refusal: why, if it was refused.
    """

    kind: str
    text: str
    calls: int
    unchanged: int
    refused: int
    outside: int
    capitals: int | None = None
    refusal: str = ""

    @property
    def passed(self) -> bool:
        """Whether it came through at least once."""
        return self.unchanged > 0


def unknown_texts(lexicon: Lexicon, rng: np.random.Generator) -> dict[str, str]:
    """Strings of several kinds that the lexicon does not have, in no spelling of capitals."""

    def word() -> str:
        while True:
            parts = zip(
                rng.choice(_STARTS, _SYLLABLES), rng.choice(_VOWELS, _SYLLABLES), strict=True
            )
            text = "".join(start + vowel for start, vowel in parts)
            if text not in lexicon and text.capitalize() not in lexicon:
                return text

    digits = "".join(map(str, rng.integers(0, 10, 6)))
    return {
        "a made-up word": word(),
        "a made-up name": word().capitalize(),
        "a number": f"7{digits}",
        "a telephone number": f"+00-555-{digits}",
        "an e-mail address": f"{word()}.{word()}@{word()}.example",
        "a made-up word with a hyphen": f"{word()}-{word()}",
    }


def known_texts(words: Sequence[str], lexicon: Lexicon) -> dict[str, str]:
    """Words of the lexicon as they are not in it: with a capital letter, in capitals, in twos."""
    plain = [word for word in words if word.isalpha() and word.islower() and word.isascii()]
    if not plain:
        return {}
    texts = {
        "a word with a capital letter": plain[0].capitalize(),
        "a word in capital letters": plain[0].upper(),
        "a word with a space before it": f" {plain[0]}",
    }
    if len(plain) > 1:
        texts["two words with a space between"] = f"{plain[0]} {plain[1]}"
    return {kind: text for kind, text in texts.items() if text not in lexicon}


def probed(function: WordFunction, kind: str, text: str, lexicon: Lexicon) -> Probe:
    """Hand a string over a few times."""
    outputs = function.outputs([text] * CALLS)
    came = [output for output in outputs if isinstance(output, str)]
    reasons = [output.reason for output in outputs if isinstance(output, Refusal)]
    others = [output for output in came if output.casefold() != text.casefold()]
    capital = text[:1].isupper()
    return Probe(
        kind=kind,
        text=text,
        calls=len(outputs),
        unchanged=len(came) - len(others),
        refused=len(reasons),
        outside=sum(output not in lexicon and output.lower() not in lexicon for output in others),
        capitals=sum(output[:1].isupper() for output in others) if capital else None,
        refusal=reasons[0] if reasons else "",
    )


def unchanged_words(words: Sequence[str], outputs: Sequence[Output]) -> int:
    """How many of some words came out as they were."""
    return sum(word == output for word, output in zip(words, outputs, strict=True))
