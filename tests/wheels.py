"""Ask the package index for wheels of every pinned requirement: `python -m tests.wheels`.

Run it by hand, it needs the network: docs/releasing.md. Nothing is installed and nothing is
compiled: pip only resolves `requirements.lock` for each system and Python, and names the
requirements that have no wheel there.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product

from packaging.requirements import Requirement

from tests.needs import ROOT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
GLIBC = range(5, 35)  # 2.34 and later are on every Linux that a supported Python is built for
SYSTEMS = {
    "Linux x86-64": ("linux", [f"manylinux_2_{minor}_x86_64" for minor in GLIBC]),
    "Linux arm64": ("linux", [f"manylinux_2_{minor}_aarch64" for minor in GLIBC]),
    "macOS arm64": ("darwin", ["macosx_14_0_arm64"]),
    "Windows x86-64": ("win32", ["win_amd64"]),
}
OLD_NAMES = {
    "Linux x86-64": ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"],
    "Linux arm64": ["manylinux2014_aarch64"],
}
SOURCE_ONLY = {"rouge-score"}
"""Published as source alone, in Python alone: pip makes a wheel without a compiler."""
ABSENT = re.compile(r"No matching distribution found for ([\w.\[\]-]+==\S+)")


def wanted(system: str, python: str) -> list[str]:
    """Return the pins of the lock file that hold on a system and a Python.

    pip evaluates markers for the machine that it runs on, so they are evaluated here.
    """
    platform, _ = SYSTEMS[system]
    here = {
        "sys_platform": platform,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[platform],
        "platform_machine": {
            "Linux x86-64": "x86_64", "Linux arm64": "aarch64", "macOS arm64": "arm64",
            "Windows x86-64": "AMD64",
        }[system],
        "os_name": "nt" if platform == "win32" else "posix",
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }  # fmt: skip
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return [
        f"{pin.name}{pin.specifier}"
        for pin in pins
        if pin.name not in SOURCE_ONLY and (not pin.marker or pin.marker.evaluate(here))
    ]


def command(system: str, python: str, pins: list[str], folder: str) -> list[str]:
    """Return the command that resolves pins for another system and installs nothing."""
    tags = [*SYSTEMS[system][1], *OLD_NAMES.get(system, [])]
    platforms = [word for tag in tags for word in ("--platform", tag)]
    return [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--no-input",
        "--disable-pip-version-check", "--only-binary=:all:", "--target", folder,
        "--python-version", python, *platforms, *pins,
    ]  # fmt: skip


def missing(system: str, python: str, suspects: set[str]) -> Iterator[str]:
    """Yield the pins without a wheel: pip stops at the first, so the rest is asked for again.

    Args:
        system: a key of `SYSTEMS`.
        python: a version such as 3.11.
        suspects: pins to ask for first, so that pip stops early.

    Raises:
        RuntimeError: pip failed for another reason, such as no network.
    """
    pins = sorted(wanted(system, python), key=lambda pin: pin not in suspects)
    with tempfile.TemporaryDirectory() as folder:
        while pins:
            done = subprocess.run(
                command(system, python, pins, folder),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode == 0:
                return
            absent = ABSENT.search(done.stderr)
            if absent is None or absent[1] not in pins:
                raise RuntimeError(done.stderr.strip()[-2000:])
            yield absent[1]
            pins.remove(absent[1])


def main() -> int:
    """Print a line for each system and Python; return 1 if any wheel is missing."""
    absent: set[str] = set()
    for system, python in product(SYSTEMS, PYTHONS):
        without = list(missing(system, python, absent))
        absent.update(without)
        print(f"{system}, Python {python}: {', '.join(without) or 'all'}", flush=True)
    return int(bool(absent))


if __name__ == "__main__":
    sys.exit(main())
