"""Documents as numbers: their words, and what is written around them.

Nothing here holds a character of an unknown word.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.rewrite.casing import Case, apply

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.rewrite.languages.language import Language

GAPS = ("", " ", "\n", "\n\n")
"""White space as `plain_space` gives it, from narrow to wide."""
CASES = (Case.LOWER, Case.TITLE, Case.UPPER)
"""How a word may be written."""
_GAP_TEXTS = np.array(GAPS, dtype=object)


@dataclass(frozen=True, eq=False)
class Skeleton:
    """What is written of some documents beside the output words; an entry a slot.

    Attributes:
        fixed: number of a fixed text among `texts_fixed`; −1 where an output word stands.
        case: LOWER, TITLE or UPPER, by its number.
        gap: white space before it, by its number.
        endings: slots that have no white space before them if their word is such as "n't".
        ends: document i has the slots ends[i] to ends[i + 1] − 1.
        names: words of the lexicon and, behind them, fixed texts, in lower case.
        vocabulary: words of the lexicon.
        language: of the lexicon.
    """

    fixed: IntArray
    case: NDArray[np.int8]
    gap: NDArray[np.int8]
    endings: IntArray
    ends: IntArray
    names: NDArray[np.object_]
    vocabulary: int
    language: Language

    def __len__(self) -> int:
        return len(self.ends) - 1

    def texts(self, outputs: IntArray) -> list[str]:
        """The documents with these words (lexicon indices) in their open slots, in order."""
        which = self.fixed + self.vocabulary
        which[self.fixed < 0] = outputs
        pieces = self.names[which].tolist()
        gap, clitics = self.gap.copy(), self.language.clitics
        gap[[place for place in self.endings.tolist() if pieces[place] in clitics]] = 0
        for place in np.flatnonzero(self.case).tolist():
            pieces[place] = apply(CASES[self.case[place]], pieces[place], self.language)
        both = np.empty(2 * gap.size, dtype=object)
        both[::2], both[1::2] = _GAP_TEXTS[gap], pieces
        written = both.tolist()
        return ["".join(written[2 * i : 2 * j]) for i, j in pairwise(self.ends.tolist())]


@dataclass(frozen=True, eq=False)
class Documents:
    """Encoded documents.

    Attributes:
        lexicon: whose indices the words are.
        words: of all open slots in a row, shape (k,), read-only; −1 for an unknown word that the
            policy replaces.
        offsets: document i has words[offsets[i]:offsets[i + 1]]; shape (documents + 1,), read-only.
        skeletons: of the documents, some in a row each; none where texts are not needed.
    """

    lexicon: Lexicon
    words: IntArray
    offsets: IntArray
    skeletons: tuple[Skeleton, ...]

    def __post_init__(self) -> None:
        self.words.setflags(write=False)
        self.offsets.setflags(write=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def texts(self, outputs: IntArray) -> list[str]:
        """The documents with these words (lexicon indices, shape (k,)) in their open slots.

        Raises:
            ParameterError: the encodings were not kept, or there are not k outputs.
        """
        if sum(map(len, self.skeletons)) != len(self):
            raise ParameterError("the documents were encoded without what their texts need")
        if outputs.shape != self.words.shape:
            raise ParameterError(
                f"{self.words.size:,} output words are needed, got {outputs.size:,}"
            )
        texts: list[str] = []
        for skeleton in self.skeletons:
            stop = len(texts) + len(skeleton)
            texts += skeleton.texts(outputs[self.offsets[len(texts)] : self.offsets[stop]])
        return texts
