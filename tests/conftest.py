"""Fixtures for every test: the real data, and keyed random generators."""

import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.needs import real_data

_MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Put `__main__` back: a page under test leaves itself there, and a process spawned by a later
    test (a Dask worker) would run the page first."""
    yield
    sys.modules["__main__"] = _MAIN


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written to the cache of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPCORE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data; without it the test skips (or fails where all is required)."""
    return real_data()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Callable[..., np.random.Generator]:
    """A factory of generators: `rng()`, `rng(3)`; keyed by the test's name, so no two share one."""
    name = zlib.crc32(request.node.nodeid.encode())

    def make(*key: int) -> np.random.Generator:
        return np.random.default_rng([name, *key])

    return make


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser or the real data, before `-m` selects; browser tests run last."""
    browser = Path(__file__).parent / "browser"
    for item in items:
        if browser in item.path.parents:
            item.add_marker(pytest.mark.browser)
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
    items.sort(key=lambda item: browser in item.path.parents)
