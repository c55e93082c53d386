"""The utterances of an intent corpus, divided into a public, a private and a test part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.learn.adept.words import words_of
from dpcore.limits import MIN_CLASS_TEXTS
from dpcore.noise.streams import generator
from dpcore.study.reading_corpora import text_rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

_ALL = 1_000_000


@dataclass(frozen=True)
class Utterances:
    """Distinct utterances with their intents."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Corpus:
    """What trains the network, what is rewritten, and what the classifier is tested on."""

    public: Utterances
    private: Utterances
    testing: Utterances

    @property
    def all_texts(self) -> tuple[str, ...]:
        """Every utterance once."""
        return self.public.texts + self.private.texts + self.testing.texts

    def intents(self) -> tuple[tuple[str, ...], IntArray, IntArray]:
        """Intents with enough texts in both parts, and those of the two parts (−1: another)."""
        kept = sorted(
            name
            for name in set(self.private.labels)
            if min(part.labels.count(name) for part in (self.private, self.testing))
            >= MIN_CLASS_TEXTS
        )
        if len(kept) < 2:
            raise StudyError("the utterances need two intents or more that stand in both parts")
        place = {name: i for i, name in enumerate(kept)}
        private, testing = (
            np.array([place.get(label, -1) for label in part.labels])
            for part in (self.private, self.testing)
        )
        return tuple(kept), private, testing


def read_corpus(path: Path, options: dict[str, Any], seed: int) -> Corpus:
    """Divide the utterances of a file.

    Args:
        path: parquet with text, label and split.
        options: `public` and `private` (utterances), `longest` (words of an utterance; longer ones
            are left out).
        seed: of the division.

    Raises:
        StudyError: the file is not such a file, or too small.
    """
    seen: set[str] = set()
    splits = []
    for split in ("train", "test"):
        rng = generator(seed, "adept2021", split)
        pairs = []
        for text, label in zip(*text_rows(path, split, _ALL, rng), strict=True):
            words = words_of(text)
            key = " ".join(words)
            if 1 <= len(words) <= int(options["longest"]) and key not in seen:
                seen.add(key)
                pairs.append((key, label))
        splits.append(pairs)
    public, private = int(options["public"]), int(options["private"])
    if not len(splits[0]) > private + 1:
        raise StudyError(f"{path} has {len(splits[0]):,} utterances to divide, too few")
    parts = splits[0][private : private + public], splits[0][:private], splits[1]
    return Corpus(*(Utterances(*map(tuple, zip(*part, strict=True))) for part in parts))
