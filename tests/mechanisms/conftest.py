"""What the tests of the mechanisms share: small lexicons, and a cache folder of their own."""

from pathlib import Path

import pytest

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import lexicons


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written to the cache of the person who runs the tests."""
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def small() -> Lexicon:
    """40 words in 3 dimensions."""
    return lexicons.cloud(40, 3)


@pytest.fixture(scope="session")
def middle() -> Lexicon:
    """700 words in 25 dimensions: more than one block of every loop."""
    return lexicons.cloud(700, 25)
