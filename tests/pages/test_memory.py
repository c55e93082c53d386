"""Memory is given back with glibc; what was imported is not walked over again and again."""

import os
import platform
import subprocess
import sys

import pytest

from pages.shared import memory
from pages.shared.memory import give_memory_back
from tests.needs import ROOT

# What is freed beside what stays is given back only if arrays come from the system one by one.
PROGRAM = """
import threading
from pathlib import Path
import numpy as np
from pages.shared.memory import give_memory_back
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


# A module with many objects that a collection walks, as pages and libraries are.
IMPORTS = """
import gc, sys, types
from pages.shared.memory import freeze_imports
def come(name):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].held = [[number] for number in range(10_000)]
freeze_imports()
counts = [gc.get_freeze_count()]
freeze_imports()
counts.append(gc.get_freeze_count())
come("late")
freeze_imports()
counts.append(gc.get_freeze_count())
print(*counts)
"""

# Every script run is a thread of its own, and what one thread sets is not always set for others.
WARM = """
import threading
from pages.shared import warmup
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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this C library has no such choice")
def test_what_is_freed_is_given_back() -> None:
    assert float(_printed(PROGRAM)) < 40


def test_what_was_imported_is_frozen_once() -> None:
    first, again, later = map(int, _printed(IMPORTS).split())
    assert first > 0
    assert again == first  # nothing came, so nothing was walked over
    assert later >= first + 10_000


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

    monkeypatch.setattr(memory.ctypes, "CDLL", refuse)
    give_memory_back()
