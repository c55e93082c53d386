"""Policy for unknown words and other words of a text, and the information that it reveals.

The sentences are part of the guarantee: they are shown wherever a text is rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dpcore.rewrite.languages import Language
from dpcore.rewrite.tokens import CASE_RELEASES, CasePolicy


class UnknownWordPolicy(StrEnum):
    """Treatment of a word outside the vocabulary; part of the guarantee."""

    REPLACE = "replace"
    MASK = "mask"
    DROP = "drop"
    REJECT = "reject"


MASK = "[…]"
"""Replacement of an unknown word under the policy MASK."""

RELEASED = (
    "the number of words after splitting, and their order",
    "punctuation marks from a fixed list, repetitions included, also where they stand for more "
    "(an abbreviation, a face, inches), and the hyphens of a compound that is not in the "
    "vocabulary while all its parts are; not a symbol, hyphen, dash or slash at the edge of a "
    "word (HIV+, HCV-, $5), which is read with the word and never written by itself",
    "line breaks, paragraph breaks, and where there is a space (not which or how many)",
)
"""Information released unchanged under all options and languages."""

_POLICIES = {
    UnknownWordPolicy.REPLACE: (
        "a word outside the vocabulary is exchanged for a word drawn uniformly at random and then "
        "rewritten like any other: the output is independent of which unknown word it was, and "
        "that it was unknown is protected as much as the two most distant words of the lexicon are"
    ),
    UnknownWordPolicy.MASK: (
        f"a word outside the vocabulary becomes {MASK}: which word it was stays hidden, but "
        "everybody sees that an unknown word stood there"
    ),
    UnknownWordPolicy.DROP: (
        "a word outside the vocabulary is left out: which word it was stays hidden, but the text "
        "gets shorter, and the marks around a gap can show that a word is missing"
    ),
    UnknownWordPolicy.REJECT: (
        "a text with a word outside the vocabulary is refused: that a text was accepted shows "
        "that all its words are in the vocabulary"
    ),
}


def describe(policy: UnknownWordPolicy) -> str:
    """Return one sentence on the effect of a policy and the information that it reveals."""
    return _POLICIES[policy]


@dataclass(frozen=True, slots=True)
class Treatment:
    """Treatment of the words of a text under every mechanism; part of the guarantee.

    Attributes:
        unknown_words: Policy for words outside the vocabulary.
        keep_stop_words: Release the function words of a fixed list instead of protecting them.
        case: Policy for capital letters.

    Raises:
        ValueError: There is no such policy.
    """

    unknown_words: UnknownWordPolicy = UnknownWordPolicy.REPLACE
    keep_stop_words: bool = False
    case: CasePolicy = CasePolicy.KEEP

    def __post_init__(self) -> None:
        """Accept a policy also by its name, as a command line or a record has it."""
        object.__setattr__(self, "unknown_words", UnknownWordPolicy(self.unknown_words))
        object.__setattr__(self, "case", CasePolicy(self.case))

    def released(self, language: Language) -> tuple[str, ...]:
        """Return the unprotected information in a rewritten text about the original, in sentences.

        Args:
            language: Of the lexicon.
        """
        *fixed, spaces = RELEASED
        kept = language.capitals_released if self.case is CasePolicy.KEEP else ""
        sentences = (
            *fixed,
            language.possessive_released,
            spaces,
            kept or CASE_RELEASES[self.case],
            language.stop_words_released if self.keep_stop_words else "",
            describe(self.unknown_words),
        )
        return tuple(filter(None, sentences))


DEFAULT_TREATMENT = Treatment()
