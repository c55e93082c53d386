"""Memory is given back with glibc, and elsewhere nothing is done."""

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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this C library has no such choice")
def test_what_is_freed_is_given_back() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert float(answer.stdout) < 40


@pytest.mark.parametrize("error", [OSError, AttributeError])
def test_elsewhere_nothing_is_done(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise error

    monkeypatch.setattr(memory.ctypes, "CDLL", refuse)
    give_memory_back()
