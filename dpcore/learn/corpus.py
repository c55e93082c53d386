"""The teaching corpus: short reviews and messages, labelled twice, with what one would protect.

The texts were written for this laboratory; data/README.md says how. A line of a file is one text
as JSON, and marks a name, date, place … in it as `[[Rosa Delgado|name]]`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from dpcore.errors import CorpusError, ParameterError
from dpcore.lexicon.bundled import bundled_data

SENTIMENTS = ("negative", "positive")
TOPICS = ("food", "health", "home", "technology", "travel", "work")
SPLITS = ("test", "train")
SPAN_TYPES = ("amount", "condition", "contact", "date", "name", "place")
LABELLINGS = {"sentiment": SENTIMENTS, "topic": TOPICS}
FILES = {"message": "messages.jsonl", "review": "reviews.jsonl"}

_FIELDS = ("id", "text", "sentiment", "topic", "split")
_MARKED = re.compile(r"\[\[([^\[\]|]*)\|([^\[\]|]*)\]\]")


class Span(NamedTuple):
    """Characters start to end (exclusive) of a text, and what they are, one of `SPAN_TYPES`."""

    start: int
    end: int
    type: str


@dataclass(frozen=True)
class Corpus:
    """Labelled texts; entry i of every field belongs to text i.

    Attributes:
        ids: distinct names, such as "m0001".
        texts: as a person would write them, without markup.
        sentiment: of `SENTIMENTS`.
        topic: of `TOPICS`.
        split: of `SPLITS`.
        kind: "message" or "review".
        spans: what one would protect in each text, in order, without overlap.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    sentiment: tuple[str, ...]
    topic: tuple[str, ...]
    split: tuple[str, ...]
    kind: tuple[str, ...]
    spans: tuple[tuple[Span, ...], ...]

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.ids)

    def labels(self, labelling: str) -> tuple[str, ...]:
        """The label of every text.

        Args:
            labelling: "sentiment" or "topic".

        Raises:
            ParameterError: another name was given.
        """
        if labelling not in LABELLINGS:
            raise ParameterError(
                f"the labelling must be one of {', '.join(LABELLINGS)}, got {labelling!r}"
            )
        return self.sentiment if labelling == "sentiment" else self.topic

    def part(self, split: str) -> Corpus:
        """The texts of one split, in their order.

        Raises:
            ParameterError: the name is not in `SPLITS`.
        """
        if split not in SPLITS:
            raise ParameterError(f"the split must be one of {', '.join(SPLITS)}, got {split!r}")
        rows = [index for index, name in enumerate(self.split) if name == split]
        columns = (getattr(self, field.name) for field in fields(self))
        return Corpus(*(tuple(column[row] for row in rows) for column in columns))


def corpus_folder() -> Path:
    """Where the teaching corpus lies."""
    return bundled_data("corpus", FILES["message"])


@functools.cache
def teaching_corpus() -> Corpus:
    """The corpus that comes with the laboratory: messages, then reviews.

    Raises:
        CorpusError: a file is missing or damaged; the message names the line.
    """
    return read_corpus(corpus_folder())


def read_corpus(folder: Path) -> Corpus:
    """Read and check both files of a corpus.

    Args:
        folder: holds messages.jsonl and reviews.jsonl.

    Raises:
        CorpusError: a file is missing, or a line is not a labelled text.
    """
    rows: list[tuple[Any, ...]] = []
    places: dict[str, str] = {}
    for kind, name in FILES.items():
        for place, line in _lines(folder / name):
            row = _row(line, kind, place)
            # A text that stood in both splits would be tested on after it was learned.
            for what, key in (("id", row[0]), ("text", row[1].casefold())):
                known = places.setdefault(f"{what} {key}", place)
                if known != place:
                    raise CorpusError(f"{place}: its {what} stands at {known} already")
            rows.append(row)
    return Corpus(*zip(*rows, strict=True))


def parse_markup(marked: str) -> tuple[str, tuple[Span, ...]]:
    """Cut the markup out of a text.

    Args:
        marked: such as "Ask [[Rosa Delgado|name]]."

    Returns:
        The text as one reads it, and the spans that were marked, in order.

    Raises:
        CorpusError: a bracket is open, a span is empty or padded, or its type is unknown.
    """
    pieces: list[str] = []
    spans: list[Span] = []
    length = done = 0
    for match in _MARKED.finditer(marked):
        inner, kind = match.groups()
        if not inner or inner != inner.strip():
            raise CorpusError(f"a marked span must be words without space around, got {match[0]!r}")
        if kind not in SPAN_TYPES:
            raise CorpusError(
                f"the type of a span must be one of {', '.join(SPAN_TYPES)}, got {kind!r}"
            )
        between = marked[done : match.start()]
        start = length + len(between)
        length = start + len(inner)
        done = match.end()
        pieces += between, inner
        spans.append(Span(start, length, kind))
    text = "".join(pieces) + marked[done:]
    # What the pattern did not match: a mark that was opened, closed or divided wrongly.
    left = next((sign for sign in ("[[", "]]", "|") if sign in text), None)
    if left:
        raise CorpusError(f"a span is marked as [[words|type]], but {left!r} stands alone")
    return text, tuple(spans)


def _lines(path: Path) -> Sequence[tuple[str, str]]:
    """Each line with its place, such as "messages.jsonl line 3"."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CorpusError(
            f"the teaching corpus cannot be read: {path.name}: {error.strerror}; "
            "install dpcore again, or restore the folder data/corpus"
        ) from None
    except UnicodeDecodeError:
        raise CorpusError(f"{path.name} is not UTF-8; restore the folder data/corpus") from None
    lines = [(f"{path.name} line {i}", line) for i, line in enumerate(content.split("\n"), 1)]
    if lines[-1][1] == "":  # behind the last line break; an empty line elsewhere is refused
        lines.pop()
    if not lines:
        raise CorpusError(f"{path.name} is empty; restore the folder data/corpus")
    return lines


def _row(line: str, kind: str, place: str) -> tuple[Any, ...]:
    """One text in the order of the fields of `Corpus`."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{place}: not JSON: {error}") from None
    if not isinstance(entry, dict) or sorted(entry) != sorted(_FIELDS):
        named = ", ".join(sorted(entry)) if isinstance(entry, dict) else type(entry).__name__
        raise CorpusError(f"{place}: a line has the fields {', '.join(_FIELDS)}, got {named}")
    for field in _FIELDS:
        if not isinstance(entry[field], str):
            raise CorpusError(f"{place}: {field} must be text, got {entry[field]!r}")
    if not re.fullmatch(rf"{kind[0]}\d{{4}}", entry["id"]):
        raise CorpusError(f"{place}: id must be {kind[0]} and four digits, got {entry['id']!r}")
    for field, allowed in (*LABELLINGS.items(), ("split", SPLITS)):
        if entry[field] not in allowed:
            raise CorpusError(
                f"{place}: {field} must be one of {', '.join(allowed)}, got {entry[field]!r}"
            )
    try:
        text, spans = parse_markup(entry["text"])
    except CorpusError as error:
        raise CorpusError(f"{place}: {error}") from None
    if not text or text != " ".join(text.split()):
        raise CorpusError(f"{place}: text must be words with single spaces, got {text[:60]!r}")
    return entry["id"], text, entry["sentiment"], entry["topic"], entry["split"], kind, spans
