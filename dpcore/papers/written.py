"""What stands written beside the modules of papers: sentences, and tables that a paper prints."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any


@functools.cache
def written(path: str) -> dict[str, Any]:
    """A TOML file, read once.

    Args:
        path: below this folder, such as "xu2021/printed.toml".
    """
    return tomllib.loads((Path(__file__).parent / path).read_text("utf-8"))
