"""A text with its personal data blacked out, as an ordinary redactor does it.

A redactor looks for kinds of personal data and writes a block over each; everything else is
released unchanged. There is no ε: nothing is guaranteed about the rest of the text, and personal
data that is not found is released too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dpcore.arguments import a_kind, a_name
from dpcore.arrays import BoolArray, IntArray
from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS, MAX_REDACTED_CHARACTERS
from dpcore.rewrite.redact.entities import ENTITIES
from dpcore.rewrite.redact.rules import RULES
from dpcore.rewrite.redact.spans import AnnotatedText, Redactor, Span
from dpcore.rewrite.sentence import Sentence, check_text, prepare
from dpcore.rewrite.tokens import Kind, tokenize

REDACTORS = (RULES, ENTITIES)
"""The redactors; one without its packages raises an error when it is used."""
BLOCK = "▇"
"""Text that is written over each span."""
NO_PROMISE = "no ε: nothing is guaranteed about what stays"


class Word(NamedTuple):
    """Characters start to end (exclusive) of a text, and True if any of them is blacked out."""

    start: int
    end: int
    hidden: bool


@dataclass(frozen=True)
class Redaction:
    """A text, and the spans that a redactor found in it.

    Attributes:
        text: as it was written.
        spans: in order, without overlap.
        redactor: name of the redactor.
    """

    text: str
    spans: tuple[Span, ...]
    redactor: str

    @property
    def blocked(self) -> str:
        """Text with one block for each span."""
        return self._written(lambda span: BLOCK)

    @property
    def named(self) -> str:
        """Text with the kind of each span in its place, such as [NAME]."""
        return self._written(lambda span: f"[{span.kind.upper()}]")

    def _written(self, mark: Callable[[Span], str]) -> str:
        pieces: list[str] = []
        done = 0
        for span in self.spans:
            pieces += self.text[done : span.start], mark(span)
            done = span.end
        return "".join(pieces) + self.text[done:]

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """All words of the text, without punctuation marks; numbers and addresses are words.

        A word with any blacked-out character counts as hidden.
        """
        return tuple(_words(self.text, self.spans))

    @property
    def left(self) -> int:
        """Number of words that are released unchanged."""
        return sum(not word.hidden for word in self.words)

    def __repr__(self) -> str:
        """Return one line of numbers: typed text stays out of logs and tracebacks."""
        return f"Redaction({self.redactor}, {len(self.spans)} spans, {self.left} words left)"


def _words(text: str, spans: tuple[Span, ...]) -> Iterator[Word]:
    place, following = 0, iter(spans)
    span = next(following, None)
    for token in tokenize(text):
        start = place + len(token.before)
        place = start + len(token.text)
        while span is not None and span.end <= start:
            span = next(following, None)
        if token.kind is not Kind.PUNCTUATION:
            yield Word(start, place, span is not None and span.start < place)


def redactor_of(name: str) -> Redactor:
    """Return the redactor of a name.

    Raises:
        ParameterError: there is none; the message lists the names.
    """
    a_name(name, "a redactor")
    redactors = {redactor.name: redactor for redactor in REDACTORS}
    if name not in redactors:
        raise ParameterError(
            f"the redactor must be one of {', '.join(redactors)}, got {name[:40]!r}"
        )
    return redactors[name]


def redact(text: str, redactor: str = "rules") -> Redaction:
    """Black out the personal data that a redactor finds in a text.

    No mechanism of differential privacy, and no guarantee: personal data that is not found, and
    every word that is no personal data by itself, is released unchanged.

    Args:
        text: any text of up to `MAX_REDACTED_CHARACTERS` characters.
        redactor: "rules" (patterns and capital letters) or "entities" (a model of named entities,
            an optional package, with the rules of the kinds that have a fixed form).

    Returns:
        Spans with kinds, the text with blocks (`blocked`) or kinds (`named`) in their places, and
        the words with a flag for each hidden one.

    Raises:
        ParameterError: there is no such redactor.
        TextError: the text is empty, too long, or not text.
        MissingPackageError: the redactor's packages are not installed.
    """
    a_kind(text, str, "a text is needed", TextError)
    chosen = redactor_of(redactor)
    check_text(text, max_characters=MAX_REDACTED_CHARACTERS, max_tokens=MAX_REDACTED_CHARACTERS)
    return Redaction(text, chosen.spans(text), chosen.name)


# Facts that people annotate (`dpcore.rewrite.redact.spans`), as positions of a text over a lexicon.


Place = tuple[int, int]
"""Open slots first to stop (exclusive) of a sentence."""


@dataclass(frozen=True)
class PlacedFact:
    """A fact that stands in its text.

    Attributes:
        tag: its kind.
        person: number of the person in this text.
        places: positions of each of its places.
        value: lexicon indices of the first place whose words are all in the vocabulary; empty if
            there is none.
    """

    tag: str
    person: int
    places: tuple[Place, ...] = field(repr=False)
    value: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class PlacedText:
    """A text over a lexicon, with its facts.

    Attributes:
        sentence: its k open slots.
        hidden: True for a slot that a redactor blacks out, shape (k,).
        facts: those that stand in it.
    """

    sentence: Sentence
    hidden: BoolArray = field(repr=False)
    facts: tuple[PlacedFact, ...] = field(repr=False)

    @property
    def words(self) -> IntArray:
        """Lexicon index at each open slot, −1 outside the vocabulary, shape (k,)."""
        return self.sentence.words


def place_facts(annotated: AnnotatedText, lexicon: Lexicon, redactor: str = "") -> PlacedText:
    """Read a text over a lexicon, find the positions of its facts, and those that are blacked out.

    A position belongs to a fact, or is blacked out, if a character of its word is; but the ending
    of a word such as "Ann's" is no part of a fact that ends before it.

    Args:
        annotated: the text with its facts.
        lexicon: the vocabulary.
        redactor: name of a redactor; "" for none.

    Raises:
        TextError: the text cannot be read.
        ParameterError, MissingPackageError: as `redact`.
    """
    text = annotated.text
    sentence = prepare(
        text, lexicon, max_characters=MAX_FILE_CHARACTERS, max_tokens=MAX_FILE_TOKENS
    )
    tokens, slots = sentence.tokens, sentence.encoding.open_slots
    source = np.array([slot.source for slot in slots], dtype=np.int64)
    joined = np.array([slot.joined for slot in slots], dtype=bool)
    ends = np.cumsum([len(token.before) + len(token.text) for token in tokens])[source]
    starts = ends - np.array([len(token.text) for token in tokens])[source]
    hidden = np.zeros(source.size, dtype=bool)
    for span in redact(text, redactor).spans if redactor else ():
        hidden |= (starts < span.end) & (ends > span.start)
    facts = []
    for fact in annotated.facts:
        places: list[Place] = []
        for start, end in fact.spans:
            inside = np.flatnonzero((starts < end) & (ends > start) & ~(joined & (ends > end)))
            if inside.size:
                places.append((int(inside[0]), int(inside[-1]) + 1))
        known = (sentence.words[first:stop].tolist() for first, stop in places)
        value = next((tuple(words) for words in known if min(words) >= 0), ())
        if places:
            facts.append(PlacedFact(fact.tag, fact.person, tuple(places), value))
    return PlacedText(sentence, hidden, tuple(facts))
