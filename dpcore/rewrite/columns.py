"""Columns of texts where people already keep them: a list, a pandas Series, a batch of `datasets`.

Every call draws fresh noise from the operating system and takes no seed. So the same column
privatised twice spends ε twice: keep what came out, and use that from then on.

A missing text (None, NaN, `pandas.NA`) stays missing: everybody sees that it was.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from dpcore.arguments import a_kind, described
from dpcore.errors import TextError
from dpcore.mechanisms.mechanism import Mechanism, check_mechanism
from dpcore.noise.streams import SECRET_BYTES
from dpcore.rewrite.documents import encode_all, release_all

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
        ParameterError: the mechanism is none.
        TextError: there is more than one column, or an entry is not a text; the message names it
            by its number.
    """
    given: Any = column
    released: Any = release_texts(given, mechanism, epsilon)
    if hasattr(given, "iloc"):  # of pandas, which is not imported
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

    `map` keeps results on disk by function and arguments: a second run with the same ones gives
    the first run's texts again, which spends nothing. Its cache of the input holds private texts.

    Args:
        batch: columns by name, n entries each.
        column: which of them holds the texts.
        mechanism: over the vocabulary of its lexicon.
        epsilon: the privacy parameter of each word.

    Returns:
        The column by its name; `map` keeps the other columns. A missing text stays missing.

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: the mechanism is none.
        TextError: there is no such column, or an entry is not a text.
    """
    given: Any = batch
    if not (isinstance(given, Mapping) or hasattr(given, "iloc")):
        raise TextError(
            "a batch is needed, as `map` with batched=True hands it over: columns by their names; "
            f"got {described(given)}"
        )
    a_kind(column, str, "one column is needed, by its name", TextError)
    if column not in batch:
        there = ", ".join(map(str, batch))
        raise TextError(f"the batch has no column {column!r}; its columns are {there}")
    return {column: release_texts(batch[column], mechanism, epsilon)}


def release_texts(texts: Iterable[Any], mechanism: Mechanism, epsilon: float) -> list[Any]:
    """Return n private texts for n texts, as `privatize_column` says.

    Their noise is keyed by a secret of this call, which nothing keeps.
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
    """Refuse what is no column of texts, without reading one.

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
        raise TextError(f"{_NEEDED}, got {described(texts)}")


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
    pandas = sys.modules.get("pandas")  # whose value this is, if it is one
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)
