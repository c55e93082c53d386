"""The Neighbourhoods page of a session that holds some state already."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_page


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    def make(**state: Any) -> AppTest:
        return open_page("neighbourhoods", **state)

    return make
