"""Random streams: keyed ones that a seed repeats, and those of a release, which nobody predicts.

What is released gets its noise from ChaCha20 (Bernstein 2008; RFC 8439), a stream cipher: who has
seen any part of its output cannot tell the rest without the 256-bit key, unless the cipher is
broken. Of numpy's own generators (PCG64, Philox) that is not known; they serve what is only looked
at, estimates and experiments. Each stream has a key of its own, from the operating system or
by HMAC, and no state is kept between streams: neither threads nor forked processes share one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import numpy as np

from dpcore.errors import ParameterError
from dpcore.limits import MAX_SEED

SECRET_BYTES = 32
"""Of a run secret, and of a key of ChaCha20."""


def check_seed(seed: int) -> int:
    """A seed as an integer in 0..MAX_SEED (what a link can carry), or a `ParameterError`."""
    if not (isinstance(seed, int) and 0 <= seed <= MAX_SEED):
        msg = f"a seed is a whole number from 0 to {MAX_SEED}, got {str(seed)[:40]}"
        raise ParameterError(msg)
    return seed


def generator(seed: int | None, *key: str | int) -> np.random.Generator:
    """The stream of one purpose under one seed.

    Args:
        seed: None gives an unpredictable stream, for release: ChaCha20 under a key from the
            operating system.
        key: what the stream is for; different keys give independent streams.
    """
    if seed is None:
        return _chacha20(secrets.token_bytes(SECRET_BYTES))
    # A separator that stands in no key: ("a", "bc") and ("ab", "c") are different streams.
    text = "\x1f".join(str(part) for part in key)
    digest = hashlib.sha256(text.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.default_rng([check_seed(seed), *words])


def document_generator(secret: bytes, document: int | str) -> np.random.Generator:
    """The stream of one document in one run.

    HMAC-SHA256 of the document's id under the secret is the 256-bit key of ChaCha20, so a
    document's noise depends on nothing but the two: not on batches, order, workers or retries.
    Without the secret it cannot be told, not even from the noise of all other documents.

    Args:
        secret: 32 bytes from the operating system for a release, never used for two runs.
        document: unique in its run; two documents of one id would get the same noise.

    Raises:
        ParameterError: the secret is too short.
    """
    if not len(secret) >= SECRET_BYTES:
        msg = f"a run secret has at least {SECRET_BYTES} bytes, got {len(secret)}"
        raise ParameterError(msg)
    return _chacha20(hmac.digest(secret, str(document).encode("utf-8", "surrogatepass"), "sha256"))


def _chacha20(key: bytes) -> np.random.Generator:
    """The key stream of ChaCha20 from block 0 with nonce 0, as random numbers.

    Args:
        key: 32 bytes; randomgen takes `key` as it is, while it would squeeze a `seed` through a
            hash of 128 bits. One key serves one stream, so a nonce has nothing to tell apart.
    """
    from randomgen.chacha import ChaCha  # a tenth of a second that looking does without

    return np.random.Generator(ChaCha(key=int.from_bytes(key, "little"), rounds=20))
