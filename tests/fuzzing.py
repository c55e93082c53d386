"""Helpers of the fuzz tests: inputs that are the same on every machine, and ways to do damage."""

import copy
import math
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from dpcore.errors import DpcoreError

LONGEST_SENTENCE = 600  # characters of a message: names of uploaded files may be long

# Pieces that mean something to one format or another, or that are wrong in all of them.
_PIECES = [
    b"\0", b"\xff", b"\n", b"\r\n", b"\r", b"\t", b" ", b'"', b",", b"{", b"}", b"[", b"]", b"-1",
    b"0", b"9" * 20, b"nan", b"inf", b"1e999", b"null", b"true", b"[]", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\x93NUMPY", b"PK\x03\x04", b"\x1f\x8b", b"\xed\xa0\x80", b"\x80", b"<O",
    b"(5, 3)", b"PAR1", "\u2028".encode(), b"[" * 3000,
]  # fmt: skip
_VALUES: list[Any] = [
    None, True, -1, 0, 10**400, 1e308, math.inf, math.nan, "", "a/b", "..", "\0", "x" * 5000,
    "\ud800", [], {}, [[]], [None], {"a": 1},
]  # fmt: skip


def repeated(examples: int) -> Callable[[Any], Any]:
    """Settings of a test of this many inputs."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with a few bytes exchanged, put in, left out or said twice, or cut short."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        kind = draw(st.sampled_from("exchange insert flip cut repeat".split()))
        if kind == "exchange":
            data[start:stop] = draw(st.sampled_from(_PIECES))
        elif kind == "insert":
            data[start:start] = draw(st.sampled_from(_PIECES))
        elif kind == "flip" and start < len(data):
            data[start] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[start:]
        elif kind == "repeat":
            data[start:start] = data[start : start + 40]
    return bytes(data)


def many_damaged(whole: bytes, count: int) -> Iterator[bytes]:
    """As `damaged`, by the thousand: drawn without looking for the smallest failure."""
    rng = random.Random(len(whole))
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            start = rng.randint(0, len(data))
            stop = rng.randint(start, min(len(data), start + 12))
            piece = rng.choice(
                [*_PIECES, rng.randbytes(rng.randint(1, 4)), data[start : start + 40]]
            )
            if rng.random() < 0.1:
                del data[start:]
            else:
                data[start:stop] = piece
        yield bytes(data)


@st.composite
def distorted(draw: st.DrawFn, whole: Any) -> Any:
    """JSON with a field or two missing, of another type, beyond its range, or too many."""
    copied = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(copied))
        if not places:
            return draw(st.sampled_from(_VALUES))
        container, key = places[draw(st.integers(0, len(places) - 1))]
        kind = draw(st.sampled_from(["leave out", "add", "exchange", "exchange", "exchange"]))
        if kind == "leave out":
            del container[key]
        elif kind == "add" and isinstance(container, dict):
            container["unheard of"] = 1
        else:
            container[key] = copy.deepcopy(draw(st.sampled_from(_VALUES)))
    return copied


def _places(node: Any) -> Any:
    """Every field and entry, as what holds it and where."""
    items: Iterable[tuple[Any, Any]] = (
        enumerate(node) if isinstance(node, list) else getattr(node, "items", list)()
    )
    for key, value in items:
        yield node, key
        yield from _places(value)


def answered(work: Callable[..., Any], *given: Any) -> Any:
    """Do it; None if it was refused with one sentence, and any other exception is a failure."""
    try:
        return work(*given)
    except DpcoreError as error:
        message = str(error)
        assert message.strip()
        assert "\n" not in message
        assert len(message) < LONGEST_SENTENCE, message
        return None
