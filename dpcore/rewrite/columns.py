"""Columns of texts where people already keep them: a list, a pandas Series, a batch of `datasets`.

Every call draws its noise anew from the operating system and takes no seed. So the same column
privatised twice spends ε twice: keep what came out, and use that from then on.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, TypeVar

from dpcore.errors import TextError
from dpcore.noise.streams import SECRET_BYTES
from dpcore.rewrite.documents import encode_all, release_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpcore.mechanisms.mechanism import Mechanism

Column = TypeVar("Column")


def privatize_column(column: Column, mechanism: Mechanism, epsilon: float) -> Column:
    """Each text of a column with every word of the vocabulary replaced, with fresh noise.

    A word outside the vocabulary is exchanged for a random one, which is then replaced like any
    other. What is promised holds for each word by itself (`mechanism.guarantee(epsilon)`); for a
    text of k words `Guarantee.for_tokens` says it. Two rows about two persons do not add up; two
    rows about one person do.

    Args:
        column: n texts, as a list or a pandas Series. A blank text stays blank.
        mechanism: over the vocabulary of its lexicon.
        epsilon: the privacy parameter of each word, in the mechanism's own meaning.

    Returns:
        n texts: a list for a list, a Series with the same index and name for a Series.

    Raises:
        EpsilonError: ε is not admissible.
        TextError: an entry is not a text; the message names it by its number.
    """
    texts: Any = column
    released: Any = release_texts(texts, mechanism, epsilon)
    if hasattr(texts, "index") and hasattr(texts, "name"):  # a Series; pandas is not imported
        released = type(texts)(released, index=texts.index, name=texts.name, dtype=object)
    return released  # type: ignore[no-any-return]


def map_batch(
    batch: Mapping[str, list[str]], column: str, mechanism: Mechanism, epsilon: float
) -> dict[str, list[str]]:
    """One column of a batch privatised: for `datasets.Dataset.map` with `batched=True`.

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
        The column by its name; `map` keeps the other columns.

    Raises:
        EpsilonError: ε is not admissible.
        TextError: there is no such column, or an entry is not a text.
    """
    if column not in batch:
        there = ", ".join(batch)
        raise TextError(f"the batch has no column {column!r}; its columns are {there}")
    return {column: release_texts(batch[column], mechanism, epsilon)}


def release_texts(texts: Iterable[str], mechanism: Mechanism, epsilon: float) -> list[str]:
    """n private texts for n texts, as `privatize_column` says.

    Their noise is keyed by a secret of this call, which nothing keeps.
    """
    mechanism.check_epsilon(epsilon)
    if isinstance(texts, str):
        raise TextError("a column of texts is needed, got one text: put it into a list")
    checked: list[str] = []
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise TextError(f"entry {number:,} is not a text but of type {type(text).__name__}")
        checked.append(text)
    documents = encode_all(checked, mechanism.lexicon)
    outputs = release_all(documents, mechanism, epsilon, secrets.token_bytes(SECRET_BYTES))
    return documents.texts(outputs)
