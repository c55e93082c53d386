"""The private form of some texts of a corpus: what a run of any size and one in memory share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.mechanisms.bulk.documents import bulk
from dpcore.noise.streams import DocumentGenerators
from dpcore.rewrite.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.mechanisms.bulk.documents import Bulk
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.policy import Treatment


@dataclass(frozen=True, eq=False)
class Rewriter:
    """A mechanism at one ε with all that it keeps between texts: laws and neighbours of words.

    Attributes:
        mechanism: what rewrites.
        epsilon: ε, for every word.
        sampler: the mechanism's draws, for many words at once.
        reader: of texts, and what it has read.
        generators: of the noise of documents.
    """

    mechanism: Mechanism
    epsilon: float
    sampler: Bulk
    reader: Reader
    generators: DocumentGenerators

    @classmethod
    def of(cls, mechanism: Mechanism, epsilon: float, treatment: Treatment) -> Rewriter:
        """One that has read nothing yet."""
        reader = Reader(mechanism.lexicon, treatment)
        return cls(mechanism, epsilon, bulk(mechanism, epsilon), reader, DocumentGenerators())

    def rewrite(
        self, texts: Sequence[str | None], secret: bytes, first: int
    ) -> tuple[list[str | None], dict[int, int]]:
        """Private texts, and what the output shows of them anyway: how many are how long.

        Args:
            texts: consecutive ones of a corpus; None stays None.
            secret: keys the noise.
            first: number of the first one, from 0; it keys the noise too, so what comes out does
                not depend on how the corpus was cut.

        Returns:
            The texts, and how many of them have so many protected words.
        """
        from dpcore.rewrite.documents import release_all

        documents = self.reader.read((text or "" for text in texts), first=first)
        outputs = release_all(
            documents,
            self.mechanism,
            self.epsilon,
            secret,
            range(first, first + len(texts)),
            sampler=self.sampler,
            generators=self.generators,
        )
        written = [
            None if text is None else new
            for text, new in zip(texts, documents.texts(outputs), strict=True)
        ]
        sizes, counts = np.unique(np.diff(documents.offsets), return_counts=True)
        return written, dict(zip(sizes.tolist(), counts.tolist(), strict=True))
