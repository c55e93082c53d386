"""Random streams: their keys, and ChaCha20 for releases."""

import hashlib
import hmac
import os
import secrets
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from randomgen.chacha import ChaCha

from dpcore.errors import ParameterError
from dpcore.noise import streams
from dpcore.noise.streams import DocumentGenerators, document_generator, generator
from tests.chance import assert_distribution


@pytest.mark.parametrize("seed", [-1, 2**60, 1.5, "7"])
def test_a_seed_that_a_link_cannot_carry_is_refused(seed: Any) -> None:
    with pytest.raises(ParameterError, match="a seed is a whole number"):
        generator(seed, "x")


def test_streams_differ_by_key_and_repeat_by_seed() -> None:
    first = generator(1, "a", 2).random(4)
    assert np.array_equal(first, generator(1, "a", 2).random(4))
    for other in (generator(2, "a", 2), generator(1, "a", 3), generator(1, "a2"), generator(None)):
        assert not np.array_equal(first, other.random(4))


def test_the_noise_of_a_document_depends_on_secret_and_id_alone() -> None:
    secret, other = bytes(32), bytes(31) + b"\1"
    first = document_generator(secret, 5).random(4).tolist()
    assert document_generator(secret, 5).random(4).tolist() == first
    assert document_generator(secret, "5").random(4).tolist() == first
    others = [
        document_generator(key, name).random(4).tolist()
        for key, name in ((secret, 6), (secret, "ä"), (other, 5), (secret, "\ud800"))
    ]
    assert first not in others
    assert len({tuple(numbers) for numbers in others}) == 4


@pytest.mark.slow
def test_documents_have_independent_noise() -> None:
    """First numbers of 20,000 documents: uniform, and unrelated from one to the next."""
    pairs = np.array([document_generator(bytes(32), i).random(2) for i in range(20_000)])
    assert_distribution(pairs, "uniform")
    assert_distribution((pairs[1:, 0] - pairs[:-1, 0]) % 1.0, "uniform")
    assert_distribution((pairs[:, 1] - pairs[:, 0]) % 1.0, "uniform")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least 32 bytes"):
        document_generator(b"secret", 1)


def test_generators_that_serve_again_are_those_of_their_documents() -> None:
    """In growing and shrinking batches, after any use: streams in full, of every kind of number."""
    documents, secret = DocumentGenerators(), bytes(range(32))
    batches: list[Sequence[int | str]] = [[3], ["ä", 0, 7], range(100), [3, 2], [], [5]]
    for names in batches:
        rngs = documents(secret, names)
        assert len(rngs) == len(names)
        for rng, name in zip(rngs, names, strict=True):
            fresh = document_generator(secret, name)
            for _ in range(2):
                for kind, high in ((np.uint8, 200), (np.uint32, 2**31), (np.uint64, 2**64 - 1)):
                    numbers = rng.integers(high, size=7, dtype=kind, endpoint=True)
                    plain = fresh.integers(high, size=7, dtype=kind, endpoint=True)
                    assert np.array_equal(numbers, plain)
                assert np.array_equal(rng.poisson(5.0, 9), fresh.poisson(5.0, 9))
                assert np.array_equal(rng.standard_normal(5), fresh.standard_normal(5))
            rng.bytes(4 * int(fresh.integers(20)))
    assert len({id(rng) for rng in documents(secret, range(100))}) == 100
    with pytest.raises(ParameterError, match="at least 32 bytes"):
        documents(b"secret", [1])


def test_a_cipher_that_does_not_begin_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DocumentGenerators, "_begin", lambda *_: None)
    with pytest.raises(ParameterError, match="cannot restart a stream"):
        DocumentGenerators()


def quarter_round(x: list[int], a: int, b: int, c: int, d: int) -> None:
    """RFC 8439, section 2.1."""
    for i, j, k, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[i] = (x[i] + x[j]) & 0xFFFFFFFF
        x[k] ^= x[i]
        x[k] = (x[k] << turn | x[k] >> 32 - turn) & 0xFFFFFFFF


def chacha20_block(key: bytes, counter: int) -> bytes:
    """One block of the key stream with nonce 0 (RFC 8439, section 2.3)."""
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key)]
    start += [counter, 0, 0, 0]
    x = list(start)
    for _ in range(10):
        for places in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter_round(x, *places)
        for places in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter_round(x, *places)
    return struct.pack("<16I", *((i + j) & 0xFFFFFFFF for i, j in zip(x, start, strict=True)))


def test_the_plain_cipher_gives_the_vectors_of_the_standard() -> None:
    """RFC 8439, appendix A.1, test vectors 1 to 3."""
    vectors = {
        (0, 0): "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        (0, 1): "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
        (1, 1): "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    }
    for (key, counter), expected in vectors.items():
        assert chacha20_block(key.to_bytes(32, "big"), counter).hex() == expected


@pytest.mark.parametrize("key", [bytes(32), bytes(range(32)), bytes(range(255, 223, -1))])
def test_a_stream_of_a_release_is_the_key_stream_of_chacha20(key: bytes) -> None:
    """All 32 bytes of the key are the key: no seed sequence comes before the cipher."""
    expected = b"".join(chacha20_block(key, counter) for counter in range(20))
    numbers = streams._chacha20(key).integers(2**64, size=160, dtype=np.uint64)
    assert numbers.astype("<u8").tobytes() == expected


def test_the_noise_of_a_document_is_keyed_by_all_of_its_hash() -> None:
    secret = bytes(range(32))
    key = hmac.digest(secret, b"7", hashlib.sha256)
    numbers = document_generator(secret, 7).integers(2**64, size=8, dtype=np.uint64)
    assert numbers.astype("<u8").tobytes() == chacha20_block(key, 0)


def test_a_release_takes_its_key_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def token_bytes(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr(secrets, "token_bytes", token_bytes)
    numbers = generator(None, "anything").integers(2**64, size=8, dtype=np.uint64)
    assert asked == [32]
    assert numbers.astype("<u8").tobytes() == chacha20_block(bytes(32), 0)


def test_streams_of_a_release_are_of_the_cipher_and_others_are_not() -> None:
    for rng in (generator(None), document_generator(bytes(32), 1)):
        assert isinstance(rng.bit_generator, ChaCha)
        assert rng.bit_generator.state["state"]["rounds"] == 20
    assert not isinstance(generator(1).bit_generator, ChaCha)


FORKED = """
import os
from dpcore.noise.streams import generator
generator(None).random(4)  # the parent has used the cipher before
ends = [os.pipe() for _ in range(2)]
for read, write in ends:
    if not os.fork():
        os.write(write, repr(generator(None).random(4).tolist()).encode())
        os._exit(0)
for read, write in ends:
    os.wait()
    print(os.read(read, 4096).decode())
print(generator(None).random(4).tolist())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_processes_do_not_share_a_stream() -> None:
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert len(set(run.stdout.splitlines())) == 3
