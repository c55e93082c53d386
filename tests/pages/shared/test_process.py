"""The process of the pages: answers go out at once, memory is given back, little is walked."""

import contextlib
import os
import platform
import socket
import subprocess
import sys
import threading
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from streamlit import config
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

from pages.shared import process
from pages.shared.process import give_memory_back, send_at_once
from tests.needs import ROOT

# What is freed beside what stays is given back only if arrays come from the system one by one.
PROGRAM = """
import threading
from pathlib import Path
import numpy as np
from pages.shared.process import give_memory_back
def resident():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
def run():
    np.ones(2_500_000).copy()  # 20 MB that are freed: glibc keeps the next ones in its heaps
    parts = [np.ones(100_000) for _ in range(100)]  # 80 MB
    kept.extend(np.ones(100) for _ in range(100))
    del parts[:-1]
    kept.extend(parts)
kept = []
give_memory_back()
before = resident()
for _ in range(5):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
print(resident() - before)
"""


# What a session holds, and a session that left a ring of objects behind; after each step, how many
# objects Python's own collections need not walk, and whether the ring is still there.
SETTLED = """
import gc, weakref
from pages.shared import process
from pages.shared.process import settle
now = process.time.monotonic() + 20.0
process.time.monotonic = lambda: now
class Ring:
    pass
def show():
    print(gc.get_freeze_count(), gone() is None)
gc.disable()  # as if nothing had filled a generation
ring = Ring()
ring.own, gone = ring, weakref.ref(ring)
settle()
show()
held = [[number] for number in range(12_000)]
del ring
now += 19.0
settle()
show()
now += 2.0
settle()
show()
"""

# Every script run is a thread of its own, and what one thread sets is not always set for others.
WARM = """
import threading
from pages.opening import warmup
warmup._look_ahead = lambda: None
warmup.warm_up()
def run():
    import faiss, sklearn.cluster
    from threadpoolctl import threadpool_info
    print(faiss.omp_get_max_threads(), *{one["num_threads"] for one in threadpool_info()})
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""

# What a server does before anybody has come.
READY = """
import asyncio, sys, threading
from pages.opening import warmup
from pages.shared import once, process
from pages.opening.lifespan import prepared
warmup._look_ahead = lambda: None
async def serve():
    async with prepared(None):
        print(sum(thread.name == process.AHEAD for thread in threading.enumerate()))
asyncio.run(serve())
for thread in threading.enumerate():
    if thread.name == process.AHEAD:
        thread.join()
print("pages.words.board" in sys.modules, len(once._SHELVES["first bench"].results))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this C library has no such choice")
def test_what_is_freed_is_given_back() -> None:
    assert float(_printed(PROGRAM)) < 40


def test_what_stays_is_not_walked_and_what_went_is_found_now_and_then() -> None:
    shown = [line.split() for line in _printed(SETTLED).splitlines()]
    first, between, after = (int(count) for count, _ in shown)
    assert first > 0
    assert between == first  # nothing is walked for twenty seconds
    assert after >= first + 10_000
    assert [gone for _, gone in shown] == ["False", "False", "True"]


def test_streamlit_walks_nothing_after_a_run() -> None:
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False
    assert config.get_config_options()["runner.postScriptGC"].type is bool  # it knows the name
    assert settings["server"]["fileWatcherType"] == "none"
    quiet = "disableWidgetStateDuplicationWarning"  # of a field that a button sets
    assert settings["global"][quiet] is True
    assert f"global.{quiet}" in config.get_config_options()


def test_the_router_is_ours_from_the_first_session_on() -> None:
    program = (
        "import app\n"
        "from streamlit.runtime.pages_manager import PagesManager\n"
        "print(PagesManager.uses_pages_directory)"
    )
    assert _printed(program).strip() == "False"


def test_a_server_makes_ready_before_anybody_comes() -> None:
    assert _printed(READY).split() == ["1", "True", "1"]


def test_what_is_computed_ahead_gives_way_to_a_page_that_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed = threading.Event()

    def ahead() -> None:
        process.give_way()
        passed.set()

    with process.hurried():
        thread = threading.Thread(target=ahead)
        thread.start()
        assert not passed.wait(0.2)
    assert passed.wait(10.0)
    thread.join()
    monkeypatch.setattr(process, "_PATIENCE_SECONDS", 0.05)
    with process.hurried():
        process.give_way()  # not for ever: somebody may be waiting for what is computed


def test_the_theme_is_read_once_and_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    read, calls = app_session._populate_theme_msg, list[str]()

    def counted(message: CustomThemeConfig, section: str = "theme") -> None:
        calls.append(section)
        read(message, section)

    def theme() -> CustomThemeConfig:
        made = CustomThemeConfig()
        app_session._populate_theme_msg(made)
        app_session._populate_theme_msg(made.light, "theme.light")
        app_session._populate_theme_msg(made.dark, "theme.dark")
        app_session._populate_theme_msg(made.sidebar, "theme.sidebar")
        return made

    plain = theme()
    monkeypatch.setattr(app_session, "_populate_theme_msg", counted)
    process.keep_theme()
    process.keep_theme()  # a server in a process that had one before
    assert theme() == theme() == plain
    assert plain.HasField("light")
    assert len(calls) == len(set(calls)) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_the_event_loop_is_the_fast_one() -> None:
    """Uvicorn, which comes with Streamlit, takes it by itself where it is installed."""
    factory = import_module("uvicorn").Config("app:app").get_loop_factory()
    assert factory is not None
    with contextlib.closing(factory()) as loop:
        assert type(loop).__module__.startswith("uvloop")


def test_products_take_one_thread_in_every_script_run() -> None:
    assert _printed(WARM).split() == ["1", "1"]


def _printed(program: str) -> str:
    """What a program prints in a process of its own, which may use all cores."""
    free = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        env=free,
    ).stdout


@pytest.mark.parametrize("error", [OSError, AttributeError])
def test_elsewhere_nothing_is_done(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise error

    monkeypatch.setattr("pages.shared.process.ctypes.CDLL", refuse)
    give_memory_back()


OPEN = Path("/dev/fd")


def waits(connection: socket.socket) -> bool:
    return not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not OPEN.is_dir(), reason="no list of this process's sockets")
def test_connections_that_are_open_and_later_ones_send_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        with socket.create_connection(address) as early, listening.accept()[0] as accepted:
            assert waits(listening)
            assert waits(accepted)
            before = sorted(OPEN.iterdir())
            send_at_once()
            assert sorted(OPEN.iterdir()) == before  # no file was left open or closed
            assert not waits(accepted)
            with socket.create_connection(address), listening.accept()[0] as later:
                assert not waits(later)
            accepted.sendall(b"still open")
            assert early.recv(10) == b"still open"


def test_what_is_no_tcp_socket_stays_as_it_is() -> None:
    local, other = socket.socketpair()
    with local, other, socket.socket(type=socket.SOCK_DGRAM), Path(__file__).open() as file:
        send_at_once()
        local.sendall(b"still open")
        assert other.recv(10) == b"still open"
        assert file.readline()


def test_elsewhere_no_socket_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_OWN_FILES", "/no/such/folder")
    send_at_once()


def test_a_process_that_ends_waits_for_one_step_of_what_it_computes_and_no_more() -> None:
    """Python would stop a daemon in the middle of native code, and crash now and then."""
    printed = _printed(
        """
import threading, time
from pages.opening.warmup import _in_background

begun = threading.Event()

def first():
    begun.set()
    time.sleep(0.5)
    print("first", flush=True)

_in_background([first, lambda: print("second", flush=True)])
begun.wait()
"""
    )
    assert printed.split() == ["first"]


def test_an_attacker_on_its_way_is_given_up_when_the_process_ends() -> None:
    printed = _printed(
        """
import threading, time
from types import SimpleNamespace
from pages.attacker import channels

begun = threading.Event()

def open_channel(mechanism, *, progress):
    for step in range(600):
        begun.set()
        time.sleep(0.1)
        progress("weighing", step, 600)
    print("all of it", flush=True)

channels.open_channel = open_channel
channels.Opening(SimpleNamespace())
begun.wait()
print("left", flush=True)
"""
    )
    assert printed.split() == ["left"]
