"""Tables of labelled texts: readings, and a reason for every refusal."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpcore.errors import CorpusError
from dpcore.learn.table import choose_columns, read_table
from dpcore.limits import MAX_CLASSES, MAX_LABELLED_BYTES, MAX_LABELLED_ROWS, MIN_CLASS_TEXTS

LEAST = 2 * MIN_CLASS_TEXTS


def table(rows: Sequence[str], header: str = "text,label") -> Any:
    return read_table("\n".join([header, *rows]).encode())


def chosen(rows: Sequence[str], most: int = 1000, text: str = "text", label: str = "label") -> Any:
    return choose_columns(table(rows), text, label, most, np.random.default_rng(1))


GOOD = [f"text number {i},{'yes' if i % 2 else 'no'}" for i in range(2 * LEAST)]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_it_is_read_with_quotation_marks_and_any_separator(separator: str, end: str) -> None:
    lines = [f"text{separator}label", f'"one{separator} ""two""{end}three"{separator}a', "", "x"]
    lines[3] = f"four{separator}b"
    table = read_table("﻿".encode() + end.join(lines).encode() + end.encode())
    assert table.columns == ("text", "label")
    assert table.rows == ((f'one{separator} "two"{end}three', "a"), ("four", "b"))


def test_texts_and_labels_are_chosen() -> None:
    extra = ["text number 0,yes", ",yes", "no label here,", "   ,no"]
    texts = chosen([*GOOD, *extra])
    assert (texts.rows, texts.incomplete, texts.repeated) == (2 * LEAST + 4, 3, 1)
    assert texts.texts.classes == ("no", "yes")
    assert texts.texts.texts[0] == "text number 0"
    assert texts.texts.labels.tolist() == [i % 2 for i in range(2 * LEAST)]


def test_of_many_a_sample_is_taken_in_which_every_class_has_its_share() -> None:
    rows = [f"text {i},{'rare' if i < LEAST + 2 else 'common'}" for i in range(400)]
    result = chosen(rows, most=100).texts
    counts = np.bincount(result.labels)
    assert counts.tolist() == [round(100 * (400 - LEAST - 2) / 400), LEAST]
    assert chosen(rows, most=100).texts.texts == result.texts
    assert len(set(result.texts)) == len(result)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"x" * (MAX_LABELLED_BYTES + 1), f"larger than {MAX_LABELLED_BYTES:,} bytes"),
        ("text,label\nzu groß,ja".encode("latin-1"), "not UTF-8 text: byte 0xDF"),
        (b"text,label\n\0,a", "line 2 of table.csv holds a zero byte: it is no CSV"),
        (b"text", "at least two columns"),
        (b"text,label", "a header and no rows"),
        (b"text,label\na,b,c", r"row 1 \(line 2\) of table.csv has 3 cells and the first line 2"),
        (b"text,label\n" + b"a,b\n" * (MAX_LABELLED_ROWS + 1), f"more than {MAX_LABELLED_ROWS:,}"),
        (b'text,label\n"' + b"a" * 200_000 + b'",b', "row 1 has an entry of more than"),
    ],
)
def test_anything_but_a_table_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_table(data)


def test_a_class_with_too_few_texts_is_left_out_and_counted() -> None:
    texts = chosen([*GOOD, "a single text,odd", *(f"few {i},rare" for i in range(LEAST - 1))])
    assert texts.texts.classes == ("no", "yes")
    assert (len(texts.texts), texts.rare) == (2 * LEAST, LEAST)
    assert chosen(GOOD).rare == 0
    # As many classes as are allowed, and one text beside them.
    full = [f"text {i},c{i % MAX_CLASSES}" for i in range(MAX_CLASSES * LEAST)]
    assert len(chosen([*full, "a single text,odd"]).texts.classes) == MAX_CLASSES
    with pytest.raises(CorpusError, match=f"more than {MAX_CLASSES} different labels"):
        chosen([*full, *(f"more {i},odd" for i in range(LEAST))])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([f"text {i},same" for i in range(30)], r"the labels of the 30 rows have 1 \('same'\)"),
        ([f"text {i},{i}" for i in range(30)], f"more than {MAX_CLASSES} different labels"),
        (["a,x", "b,y", "c,x"], f"needs at least {LEAST} different texts.*'y' has 1 of 3"),
        (["same,a", "same,b"] * LEAST, "have 1"),
        ([",", ","], "have 0"),
    ],
)
def test_labels_that_teach_nothing_are_refused(rows: list[str], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        chosen(rows)


def test_columns_must_be_there_and_two() -> None:
    with pytest.raises(CorpusError, match="no column 'words' in the table") as no:
        chosen(GOOD, text="words")
    assert "label" not in str(no.value)
    twice = b"text,text\na,b"
    assert read_table(twice).columns == ("column 1", "column 2")
    with pytest.raises(CorpusError, match="one stands twice"):
        read_table(twice, typed=["text"])
    assert read_table(b"text,\na,b").columns == ("text", "column 2")
    with pytest.raises(CorpusError, match="two different columns"):
        chosen(GOOD, label="text")
