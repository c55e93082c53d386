"""From text to integer arrays.

Every surface form is looked up once; what becomes of it (case folded, possessive cut off, a
hyphenated compound split or kept) is decided per *form* and then applied to the whole corpus
by array indexing, so that no Python code runs once per token.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING
from unicodedata import combining, normalize

import numpy as np

from dpcore.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from dpcore.lexicon.train.sources import Document

_FORM = re.compile(r"[^\W_]+(?:['’‑-][^\W_]+)*")
_PLAIN = str.maketrans({"’": "'", "‑": "-"})
# An address is one token to a reader and several junk tokens to a word pattern: blank it first.
_ADDRESS = re.compile(
    r"\S*(?:://|www\.|@\w)\S*|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|uk)\b"
)
# Here 's is a verb; after any other word it is taken for the possessive and cut off.
CLITIC_IS = frozenset(
    "it's that's he's she's what's let's there's here's who's where's how's when's why's "
    "everything's something's".split()
)


@dataclass(frozen=True)
class Corpus:
    """A tokenised corpus of T tokens over F forms.

    Attributes:
        forms: The F distinct words, lower case, in order of first appearance.
        ids: Shape (T,), int32: index into `forms`.
        segments: Shape (T,), int32: equal for tokens of one segment.
        documents: Shape (T,), int32: equal for tokens of one document.
        capitals: Shape (T,), bool: the token began with a capital letter.
        bounds: Shape (number of sources + 1,): source s holds tokens bounds[s] to bounds[s+1].
    """

    forms: tuple[str, ...]
    ids: NDArray[np.int32]
    segments: NDArray[np.int32]
    documents: NDArray[np.int32]
    capitals: BoolArray
    bounds: IntArray


def split_form(form: str, compounds: frozenset[str]) -> tuple[str, ...]:
    """Say which words a surface form stands for.

    Args:
        form: A match of the token pattern, any case.
        compounds: Hyphenated words that are kept whole.

    Returns:
        Lower-case words without accents: one, or the parts of a hyphenated form that is not in
        `compounds`.
    """
    word = form.lower().translate(_PLAIN)
    if not word.isascii():
        # é counts as e: people write café both ways, and the vocabulary is plain ASCII.
        word = "".join(c for c in normalize("NFKD", word) if not combining(c))
    if word.endswith("'s") and word not in CLITIC_IS:
        word = word[:-2]
    if "-" not in word or word in compounds:
        return (word,)
    return tuple(part for part in word.split("-") if part)


def tokenise(
    sources: Sequence[Iterable[Document]],
    compounds: frozenset[str] = frozenset(),
    report: Callable[[int], None] = lambda done: None,
) -> Corpus:
    """Read documents into a `Corpus`.

    Args:
        sources: One iterable of documents a source.
        compounds: Hyphenated words that are kept whole.
        report: Called with the number of documents read so far, now and then.
    """
    index: defaultdict[str, int] = defaultdict(count().__next__)
    look_up = index.__getitem__
    chunks: list[NDArray[np.int32]] = []
    lengths: list[int] = []
    owners: list[int] = []
    source_ends = [0]
    document = 0
    for source in sources:
        for lines in source:
            for line in lines:
                forms = _FORM.findall(_ADDRESS.sub(" ", html.unescape(line)))
                if forms:
                    chunks.append(np.fromiter(map(look_up, forms), np.int32, len(forms)))
                    lengths.append(len(forms))
                    owners.append(document)
            document += 1
            if document % 2000 == 0:
                report(document)
        source_ends.append(len(lengths))
    return _expand(list(index), chunks, lengths, owners, source_ends, compounds)


def _expand(
    surface: list[str],
    chunks: list[NDArray[np.int32]],
    lengths: list[int],
    owners: list[int],
    source_ends: list[int],
    compounds: frozenset[str],
) -> Corpus:
    """Replace surface forms by words, all tokens at once."""
    parts = [split_form(form, compounds) for form in surface]
    words: defaultdict[str, int] = defaultdict(count().__next__)
    flat = np.fromiter((words[part] for part in chain.from_iterable(parts)), np.int32)
    width = np.fromiter(map(len, parts), np.int64, len(parts))
    start = np.concatenate(([0], np.cumsum(width)))
    capital = np.fromiter((form[0].isupper() for form in surface), np.bool_, len(surface))

    raw = np.concatenate(chunks) if chunks else np.zeros(0, np.int32)
    repeats = width[raw]
    ends = np.cumsum(repeats)
    total = int(ends[-1]) if len(ends) else 0
    within = np.arange(total) - np.repeat(ends - repeats, repeats)
    ids = flat[np.repeat(start[raw], repeats) + within] if total else np.zeros(0, np.int32)

    segment_of_raw = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    segments = np.repeat(segment_of_raw, repeats)
    documents = np.asarray(owners, np.int32)[segments] if total else np.zeros(0, np.int32)
    arrays = (ids, segments, documents, np.repeat(capital[raw], repeats))
    for array in arrays:
        array.setflags(write=False)
    return Corpus(tuple(words), *arrays, np.searchsorted(segments, source_ends))
