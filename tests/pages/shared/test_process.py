"""The process of the pages: memory is given back, and little is walked by its collections."""

import asyncio
import os
import platform
import re
import socket
import subprocess
import sys
import threading
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from streamlit import config
from streamlit.commands import navigation
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from pages.shared import process
from pages.shared.process import give_memory_back
from tests.needs import ROOT

glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="this C library has no such choice"
)

# What is freed beside what stays goes back to the system: large arrays at once, small ones in the
# next pass.
PROGRAM = """
import threading
from pathlib import Path
import numpy as np
from pages.shared.process import freeze, give_memory_back
def resident():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
def in_threads(work, *arguments):
    for _ in range(5):
        thread = threading.Thread(target=work, args=arguments)
        thread.start()
        thread.join()
def run(count, size):
    np.ones(2_500_000).copy()  # 20 MB that are freed: glibc would keep the next ones in its heaps
    parts = [np.ones(size) for _ in range(count)]
    kept.extend(np.ones(100) for _ in range(100))
    del parts[:-1]
    kept.extend(parts)
kept = []
give_memory_back()
before = resident()
in_threads(run, 20, 600_000)  # 96 MB
print(resident() - before)
in_threads(run, 100, 100_000)  # 80 MB
freeze()
print(resident() - before)
"""

# Tiles at the top of every heap, which threads that live at once share: the pages of all of them
# that the system had to clear again, once the heaps had grown.
TILES = """
import resource, threading
import numpy as np
from pages.shared.process import give_memory_back
def tiles(turn):
    turn.wait()
    for number in range(400):
        if number == 200:
            begin = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        np.ones(150_000), np.ones(150_000)  # 1.2 MB each, both freed after the line
    counted.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - begin)
give_memory_back()
counted, turns = [], [threading.Event() for _ in range(5)]
threads = [threading.Thread(target=tiles, args=(turn,)) for turn in turns]
for thread in threads:
    thread.start()
for thread, turn in zip(threads, turns):
    turn.set()
    thread.join()
print(*counted)
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

# A page with an address of its own.
LINKED = """
import streamlit as st
first = st.Page(lambda: None, title="first", default=True)
st.navigation([first, st.Page(lambda: None, title="deep", url_path="deep")]).run()
"""

# What a server does before anybody has come.
READY = """
import asyncio, sys, threading
from pages.opening import warmup
from pages.shared import once, process
from pages.opening.warmup import prepared
warmup._look_ahead = lambda: None
async def serve():
    async with prepared(None):
        print(sum(thread.name == process.AHEAD for thread in threading.enumerate()))
        print(process.PagesManager.uses_pages_directory)
asyncio.run(serve())
for thread in threading.enumerate():
    if thread.name == process.AHEAD:
        thread.join()
print("pages.words.board" in sys.modules, len(once._SHELVES["first bench"].results))
"""


@pytest.mark.slow
@glibc
def test_what_is_freed_is_given_back() -> None:
    at_once, later = map(float, _printed(PROGRAM).split())
    assert at_once < 40
    assert later < 40


@glibc
def test_tiles_do_not_go_back_to_the_system_each_time() -> None:
    counted = [int(pages) for pages in _printed(TILES).split()]
    assert len(counted) == 5
    assert max(counted) < 1000  # of 117,000


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


def test_each_change_of_streamlit_has_a_test_that_fails_when_it_can_go() -> None:
    listed = re.findall(r"`(\w+)` \|$", process.__doc__, re.MULTILINE)
    sources = (path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    tests = re.findall(r"^def test_streamlit_still_(\w+)", "\n".join(sources), re.MULTILINE)
    assert sorted(listed) == sorted(tests)


@pytest.mark.parametrize("folder", ["pages", "others"])
def test_streamlit_still_denies_a_page_where_there_is_a_folder_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    denied: list[object] = []
    request = LocalScriptRunner.request_rerun

    def follow(runner: LocalScriptRunner, data: RerunData) -> bool:
        return request(runner, replace(data, page_name="deep"))  # by its name, as in an address

    monkeypatch.setattr(LocalScriptRunner, "request_rerun", follow)
    monkeypatch.setattr(navigation, "send_page_not_found", denied.append)
    (tmp_path / folder).mkdir()
    script = tmp_path / "script.py"
    script.write_text(LINKED, encoding="utf-8")
    page = AppTest.from_file(script).run()
    assert not page.exception
    assert bool(denied) is (folder == "pages"), "`process.leave_routing_to_app` can go"


@pytest.mark.slow
def test_a_server_makes_ready_before_anybody_comes() -> None:
    assert _printed(READY).split() == ["1", "False", "True", "1"]


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


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_the_event_loop_is_the_fast_one_and_sends_at_once() -> None:
    """Uvicorn takes uvloop by itself; asyncio would let the second part of an answer wait."""
    delayed: list[int] = []

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted = transport.get_extra_info("socket")
            delayed.append(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def serve(listening: socket.socket) -> None:
        server = await asyncio.get_running_loop().create_server(Connection, sock=listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        assert await reader.read() == b""
        writer.close()
        server.close()

    factory = import_module("uvicorn").Config("app:app").get_loop_factory()
    with socket.socket() as listening, asyncio.Runner(loop_factory=factory) as runner:
        listening.bind(("127.0.0.1", 0))
        assert type(runner.get_loop()).__module__.startswith("uvloop")
        runner.run(serve(listening))
    assert delayed == [False]


@pytest.mark.slow
def test_products_take_one_thread_in_every_script_run() -> None:
    assert _printed(WARM).split() == ["1", "1"]


def _printed(program: str) -> str:
    """Return the output of a program in a process of its own, which may use all cores."""
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


@pytest.mark.slow
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


@pytest.mark.slow
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
