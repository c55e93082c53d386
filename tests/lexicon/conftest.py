"""A server for the tests of downloads."""

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.lexicon.serving import Behaving, Behaviour, Handler


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """A function that puts a behaviour at a path and gives its address."""
    server = Behaving(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def put(behaviour: Behaviour, path: str = "/file.bin") -> str:
        server.behaviours[path] = behaviour
        return f"http://127.0.0.1:{server.server_port}{path}"

    yield put
    server.shutdown()
    thread.join()
    server.server_close()
