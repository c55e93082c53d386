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
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcore.arguments import described
from dpcore.errors import ParameterError
from dpcore.limits import MAX_SEED

SECRET_BYTES = 32
"""Of a run secret, and of a key of ChaCha20."""


def check_seed(seed: int) -> int:
    """A seed as an integer in 0..MAX_SEED (what a link can carry), or a `ParameterError`."""
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= MAX_SEED:
        return seed
    raise ParameterError(f"a seed is a whole number from 0 to {MAX_SEED}, got {described(seed)}")


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
    return _chacha20(_document_key(secret, document))


class DocumentGenerators:
    """`document_generator` for many documents at once, in a tenth of the time.

    To make a generator takes much longer than to give one another key, so those of one call serve
    again in the next. For one thread, and for no longer than until that call.
    """

    def __init__(self) -> None:
        """Begin with none; check that a key gives the same stream in either way.

        Raises:
            ParameterError: it does not, in this version of randomgen.
        """
        used, key = _chacha20(bytes(SECRET_BYTES)), secrets.token_bytes(SECRET_BYTES)
        self._made: list[np.random.Generator] = []
        self._state: dict[str, Any] = dict(used.bit_generator.state)
        used.bytes(36)
        self._begin(used, key)
        if used.bytes(256) != _chacha20(key).bytes(256):
            raise ParameterError("this version of randomgen cannot begin a stream anew")

    def __call__(self, secret: bytes, documents: Sequence[int | str]) -> list[np.random.Generator]:
        """The streams of some documents, in order; the arguments are those of the function."""
        keys = [_document_key(secret, document) for document in documents]
        for rng, key in zip(self._made, keys, strict=False):
            self._begin(rng, key)
        self._made += [_chacha20(key) for key in keys[len(self._made) :]]
        return self._made[: len(keys)]

    def _begin(self, rng: np.random.Generator, key: bytes) -> None:
        """Make a generator that of this key, from the beginning of its stream."""
        # At a counter of 0 the block of numbers is computed anew, whatever stands there.
        inner = self._state["state"] | {"keysetup": np.frombuffer(key, dtype="<u4")}
        rng.bit_generator.state = self._state | {"state": inner}


def _document_key(secret: bytes, document: int | str) -> bytes:
    """The key of a document's stream."""
    if not len(secret) >= SECRET_BYTES:
        msg = f"a run secret has at least {SECRET_BYTES} bytes, got {len(secret)}"
        raise ParameterError(msg)
    return hmac.digest(secret, str(document).encode("utf-8", "surrogatepass"), "sha256")


def _chacha20(key: bytes) -> np.random.Generator:
    """The key stream of ChaCha20 from block 0 with nonce 0, as random numbers.

    Args:
        key: 32 bytes; randomgen takes `key` as it is, while it would squeeze a `seed` through a
            hash of 128 bits. One key serves one stream, so a nonce has nothing to tell apart.
    """
    from randomgen.chacha import ChaCha  # a tenth of a second that looking does without

    return np.random.Generator(ChaCha(key=int.from_bytes(key, "little"), rounds=20))
