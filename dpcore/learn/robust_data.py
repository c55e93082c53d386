"""Labelled texts for the text networks, from the teaching corpus or a public table."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import CorpusError
from dpcore.learn.corpus import Bags, LabelledTexts, bags_of, teaching_corpus
from dpcore.learn.substitutions import Substitutions, from_lists, nearest_words
from dpcore.learn.table import read_table
from dpcore.learn.text_network.training import Examples
from dpcore.lexicon.cache import PACKED
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_LABELLED_BYTES
from dpcore.optional import need_pandas

PREMISE, HYPOTHESIS, TEXT, LABEL = "premise", "hypothesis", "text", "label"
_TENTH = 10  # one in this many examples is held out, and one in this many is for the test


@dataclass(frozen=True, eq=False)
class Parts:
    """Labelled examples in three parts.

    Attributes:
        train: to train on.
        held_out: to decide when to stop.
        test: to measure on.
        classes: names of the labels.
    """

    train: Examples
    held_out: Examples
    test: Examples
    classes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CorpusBags:
    """The teaching corpus as words of a lexicon.

    Attributes:
        train: N texts to train on.
        train_labels: indices of `classes`, shape (N,).
        test: M texts to measure on.
        test_labels: shape (M,).
        classes: names of the labels.
    """

    train: Bags
    train_labels: NDArray[np.int64]
    test: Bags
    test_labels: NDArray[np.int64]
    classes: tuple[str, ...]


def teaching_bags(labelling: str, lexicon: Lexicon, most: int | None = None) -> CorpusBags:
    """Return the train and test parts of the teaching corpus.

    Args:
        labelling: sentiment or topic.
        lexicon: the vocabulary.
        most: number of texts to train on; None takes all.

    Raises:
        CorpusError: the remaining texts are all of one class.
    """
    train, _ = _teaching("train", labelling, lexicon, texts=most)
    test, classes = _teaching("test", labelling, lexicon)
    return CorpusBags(train.bags, train.labels, test.bags, test.labels, classes)


def teaching_parts(
    labelling: str, lexicon: Lexicon, rng: np.random.Generator, most: int | None = None
) -> Parts:
    """Return the teaching corpus with its own test part, and a tenth of the rest held out.

    Args:
        labelling: sentiment or topic.
        lexicon: the vocabulary.
        rng: draws the held-out texts.
        most: number of protected positions of a text to keep, its first ones; None keeps all.
    """
    train, _ = _teaching("train", labelling, lexicon, words=most)
    test, classes = _teaching("test", labelling, lexicon, words=most)
    order = rng.permutation(len(train))
    tenth = len(order) // _TENTH
    return Parts(train.part(order[tenth:]), train.part(order[:tenth]), test, classes)


def _teaching(
    split: str, labelling: str, lexicon: Lexicon, words: int | None = None, texts: int | None = None
) -> tuple[Examples, tuple[str, ...]]:
    """Return a part of the teaching corpus (first `words` of some `texts`) and its classes."""
    part = teaching_corpus().part(split)
    # Texts of one kind follow each other, so every step-th text is taken instead of the first ones.
    step = max(1, len(part) // texts) if texts else 1
    chosen = LabelledTexts.of(part.texts[::step][:texts], part.labels(labelling)[::step][:texts])
    return Examples(bags_of(chosen.texts, lexicon, words), chosen.labels), chosen.classes


def file_parts(
    path: Path,
    lexicon: Lexicon,
    rng: np.random.Generator,
    *,
    pairs: bool,
    most: int | None = None,
    count: int | None = None,
) -> Parts:
    """Divide a CSV or parquet file: a tenth is held out, a tenth is the test, the rest to train on.

    Args:
        path: with the columns text and label, or premise, hypothesis and label.
        lexicon: the vocabulary.
        rng: draws the parts.
        pairs: True if an example is a premise and a hypothesis.
        most: as in `teaching_parts`.
        count: number of examples to use, drawn at random; None uses all.

    Raises:
        CorpusError: the file cannot be read, a column is missing, or the labels do not allow
            training.
        MissingPackageError: a parquet file needs pandas and pyarrow.
    """
    names = (PREMISE, HYPOTHESIS, LABEL) if pairs else (TEXT, LABEL)
    columns = _columns(path, names)
    # Sorted, so that a sample of all examples is the file itself, whatever was drawn.
    kept = np.sort(rng.permutation(len(columns[0]))[:count])
    columns = [[column[i] for i in kept] for column in columns]
    texts = LabelledTexts.of(columns[-2], columns[-1])
    premises = bags_of(columns[0], lexicon, most) if pairs else None
    examples = Examples(bags_of(texts.texts, lexicon, most), texts.labels, premises)
    order = rng.permutation(len(examples))
    tenth = max(1, len(order) // _TENTH)
    rows = np.split(order, (tenth, 2 * tenth))
    held_out, test, train = (examples.part(part) for part in rows)
    return Parts(train, held_out, test, texts.classes)


def _columns(path: Path, names: tuple[str, ...]) -> list[list[str]]:
    if path.suffix == ".parquet":
        return _parquet(path, names)
    try:
        with path.open("rb") as file:
            # One byte beyond the limit tells `read_table` that the file is too large.
            data = file.read(MAX_LABELLED_BYTES + 1)
        table = read_table(data, name=path.name, typed=names)
    except OSError as error:
        raise CorpusError(f"{str(path)[:120]!r} cannot be read ({error.strerror})") from None
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise CorpusError(
            f"{path.name[:60]!r} needs the columns {', '.join(names)}, and lacks "
            f"{', '.join(missing)}"
        )
    places = [table.columns.index(name) for name in names]
    rows = [[row[i].strip() for i in places] for row in table.rows]
    return [list(column) for column in zip(*(row for row in rows if all(row)), strict=True)]


def _parquet(path: Path, names: tuple[str, ...]) -> list[list[str]]:
    pd = need_pandas("reading a parquet file needs")
    try:
        frame = pd.read_parquet(path, columns=list(names)).dropna()
    except (OSError, ValueError, KeyError):
        raise CorpusError(
            f"{path.name[:60]!r} is no parquet file with the columns {', '.join(names)}"
        ) from None
    return [frame[name].astype(str).tolist() for name in names]


def substitutions_of(
    lexicon: Lexicon, path: Path | None, neighbours: int, parts: Parts, progress: Progress = silent
) -> Substitutions:
    """Read allowed substitutions from a file, or take the nearest words of every word that occurs.

    Args:
        lexicon: the vocabulary.
        path: JSON, or JSON in gzip: an object of lists of words; None takes neighbours.
        neighbours: number of nearest words.
        parts: texts whose words have neighbours.
        progress: called with ("neighbours", words done, words).

    Raises:
        CorpusError: the file is not such a file.
        ParameterError: the number of neighbours is outside its range.
    """
    if path is None:
        words = np.concatenate([x.bags.words for x in (parts.train, parts.held_out, parts.test)])
        return nearest_words(lexicon, words, neighbours, progress=progress)
    wrong = CorpusError(
        f"{path.name[:60]!r} is no list of substitutions: a JSON object (also in gzip) that gives "
        "for each word a list of words"
    )
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        lists = json.loads(data)
    except (OSError, ValueError, RecursionError, *PACKED):
        raise wrong from None
    if not (
        isinstance(lists, dict)
        and all(
            isinstance(words, list) and all(isinstance(word, str) for word in words)
            for words in lists.values()
        )
    ):
        raise wrong
    return from_lists(lexicon, lists)
