"""The teaching corpus: short reviews and messages, labelled twice, with what one would protect.

The texts were written for this laboratory; data/README.md says how. A line of a file is one text
as JSON, and marks a name, date, place … in it as `[[Rosa Delgado|name]]`.
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


# Documents as bags of lexicon words: what a classifier of private text sees of a text.


@dataclass(frozen=True, eq=False)
class Bags:
    """The protected places of k documents, one after the other.

    Attributes:
        words: lexicon index of each place, −1 for a word outside the vocabulary, shape (t,).
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
        """Protected places of each document, shape (k,)."""
        return np.diff(self.offsets)

    def with_words(self, words: ArrayLike) -> Bags:
        """The same documents with other words in their places."""
        return Bags(np.array(words, dtype=np.int64), self.offsets, self.vocabulary)

    def part(self, rows: ArrayLike) -> Bags:
        """Some of the documents, in the order of `rows`."""
        places = np.asarray(rows, dtype=np.int64)
        pieces = [self.words[self.offsets[i] : self.offsets[i + 1]] for i in places.tolist()]
        offsets = np.concatenate(([0], np.cumsum([piece.size for piece in pieces], dtype=np.int64)))
        words = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
        return Bags(words, offsets, self.vocabulary)

    def inputs(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """What a mechanism rewrites: an unknown word has a uniformly random stand-in, shape (t,).

        As `dpcore.rewrite.vocabulary.Encoding.draw` under the policy REPLACE.
        """
        words = self.words.copy()
        absent = words < 0
        words[absent] = rng.integers(self.vocabulary, size=int(absent.sum()))
        return words

    def counts(self) -> Any:
        """Occurrences of each word in each document: sparse, shape (k, n); unknown words left out.

        Returns:
            A `scipy.sparse.csr_array` of float64, counted once and kept: not to be changed.
        """
        return self._counts

    @cached_property
    def _counts(self) -> Any:
        from scipy.sparse import csr_array

        # Duplicates of a row and column are added up: so occurrences are counted.
        row = np.repeat(np.arange(len(self)), self.lengths)
        known = self.words >= 0
        ones = np.ones(int(known.sum()))
        shape = (len(self), self.vocabulary)
        return csr_array((ones, (row[known], self.words[known])), shape=shape)


def bags_of(texts: Iterable[str], lexicon: Lexicon, most: int | None = None) -> Bags:
    """Read texts as a mechanism would (`dpcore.rewrite.documents.encode_all`).

    Args:
        texts: any; line breaks of HTML are white space.
        lexicon: the vocabulary.
        most: protected places of a document that are kept, its first ones; None keeps all.
    """
    from dpcore.rewrite.documents import encode_all

    plain = (text.replace("<br />", " ") for text in texts)
    read = encode_all(plain, lexicon, for_text=False)
    words, offsets = read.words, read.offsets
    if most is not None:
        # The number of each place within its document.
        place = np.arange(words.size) - np.repeat(offsets[:-1], np.diff(offsets))
        words = words[place < most]
        offsets = np.concatenate(([0], np.cumsum(np.minimum(np.diff(offsets), most))))
    return Bags(words, offsets, len(lexicon))


# Texts with labels, checked before anything is learned from them.


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts, and the class of each.

    Attributes:
        texts: k texts.
        labels: class of each as a place in `classes`, shape (k,), int64, read-only.
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
        """Texts with labels of any kind; a class is named as its label prints."""
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
        """Some of the texts, in the order of `rows`, with the same classes."""
        places = np.asarray(rows, dtype=np.int64)
        return LabelledTexts(
            tuple(self.texts[i] for i in places.tolist()), self.labels[places], self.classes
        )

    def split(
        self, test_share: float, rng: np.random.Generator
    ) -> tuple[LabelledTexts, LabelledTexts]:
        """Train and test parts, each class divided alike.

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
            # Class by class, so that a rare one is tested on too.
            rows = rng.permutation(np.flatnonzero(self.labels == label))
            cut = max(MIN_CLASS_TEXTS, round(test_share * rows.size))
            test += rows[:cut].tolist()
            train += rows[cut:].tolist()
        # Shuffled again: a network that learned class after class would forget the first ones.
        return self.part(rng.permutation(train)), self.part(rng.permutation(test))

    @property
    def majority(self) -> float:
        """Share of the largest class: the accuracy of guessing it always."""
        return float(np.bincount(self.labels).max() / len(self))
