"""Fixtures for the tests of all pages."""

from collections.abc import Iterator

import plotly.graph_objects as go
import pytest
from streamlit.components.v2.component_manager import BidiComponentManager

from pages.shared import figure as figures
from pages.shared.language import ENGLISH, LANGUAGES, spoken
from tests.translations import english_on_hover


@pytest.fixture(autouse=True, scope="session")
def no_installed_components() -> Iterator[None]:
    """Skip the search for components in every installed package, which costs each session under
    `AppTest` ten times the run of a page; the pages register their own components."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BidiComponentManager, "discover_and_register_components", lambda *_, **__: None
        )
        yield


@pytest.fixture(autouse=True, scope="session")
def hover_texts() -> Iterator[None]:
    """Every figure that any test draws on a page has its hover texts in every language."""

    def checked(figure: go.Figure) -> go.Figure:
        for name in LANGUAGES:
            if name != ENGLISH:
                assert not english_on_hover(figure, name), name
        return spoken(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "spoken", checked)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_work_ahead(nothing_ahead: None) -> None:
    """Before fixtures of a module, which open pages too."""
