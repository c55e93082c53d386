"""Fixtures for the tests of all pages."""

from collections.abc import Iterator

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager

from pages.opening import warmup


@pytest.fixture(autouse=True, scope="session")
def no_installed_components() -> Iterator[None]:
    """Skip the search for components in every installed package, which costs each session under
    `AppTest` ten times the run of a page; the pages register their own components."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BidiComponentManager, "discover_and_register_components", lambda *_, **__: None
        )
        yield


@pytest.fixture(autouse=True)
def nothing_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """No background work, which may or may not be done when a test looks."""
    monkeypatch.setattr(warmup, "_in_background", lambda jobs: None)
