"""Fixtures of the tests of the measures: a small lexicon."""

import pytest

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import lexicons


@pytest.fixture(scope="session")
def small() -> Lexicon:
    """60 words in 4 dimensions."""
    return lexicons.cloud(60, 4)


@pytest.fixture(scope="session")
def middle() -> Lexicon:
    """700 words in 25 dimensions."""
    return lexicons.cloud(700, 25)
