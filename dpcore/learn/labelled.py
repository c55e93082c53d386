"""Texts with labels, checked before anything is learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import CorpusError
from dpcore.limits import MIN_CLASS_TEXTS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
