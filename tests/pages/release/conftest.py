"""The Release page of a session that holds some state already."""

import functools
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.taking import recorded
from tests.pages.app import open_page


@pytest.fixture
def opened() -> Iterator[Callable[..., AppTest]]:
    recorded.clear()
    yield functools.partial(open_page, "release")
    recorded.clear()
