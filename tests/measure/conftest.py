"""What the tests of the measures share: a cache folder of their own, and a small lexicon."""

from collections.abc import Iterator

import pytest

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import lexicons


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the cache of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def small() -> Lexicon:
    """60 words in 4 dimensions."""
    return lexicons.cloud(60, 4)


@pytest.fixture(scope="session")
def middle() -> Lexicon:
    """700 words in 25 dimensions."""
    return lexicons.cloud(700, 25)
