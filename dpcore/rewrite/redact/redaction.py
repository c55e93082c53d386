"""A text with its personal data blacked out, as an ordinary redactor does it.

A redactor looks for kinds of personal data and writes a block over each; everything else is
released unchanged. There is no ε: nothing is guaranteed about the rest of the text, and personal
data that is not found is released too.
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
"""The redactors; one without its packages raises an error when it is used."""
BLOCK = "▇"
"""Text that is written over each span."""
NO_PROMISE = "no ε: nothing is promised about what stays"


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
