"""Fixtures for every test: the real data, keyed random generators, a share of the machine."""

import gc
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

# Each of several workers has a core: threads of linear algebra beside them would only wait for each
# other. numpy reads it when it is imported, and the servers that tests start inherit it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from dpcore.plots.style import MOST_WORDS, Caption
from tests.needs import real_data, stopped_without_torch, uninstall

try:
    import fcntl
except ImportError:  # Windows, where tests that want the machine alone share it
    fcntl = None  # type: ignore[assignment]

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the programs
# that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What collection makes stays until the end, so looking there for garbage is lost time.
gc.disable()

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


@pytest.fixture(autouse=True, scope="session")
def short_findings() -> Iterator[None]:
    """Every caption of a figure that any test makes, by itself or on a page, is a short finding."""
    make = Caption.__init__

    def measured(caption: Caption, finding: str, how: str) -> None:
        make(caption, finding, how)
        words = [part for part in finding.split() if any(map(str.isalnum, part))]
        assert 1 <= len(words) <= MOST_WORDS, finding
        assert finding.endswith("."), finding

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Caption, "__init__", measured)
        yield


@contextmanager
def _locked(file: Path, *, alone: bool) -> Iterator[None]:
    """Hold a lock of the operating system, alone or with others who do not want it alone."""
    with file.open("wb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:  # not left to closing: a process that the test forked may hold the file open
            fcntl.flock(handle, fcntl.LOCK_UN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let workers share the machine, but for a test marked `undisturbed`, which has it alone.

    The lock is held for the fixtures too: the server that one worker starts, or the law that it
    computes for a whole file, would disturb the other as much as a test.
    """
    if fcntl is None or not hasattr(item.config, "workerinput"):  # there is one process only
        return (yield)
    shared = Path(item.config.getoption("basetemp")).parent  # the folder of all workers of this run
    alone = item.get_closest_marker("undisturbed") is not None
    with ExitStack() as inside:
        with _locked(shared / "door", alone=True):  # waiting to be alone lets no other pass
            inside.enter_context(_locked(shared / "machine", alone=alone))
        return (yield)


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


@pytest.fixture(scope="session")
def nothing_ahead() -> Iterator[None]:
    """No background work of pages, which may or may not be done when a test looks."""
    from pages.opening import warmup  # with the app's framework, which most tests do without

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warmup, "_in_background", lambda jobs: None)
        yield
    assert not warmup._BEGUN.is_set(), "a page was opened in this process before"


@pytest.fixture
def uninstalled(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`uninstalled("torch")`: from here on the test runs as if the package were not installed."""
    return lambda package: uninstall(package, monkeypatch)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="run as if this package were not installed (again for another one)",
    )


def pytest_configure(config: pytest.Config) -> None:
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for package in config.getoption("--without"):
        uninstall(package, patch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Most tests of networks need torch deep within what they call."""
    with stopped_without_torch():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """As for fixtures, for the test itself."""
    with stopped_without_torch():
        return (yield)


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but never again among the tests themselves."""
    gc.freeze()
    gc.enable()


_QUICK_IN_A_BROWSER = {"test_walk.py", "test_start_page.py", "test_frame.py"}
"""Files of tests of the served app that everybody runs: the way through the app."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, the data or much time before `-m` selects; put tests in order.

    A worker takes whole files. Those with a test in a browser come late, because Playwright's event
    loop runs in a worker from the first of them on. Among them the ones with the most tests come
    first, so that the workers end together; files with a test that wants the machine alone come
    last, when no one has to wait for it.
    """
    served = Path(__file__).parent / "browser"
    browser: Counter[Path] = Counter()
    alone: set[Path] = set()
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)
            browser[item.path] += 1
        if served in item.path.parents and item.path.name not in _QUICK_IN_A_BROWSER:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.slow)
        if "data_dir" in fixtures:
            item.add_marker(pytest.mark.data)
        if item.get_closest_marker("undisturbed"):
            alone.add(item.path)
    items.sort(key=lambda item: (item.path in alone, item.path in browser, -browser[item.path]))
