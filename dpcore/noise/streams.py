"""Keyed random streams: a result depends on a seed and on what is drawn, never on the order."""

from __future__ import annotations

import hashlib
import hmac

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


SECRET_BYTES = 32
"""Of a run secret."""


def document_generator(secret: bytes, document: int | str) -> np.random.Generator:
    """The stream of one document in one run.

    HMAC-SHA256 of the document's id under the secret is the key of a counter-based generator
    (Philox 4x64, Salmon et al. 2011), so a document's noise depends on nothing but the two: not on
    batches, order, workers or retries. Without the secret it cannot be told.

    Args:
        secret: 32 bytes from the operating system for a release, never used for two runs.
        document: unique in its run; two documents of one id would get the same noise.

    Raises:
        ParameterError: the secret is too short.
    """
    if not len(secret) >= SECRET_BYTES:
        msg = f"a run secret has at least {SECRET_BYTES} bytes, got {len(secret)}"
        raise ParameterError(msg)
    digest = hmac.digest(secret, str(document).encode("utf-8", "surrogatepass"), "sha256")
    key = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
