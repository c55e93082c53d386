"""Contents of a corpus, and inputs that are refused in one sentence."""

import base64
import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.errors import DpcoreError, InputError, StudyError, TextError
from dpcore.jobs import executors
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.tables.detection import format_of
from dpcore.tables.files import Columns
from dpcore.tables.shape import Reading
from tests.privatize.corpora import KINDS, TEXTS, order, read, twin, write


def test_texts_that_are_missing_stay_missing(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": null}\n{"text": "w1"}\n', encoding="utf-8")
    privatize(order(source, out))
    assert [row["text"] is None for row in read(out)] == [True, False]
    table, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"text": pa.array([None, "w1"], pa.string())}), table)
    privatize(order(table, out))
    assert [row["text"] is None for row in read(out)] == [True, False]


def test_marks_of_windows_and_blank_lines_are_understood(tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(b'\xef\xbb\xbftext,n\r\n"w1\r\nw2",1\r\n\r\nw3,2\r\n')
    record = privatize(order(source, out, columns=Columns(keep=("n",))), span_bytes=1)
    assert record["documents"] == 2
    assert [row["n"] for row in read(out)] == ["1", "2"]
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(b"\xef\xbb\xbfw1\r\nw2")
    record = privatize(order(source, out, epsilon=1e6), span_bytes=1)
    assert record["documents"] == 2
    assert [row["text"] for row in read(out)] == twin(["w1", "w2"], epsilon=1e6)


def test_parquet_without_rows(tmp_path: Path) -> None:
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    empty = pa.table({"text": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    pq.write_table(empty, source)
    assert privatize(order(source, out, columns=Columns(keep=("n",))))["documents"] == 0
    assert pq.read_table(out).schema.names == ["text", "n"]


def latin(path: Path) -> None:
    path.write_bytes(b"w1 w2\n" * 50 + "w3 caf\u00e9\n".encode("latin-1") + b"w4\n")


WRONG: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "latin-1": ("a.txt", latin, {}, r"not UTF-8 text: byte 0xE9 at position 307 .*save it as"),
    "half of UTF-16": (
        "a.txt", lambda p: p.write_bytes("w1 w2".encode("utf-16-le")[:-1]), {},
        "not utf-16-le text",
    ),
    "latin-1 CSV": (
        "a.csv", lambda p: p.write_bytes(b"text\n" + b"w\n" * 9 + b"\xe9\n"), {},
        "byte 0xE9 at position 24",
    ),
    "no such column": (
        "a.csv", write, {"columns": Columns("body"), "reading": Reading(header="yes")},
        r"no column 'body'.*'id', 'text', 'label'",
    ),
    "no such column, and names that nobody confirmed": (
        "a.csv", write, {"columns": Columns("body")},
        "no column 'body'; its first line was read as data, so .* 'column 1', 'column 2', 'col",
    ),
    "no such column to keep": (
        "a.jsonl", write, {"columns": Columns(keep=("age",))}, "no column 'age'",
    ),
    "keep the text": ("a.parquet", write, {"columns": Columns(keep=("text",))}, "unchanged"),
    "keep of text lines": ("a.txt", write, {"columns": Columns(keep=("id",))}, "no columns"),
    "numbers for texts": ("a.parquet", write, {"columns": Columns("id")}, "int64, not strings"),
    "no JSON": (
        "a.jsonl", lambda p: p.write_text('{"text": "w1"}\n{"text": w\n'), {},
        "line 2 of a.jsonl is not a JSON object",
    ),
    "a JSON list": ("a.jsonl", lambda p: p.write_text("[1]\n"), {}, "line 1 .* not a JSON object"),
    "a number in JSON": (
        "a.jsonl", lambda p: p.write_text('{"text": "w1"}\n{"text": 5}\n'), {},
        "line 2 of a.jsonl has a 'text' that is no text",
    ),
    "a key in no row": (
        "a.jsonl", lambda p: p.write_text('{"tex": "w1"}\n{"tex": "w"}\n'), {},
        "no column 'text'; the names of its columns .1. are not shown",
    ),
    "too many fields": (
        "a.csv", lambda p: p.write_text("text,n\nw1,1\nw2,2,3\n"), {}, "row 2 .* 3 cells",
    ),
    "a column twice": ("a.csv", lambda p: p.write_text("text,text\nw,w\n"), {}, "two columns"),
    "a parquet column twice": (
        "a.parquet",
        lambda p: pq.write_table(
            pa.Table.from_arrays([pa.array(["w1"])] * 2, names=["text", "text"]), p
        ),
        {}, "two columns called 'text'",
    ),
    "a ragged last row": (
        "a.csv", lambda p: p.write_text("text,n\n" + "w1,1\n" * 900 + "w2\n"), {}, "row 901 ",
    ),
    "no parquet": ("a.parquet", lambda p: p.write_text("w1"), {}, "not a parquet file"),
    "empty": ("a.txt", lambda p: p.write_text(""), {}, "a.txt is empty"),
    "absent": ("a.txt", lambda p: None, {}, "there is no file"),
    "an unknown format": ("a.docx", lambda p: p.write_text("w"), {}, r"known format.*\*\.csv"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_input_is_one_sentence(tmp_path: Path, name: str) -> None:
    file, make, changed, message = WRONG[name]
    source = tmp_path / file
    make(source)
    with pytest.raises(DpcoreError, match=message) as caught:
        privatize(order(source, tmp_path / f"out{source.suffix}", **changed))
    assert "\n" not in str(caught.value)
    assert "caf" not in str(caught.value)
    assert [path for path in tmp_path.iterdir() if path != source] == []
    if source.suffix == ".docx":
        return
    write(source)  # corrected: it works at once
    changed |= {"columns": Columns(), "reading": Reading()}
    assert privatize(order(source, tmp_path / f"out{source.suffix}", **changed))["documents"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_word_that_the_policy_refuses_in_the_last_row_leaves_nothing(
    tmp_path: Path, workers: int
) -> None:
    """It is seen in the middle of the work, when spans are done: they can never serve again."""
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("w1 w2\n" * 40 + "w3 unheard\n", encoding="utf-8")
    asked = order(source, out, treatment=Treatment(UnknownWordPolicy.REJECT))
    begun: list[Path] = []

    def look(stage: str, done: int, total: int) -> None:
        begun.extend(asked.folder.glob("*/spans/*.json"))

    with (
        executors.of(workers) as pool,
        pytest.raises(TextError, match="document 41: word 2"),
    ):
        privatize(asked, executor=pool, span_bytes=60, progress=look)
    assert begun
    assert list(tmp_path.iterdir()) == [source]
    source.write_text("w1 w2\n" * 40 + "w3 w4\n", encoding="utf-8")
    assert privatize(asked)["documents"] == 41


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_corpus_that_changes_while_it_is_read_is_no_corpus(tmp_path: Path, kind: str) -> None:
    """With other rows a kept field could be what was private: nothing of such a run may stay."""
    source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    whole = source.read_bytes()
    for stages in (("checking",), ("rewriting in",)):

        def change(stage: str, done: int, total: int, stages: tuple[str, ...] = stages) -> None:
            if stage.startswith(stages) and 0 < done < total:
                write(source, ["other w1", *TEXTS])

        with pytest.raises(InputError, match="was changed while it was being read: nothing"):
            privatize(order(source, out), span_bytes=300, progress=change)
        assert list(tmp_path.iterdir()) == [source]
        source.write_bytes(whole)
    assert privatize(order(source, out))["documents"] == len(TEXTS)


def test_a_link_is_read_as_what_its_own_name_says(tmp_path: Path) -> None:
    """A worker opens the file too: a CSV that it read as lines lost its columns."""
    stored, source, out = tmp_path / "blob.txt", tmp_path / "in.csv", tmp_path / "out.csv"
    write(tmp_path / "whole.csv").rename(stored)
    source.symlink_to(stored)
    record = privatize(order(source, out, columns=Columns(keep=("label",))))
    assert record["format"] == "CSV"
    assert [row["text"] for row in read(out)] == twin()
    assert [row["label"] for row in read(out)] == [f"l{i % 3}" for i in range(len(TEXTS))]


def test_a_kept_column_releases_nothing_but_its_values(tmp_path: Path) -> None:
    """No category that no row has, no note of a field or of the file, however deep it lies."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b", "HIDDEN"]))
    inner = pa.dictionary(pa.int32(), pa.string())
    listed = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), codes.cast(pa.dictionary(pa.int32(), pa.string()))
    )
    assert listed.type.value_type == inner
    noted = pa.field("x", pa.string(), metadata={b"note": b"HIDDEN"})
    rows = pa.array([{"x": "1"}, {"x": "2"}], pa.struct([noted]))
    schema = pa.schema(
        [
            pa.field("text", pa.string()),
            pa.field("code", codes.type, metadata={b"note": b"HIDDEN"}),
            pa.field("listed", listed.type),
            pa.field("noted", rows.type),
        ],
        metadata={b"pandas": b'{"note": "HIDDEN"}'},
    )
    table = pa.Table.from_arrays([pa.array(["w1", "w2"]), codes, listed, rows], schema=schema)
    asked = Columns(keep=("code", "listed", "noted"))
    for count in (2, 0):
        source, out = tmp_path / f"in{count}.parquet", tmp_path / f"out{count}.parquet"
        pq.write_table(table[:count], source)
        privatize(order(source, out, columns=asked))
        released = pq.read_table(out)
        assert released.column("code").to_pylist() == ["a", "b"][:count]
        assert released.column("listed").to_pylist() == [["a"], ["b"]][:count]
        assert released.column("noted").to_pylist() == [{"x": "1"}, {"x": "2"}][:count]
        kept = base64.b64decode(pq.read_metadata(out).metadata[b"ARROW:schema"])
        assert b"HIDDEN" not in out.read_bytes() + kept
    assert b"HIDDEN" in source.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_has_the_same_limit_of_a_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module in ("files", "text_files", "csv_files"):
        monkeypatch.setattr(f"dpcore.tables.{module}.MAX_DOCUMENT_BYTES", 400)
    source, out = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    write(source, ["w1", "é" * 160, "w2"])
    assert privatize(order(source, out))["documents"] == 3
    out.unlink()
    order(source, out).record.unlink()
    write(source, ["w1", "é" * 201, "w2"])
    with pytest.raises(InputError, match="longer than 400 bytes"):
        privatize(order(source, out))
    assert list(tmp_path.iterdir()) == [source]


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(StudyError, match=r"out\.txt exists already"):
        privatize(order(source, out))
    assert out.read_text(encoding="utf-8") == "mine"
    for other, message in (
        (tmp_path / "out.csv", "format of the input"),
        (tmp_path / "absent" / "out.txt", "no folder"),
        (source, "exists already"),
    ):
        with pytest.raises(StudyError, match=message):
            privatize(order(source, other))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_another_corpus_of_the_same_size_and_time_is_noticed(tmp_path: Path, kind: str) -> None:
    source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    whole, status = source.read_bytes(), source.stat()
    other = whole.replace(b"w1", b"w2")
    assert (len(other), other == whole) == (len(whole), False)
    swapped = tmp_path / "other"

    def swap(stage: str, done: int, total: int) -> None:
        if stage.startswith("rewriting in") and 0 < done < total and not swapped.exists():
            swapped.write_bytes(other)
            os.utime(swapped, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.replace(swapped, source)

    with pytest.raises(InputError, match="was changed while it was being read: nothing"):
        privatize(order(source, out), span_bytes=300, progress=swap)
    assert source.stat().st_mtime_ns == status.st_mtime_ns
    assert list(tmp_path.iterdir()) == [source]


def test_a_corpus_that_only_looks_changed_ends_no_run(tmp_path: Path) -> None:
    """A backup, a change of its mode, and a copy in its place: the bytes are the same."""
    source = write(tmp_path / "in.csv")
    asked = order(source, tmp_path / "out.csv")
    privatize(asked, span_bytes=300)
    expected = asked.out.read_bytes()
    for path in (asked.out, asked.record):
        path.unlink()
    touched: list[str] = []

    def touch(stage: str, done: int, total: int) -> None:
        if not 0 < done < total or stage in touched:
            return
        touched.append(stage)
        copy = tmp_path / "copy"
        copy.write_bytes(source.read_bytes())
        os.replace(copy, source)
        source.chmod(0o600)

    privatize(asked, span_bytes=300, progress=touch)
    assert len(touched) == 2
    assert asked.out.read_bytes() == expected


FAILURES = {
    "memory": MemoryError(),
    "Arrow's memory": pa.ArrowMemoryError("malloc of size 64 failed"),
    "files": OSError(errno.EMFILE, "Too many open files"),
    "a disk": OSError(errno.EIO, "Input/output error"),
    "a full disk": OSError(errno.ENOSPC, "No space left on device"),
    "an interrupt": KeyboardInterrupt(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("kind", ["txt", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("where", ["read", "spans"])
def test_a_shortage_never_deletes_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, where: str
) -> None:
    """Neither while a span is read, nor while the spans are looked for again."""
    source = write(tmp_path / f"in.{kind}")
    asked = order(source, tmp_path / f"out.{kind}")
    form: Any = type(format_of(source))
    begun: list[bool] = []
    whole = form._rows if kind == "parquet" and where == "read" else getattr(form, where)
    inner = "_rows" if kind == "parquet" and where == "read" else where

    def fail(*given: Any) -> Any:
        if begun:
            raise FAILURES[name]
        return whole(*given)

    def begin(stage: str, done: int, total: int) -> None:
        if stage.startswith("rewriting") and done > 0:
            begun.append(True)

    monkeypatch.setattr(form, inner, fail)
    if where == "spans":  # of a run that goes on
        with pytest.raises(StopError):
            privatize(asked, span_bytes=300, progress=_stop_in_the_middle)
        begun.append(True)
    with pytest.raises((StudyError, MemoryError, KeyboardInterrupt)) as caught:
        privatize(asked, span_bytes=300, progress=begin)
    assert "damaged" not in str(caught.value)
    assert list(asked.folder.glob("*/spans/*.json"))
    monkeypatch.undo()
    privatize(asked, span_bytes=300)
    assert len(read(asked.out)) == len(read(source))


class StopError(Exception):
    """Ends a run where it is."""


def _stop_in_the_middle(stage: str, done: int, total: int) -> None:
    if stage.startswith("rewriting") and done > total / 2:
        raise StopError
