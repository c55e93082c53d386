"""The Deniability page of a session that holds some state already."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_page

FEW = {"sample": 3, "runs": 20}


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    def make(**state: Any) -> AppTest:
        return open_page("deniability", **(FEW | state))

    return make
