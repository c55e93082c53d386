"""Many documents under a mechanism: read once, then released, each with independent noise.

A document's noise is keyed by the run's secret and the document's id (`document_generator`), so
its output is the same in any batch, order and process, and equal to that of
`dpcore.rewrite.sentence.release` with that generator. Two documents of one run must not share an
id, and no secret may serve two releases: both would give two outputs of the same noise.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from time import process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dpcore.arguments import a_kind, describe
from dpcore.arrays import IntArray
from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.bulk import Bulk, bulk
from dpcore.mechanisms.mechanism import Mechanism, check_mechanism
from dpcore.noise.streams import SECRET_BYTES, DocumentGenerators, document_generator
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment
from dpcore.rewrite.reader import Documents, Reader
from dpcore.rewrite.vocabulary import UNFIT, stand_in

_SIGNS = re.compile(r"[_|#/:▁Ġ<>\[\]]")  # of words with prefixes, word classes or spaces
_LOOKED_AT = 200  # texts, or words of a lexicon, that decide on a caution


def encode_all(
    texts: Iterable[str],
    lexicon: Lexicon,
    treatment: Treatment = DEFAULT_TREATMENT,
    *,
    for_text: bool = True,
    first: int = 0,
) -> Documents:
    """Read documents into tokens, roles and lexicon indices. A blank document has no words.

    Args:
        texts: the documents.
        lexicon: the vocabulary.
        treatment: of unknown words, function words and capital letters.
        for_text: keep the data that `Documents.texts` needs; without it, a word takes 8 bytes.
        first: number of documents before these, for messages.

    Raises:
        TextError: a word is refused by the policy; the message names the document by its number.
    """
    return Reader(lexicon, treatment).read(texts, for_text=for_text, first=first)


class AuthorSizes(NamedTuple):
    """Number of authors, and the most texts and protected words that one of them wrote.

    The two are maxima of their own: they may be of different authors.
    """

    authors: int
    texts: int
    words: int


def author_sizes(
    texts: Sequence[str],
    authors: Sequence[str],
    lexicon: Lexicon,
    treatment: Treatment = DEFAULT_TREATMENT,
) -> AuthorSizes:
    """Count what belongs together because one person wrote it.

    Args:
        texts: the documents.
        authors: author of each; a text with a blank author is taken to be of someone of its own.
        lexicon: the vocabulary.
        treatment: as for `encode_all`; words that it keeps are not protected, and not counted.

    Raises:
        ParameterError: there are not as many authors as texts.
        TextError: as `encode_all`.
    """
    if len(authors) != len(texts):
        raise ParameterError(f"{len(texts):,} texts need as many authors, got {len(authors):,}")
    words = np.diff(encode_all(texts, lexicon, treatment, for_text=False).offsets)
    wrote: Counter[str | int] = Counter()
    counted: Counter[str | int] = Counter()
    for number, (author, count) in enumerate(zip(authors, words.tolist(), strict=True)):
        key = author.strip() or number  # names are text, so that no number is one of them
        wrote[key] += 1
        counted[key] += count
    return AuthorSizes(len(wrote), max(wrote.values(), default=0), max(counted.values(), default=0))


def vocabulary_caution(texts: Iterable[str], lexicon: Lexicon) -> str:
    """Return a warning if a lexicon lacks most words of the first texts, else "".

    It states no count: the number of unknown words is protected in a release.
    """
    words = encode_all(islice(texts, _LOOKED_AT), lexicon, for_text=False).words
    if 2 * np.count_nonzero(words < 0) <= words.size:
        return ""
    return f"most words of the first texts are not in this vocabulary: {UNFIT}"


def lexicon_caution(lexicon: Lexicon) -> str:
    """Return a warning if most words of a lexicon are not found in a text, else "".

    A word that is all in capitals is looked up in small letters, as most texts have it. Only the
    first words are tested, in most files the most frequent ones: the last are often no words.
    """
    first = min(len(lexicon), 10 * _LOOKED_AT)
    places = np.linspace(0, first - 1, min(first, _LOOKED_AT)).astype(int)
    words = [lexicon.words[place] for place in places.tolist()]
    written = [word.lower() if word.isupper() and len(word) > 1 else word for word in words]
    documents = encode_all(written, lexicon, for_text=False)
    whole = np.diff(documents.offsets) == 1
    whole[[_SIGNS.search(word) is not None for word in words]] = False
    found = documents.words[documents.offsets[:-1][whole]] == places[whole]
    if 2 * np.count_nonzero(found) >= len(words):
        return ""
    return (
        "most words of this vocabulary are not found when they stand in a text: they are in "
        "capitals, have prefixes, or hold spaces or underscores; write them as texts do"
    )


def release_all(
    documents: Documents,
    mechanism: Mechanism,
    epsilon: float,
    secret: bytes,
    ids: Sequence[int | str] | None = None,
    *,
    sampler: Bulk | None = None,
    generators: DocumentGenerators | None = None,
) -> IntArray:
    """Draw fresh noise at one ε for every word of every document.

    Args:
        documents: over the mechanism's lexicon.
        mechanism: rewrites the words.
        epsilon: the privacy parameter.
        secret: of the run.
        ids: one per document, unique in the run; 0, 1, … if None.
        sampler: `bulk(mechanism, epsilon)`, to keep laws and neighbours from call to call.
        generators: to keep generators from call to call.

    Returns:
        Output words, shape (k,), in the order of `documents.words`.

    Raises:
        ParameterError: there is not one id per document, or one occurs twice.
    """
    names = range(len(documents)) if ids is None else ids
    if len(names) != len(documents) or len(set(names)) != len(names):
        raise ParameterError(
            f"{len(documents):,} documents need as many different ids, got {len(set(names)):,}"
        )
    if generators is None:
        rngs = [document_generator(secret, name) for name in names]
    else:
        rngs = generators(secret, names)
    inputs = documents.words.copy()
    # Before the noise, from the document's own stream, as `release` draws them.
    absent = np.searchsorted(documents.offsets, np.flatnonzero(inputs < 0), side="right") - 1
    for i in np.unique(absent).tolist():
        part = slice(*documents.offsets[i : i + 2].tolist())
        inputs[part] = stand_in(inputs[part], len(documents.lexicon), rngs[i])
    return (sampler or bulk(mechanism, epsilon))(rngs, inputs, documents.offsets)


def release_seconds(
    documents: Documents,
    mechanism: Mechanism,
    epsilon: float,
    ids: Sequence[int | str] | None = None,
    *,
    sampler: Bulk | None = None,
) -> float:
    """Measure the processor time of `release_all`, independent of other load.

    The noise has a fixed secret, because only the time is used.

    Args:
        documents: as for `release_all`, as are the other arguments.
        mechanism: rewrites the words.
        epsilon: the privacy parameter.
        ids: one per document.
        sampler: `bulk(mechanism, epsilon)`, to keep laws and neighbours from call to call.
    """
    start = process_time()
    release_all(documents, mechanism, epsilon, bytes(32), ids, sampler=sampler)
    return process_time() - start


# Columns of texts in their usual containers: a list, a pandas Series, a batch of `datasets`.
#
# Every call draws fresh noise from the operating system and takes no seed. So privatising the same
# column twice spends ε twice: keep the output, and use it from then on.
#
# A missing text (None, NaN, `pandas.NA`) stays missing: everyone sees that it was.


Column = TypeVar("Column")

_NEEDED = "a column of texts is needed, such as a list or a Series"


def privatize_column(column: Column, mechanism: Mechanism, epsilon: float) -> Column:
    """Replace every word of each text of a column, with fresh noise.

    A word outside the vocabulary is exchanged for a random one, which is then replaced like any
    other. The guarantee holds for each word by itself (`mechanism.guarantee(epsilon)`); for a text
    of k words see `Guarantee.for_tokens`. Two rows about two persons do not add up; two rows about
    one person do.

    Args:
        column: n texts, as a list, a pandas Series, or a table or array of one column. A blank
            text stays blank, and a missing one missing.
        mechanism: over the vocabulary of its lexicon.
        epsilon: the privacy parameter of each word, in the mechanism's own meaning.

    Returns:
        n texts in a container of the same kind: of a Series with its index, name and type of
        strings. Of a categorical Series the type is that of its categories, which are private
        texts themselves and are not kept.

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: `mechanism` is no mechanism.
        TextError: there is more than one column, or an entry is not a text; the message names it
            by its number.
    """
    given: Any = column
    released: Any = release_texts(given, mechanism, epsilon)
    if hasattr(given, "iloc"):  # a pandas object; pandas is not imported here
        if len(given.shape) == 1:
            return _series(given, released)  # type: ignore[no-any-return]
        values = _series(given.iloc[:, 0], released)
        table: Column = type(given)({0: values}).set_axis(given.columns, axis=1)
        return table
    if isinstance(given, np.ndarray):
        return np.array(released, dtype=object).reshape(given.shape)  # type: ignore[return-value]
    return released  # type: ignore[no-any-return]


def _series(series: Any, values: list[Any]) -> Any:
    """Return a Series like another one, with these values."""
    kept = getattr(series.dtype, "categories", None)
    kind = series.dtype if kept is None else kept.dtype
    return type(series)(values, index=series.index, name=series.name, dtype=kind)


def map_batch(
    batch: Mapping[str, list[str]], column: str, mechanism: Mechanism, epsilon: float
) -> dict[str, list[str]]:
    """Privatise one column of a batch: for `datasets.Dataset.map` with `batched=True`.

        rows.map(
            dp.map_batch,
            batched=True,
            fn_kwargs={"column": "text", "mechanism": tem, "epsilon": 20},
        )

    `map` keeps results on disk by function and arguments: a second run with the same ones returns
    the first run's texts, which spends nothing. Its cache of the input holds private texts.

    Args:
        batch: columns by name, n entries each.
        column: name of the column that holds the texts.
        mechanism: over the vocabulary of its lexicon.
        epsilon: the privacy parameter of each word.

    Returns:
        The column by its name; `map` keeps the other columns. A missing text stays missing.

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: `mechanism` is no mechanism.
        TextError: there is no such column, or an entry is not a text.
    """
    given: Any = batch
    if not (isinstance(given, Mapping) or hasattr(given, "iloc")):
        raise TextError(
            "a batch is needed, as `map` with batched=True hands it over: columns by their names; "
            f"got {describe(given)}"
        )
    a_kind(column, str, "one column is needed, by its name", TextError)
    if column not in batch:
        there = ", ".join(map(str, batch))
        raise TextError(f"the batch has no column {column!r}; its columns are {there}")
    return {column: release_texts(batch[column], mechanism, epsilon)}


def release_texts(texts: Iterable[Any], mechanism: Mechanism, epsilon: float) -> list[Any]:
    """Return n private texts for n texts, as `privatize_column` does.

    Their noise is keyed by a secret of this call, which is not stored.
    """
    epsilon = check_mechanism(mechanism).check_epsilon(epsilon)
    column = entries(texts)
    present: list[str] = []
    for number, text in enumerate(column, start=1):
        if isinstance(text, str):
            present.append(text)
        elif not _missing(text):
            raise TextError(f"entry {number:,} is not a text but of type {type(text).__name__}")
    documents = encode_all(present, mechanism.lexicon)
    outputs = release_all(documents, mechanism, epsilon, secrets.token_bytes(SECRET_BYTES))
    released = iter(documents.texts(outputs))
    return [next(released) if isinstance(text, str) else text for text in column]


def check_column(texts: Any) -> None:
    """Refuse an object that is no column of texts, without reading a text.

    Raises:
        TextError: It is one text, or something whose entries are not those of one column.
    """
    if isinstance(texts, (str, bytes)):
        raise TextError("a column of texts is needed, got one text: put it into a list")
    shape = getattr(texts, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        if len(shape) != 2:
            raise TextError(f"{_NEEDED}, got an array of shape {shape}")
        if shape[1] != 1 or not (hasattr(texts, "iloc") or isinstance(texts, np.ndarray)):
            raise TextError(
                f"{_NEEDED}, got a table of {shape[1]:,} columns: choose the one that holds the "
                'texts, as in table["text"]'
            )
    if isinstance(texts, Mapping):
        raise TextError(f'{_NEEDED}, got columns by their names: choose one, as in batch["text"]')
    # A set has no order, so its texts could not be put back into their rows.
    if not isinstance(texts, Iterable) or isinstance(texts, (set, frozenset)):
        raise TextError(f"{_NEEDED}, got {describe(texts)}")


def entries(texts: Any) -> list[Any]:
    """Return the entries of a column, or of a table that has no other column.

    Raises:
        TextError: As `check_column`.
    """
    check_column(texts)
    if len(getattr(texts, "shape", ())) == 2:
        return list(texts.iloc[:, 0] if hasattr(texts, "iloc") else texts[:, 0])
    return list(texts)


def _missing(value: Any) -> bool:
    """Return True for None, NaN, and the missing values of pandas."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return True
    pandas = sys.modules.get("pandas")  # a value of pandas exists only where it is imported
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)
