"""Random generators: by a seed, by a secret for each document, unpredictable ones for releases.

Releases take their noise from ChaCha20 (Bernstein 2008; RFC 8439), a stream cipher: someone who has
seen any part of its output cannot predict the rest without the 256-bit key, unless the cipher is
broken. For numpy's own generators (PCG64, Philox) that is not known; they serve inspection,
estimates and experiments. Each stream has its own key, from the operating system or by HMAC, and no
state is kept between streams: neither threads nor forked processes share one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcore.arguments import describe
from dpcore.errors import ParameterError
from dpcore.limits import MAX_SEED

SECRET_BYTES = 32
"""Size of a run secret, and of a key of ChaCha20."""


def check_seed(seed: int) -> int:
    """Return a seed as an integer in 0..MAX_SEED (the range that a link can carry).

    Raises:
        ParameterError: the seed is out of range or not an integer.
    """
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= MAX_SEED:
        return seed
    raise ParameterError(f"a seed is a whole number from 0 to {MAX_SEED}, got {describe(seed)}")


def generator(seed: int | None, *key: str | int) -> np.random.Generator:
    """Return the stream of one purpose under one seed.

    Args:
        seed: None gives an unpredictable stream, for release: ChaCha20 under a key from the
            operating system.
        key: the purpose of the stream; different keys give independent streams.
    """
    if seed is None:
        return _chacha20(secrets.token_bytes(SECRET_BYTES))
    # The separator is in no key: ("a", "bc") and ("ab", "c") are different streams.
    text = "\x1f".join(str(part) for part in key)
    digest = hashlib.sha256(text.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    return np.random.default_rng([check_seed(seed), *words])


def document_generator(secret: bytes, document: int | str) -> np.random.Generator:
    """Return the stream of one document in one run.

    HMAC-SHA256 of the document's id under the secret is the 256-bit key of ChaCha20, so a
    document's noise depends only on the two: not on batches, order, workers or retries. Without the
    secret it cannot be predicted, not even from the noise of all other documents.

    Args:
        secret: 32 bytes from the operating system for a release, never used for two runs.
        document: unique in its run; two documents with the same id would get the same noise.

    Raises:
        ParameterError: the secret is too short.
    """
    return _chacha20(_document_key(secret, document))


class DocumentGenerators:
    """Generators of many documents at once, in a tenth of the time of `document_generator`.

    Creating a generator takes much longer than giving one another key, so those of one call are
    reused in the next. For one thread; the generators of a call are valid until the next call.
    """

    def __init__(self) -> None:
        """Start with no generators; check that re-keying reproduces the stream of a new generator.

        Raises:
            ParameterError: it does not, in this version of randomgen.
        """
        used, key = _chacha20(bytes(SECRET_BYTES)), secrets.token_bytes(SECRET_BYTES)
        self._made: list[np.random.Generator] = []
        self._state: dict[str, Any] = dict(used.bit_generator.state)
        used.bytes(36)
        self._begin(used, key)
        if used.bytes(256) != _chacha20(key).bytes(256):
            raise ParameterError("this version of randomgen cannot restart a stream")

    def __call__(self, secret: bytes, documents: Sequence[int | str]) -> list[np.random.Generator]:
        """Return the streams of documents, in order, as `document_generator` does."""
        keys = [_document_key(secret, document) for document in documents]
        for rng, key in zip(self._made, keys, strict=False):
            self._begin(rng, key)
        self._made += [_chacha20(key) for key in keys[len(self._made) :]]
        return self._made[: len(keys)]

    def _begin(self, rng: np.random.Generator, key: bytes) -> None:
        """Re-key a generator, at the beginning of the key's stream."""
        # At a counter of 0 the block of numbers is recomputed, whatever it contains.
        inner = self._state["state"] | {"keysetup": np.frombuffer(key, dtype="<u4")}
        rng.bit_generator.state = self._state | {"state": inner}


def _document_key(secret: bytes, document: int | str) -> bytes:
    """Return the key of a document's stream."""
    if not len(secret) >= SECRET_BYTES:
        msg = f"a run secret has at least {SECRET_BYTES} bytes, got {len(secret)}"
        raise ParameterError(msg)
    return hmac.digest(secret, str(document).encode("utf-8", "surrogatepass"), "sha256")


def _chacha20(key: bytes) -> np.random.Generator:
    """Return the key stream of ChaCha20 from block 0 with nonce 0, as random numbers.

    Args:
        key: 32 bytes; randomgen uses `key` unchanged, but reduces a `seed` to a hash of 128 bits.
        One key serves one stream, so no nonce is needed to distinguish streams.
    """
    from randomgen.chacha import ChaCha  # takes a tenth of a second, not needed for inspection

    return np.random.Generator(ChaCha(key=int.from_bytes(key, "little"), rounds=20))
