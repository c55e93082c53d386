"""Damaged and hostile tables of labelled texts: read, or refused with one sentence, in bounds."""

import csv
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import CorpusError
from dpcore.learn.table import choose_columns, read_table
from dpcore.limits import MAX_LABELLED_BYTES
from tests.fuzzing import answered, damaged, many_damaged, repeated

WHOLE = b"text,label\n" + b"".join(b"text number %d,%d\n" % (i, i % 2) for i in range(24))
PEAK = 40 * MAX_LABELLED_BYTES  # a cell of one character takes some 60 bytes as a string
SECONDS = 10.0  # of one core that is shared; measured 0.1 to 0.8


def use(data: bytes) -> None:
    table = read_table(data)
    assert all(len(row) == len(table.columns) for row in table.rows)
    choose: Any = choose_columns
    choose(table, *table.columns[:2], 20, np.random.default_rng(1))


@repeated(300)
@given(damaged(WHOLE) | st.binary(max_size=80))
def test_a_damaged_table_is_read_or_refused(data: bytes) -> None:
    answered(use, data)


@pytest.mark.slow
def test_ten_thousand_damaged_tables_are_read_or_refused() -> None:
    for data in many_damaged(WHOLE, 10_000):
        answered(use, data)


def most(unit: bytes, start: bytes = b"text,label\n") -> bytes:
    """A table as large as is accepted."""
    return start + unit * ((MAX_LABELLED_BYTES - len(start)) // len(unit))


HOSTILE = {
    "a million columns": b",".join(b"c%d" % i for i in range(600_000)) + b"\n" + b"," * 599_999,
    "a million empty columns": most(b",", b"text"),
    "one line of a million words": most(b"word "),
    "one quotation mark": most(b"a\n", b'text,label\n"'),
    "nothing but quotation marks": most(b'"'),
    "nothing but line ends": most(b"\n"),
    "carriage returns": most(b"\r"),
    "zero bytes": most(b"\0"),
    "gzip": b"\x1f\x8b\x08" + b"\0" * 1000,
    "zip": b"PK\x03\x04" + b"\0" * 1000,
    "invalid UTF-8": most(b"\xc3"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_is_refused_in_bounds(name: str) -> None:
    begin = time.thread_time()
    with pytest.raises(CorpusError) as caught:
        use(HOSTILE[name])
    # Apart from the memory: tracing it makes five million short lines ten times as slow.
    assert time.thread_time() - begin < SECONDS
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError):
            use(HOSTILE[name])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < PEAK
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_the_longest_entry_does_not_depend_on_what_was_read_before() -> None:
    before = csv.field_size_limit(50_000_000)  # as the reader of large corpora leaves it
    try:
        with pytest.raises(CorpusError, match="row 1 has an entry of more than"):
            read_table(b'text,label\n"' + b"a" * 200_000 + b'",b')
    finally:
        csv.field_size_limit(before)
