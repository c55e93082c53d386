"""Columns of laws: each agrees with the laws of all words at one output."""

from typing import Any

import numpy as np
import pytest

from dpcore.mechanisms.candidates.clusters import tours
from dpcore.mechanisms.mechanism import ColumnForm
from dpcore.mechanisms.registry import create
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(150, 8)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("santext-plus", {}),
        ("santext-plus", {"w": 1.0}),
        ("custext", {"k": 7}),
        ("diffractor", {"lists": 3}),
        ("wbb", {}),
        ("wbb", {"form": "floor"}),
        ("syntf", {}),
    ],
)
@pytest.mark.parametrize("epsilon", [0.2, 4.0])
def test_a_column_is_that_of_the_laws(name: str, settings: dict[str, Any], epsilon: float) -> None:
    mechanism = create(name, LEXICON, settings)
    form = mechanism.column_form
    assert isinstance(form, ColumnForm)
    laws = np.stack([mechanism.log_law(word, epsilon) for word in range(150)])
    ends = tours(LEXICON, 3)[:, 0].tolist() if name == "diffractor" else []
    for output in (0, 20, 149, *ends):
        column = form.column(output, None, epsilon)
        np.testing.assert_array_equal(np.isneginf(column), np.isneginf(laws[:, output]))
        seen = ~np.isneginf(column)
        size = np.maximum(np.abs(laws[seen, output]), 1.0)
        assert (np.abs(column[seen] - laws[seen, output]) <= form.error * size).all()


def test_where_a_column_takes_all_laws_there_is_none() -> None:
    for name, settings in (
        ("custext", {"form": "drawn"}), ("syntf", {"candidates": "synonyms"}), ("rantext", {}),
        ("wbb", {"box": 200}), ("santext", {"metric": "cosine"}),
    ):  # fmt: skip
        lexicon = lexicons.cloud(300, 8)
        assert create(name, lexicon, settings).column_form is None
