"""Keyed random streams: a result depends on a seed and on what is drawn, never on the order."""

from __future__ import annotations

import hashlib

import numpy as np

from dpcore.errors import ParameterError
from dpcore.limits import MAX_SEED


def check_seed(seed: int) -> int:
    """A seed as an integer in 0..MAX_SEED (what a link can carry), or a `ParameterError`."""
    if not (isinstance(seed, int) and 0 <= seed <= MAX_SEED):
        msg = f"a seed is a whole number from 0 to {MAX_SEED}, got {str(seed)[:40]}"
        raise ParameterError(msg)
    return seed


def generator(seed: int | None, *key: str | int) -> np.random.Generator:
    """The stream of one purpose under one seed.

    Args:
        seed: None gives an unpredictable stream, from the operating system: for release.
        key: what the stream is for; different keys give independent streams.
    """
    if seed is None:
        return np.random.default_rng()
    text = "\x1f".join(str(part) for part in key)
    digest = hashlib.sha256(text.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.default_rng([check_seed(seed), *words])
