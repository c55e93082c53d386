"""Openly licensed texts for the training of the bundled lexicon.

A source is read as *documents*; a document is a list of *segments* (lines, captions,
utterances), and no co-occurrence window crosses the end of a segment. Test splits are left out,
so that a study which evaluates on them never meets vectors that have seen them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.errors import LexiconError
from dpcore.optional import need_of_trainer

Document = list[str]


@dataclass(frozen=True)
class Source:
    """One input file.

    Attributes:
        name: Short key, used in the manifest.
        file: File name inside the data folder.
        licence: SPDX identifier of its terms.
        credit: Its authors, in words.
        used: The part that is used, in words.
        weight: Weight of one occurrence when words are ranked (not when vectors are made).
        lower_only: True where the text is all lower case and so says nothing about names.
        read: Data frame to documents.
    """

    name: str
    file: str
    licence: str
    credit: str
    used: str
    weight: float
    lower_only: bool
    read: Callable[[Any], Iterator[Document]]

    def documents(self, folder: Path) -> Iterator[Document]:
        """Yield the documents of this source.

        Args:
            folder: The data folder.

        Raises:
            LexiconError: The file is not in the folder.
        """
        yield from self.read(need_of_trainer("pandas").read_parquet(self.path(folder)))

    def path(self, folder: Path) -> Path:
        """Return the file of this source, checked to exist."""
        path = folder / self.file
        if not path.is_file():
            raise LexiconError(
                f"the training text {self.file} ({self.credit}) is not in {folder}; "
                f"needed are: {', '.join(source.file for source in SOURCES)}"
            )
        return path


def _wikipedia(frame: Any) -> Iterator[Document]:
    for text in frame["text"]:
        yield text.split("\n")


def _web(frame: Any) -> Iterator[Document]:
    for _, texts in frame.groupby("doc", sort=True)["text"]:
        yield texts.tolist()


def _captions(frame: Any) -> Iterator[Document]:
    used = frame[frame["split"] != "test"]
    # A premise occurs with three hypotheses: read it once.
    for premise, hypotheses in used.groupby("premise", sort=True)["hypothesis"]:
        yield [premise, *hypotheses]


def _utterances(frame: Any) -> Iterator[Document]:
    for text in frame.loc[frame["split"] != "test", "text"]:
        yield [text]


def _glosses(frame: Any) -> Iterator[Document]:
    for members, gloss in zip(frame["members"], frame["gloss"], strict=True):
        # The lemmas precede their definition, so that a word co-occurs with its explanation.
        yield [f"{members.replace('|', ' ')} {gloss}"]


SOURCES = (
    Source(
        "wikipedia",
        "wikipedia_en_sample.parquet",
        "CC-BY-SA-3.0",
        "English Wikipedia, its authors",
        "all 24,073 articles",
        1.0,
        False,
        _wikipedia,
    ),
    Source(
        "ewt",
        "ewt_sentences.parquet",
        "CC-BY-SA-4.0",
        "English Web Treebank of Universal Dependencies",
        "all 16,622 sentences",
        30.0,
        False,
        _web,
    ),
    Source(
        "snli",
        "snli_dev_test.parquet",
        "CC-BY-SA-4.0",
        "Stanford Natural Language Inference corpus",
        "the dev split; the test split is left out",
        8.0,
        False,
        _captions,
    ),
    Source(
        "snips",
        "snips.parquet",
        "CC0-1.0",
        "SNIPS voice assistant utterances",
        "train and valid splits; the test split is left out",
        4.0,
        True,
        _utterances,
    ),
    Source(
        "oewn",
        "oewn_synsets.parquet",
        "CC-BY-4.0",
        "Open English WordNet",
        "lemmas with their glosses (text); lemmas, kinds and markings (vocabulary)",
        0.5,
        False,
        _glosses,
    ),
)
