"""Labelled texts and bags of words: the teaching corpus, and texts with labels of any kind.

The teaching corpus holds short reviews and messages, labelled twice, with marked private spans. Its
texts were written for this laboratory (see data/README.md). A line of a file is one text as
JSON, with names, dates, places … marked as `[[Rosa Delgado|name]]`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.errors import CorpusError, ParameterError
from dpcore.lexicon.cache import bundled_data
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MIN_CLASS_TEXTS
from dpcore.rewrite.documents import encode_all

SENTIMENTS = ("negative", "positive")
TOPICS = ("food", "health", "home", "technology", "travel", "work")
SPLITS = ("test", "train")
SPAN_TYPES = ("amount", "condition", "contact", "date", "name", "place")
LABELLINGS = {"sentiment": SENTIMENTS, "topic": TOPICS}
FILES = {"message": "messages.jsonl", "review": "reviews.jsonl"}

_FIELDS = ("id", "text", "sentiment", "topic", "split")
_MARKED = re.compile(r"\[\[([^\[\]|]*)\|([^\[\]|]*)\]\]")


class Span(NamedTuple):
    """Characters start to end (exclusive) of a text, and their type, one of `SPAN_TYPES`."""

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
        spans: private parts of each text, in order, without overlap.
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
        """Return the label of every text.

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
        """Return the texts of one split, in their order.

        Raises:
            ParameterError: the name is not in `SPLITS`.
        """
        if split not in SPLITS:
            raise ParameterError(f"the split must be one of {', '.join(SPLITS)}, got {split!r}")
        rows = [index for index, name in enumerate(self.split) if name == split]
        columns = (getattr(self, field.name) for field in fields(self))
        return Corpus(*(tuple(column[row] for row in rows) for column in columns))


@functools.cache
def teaching_corpus() -> Corpus:
    """Read the bundled corpus: messages, then reviews.

    Raises:
        CorpusError: a file is missing or damaged; the message names the line.
    """
    return read_corpus(bundled_data("corpus", FILES["message"]))


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
            # A text in both splits would be tested on after it was trained on.
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
        The text without markup, and the marked spans, in order.

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
    # Left-over signs come from a mark that the pattern did not match.
    left = next((sign for sign in ("[[", "]]", "|") if sign in text), None)
    if left:
        raise CorpusError(f"a span is marked as [[words|type]], but {left!r} stands alone")
    return text, tuple(spans)


def _lines(path: Path) -> Sequence[tuple[str, str]]:
    """Return each line with its place, such as "messages.jsonl line 3"."""
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
    if lines[-1][1] == "":  # after the last line break; an empty line elsewhere is refused
        lines.pop()
    if not lines:
        raise CorpusError(f"{path.name} is empty; restore the folder data/corpus")
    return lines


def _row(line: str, kind: str, place: str) -> tuple[Any, ...]:
    """Parse one line into the fields of `Corpus`, in their order."""
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


# Documents as bags of lexicon words, the input of a classifier of private text.


@dataclass(frozen=True, eq=False)
class Bags:
    """Protected positions of k documents, one after the other.

    Attributes:
        words: lexicon index at each position, −1 for a word outside the vocabulary, shape (t,).
        offsets: document i holds words[offsets[i]:offsets[i + 1]], shape (k + 1,).
        vocabulary: number of words n of the lexicon.
    """

    words: NDArray[np.int64]
    offsets: NDArray[np.int64]
    vocabulary: int

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.words.setflags(write=False)
        self.offsets.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.offsets.size - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of protected positions of each document, shape (k,)."""
        return np.diff(self.offsets)

    def with_words(self, words: ArrayLike) -> Bags:
        """Return the same documents with other words at their positions."""
        return Bags(np.array(words, dtype=np.int64), self.offsets, self.vocabulary)

    def part(self, rows: ArrayLike) -> Bags:
        """Return some of the documents, in the order of `rows`."""
        places = np.asarray(rows, dtype=np.int64)
        pieces = [self.words[self.offsets[i] : self.offsets[i + 1]] for i in places.tolist()]
        offsets = np.concatenate(([0], np.cumsum([piece.size for piece in pieces], dtype=np.int64)))
        words = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
        return Bags(words, offsets, self.vocabulary)

    def inputs(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return a mechanism's input words, with random stand-ins for unknown words, shape (t,).

        They are uniform, as in `dpcore.rewrite.vocabulary.Encoding.draw` under the policy REPLACE.
        """
        words = self.words.copy()
        absent = words < 0
        words[absent] = rng.integers(self.vocabulary, size=int(absent.sum()))
        return words

    def counts(self) -> Any:
        """Return the occurrences of each known word in each document, sparse, shape (k, n).

        Returns:
            A cached `scipy.sparse.csr_array` of float64; do not change it.
        """
        return self._counts

    @cached_property
    def _counts(self) -> Any:
        from scipy.sparse import csr_array

        # The constructor adds up duplicates of a row and column, which counts the occurrences.
        row = np.repeat(np.arange(len(self)), self.lengths)
        known = self.words >= 0
        ones = np.ones(int(known.sum()))
        shape = (len(self), self.vocabulary)
        return csr_array((ones, (row[known], self.words[known])), shape=shape)


def bags_of(texts: Iterable[str], lexicon: Lexicon, most: int | None = None) -> Bags:
    """Read texts as a mechanism would (`dpcore.rewrite.documents.encode_all`).

    Args:
        texts: any; line breaks of HTML count as white space.
        lexicon: the vocabulary.
        most: number of protected positions of a document to keep, its first ones; None keeps all.
    """
    plain = (text.replace("<br />", " ") for text in texts)
    read = encode_all(plain, lexicon, for_text=False)
    words, offsets = read.words, read.offsets
    if most is not None:
        # The number of each position within its document.
        place = np.arange(words.size) - np.repeat(offsets[:-1], np.diff(offsets))
        words = words[place < most]
        offsets = np.concatenate(([0], np.cumsum(np.minimum(np.diff(offsets), most))))
    return Bags(words, offsets, len(lexicon))


# Labelled texts, checked before training.


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts with one class each.

    Attributes:
        texts: k texts.
        labels: class of each as an index of `classes`, shape (k,), int64, read-only.
        classes: names of at least two classes, sorted; each has `MIN_CLASS_TEXTS` texts or more.

    Raises:
        CorpusError: a condition above does not hold.
    """

    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check, and make the labels read-only."""
        labels = np.array(self.labels, dtype=np.int64)
        if labels.shape != (len(self.texts),):
            raise CorpusError(
                f"each text needs one label, got {len(self.texts):,} texts and "
                f"{labels.size:,} labels"
            )
        if not len(self.classes) >= 2:
            only = f" ({self.classes[0][:40]!r})" if self.classes else ""
            raise CorpusError(
                "a classifier needs at least two classes to tell apart, and the labels have "
                f"{len(self.classes)}{only}; choose another label column"
            )
        counts = np.bincount(labels, minlength=len(self.classes))
        if counts.min() < MIN_CLASS_TEXTS:
            rare = int(counts.argmin())
            raise CorpusError(
                f"every class needs at least {MIN_CLASS_TEXTS} texts; {self.classes[rare][:40]!r} "
                f"has {counts[rare]:,} of {len(self.texts):,}; leave rare classes out, or choose "
                "another label column"
            )
        labels.setflags(write=False)
        object.__setattr__(self, "labels", labels)

    @classmethod
    def of(cls, texts: Sequence[str], labels: Sequence[object]) -> LabelledTexts:
        """Make labelled texts from labels of any type; a class is named by the label's `str`."""
        if len(texts) != len(labels):
            raise CorpusError(
                f"each text needs one label, got {len(texts):,} texts and {len(labels):,} labels"
            )
        names = [str(label) for label in labels]
        classes = tuple(sorted(set(names)))
        places = {name: place for place, name in enumerate(classes)}
        numbers = np.array([places[name] for name in names], dtype=np.int64)
        return cls(tuple(str(text) for text in texts), numbers, classes)

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.texts)

    def part(self, rows: ArrayLike) -> LabelledTexts:
        """Return some of the texts, in the order of `rows`, with the same classes."""
        places = np.asarray(rows, dtype=np.int64)
        return LabelledTexts(
            tuple(self.texts[i] for i in places.tolist()), self.labels[places], self.classes
        )

    def split(
        self, test_share: float, rng: np.random.Generator
    ) -> tuple[LabelledTexts, LabelledTexts]:
        """Split into train and test parts, with the same share of each class.

        Args:
            test_share: of each class, above 0 and below 1; at least `MIN_CLASS_TEXTS` texts.
            rng: shuffles.

        Raises:
            CorpusError: a class is too small to be divided.
        """
        if not 0 < test_share < 1:
            raise CorpusError(f"the test share must be above 0 and below 1, got {test_share}")
        train: list[int] = []
        test: list[int] = []
        for label in range(len(self.classes)):
            # Class by class, so that the test part includes rare ones.
            rows = rng.permutation(np.flatnonzero(self.labels == label))
            cut = max(MIN_CLASS_TEXTS, round(test_share * rows.size))
            test += rows[:cut].tolist()
            train += rows[cut:].tolist()
        # Shuffled again: a network that is trained class after class forgets the first ones.
        return self.part(rng.permutation(train)), self.part(rng.permutation(test))

    @property
    def majority(self) -> float:
        """Share of the largest class: the accuracy of always guessing it."""
        return float(np.bincount(self.labels).max() / len(self))
