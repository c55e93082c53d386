"""Maker of the bundled word counts (`dpcore.crowd.bundled`): real corpora and their classes."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import __version__
from dpcore.crowd.bundled import FILE, Crowd, count_texts, write_crowds
from dpcore.errors import StudyError
from dpcore.lexicon.cache import sha256_of_file, write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.study.recorded import check_writable
from dpcore.study.vocabularies import text_rows

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class ClassifiedCorpus:
    """A corpus whose texts have classes.

    Attributes:
        name: of `dpcore.crowd.bundled.CROWDS`.
        title: title for readers.
        file: parquet file with the columns text, label and split.
        credit: source of the texts.
        terms: terms of the texts.
        groups: name of each class by its label in the file, in the order of the counts.
        splits: the splits to read; together they are the whole file.
    """

    name: str
    title: str
    file: str
    credit: str
    terms: str
    groups: tuple[tuple[str, str], ...]
    splits: tuple[str, ...] = ("train", "test")


CORPORA = (
    ClassifiedCorpus(
        "imdb",
        "IMDb reviews",
        "imdb.parquet",
        "Large Movie Review Dataset (Maas et al. 2011)",
        "research, with a citation of Maas et al. 2011",
        (("1", "praise"), ("0", "blame")),
    ),
    ClassifiedCorpus(
        "yelp",
        "Yelp sentences",
        "yelp_sentences.parquet",
        "sentences of Yelp reviews, with polarity",
        "academic use",
        (("1", "praise"), ("0", "blame")),
        ("dev", "test"),
    ),
    ClassifiedCorpus(
        "agnews",
        "AG News",
        "agnews.parquet",
        "AG News (Zhang et al. 2015): the official test split and a part of the train split",
        "non-commercial use",
        (("0", "world"), ("1", "sports"), ("2", "business"), ("3", "science and technology")),
    ),
    ClassifiedCorpus(
        "yahoo",
        "Yahoo answers",
        "yahoo_2class.parquet",
        "Yahoo answers of two topics",
        "research",
        (
            ("society_culture", "society and culture"),
            ("science_mathematics", "science and mathematics"),
        ),
    ),
)


def count_corpus(
    corpus: ClassifiedCorpus, folder: Path, lexicon: Lexicon, progress: Progress = silent
) -> Crowd:
    """Count the words of every distinct text of a corpus by class.

    A text that occurs twice counts once, with the label of its first row.

    Raises:
        StudyError: the file is missing or not such a file.
        CorpusError: a text has a label that is not in `groups`.
    """
    # All rows are taken, in an order that no count depends on.
    rng = np.random.default_rng(0)
    texts, labels = text_rows(folder / corpus.file, corpus.splits, sys.maxsize, rng)
    names = dict(corpus.groups)
    return count_texts(
        texts,
        [names.get(label, label) for label in labels],
        list(names.values()),
        lexicon,
        name=corpus.name,
        title=corpus.title,
        progress=progress,
    )


def build_crowds(
    lexicon: Lexicon, folder: Path, out: Path, progress: Progress = silent
) -> dict[str, Any]:
    """Count all corpora, and write the file of counts and its manifest.

    Args:
        lexicon: words to count.
        folder: folder of the corpora.
        out: folder to write.
        progress: called while words are counted.

    Returns:
        The manifest.

    Raises:
        StudyError: a file is missing or not such a file, or the folder cannot be written.
    """
    missing = [corpus.file for corpus in CORPORA if not (folder / corpus.file).is_file()]
    if missing:
        raise StudyError(f"{folder} does not hold {' and '.join(missing)}: give their folder")
    check_writable(out)
    crowds = [count_corpus(corpus, folder, lexicon, progress) for corpus in CORPORA]
    write_crowds(out / FILE, crowds, lexicon)
    manifest = {
        "command": "python -m dpcore study crowds --data ../shared/data --out data/crowd",
        "version": __version__,
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "files": {
            FILE: {"sha256": sha256_of_file(out / FILE), "bytes": (out / FILE).stat().st_size}
        },
        "crowds": [
            _facts(corpus, folder, counted) for corpus, counted in zip(CORPORA, crowds, strict=True)
        ],
    }
    write_text(out / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest


def _facts(corpus: ClassifiedCorpus, folder: Path, counted: Crowd) -> dict[str, Any]:
    """Describe a corpus and its counts."""
    columns = (counted.texts, counted.words, counted.unknown, (counted.counts > 0).sum(axis=1))
    names = ("texts", "words", "unknown", "distinct")
    numbers = [dict(zip(names, map(int, row), strict=True)) for row in zip(*columns, strict=True)]
    return {
        "name": corpus.name,
        "title": corpus.title,
        "file": corpus.file,
        "sha256": sha256_of_file(folder / corpus.file),
        "credit": corpus.credit,
        "terms": corpus.terms,
        "splits": list(corpus.splits),
        "groups": [
            {"name": name, "label": label, **row}
            for (label, name), row in zip(corpus.groups, numbers, strict=True)
        ],
    }
