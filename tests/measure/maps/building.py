"""Stand-ins for the building of a map, in the process that builds."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpcore.errors import ParameterError

STEPS = (
    ("reading", 0, 0), ("neighbours", 5, 10), ("preparing", 0, 0), ("layout", 0, 500),
    ("layout", 1, 500), ("layout", 400, 500), ("measuring", 0, 0),
)  # fmt: skip


def wait(request: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> None:
    """Say which process it is, and prepare for a long time."""
    folder = Path(os.environ["DPCORE_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
    tell({"stage": "preparing", "done": 0, "total": 0})
    time.sleep(600)


def go_through(request: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> None:
    """Tell of every step, and never end."""
    for stage, done, total in STEPS:
        tell({"stage": stage, "done": done, "total": total})
        time.sleep(0.15)
    time.sleep(600)


def note(request: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Keep what was asked for."""
    folder = Path(os.environ["DPCORE_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    there = (Path(request["lexicon"]) / "words.txt").is_file()
    (folder / "asked").write_text(json.dumps(request | {"there": there}), encoding="utf-8")
    return {}


def refuse(request: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> None:
    """Refuse the request."""
    raise ParameterError("too few of them")


def fail(request: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> None:
    """Fail as no one expects."""
    raise RuntimeError


def die(request: dict[str, Any], tell: Callable[[dict[str, Any]], object]) -> None:
    """Kill the process."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
