"""Sentences, numbers and names that a page can say in another language: they keep their parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from string import Formatter
from typing import Any, ParamSpec

_Given = ParamSpec("_Given")


class Gaps(Formatter):
    """Formatter of templates; the name of a gap may be a whole phrase, or have dots."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the value of a gap: of its whole name, else as `str.format` reads the name."""
        if field_name in kwargs:
            return kwargs[field_name], field_name
        return super().get_field(field_name, args, kwargs)


class Filled(str):
    """A sentence with its gaps filled, which keeps the template and the values.

    It is an ordinary string; code that formats the figures in another way finds them here.

    Attributes:
        template: sentence with gaps, as for `str.format`.
        values: values by name; a value may itself be such a sentence.
    """

    template: str
    values: Mapping[str, Any]

    # Positional only: a gap may be called "template".
    def __new__(cls, template: str, /, **values: Any) -> Filled:
        """Fill the gaps."""
        sentence = super().__new__(cls, Gaps().vformat(template, (), values))
        sentence.template, sentence.values = template, values
        return sentence

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Return the arguments from which `copy` and `pickle` rebuild the string."""
        return (self.template,), dict(self.values)


class Numeral(str):
    """A number written for readers, with the few words that belong to it: "at most 1 in 4,000"."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        """Return the text: it is written already, whatever a gap says of its form."""
        return str(self)


class Named(str):
    """A name of a curve, of a mechanism or of a method, translated as in the legend of a figure."""

    __slots__ = ()


def as_numeral(write: Callable[_Given, str]) -> Callable[_Given, Numeral]:
    """Mark the texts that a function returns as numbers."""

    @wraps(write)
    def written(*args: _Given.args, **named: _Given.kwargs) -> Numeral:
        return Numeral(write(*args, **named))

    return written


def listed(parts: Iterable[str], between: str = ", ") -> Filled:
    """Join texts, each of which is translated by itself."""
    texts = {f"text{place}": text for place, text in enumerate(parts)}
    return Filled(between.join(f"{{{name}}}" for name in texts), **texts)


class Templates:
    """Templates by which sentences that are plain text get their gaps back.

    A verdict in a file is plain text, and so is a sentence in several parts; a page that says it in
    another language needs the template, and the texts of the gaps.

    Args:
        templates: all that a text may have been made of.
    """

    def __init__(self, templates: Iterable[str]) -> None:
        self._whole: dict[str, Filled] = {}
        self._patterns: list[_Pattern] = []
        for template in dict.fromkeys(templates):
            try:
                pattern = _Pattern(template)
            except ValueError:  # a brace that stands for itself: it has no gaps
                continue
            if not pattern.gaps:
                self._whole[pattern.literal] = Filled(template)
            # A template of little more than gaps says nothing, and would fit any text.
            elif sum(map(str.isalpha, pattern.longest)) >= _LETTERS:
                self._patterns.append(pattern)
        # The most literal one first: a short template fits many texts.
        self._patterns.sort(key=lambda pattern: -len(pattern.literal))

    def read(self, text: str) -> str:
        """Return the sentence, or the sentences, with the gaps; the text itself if none fits."""
        return self._value(text, "", quoted=False)

    def _read(self, text: str) -> str:
        found = self._whole.get(text) or self._filled(text)
        if found is not None:
            return found
        # Several sentences one after the other; the longest known beginning is one of them.
        for end in sorted((match.end() for match in _SENTENCE.finditer(text)), reverse=True):
            first = self._whole.get(text[: end - 1]) or self._filled(text[: end - 1])
            if first is not None:
                return listed((first, self._read(text[end:])), text[end - 1])
        # Within a sentence another one begins with a small letter.
        large = text[:1].upper() + text[1:]
        return self._read(large) if large != text and _SENTENCE.search(f"{text} ") else text

    def _filled(self, text: str) -> Filled | None:
        for pattern in self._patterns:
            match = pattern.match(text)
            if match is None:
                continue
            values = {
                name: self._value(found, form, quoted=quoted)
                for (name, form, quoted), found in zip(pattern.gaps, match, strict=True)
            }
            filled = Filled(pattern.template, **values)
            # A gap that occurs twice has one value.
            if filled.lower() == text.lower():
                return filled
        return None

    def _value(self, text: str, form: str, *, quoted: bool) -> str:
        """Return the text of a gap as what it is: a number, a sentence, or a word of a text."""
        if quoted or not text.strip():
            return text
        if form or _WRITTEN.fullmatch(text):
            return Numeral(text)
        sentence = self._read(text)
        if sentence is not text or _PROSE.search(f"{text} ") or not re.search(r"\d", text):
            return sentence
        return listed((_figures(part) for part in text.split("; ")), "; ")


_NUMBER = r"[-−+±]?(?:[\d.,]*\d(?:e[-−+]?\d+)?|∞|inf|nan)%?"
_WRITTEN = re.compile(f"{_NUMBER}(?: %)?")
_SENTENCE = re.compile(r"[.:!?”)]\s")
_PROSE = re.compile(r"[.!?]\s|[“\"'`]")  # nothing that is a list of figures
_LETTERS = 5
_FORM = re.compile(r"[-+,.\d]*[defg%,]|\d+")  # of a number, in Python
_QUOTES = ("“", '"', "'")


def _figures(text: str) -> str:
    """Return a list of figures, each with the few words that belong to it."""
    return listed(Numeral(part) for part in text.split(", "))


def _looks(form: str) -> str:
    """Return an expression for the text of a gap of this form."""
    if not form:
        return ".*?"
    # Other forms are those of `dpcore.papers.overview`: "1 in 20,000", "nearly 0".
    return _NUMBER if _FORM.fullmatch(form) else r"[^.;:]{1,30}?|[^;:]{1,12}?"


class _Pattern:
    """A template, and the look of its sentences.

    Attributes:
        template: as for `str.format`.
        literal: its text outside the gaps, and `longest` the longest piece of it.
        longest: see `literal`.
        gaps: name of each gap, its form, and True if it stands in quotation marks.
    """

    def __init__(self, template: str) -> None:
        parts = list(Formatter().parse(template))
        pieces = [piece for piece, *_ in parts]
        self.template, self.literal = template, "".join(pieces)
        self.gaps = [
            (name, form or "", piece.endswith(_QUOTES))
            for piece, name, form, _ in parts
            if name is not None
        ]
        self.longest = max(pieces, key=len, default="")
        expression = "".join(
            re.escape(piece) + ("" if name is None else f"({_looks(form or '')})")
            for piece, name, form, _ in parts
        )
        self._expression = re.compile(expression, re.DOTALL)

    def match(self, text: str) -> tuple[str, ...] | None:
        """Return the texts of the gaps, or None for a text that is not of this template."""
        # Most templates are ruled out by their longest piece, in a moment.
        found = self._expression.fullmatch(text) if self.longest in text else None
        return None if found is None else found.groups()
