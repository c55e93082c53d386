"""Readings and actions of the tests of the page Curves."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.curves import curves

CORPUS = "The doctor said the city and the money. The doctor said no, not the doctor."


def row(test: AppTest, of: str, table: int = 0) -> Any:
    """The rows of one kind of the table at ε, by mechanism."""
    shown = test.dataframe[table].value
    return shown[shown["of"].str.startswith(of)].set_index("mechanism")


def assert_no_cell_says_none(test: AppTest) -> None:
    """A missing value is drawn as an empty cell, not as the word that stands for it."""
    assert any(table.value.isna().any(axis=None) for table in test.dataframe)
    for table in test.dataframe:
        assert table.proto.HasField("placeholder")
        assert table.proto.placeholder == ""
        assert not table.value.isin(["None", "nan", "NaN"]).any(axis=None)


def watch_sessions(monkeypatch: pytest.MonkeyPatch, then: Callable[[Any], object]) -> None:
    """Hear of every group of words that is measured."""
    measured = curves._measured

    def watched(mechanism: Any, part: Any, *rest: Any) -> Any:
        then(part)
        return measured(mechanism, part, *rest)

    monkeypatch.setattr(curves, "_measured", watched)


def marks(test: AppTest) -> list[str]:
    """Return the positions of the lines of the marks."""
    return re.findall(
        r"left:(calc\([^)]*\))[^>]*dotted", " ".join(e.proto.body for e in test.get("html"))
    )
