"""Progress on a terminal: one bar a stage, with the time left; silence anywhere else."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from dpcore.lexicon.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.lexicon.progress import Progress

_BYTE_STAGES = frozenset({"reading", "downloading", "checking"})


@contextlib.contextmanager
def progress_bars() -> Iterator[Progress]:
    """Give a `Progress` that draws on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(stage: str, done: int, total: int) -> None:
        bar = bars.get(stage)
        if bar is None:
            for other in bars.values():
                other.close()
            in_bytes = stage in _BYTE_STAGES
            bar = bars[stage] = tqdm(
                desc=stage,
                total=total or None,
                unit="B" if in_bytes else "",
                unit_scale=in_bytes,
                file=sys.stderr,
            )
        bar.n = done
        bar.refresh() if total and done >= total else bar.update(0)

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()
