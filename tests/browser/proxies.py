"""The proxies of docs/serving/ in front of running processes of the app, on loopback."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.browser.server import Server, free_port, stop
from tests.needs import ROOT, program

SERVING = ROOT / "docs/serving"
START_SECONDS = 30.0


@contextmanager
def caddy(folder: Path, servers: Sequence[Server]) -> Iterator[str]:
    """Caddy with the file of the repository, told where to listen; yields its address."""
    url = f"http://127.0.0.1:{free_port()}"
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "CADDY_ADMIN": f"127.0.0.1:{free_port()}",
        "LAB_ADDRESS": url,
        "LAB_PROCESSES": " ".join(urlsplit(server.url).netloc for server in servers),
    }
    command = [program("caddy"), "run", "--adapter", "caddyfile"]
    command += ["--config", str(SERVING / "Caddyfile")]
    with _running(command, folder, environment, url):
        yield url


@contextmanager
def nginx(folder: Path, servers: Sequence[Server]) -> Iterator[str]:
    """nginx with the file of the repository, and includes that say where; yields its address."""
    url = f"http://127.0.0.1:{free_port()}"
    processes = "".join(f"server {urlsplit(server.url).netloc};\n" for server in servers)
    (folder / "lab-processes.conf").write_text(processes, encoding="utf-8")
    (folder / "lab-address.conf").write_text(f"listen {urlsplit(url).netloc};\n", encoding="utf-8")
    rooms = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{room}_temp_path {folder}/{room};\n" for room in rooms)
    main = f"""daemon off; pid {folder}/nginx.pid; error_log stderr;
        events {{}}
        http {{ access_log off; {temporary} include {SERVING}/nginx.conf; }}"""
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    command = [program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with _running(command, folder, {"PATH": os.environ["PATH"]}, url):
        yield url


@contextmanager
def _running(
    command: list[str], folder: Path, environment: dict[str, str], url: str
) -> Iterator[None]:
    log = folder / "proxy.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, log, url)
        yield
    finally:
        stop(process)


def _wait(process: subprocess.Popen[bytes], log: Path, url: str) -> None:
    address = urlsplit(url)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((address.hostname, address.port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen:\n{log.read_text(encoding='utf-8')}")
