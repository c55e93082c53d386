"""A source of text for the trainer's tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from dpcore.lexicon.train.sources import Source


def toy_source(**changes: Callable[..., Any] | str | float) -> Source:
    fields: dict[str, Any] = {
        "name": "toy",
        "file": "toy.parquet",
        "licence": "CC0-1.0",
        "credit": "nobody",
    }
    fields |= {"used": "all", "weight": 1.0, "lower_only": False, "read": one_document_a_row}
    return Source(**(fields | changes))


def one_document_a_row(frame: pd.DataFrame) -> Iterator[list[str]]:
    for text in frame["text"]:
        yield [text]
