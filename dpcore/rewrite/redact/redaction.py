"""A text with its personal data blacked out, as an ordinary redactor does it.

A redactor looks for kinds of personal data and writes a block over each; all else is released as it
stands. There is no ε: nothing is promised about what stays, and what is not found is released too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dpcore.arguments import a_kind, a_name
from dpcore.errors import ParameterError, TextError
from dpcore.limits import MAX_REDACTED_CHARACTERS
from dpcore.rewrite.redact.entities import ENTITIES
from dpcore.rewrite.redact.rules import RULES
from dpcore.rewrite.redact.spans import Redactor, Span
from dpcore.rewrite.sentence import check_text
from dpcore.rewrite.tokens import Kind, tokenize

REDACTORS = (RULES, ENTITIES)
"""The redactors; one whose packages are not installed says so when it is used."""
BLOCK = "▇"
"""What is written over whatever was found."""
NO_PROMISE = "no ε: nothing is promised about what stays"


class Word(NamedTuple):
    """A word of a text: characters start to end (exclusive), and whether any is blacked out."""

    start: int
    end: int
    hidden: bool


@dataclass(frozen=True)
class Redaction:
    """A text, and what a redactor found in it.

    Attributes:
        text: as it was written.
        spans: what was found, in order, without overlap.
        redactor: name of the redactor.
    """

    text: str
    spans: tuple[Span, ...]
    redactor: str

    @property
    def blocked(self) -> str:
        """The text with one block for each span."""
        return self._written(lambda span: BLOCK)

    @property
    def named(self) -> str:
        """The text with the kind of each span in its place, such as [NAME]."""
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
        """All words of the text, marks of punctuation aside; numbers and addresses are words.

        One of which any character is blacked out counts as hidden.
        """
        return tuple(_words(self.text, self.spans))

    @property
    def left(self) -> int:
        """How many words are released as they stand."""
        return sum(not word.hidden for word in self.words)

    def __repr__(self) -> str:
        """One line of numbers: what was typed stays out of logs and tracebacks."""
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
    """The redactor of a name.

    Raises:
        ParameterError: there is none; the message names those that there are.
    """
    a_name(name, "a redactor")
    redactors = {redactor.name: redactor for redactor in REDACTORS}
    if name not in redactors:
        raise ParameterError(
            f"the redactor must be one of {', '.join(redactors)}, got {name[:40]!r}"
        )
    return redactors[name]


def redact(text: str, redactor: str = "rules") -> Redaction:
    """Black out of a text what a redactor takes for personal data.

    No mechanism of differential privacy, and no promise: what is not found, and every word that is
    no personal data by itself, is released as it stands.

    Args:
        text: any text of up to `MAX_REDACTED_CHARACTERS` characters.
        redactor: "rules" (patterns and capital letters) or "entities" (a model of named entities,
            an optional package, with the rules of the kinds that have a form of their own).

    Returns:
        Spans with kinds, the text with blocks (`blocked`) or kinds (`named`) in their places, and
        which words are left.

    Raises:
        ParameterError: there is no such redactor.
        TextError: the text is empty, too long, or not text.
        MissingPackageError: the redactor's packages are not installed.
    """
    a_kind(text, str, "a text is needed", TextError)
    chosen = redactor_of(redactor)
    check_text(text, max_characters=MAX_REDACTED_CHARACTERS, max_tokens=MAX_REDACTED_CHARACTERS)
    return Redaction(text, chosen.spans(text), chosen.name)
