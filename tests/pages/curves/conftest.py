"""The page Curves of a session that holds some state already."""

import functools
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_page

FEW = {"sample": 3, "runs": 20}


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    return functools.partial(open_page, "curves", **FEW)
