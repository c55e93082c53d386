"""Spans of personal data in a text: those that a redactor finds, and those that people annotate."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpcore.errors import CorpusError
from dpcore.limits import MAX_FACT_TAG, MAX_FACTS
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.tokens import Kind, Token, bare, tokenize
from dpcore.rewrite.vocabulary import canonical


class Span(NamedTuple):
    """Characters start to end (exclusive) of a text, and their kind of personal data."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Redactor:
    """A method of finding personal data.

    Attributes:
        name: on the command line and in links.
        title: for display.
        summary: one phrase on the method, without a full stop.
        spans: of a text, in order and without overlap.
    """

    name: str
    title: str
    summary: str
    spans: Callable[[str], tuple[Span, ...]]


def disjoint(ranked: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans that overlap none before them, in the order of the text.

    Args:
        ranked: in order of precedence.
    """
    kept: list[Span] = []
    for span in ranked:
        place = bisect_left(kept, span)
        clear = place == 0 or kept[place - 1].end <= span.start
        if clear and (place == len(kept) or span.end <= kept[place].start):
            insort(kept, span)
    return tuple(kept)


# Annotated facts about persons: their JSON, and their places in the text.


FORMS = (
    'persons with facts, [{"facts": [{"tag": "NAME", "keyword": "Ann"}]}], or spans, '
    '[{"start": 0, "end": 3, "entity_type": "NAME"}], alone or as entity_mentions of an annotator'
)
"""Forms of annotated facts that `parse_facts` reads."""


@dataclass(frozen=True)
class Fact:
    """One annotated fact.

    Attributes:
        tag: its kind, such as NAME.
        person: number of the person in this text, from 0.
        spans: characters (start, end) of each of its places in the text; none if it does not stand
            there word for word.
    """

    tag: str
    person: int
    spans: tuple[tuple[int, int], ...] = field(repr=False)


@dataclass(frozen=True)
class AnnotatedText:
    """A text with the facts of its persons."""

    text: str = field(repr=False)
    facts: tuple[Fact, ...] = field(repr=False)


_STARTS, _ENDS = ("start_offset", "start", "start_position"), ("end_offset", "end", "end_position")
_TAGS = ("tag", "entity_type", "label", "type")


def parse_facts(text: str, cell: str) -> AnnotatedText:
    """Read the annotated facts of one text.

    Three forms of JSON are read. Persons, as in PANORAMA: a list of objects with `facts`, each of
    them a `tag` and a `keyword`, which is looked for in the text (`find_words`). Spans: a list of
    objects with a start, an end (exclusive, in characters) and a tag, all of one person. Annotators
    as in TAB (Pilán et al. 2022): an object with `entity_mentions`, or of such objects by the names
    of annotators, of which the first is read; mentions of one `entity_id` are places of one fact,
    and those that need no mask (`identifier_type` NO_MASK) are left out. An empty cell has no fact.

    Args:
        text: the text.
        cell: JSON.

    Raises:
        CorpusError: it is in none of these forms; the message shows nothing of the cell.
    """
    try:
        value = json.loads(cell) if cell.strip() else []
    except (ValueError, RecursionError):
        raise CorpusError(f"holds no JSON; facts are {FORMS}") from None
    if isinstance(value, dict) and "entity_mentions" not in value and value:
        value = next(iter(value.values()))
    if isinstance(value, dict):
        value = value.get("entity_mentions", [])
    entries = _objects([] if value is None else value)
    if any("facts" in entry for entry in entries):
        words = _words_of(tokenize(text))
        facts = [
            Fact(_tag(each), person, find_words(words, _keyword(each)))
            for person, entry in enumerate(entries)
            for each in _objects(entry.get("facts"))
        ]
    else:
        mentions: dict[tuple[str, Any], list[tuple[int, int]]] = {}
        for number, entry in enumerate(entries):
            if entry.get("identifier_type") != "NO_MASK":
                name = entry.get("entity_id")
                key = _tag(entry), name if isinstance(name, str) else number
                mentions.setdefault(key, []).append(_span(entry, len(text)))
        facts = [Fact(tag, 0, tuple(sorted(set(spans)))) for (tag, _), spans in mentions.items()]
    if len(facts) > MAX_FACTS:
        raise CorpusError(f"holds {len(facts):,} facts; a text may have {MAX_FACTS:,} at most")
    return AnnotatedText(text, tuple(facts))


def _objects(value: Any) -> list[dict[str, Any]]:
    if not (isinstance(value, list) and all(isinstance(entry, dict) for entry in value)):
        raise CorpusError(f"holds no list of JSON objects; facts are {FORMS}")
    return value


def _first(entry: dict[str, Any], names: Sequence[str]) -> Any:
    return next((entry[name] for name in names if name in entry), None)


def _tag(entry: dict[str, Any]) -> str:
    tag = _first(entry, _TAGS)
    if not (isinstance(tag, str) and 0 < len(tag) <= MAX_FACT_TAG and tag.isprintable()):
        raise CorpusError(
            f"has a fact without a tag of 1 to {MAX_FACT_TAG} letters; facts are {FORMS}"
        )
    return tag


def _keyword(entry: dict[str, Any]) -> str:
    keyword = entry.get("keyword")
    if not isinstance(keyword, str):
        raise CorpusError(f"has a fact whose keyword is no text; facts are {FORMS}")
    return keyword


def _span(entry: dict[str, Any], length: int) -> tuple[int, int]:
    ends = [_first(entry, names) for names in (_STARTS, _ENDS)]
    # True and False are numbers to Python.
    if not all(type(end) is int for end in ends) or not 0 <= ends[0] < ends[1] <= length:
        raise CorpusError(
            "has a span that is not a start and an end with 0 <= start < end <= the number of "
            f"characters of its text ({length:,})"
        )
    return ends[0], ends[1]


class _Word(NamedTuple):
    """A word of a text: its letters, its characters, and whether its token begins or ends here."""

    letters: str
    start: int
    end: int
    begins: bool
    ends: bool


def _words_of(tokens: Iterable[Token]) -> list[_Word]:
    """Return the words of a text as it is looked up, in small letters, without marks."""
    words: list[_Word] = []
    place = 0
    for token in tokens:
        start = place + len(token.before)
        place = start + len(token.text)
        if token.kind is Kind.PUNCTUATION:
            continue
        address = token.kind in (Kind.EMAIL, Kind.URL)
        parts = (token.text,) if address else bare(token.text)
        words += [
            _Word(canonical(part).lower(), start, place, i == 0, i == len(parts) - 1)
            for i, part in enumerate(parts)
        ]
    return words


def find_words(words: Sequence[_Word], keyword: str) -> tuple[tuple[int, int], ...]:
    """Return the places where the words of a keyword stand in a text, in order, without overlap.

    Whole tokens are compared, in any capitals, with nothing but marks and white space between; the
    last may have a possessive ending. So *Ann* stands in "Ann's", not in "Anna" or "ann-marie".

    Args:
        words: of the text.
        keyword: the value of a fact.

    Returns:
        Characters (start, end) of each place; none for a keyword without words.
    """
    wanted = [word.letters for word in _words_of(tokenize(keyword))]
    places: list[tuple[int, int]] = []
    i, size = 0, len(wanted)
    while size and i + size <= len(words):
        run = words[i : i + size]
        letters = [word.letters for word in run]
        ending = letters[-1].removeprefix(wanted[-1])
        whole = run[0].begins and run[-1].ends
        if (
            whole
            and letters[:-1] == wanted[:-1]
            and letters[-1].startswith(wanted[-1])
            and ending in ("", ENGLISH.possessive)
        ):
            places.append((run[0].start, run[-1].end - len(ending)))
            i += size
        else:
            i += 1
    return tuple(places)
