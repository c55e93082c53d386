"""Readings and actions of the tests of the page Words."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.words import bench as benches
from tests.pages.app import component

FEW = {"curve_metric": ["tem"], "curve_log": [], "outputs_of": "tem"}
"""Few mechanisms, and no opening view."""


def panes(test: AppTest) -> dict[str, Any]:
    """Return the data of the panes component."""
    assert not test.exception, test.exception
    return component(test, "panes")


def shown(test: AppTest) -> tuple[str, ...]:
    return tuple(pane["word"] for pane in panes(test)["panes"])


def table(test: AppTest) -> Any:
    return next(d.value for d in test.dataframe if "attack_nearest" in d.value.columns)


def watch_sessions(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Hear of all that is measured."""
    compare: Any = vars(benches)["compare"]

    def watched(*given: Any, **more: Any) -> Any:
        then()
        return compare(*given, **more)

    monkeypatch.setattr(benches, "compare", watched)
