"""What may stand in a corpus, and inputs that are refused in one sentence."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.errors import DpcoreError, StudyError
from dpcore.study.corpus import Columns
from dpcore.study.privatize import privatize
from tests.study.corpora import order, read, twin, write


def test_texts_that_are_missing_stay_missing(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": null}\n{"text": "w1"}\n', encoding="utf-8")
    privatize(order(source, out))
    assert [row["text"] is None for row in read(out)] == [True, False]
    table, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"text": pa.array([None, "w1"], pa.string())}), table)
    privatize(order(table, out))
    assert [row["text"] is None for row in read(out)] == [True, False]


def test_marks_of_windows_and_blank_lines_are_understood(tmp_path):
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


def test_parquet_without_rows(tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    empty = pa.table({"text": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    pq.write_table(empty, source)
    assert privatize(order(source, out, columns=Columns(keep=("n",))))["documents"] == 0
    assert pq.read_table(out).schema.names == ["text", "n"]


def latin(path):
    path.write_bytes(b"w1 w2\n" * 50 + "w3 caf\u00e9\n".encode("latin-1") + b"w4\n")


WRONG = {
    "latin-1": ("a.txt", latin, {}, r"not UTF-8 text: byte 0xE9 at position 307 .*save it as"),
    "UTF-16": ("a.txt", lambda p: p.write_text("w1", encoding="utf-16"), {}, "UTF-16"),
    "latin-1 CSV": (
        "a.csv", lambda p: p.write_bytes(b"text\n" + b"w\n" * 9 + b"\xe9\n"), {},
        "byte 0xE9 at position 24",
    ),
    "no such column": (
        "a.csv", write, {"columns": Columns("body")}, r"no column 'body'.*'id', 'text', 'label'",
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
    "a missing field": (
        "a.jsonl", lambda p: p.write_text('{"text": "w1"}\n{"tex": "w"}\n'), {},
        "line 2 of a.jsonl has no 'text'",
    ),
    "too many fields": (
        "a.csv", lambda p: p.write_text("text,n\nw1,1\nw2,2,3\n"), {}, "row 2 .* 3 fields",
    ),
    "a column twice": ("a.csv", lambda p: p.write_text("text,text\nw,w\n"), {}, "two columns"),
    "no parquet": ("a.parquet", lambda p: p.write_text("w1"), {}, "not a parquet file"),
    "empty": ("a.txt", lambda p: p.write_text(""), {}, "a.txt is empty"),
    "absent": ("a.txt", lambda p: None, {}, "there is no file"),
    "an unknown format": ("a.docx", lambda p: p.write_text("w"), {}, r"known format.*\*\.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_input_is_one_sentence(tmp_path, name):
    file, make, changed, message = WRONG[name]
    source = tmp_path / file
    make(source)
    with pytest.raises(DpcoreError, match=message) as caught:
        privatize(order(source, tmp_path / f"out{source.suffix}", **changed))
    assert "\n" not in str(caught.value)
    assert "caf" not in str(caught.value)
    assert not (tmp_path / f"out{source.suffix}").exists()


def test_what_is_there_is_not_overwritten(tmp_path):
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
