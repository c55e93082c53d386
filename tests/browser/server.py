"""The app as a person starts it: `streamlit run`, in a process, home and cache of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.needs import ROOT

START_SECONDS = 60.0
PORT_ATTEMPTS = 3


@dataclass(frozen=True)
class Server:
    """A running server: where it answers, what it printed, its process."""

    url: str
    log: Path
    pid: int

    def printed(self) -> str:
        """Everything the server wrote to the terminal so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")


@contextmanager
def serve(
    script: Path, home: Path, *options: str, fixed_port: int | None = None
) -> Iterator[Server]:
    """Run `script` on a free loopback port until the block ends.

    Args:
        script: the Streamlit script; the repository's configuration applies to it.
        home: an empty folder in place of the person's home.
        options: further command-line options of `streamlit run`.
        fixed_port: None for a free one.

    Raises:
        RuntimeError: the server ended or did not answer in time; holds what it printed.
    """
    log = home / "server.log"
    for _ in range(PORT_ATTEMPTS):
        port = fixed_port or free_port()
        process = _start(script, home, log, port, options)
        server = Server(f"http://127.0.0.1:{port}", log, process.pid)
        try:
            if _answers(server, process):
                yield server
                return
        finally:
            stop(process)
        if "is not available" not in server.printed():
            break  # it ended for another reason than a port that was taken meanwhile
    raise RuntimeError(f"streamlit run {script.name} did not start:\n{log.read_text()}")


def _start(
    script: Path, home: Path, log: Path, port: int, options: tuple[str, ...]
) -> subprocess.Popen[bytes]:
    replaced = (
        "STREAMLIT_",
        "DPCORE_CACHE",
    )  # settings, and a cache with what other tests added to it
    environment = {key: value for key, value in os.environ.items() if not key.startswith(replaced)}
    environment |= {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "streamlit", "run", str(script)]
    command += ["--server.port", str(port), *options]
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def free_port() -> int:
    """A port of loopback on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(server: Server, process: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process, by force if it does not heed."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
