"""Papers: their printed results and claims, the plans that repeat them, and the comparison."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any


@functools.cache
def read_toml(path: str) -> dict[str, Any]:
    """Read a TOML file of sentences or printed tables, once.

    Args:
        path: path relative to this folder, such as "xu2021/printed.toml".
    """
    return tomllib.loads((Path(__file__).parent / path).read_text("utf-8"))
