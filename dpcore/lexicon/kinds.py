"""The kind of a word: a person, a disease, a place, a change; the classes of WordNet.

WordNet divides its senses into 45 lexicographer files, such as noun.person and verb.change. A word
is of the kind that most of its senses are of (`dpcore.lexicon.train.wordnet.kinds`, which made the
bundled table); words that WordNet does not know are of a kind of their own. The words of another
lexicon have the kind that the bundled table gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import LexiconError
from dpcore.lexicon.bundled import bundled_folder
from dpcore.lexicon.cache import replacing
from dpcore.lexicon.damage import ARRAYS, refuse_of_the_system
from dpcore.lexicon.lexicon import ENGLISH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.lexicon.lexicon import Lexicon

FILE = "kinds.npz"
UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of the words of a lexicon.

    Attributes:
        names: of the kinds; the first is `UNKNOWN`.
        codes: place in `names` of the kind of each word, shape (n,), uint8; read-only.
    """

    names: tuple[str, ...]
    codes: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)

    @property
    def none(self) -> bool:
        """Whether the words are of a language of which no kinds are known."""
        return self.names == (UNKNOWN,)

    @property
    def known(self) -> float:
        """Share of the words whose kind is known."""
        return float((self.codes > 0).mean())

    def of(self, word: int) -> str:
        """The kind of a word."""
        return self.names[int(self.codes[word])]


def kinds_of(lexicon: Lexicon) -> Kinds:
    """The kind of every word of a lexicon, as the bundled table knows it.

    The table is of English: of another language no kind is known, even of words that look alike.

    Raises:
        LexiconError: the bundled table cannot be read.
    """
    if lexicon.language != ENGLISH:
        return Kinds((UNKNOWN,), np.zeros(len(lexicon), dtype=np.uint8))
    names, known = _bundled()
    codes = np.array([known.get(word, 0) for word in lexicon.words], dtype=np.uint8)
    return Kinds(names, codes)


def write_kinds(path: Path, kinds: Kinds) -> None:
    """Write the table of the bundled words, in their order, whole or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, names=np.array(kinds.names), codes=kinds.codes)


@lru_cache(maxsize=1)
def _bundled() -> tuple[tuple[str, ...], dict[str, int]]:
    folder = bundled_folder()
    try:
        words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
        with np.load(folder / FILE, allow_pickle=False) as stored:
            names, codes = tuple(stored["names"].tolist()), stored["codes"].tolist()
        known = dict(zip(words, codes, strict=True))
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"the kinds of words ({FILE}) cannot be read; restore the folder data/lexicon"
        ) from error
    return names, known
