"""Writing a trained lexicon: three files, each whole or not there."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

VECTORS, WORDS, MANIFEST = "vectors.npy", "words.txt", "manifest.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, nothing between."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_vectors(out: Path, words: Sequence[str], vectors: NDArray[np.float16]) -> None:
    """Write `vectors.npy` and `words.txt` into the folder `out`.

    The words are UTF-8, one a line, without a line feed after the last.
    """
    stream = io.BytesIO()
    np.save(stream, vectors, allow_pickle=False)
    write_atomically(out / VECTORS, stream.getvalue())
    write_atomically(out / WORDS, "\n".join(words).encode())


def write_manifest(out: Path, manifest: Mapping[str, Any]) -> None:
    """Write `manifest.json` into the folder `out`; last, so that it vouches for the others."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    write_atomically(out / MANIFEST, (text + "\n").encode())
