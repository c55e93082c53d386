"""Word counts of four real corpora by class, over the bundled lexicon, and their file format.

Only counts are bundled, no text. How often each output occurs depends on the words of a group
through their counts alone, so it can be drawn from them exactly, without the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arrays import IntArray
from dpcore.errors import CorpusError, LexiconError, ParameterError
from dpcore.learn.corpus import bags_of
from dpcore.lexicon.cache import ARRAYS, bundled_data, refuse_of_the_system, replacing
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent

CROWDS = ("imdb", "yelp", "agnews", "yahoo")
"""Names of the bundled crowds, in order."""
FOLDER = "crowd"
FILE = "counts.npz"
_BATCH = 1_000  # texts read at a time, to bound memory; counts do not depend on it


@dataclass(frozen=True, eq=False)
class Crowd:
    """Word counts of the groups of a corpus; arrays are read-only int64.

    Attributes:
        name: short name, such as "imdb".
        title: title for readers.
        groups: names of the G groups.
        texts: number of texts of each group, shape (G,).
        unknown: number of words of each group that the lexicon does not hold, shape (G,).
        counts: occurrences of each of the n words of the lexicon in each group, shape (G, n).

    Raises:
        CorpusError: shapes do not fit, a count is not a whole number or is negative, or two groups
            have one name.
    """

    name: str
    title: str
    groups: tuple[str, ...]
    texts: IntArray
    unknown: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        """Check, and make the arrays read-only."""
        size = len(self.groups)
        if not size or len(set(self.groups)) < size:
            raise CorpusError(f"a crowd needs groups with different names, got {self.groups}")
        for field, axes in (("texts", 1), ("unknown", 1), ("counts", 2)):
            given = np.asarray(getattr(self, field))
            if given.dtype.kind not in "iu" or given.ndim != axes or given.shape[0] != size:
                raise CorpusError(
                    f"{field} of a crowd must be whole numbers for each of {size} groups, got "
                    f"{given.dtype} of shape {given.shape}"
                )
            own = given.astype(np.int64)
            if own.min(initial=0) < 0:
                raise CorpusError(f"{field} of a crowd must not be negative, got {own.min()}")
            own.setflags(write=False)
            object.__setattr__(self, field, own)

    @property
    def words(self) -> IntArray:
        """Number of words of each group that the lexicon holds, shape (G,)."""
        return np.asarray(self.counts.sum(axis=1))


def crowd(name: str, lexicon: Lexicon) -> Crowd:
    """Return a bundled crowd.

    Args:
        name: one of `CROWDS`.
        lexicon: the bundled lexicon.

    Raises:
        ParameterError: no crowd has this name.
        LexiconError: another lexicon was given.
        CorpusError: the bundled file is missing or damaged.
    """
    if name not in CROWDS:
        raise ParameterError(f"no crowd {name!r}; there are: {', '.join(CROWDS)}")
    fingerprint, crowds = _bundled()
    if lexicon.fingerprint != fingerprint:
        raise LexiconError(
            f"the words of the bundled corpora are counted over the bundled lexicon alone, got "
            f"{lexicon.name!r}: take the bundled lexicon, or count texts over yours"
        )
    return crowds[name]


@lru_cache(maxsize=1)
def _bundled() -> tuple[str, dict[str, Crowd]]:
    fingerprint, crowds = read_crowds(bundled_data(FOLDER, FILE) / FILE)
    by_name = {each.name: each for each in crowds}
    if tuple(by_name) != CROWDS:
        raise _damaged()
    return fingerprint, by_name


def _damaged() -> CorpusError:
    return CorpusError(
        f"the word counts of the bundled corpora ({FILE}) cannot be read; restore the folder "
        f"data/{FOLDER}, or install dpcore again"
    )


def count_texts(
    texts: Sequence[str],
    labels: Sequence[str],
    groups: Sequence[str],
    lexicon: Lexicon,
    *,
    name: str = "",
    title: str = "",
    progress: Progress = silent,
) -> Crowd:
    """Count the words of texts by group, as a release reads them (`dpcore.learn.corpus.bags_of`).

    Args:
        texts: line breaks of HTML count as white space.
        labels: name of the group of each text.
        groups: names of the groups, in the order of the result.
        lexicon: words to count.
        name: name of the result.
        title: its title.
        progress: called with ("counting words", done, total) in texts.

    Raises:
        CorpusError: a text has no label or one that is no group, or two groups have one name.
    """
    if len(texts) != len(labels):
        raise CorpusError(
            f"each text needs one label, got {len(texts):,} texts and {len(labels):,} labels"
        )
    places = {group: place for place, group in enumerate(groups)}
    other = next((label for label in labels if label not in places), None)
    if other is not None:
        raise CorpusError(f"the groups are {', '.join(groups)}; got the label {other[:40]!r}")
    of_text = np.array([places[label] for label in labels], dtype=np.int64)
    size, n = len(groups), len(lexicon)
    unknown, counts = np.zeros(size, dtype=np.int64), np.zeros(size * n, dtype=np.int64)
    for start in range(0, len(texts), _BATCH):
        bags = bags_of(texts[start : start + _BATCH], lexicon)
        of_word = np.repeat(of_text[start : start + _BATCH], bags.lengths)
        is_known = bags.words >= 0
        counts += np.bincount(of_word[is_known] * n + bags.words[is_known], minlength=size * n)
        unknown += np.bincount(of_word[~is_known], minlength=size)
        progress("counting words", min(start + _BATCH, len(texts)), len(texts))
    numbers = np.bincount(of_text, minlength=size)
    return Crowd(name, title, tuple(groups), numbers, unknown, counts.reshape(size, n))


def write_crowds(path: Path, crowds: Iterable[Crowd], lexicon: Lexicon) -> None:
    """Write crowds to one small file, whole or not at all.

    Args:
        path: the file; the same crowds give the same bytes.
        crowds: with different names, all counted over the lexicon.
        lexicon: the file holds its fingerprint.

    Raises:
        CorpusError: two crowds have one name, or a crowd was counted over another lexicon.
    """
    written = tuple(crowds)
    names = [each.name for each in written]
    if len(set(names)) < len(names):
        raise CorpusError(f"crowds of one file need different names, got {', '.join(names)}")
    arrays: dict[str, Any] = {"fingerprint": np.array(lexicon.fingerprint)}
    arrays["names"] = np.array(names, dtype=np.str_)
    for each in written:
        if each.counts.shape[1] != len(lexicon):
            raise CorpusError(
                f"the crowd {each.name!r} counts {each.counts.shape[1]:,} words, and the lexicon "
                f"has {len(lexicon):,}"
            )
        arrays[f"{each.name}.title"] = np.array(each.title)
        arrays[f"{each.name}.groups"] = np.array(each.groups)
        for field in ("texts", "unknown", "counts"):
            values = getattr(each, field)
            if values.max(initial=0) > np.iinfo(np.uint32).max:
                raise CorpusError(f"{field} of the crowd {each.name!r} do not fit into 32 bits")
            arrays[f"{each.name}.{field}"] = values.astype(np.uint32)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_crowds(path: Path) -> tuple[str, tuple[Crowd, ...]]:
    """Read a file of `write_crowds`: the fingerprint of its lexicon, and the crowds in order.

    Raises:
        CorpusError: it is missing or damaged.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            crowds = tuple(
                Crowd(
                    name,
                    str(stored[f"{name}.title"]),
                    tuple(stored[f"{name}.groups"].tolist()),
                    *(stored[f"{name}.{field}"] for field in ("texts", "unknown", "counts")),
                )
                for name in stored["names"].tolist()
            )
            return str(stored["fingerprint"]), crowds
    except (OSError, *ARRAYS) as error:
        refuse_of_the_system(error)
        raise _damaged() from error
