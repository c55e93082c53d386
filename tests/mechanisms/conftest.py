"""Fixtures of the tests of the mechanisms: small lexicons."""

import pytest

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import contract, lexicons


@pytest.fixture(scope="session")
def small() -> Lexicon:
    """40 words in 3 dimensions."""
    return lexicons.cloud(40, 3)


@pytest.fixture(scope="session")
def middle() -> Lexicon:
    """700 words in 25 dimensions: more than one block of every loop."""
    return lexicons.cloud(700, 25)


@pytest.fixture(scope="session")
def typicals() -> dict[str, float]:
    """For each key of the registry an ε at which the word sometimes stays and sometimes not."""
    return {key: contract.typical(contract.make(key)) for key in contract.KEYS}
