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
            elif pattern.letters >= _FEW:
                self._patterns.append(pattern)
        # The most literal one first: a short template fits many texts.
        self._patterns.sort(key=lambda pattern: -len(pattern.literal))

    def read(self, text: str) -> str:
        """Return the sentence, or the sentences, with the gaps; the text itself if none fits."""
        return _Reading(self._whole, self._patterns).value(text, "", quoted=False)

    def sentence(self, text: str) -> Filled | None:
        """Return one sentence with its gaps, or None if no template fits."""
        return _Reading(self._whole, self._patterns).sentence(text)


class _Reading:
    """Reading of one text, which tries every part of it once.

    Args:
        whole: sentences without gaps.
        patterns: templates with gaps, the most literal one first.
    """

    def __init__(self, whole: Mapping[str, Filled], patterns: Sequence[_Pattern]) -> None:
        self._whole, self._patterns = whole, patterns
        self._known: dict[str, Filled | None] = {}
        self._several: dict[str, str] = {}

    def value(self, text: str, form: str, *, quoted: bool) -> str:
        """Return the text of a gap as what it is: a number, a sentence, or a word of a text."""
        if quoted or not text.strip():
            return text
        if form or _WRITTEN.fullmatch(text):
            return Numeral(text)
        sentence = self._sentences(text)
        if isinstance(sentence, Filled) or _PROSE.search(f"{text} ") or not _DIGIT.search(text):
            return sentence
        return listed(map(self._figures, text.split("; ")), "; ")

    def _figures(self, text: str) -> str:
        """Return a known name and its figures, or a list of figures with a few words each."""
        match = _NAMED.fullmatch(text)
        name = None if match is None else self._whole.get(match[1])
        if match is not None and name is not None:
            return listed((name, self._figures(match[2])), " ")
        return listed(map(Numeral, text.split(", ")))

    def _sentences(self, text: str) -> str:
        """Return one sentence or several; a reading that leaves nothing unread comes first."""
        if text not in self._several:
            self._several[text] = self._split(text)
        return self._several[text]

    def _split(self, text: str) -> str:
        best: str | None = self.sentence(text)
        if best is not None and not _unread(best):
            return best
        breaks = list(_BREAK.finditer(text))
        for gap in reversed(breaks):
            first, between = self.sentence(text[: gap.start()]), gap[0]
            if first is None:
                continue
            # A further sentence may be a template that begins with the space.
            for space, rest in ((between, text[gap.end() :]), ("", text[gap.start() :])):
                second = self._sentences(rest)
                if isinstance(second, Filled) and not _unread(second):
                    return listed((first, second), space)
            best = best or listed((first, self._sentences(text[gap.end() :])), between)
        if best is None and breaks:
            # A name before a colon, or a sentence that no catalogue has.
            rest = self._sentences(text[breaks[0].end() :])
            if isinstance(rest, Filled) and not _unread(rest):
                name, colon, _ = text[: breaks[0].start()].partition(":")
                return listed((self.sentence(name) or name, rest), colon + breaks[0][0])
        return best or text

    def sentence(self, text: str) -> Filled | None:
        """Return one sentence; within another one it may begin with a small letter."""
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> Filled | None:
        large = text[:1].upper() + text[1:]
        # A single word with a small letter is no sentence, but may be a name.
        sentence = self._whole.get(text) or (self._whole.get(large) if " " in text else None)
        if sentence is not None:
            return sentence
        best = None
        for pattern in self._patterns:
            for match in pattern.matches(text) or pattern.matches(large):
                values = {
                    name: self.value(gap, form, quoted=quoted)
                    for (name, form, quoted), gap in zip(pattern.gaps, match, strict=True)
                }
                filled = Filled(pattern.template, **values)
                # A gap that occurs twice has one value.
                if filled.lower() != text.lower():
                    continue
                if not _unread(filled):
                    return filled
                if pattern.letters >= _SHORT:
                    best = best or filled
        return best


def _unread(sentence: str) -> bool:
    """Return True if words in a gap were not recognised."""
    if isinstance(sentence, Numeral):
        return _MANY_WORDS.search(sentence) is not None
    if not isinstance(sentence, Filled):
        return _WORDS.search(sentence) is not None
    return any(_unread(value) for value in sentence.values.values() if isinstance(value, str))


_NUMBER = r"[-−+±]?(?:[\d.,]*\d(?:e[-−+]?\d+)?|∞|inf|nan)(?: ?%)?"
_WRITTEN = re.compile(_NUMBER)
_NAMED = re.compile(f"(.+?) ({_NUMBER}(?: .*)?)", re.DOTALL)
_BREAK = re.compile(r"(?<=[.:!?”)]),?\s")  # between two sentences, or two of a list
# In nothing that is a list of figures.
_PROSE = re.compile(r"[.!?]\s|Error:|[“\"`]|([A-Za-z]{2,} ){5}[A-Za-z]")
_WORDS = re.compile(r"[a-z]{2,} [a-z]{2,}|\d [a-z]{3,}")
_MANY_WORDS = re.compile(r"([A-Za-z]{2,} ){3}[A-Za-z]{2,}")
_DIGIT = re.compile(r"\d")
_QUOTES = ("“", "”", '"', "'")
_FEW = 5  # letters of a template: with fewer it would fit any text
_SHORT = 7  # with fewer letters, what it fits must be known words and figures
_FORM = re.compile(r"[-+,.\d]*[defg%,]|\d+")  # of a number, in Python


def _looks(piece: str, form: str | None, end: str) -> str:
    """Return an expression for a piece of a template and the gap after it.

    Args:
        piece: the text.
        form: how the gap says that its value is written; None if there is no gap.
        end: "?" for texts as short as they can be, "" for long ones.
    """
    text = re.escape(piece)
    if form is None:
        return text
    if not form:
        return f"{text}([^“”]*{end})" if piece.endswith(_QUOTES) else f"{text}(.*{end})"
    # Other forms are those of `dpcore.papers.overview`: "1 in 20,000", "nearly 0".
    return f"{text}({_NUMBER if _FORM.fullmatch(form) else '[^;:]{1,30}?'})"


class _Pattern:
    """A template, and the look of its sentences.

    Attributes:
        template: as for `str.format`.
        literal: its text outside the gaps, and `letters` how many letters and quotes that has.
        letters: see `literal`.
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
        self.letters = sum(mark.isalpha() or mark in _QUOTES for mark in self.literal)
        self._longest = max(pieces, key=len, default="")
        # Each gap as short as it can be, or as long.
        self._expressions = [
            re.compile("".join(_looks(piece, form, end) for piece, _, form, _ in parts), re.DOTALL)
            for end in ("?", "")
        ]

    def matches(self, text: str) -> list[tuple[str, ...]]:
        """Return texts of the gaps; none for a text that is not of this template."""
        # Most templates are ruled out by their longest piece, in a moment.
        if self._longest not in text:
            return []
        fits = (expression.fullmatch(text) for expression in self._expressions)
        return list(dict.fromkeys(match.groups() for match in fits if match is not None))
