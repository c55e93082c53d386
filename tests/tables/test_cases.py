"""Tables as people really have them: each is read alike from a file and in memory, or refused."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.errors import DpcoreError, InputError
from dpcore.learn.table import read_table
from dpcore.privatize import table as tables
from dpcore.privatize.run import privatize
from dpcore.tables.detection import find_shape, format_with
from dpcore.tables.files import Columns
from dpcore.tables.shape import Reading
from dpcore.tables.streams import Uploaded
from tests.needs import ROOT
from tests.privatize.corpora import order, read
from tests.shell import run


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


CATEGORIES = pa.array(["w1 w2", "w3", "w1 w2"]).dictionary_encode()
INCHES = b'text,label\nw1 w2,1\nw3 w4,2" tall\nrosa has hiv,"3\nmore,4\n"\nx,5\n'
UNCLOSED = b'text,label\nw1 w2,1\nw3,"2\nmy name is rosa,3\nw5,4\n'
# Name and content of a file, columns that are kept; how many documents, or a part of the refusal.
CASES: dict[str, tuple[bytes, tuple[str, ...], int | str]] = {
    "no_keys.jsonl": (b"{}\n{}\n", (), "holds no JSON object"),
    "blank_line.jsonl": (b'{"text":"w1","n":1}\n\n{"text":"w2","n":0}\n', ("n",), 2),
    "trailing_blank.jsonl": (b'{"text":"w1"}\n\n', (), 1),
    "missing_text.jsonl": (b'{"text":"w1","n":1}\n{"n":0}\n', ("n",), 2),
    "list_text.jsonl": (b'{"text":["w1","w2"]}\n', (), "line 1 .* no text but a list"),
    "nested.jsonl": (b'{"text":{"body":"w1"}}\n', (), "line 1 .* no text but an object"),
    "number_text.jsonl": (b'{"text":"w1"}\n{"text":5}\n', (), "line 2 .* no text but a number"),
    "nan_kept.jsonl": (b'{"text":"w1","n":NaN}\n', ("n",), "line 1 .* cannot hold, NaN"),
    "huge_kept.jsonl": (b'{"text":"w1","n":[1e400]}\n', ("n",), "line 1 .* cannot hold, NaN"),
    "nan_not_kept.jsonl": (b'{"text":"w1","n":NaN}\n', (), 1),
    "twice.jsonl": (b'\n{"text":"w1","text":"w2"}\n', (), "line 2 .* a key twice"),
    "cr.csv": (b"text,label\rw1 w2,1\rw3,2\r", ("label",), 2),
    "cr.txt": (b"w1\rw2\rw3", (), 3),
    "mixed.txt": (b"w1\rw2\nw3\r\nw4", (), 4),
    "notes.txt": (b"My name is Rosa Delgado\nI was fired\n", (), 2),
    "nul.txt": (b"w1\nw\0octor\n", (), "line 2 .* zero byte"),
    "nul.csv": (b"text\nw1\nw\0\n", (), "line 3 .* zero byte"),
    "semicolon.csv": (b"text;label\nw1 w2;1\n", ("label",), 1),
    "sep.csv": (b"sep=;\r\ntext;label\r\nw1, w2;1\r\n", ("label",), 1),
    "blanks.csv": (b"text , label\nw1,1\n", ("label",), 1),
    "unnamed_index.csv": (b",text,label\n0,w1,1\n1,w2,2\n", ("column 1",), 2),
    "names.csv": (b'"a, b",text\n4,w1\n', ("a, b",), 1),
    "twice.csv": (b"text,label,label\nw1,1,2\n", ("label",), "two columns called 'label'|stands"),
    "ragged.csv": (b"text,n\n" + b"w1,1\n" * 1000 + b"a, b,2\n", (), r"row 1,001 \(line 1,002\)"),
    "unclosed.csv": (b'text,label\n"w1,1\nw2,2\n', (), r"row 1 \(line 2\) .* no partner"),
    "unclosed_kept.csv": (UNCLOSED, ("label",), r"row 2 \(line 3\) .* no partner"),
    "within.csv": (b'text,n\n"w1" w2,1\n', (), r"row 1 \(line 2\) .* within a cell"),
    "pair_kept.csv": (INCHES, ("label",), "row 3 .* line end in column 2"),
    "pair_text.csv": (b'n,text\n1,"w1\n2,w2\n3,"\n', (), "row 1 .* could be a row of its own"),
    "prose.csv": (b'n,text\n1,"Dear w1,\nw2, w3"\n', ("n",), 1),
    "gz_renamed.csv": (gzip.compress(b"text\nw1\n"), (), "packed with gzip, though"),
    "not_packed.csv.gz": (b"text\nw1\n", (), "is not packed with gzip"),
    "cut.txt.gz": (gzip.compress(b"w1 w2 w3\n" * 50)[:-12], (), "damaged, or cut"),
    "t.csv.gz": (gzip.compress(b"text,label\nw1,1\n"), ("label",), 1),
    "t.jsonl.gz": (gzip.compress(b'{"text":"w1"}\n'), (), 1),
    "t.txt.gz": (gzip.compress(b"w1\nw2\n" * 500), (), 1000),
    "marked.csv": ("\ufefftext,n\nw1,1\n".encode("utf-16-le"), ("n",), 1),
    "unmarked.csv": ("text,n\nw1,1\n".encode("utf-16-le"), ("n",), 1),
    "big_endian.txt": ("w1\nw2\n".encode("utf-16-be"), (), 2),
    "workbook.csv": (b"PK\x03\x04" + b"\0" * 60, (), "a workbook"),
    "no_utf8.parquet": (
        parquet(pa.table({"text": ["w1 zebra"]})).replace(b"zebra", b"z\x80bra"),
        (),
        "damaged in the rows 1 to 1",
    ),
    "dict.parquet": (parquet(pa.table({"text": CATEGORIES})), (), 3),
    "lists.parquet": (parquet(pa.table({"text": [["rosa"]]})), (), "lists or structures, not str"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_table_is_read_alike_from_a_file_and_in_memory(tmp_path: Path, name: str) -> None:
    data, keep, expected = CASES[name]
    source, columns = tmp_path / name, Columns(keep=keep)
    source.write_bytes(data)
    out = tmp_path / f"out{Path(name.removesuffix('.gz')).suffix}"

    def on_disk() -> int:
        asked = order(source, out, columns=columns, seed=None)
        return int(privatize(asked, span_bytes=40)["documents"])

    def in_memory() -> int:
        table = read_table(data, least=1, name=name, typed=columns.typed)
        form = format_with(table.shape)
        form.check(table.file, columns)
        return sum(len(part.texts) for part in tables._read(form, table.file, columns))

    for way in (on_disk, in_memory):
        if isinstance(expected, int):
            assert way() == expected
            continue
        with pytest.raises(DpcoreError, match=expected) as refused:
            way()
        assert "rosa" not in str(refused.value)
        assert "octor" not in str(refused.value)
    assert out.exists() == isinstance(expected, int)


def test_missing_texts_and_keys_stay_missing(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(CASES["missing_text.jsonl"][0])
    privatize(order(source, out, columns=Columns(keep=("n",))))
    assert [(row["text"] is None, row["n"]) for row in read(out)] == [(False, 1), (True, 0)]


def test_the_shape_that_is_printed_gives_the_same_table_again() -> None:
    for name, (data, keep, expected) in CASES.items():
        if isinstance(expected, str):
            continue
        file, typed = Uploaded(name, data), ("text", *keep)
        found = find_shape(file, typed=typed)
        again = find_shape(file, found.reading(), ())
        assert again.state() == found.state()
        assert again.names == found.names


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b"text,label\nw1,1\n", "names"),
        (b"My name is Rosa Delgado,1\nI was fired,2\n", "data"),
        (b"Rosa,Delgado\nAnna,Meier\n", "unsure"),
        (b"rosa@example.org,yes\nw1,no\n", "data"),
        (b"fine,yes\nbad,yes\n", "data"),
    ],
)
def test_a_first_line_that_may_be_data_is_data(data: bytes, looks: str) -> None:
    shape = find_shape(Uploaded("t.csv", data))
    assert shape.first.looks == looks
    assert (shape.header, shape.names) == ("no", ("column 1", "column 2"))
    assert all(word not in shape.sentence + repr(shape) for word in ("Rosa", "rosa", "fine"))
    assert (read_table(data, name="t.csv").columns == ("text", "label")) == (looks == "names")


SHELL = ("--mechanism", "tem", "--epsilon", "9")


def test_the_first_line_of_a_headerless_table_is_protected_and_never_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("1,my name is Zyxwvutsa\n2,the weather was bad\n", encoding="utf-8")
    command = ("privatize", str(source), "--out", str(out), *SHELL)
    code, said, err = run(capsys, *command)
    assert (code, out.exists()) == (2, False)
    assert "Zyxwvutsa" not in said + err
    assert "'column 1', 'column 2'" in err
    code, said, err = run(capsys, *command, "--text-column", "column 2", "--keep", "column 1")
    assert code == 0
    record = (tmp_path / "out.csv.run.json").read_text(encoding="utf-8")
    written = out.read_text(encoding="utf-8")
    assert "zyxwvutsa" not in (said + err + record + written).lower()
    assert written.startswith("column 2,column 1\n")
    assert json.loads(record)["documents"] == 2
    assert json.loads(record)["reading"]["header"] == "no"


def test_names_are_shown_only_once_they_are_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("zyxa,text,zyxb\n1,bad weather,2\n", encoding="utf-8")
    command = ("privatize", str(source), "--out", str(tmp_path / "out.csv"), *SHELL)
    _, said, err = run(capsys, *command, "--keep", "label")
    assert "no column 'label'" in err
    assert "zyx" not in said + err
    _, _, err = run(capsys, *command, "--keep", "label", "--header", "yes")
    assert "'zyxa', 'text', 'zyxb'" in err
    code, *_ = run(capsys, *command, "--keep", "zyxa,column 3")
    assert code == 0
    assert (tmp_path / "out.csv").read_text("utf-8").splitlines()[0] == "text,zyxa,column 3"


UNIQUE = "as many values as rows"
KEPT: dict[str, tuple[Callable[[int], str], set[str]]] = {
    "free text": (lambda i: f"she said number {i} was quite bad", {"free text", UNIQUE}),
    "names": (lambda i: f"Rosa Delgado{'x' * i}", {"names", UNIQUE}),
    "e-mail": (lambda i: f"r{i}@example.org", {"addresses", UNIQUE}),
    "street": (lambda i: f"{i + 1} Long Hill Road", {"addresses", UNIQUE}),
    "classes": (lambda i: f"class {i % 3}", set()),
    "places": (lambda i: ("New York", "Los Angeles")[i % 2], set()),
    "row numbers": (str, set()),
    "scores": (lambda i: f"{(i * 37) % 101 / 7:.4f}", {"as many numbers as rows"}),
    "formulas": (lambda i: "=cmd|x" if i % 10 == 0 else "-5", {"formulas"}),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_column_that_gives_people_away_takes_a_second_word(
    tmp_path: Path, name: str
) -> None:
    cell, kinds = KEPT[name]
    rows = "".join(f'w{i},"{cell(i)}"\n' for i in range(40))
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(f"text,note\n{rows}", encoding="utf-8")
    asked: dict[str, Any] = {"columns": Columns(keep=("note",)), "seed": None}
    table = read_table(source.read_bytes(), typed=("text",))
    risks = tables.kept_risks(table, ("note",))
    assert {risk.kind for risk in risks} == kinds
    if any(risk.dangerous for risk in risks):
        with pytest.raises(InputError, match="--keep-anyway") as refused:
            privatize(order(source, out, **asked))
        assert cell(3) not in str(refused.value)
        assert not out.exists()
    record = privatize(order(source, out, keep_anyway=True, **asked))
    assert record["kept"] == [risk.to_dict() for risk in risks]
    assert cell(3) not in json.dumps(record["kept"])
    assert [row["note"] for row in read(out)] == [cell(i) for i in range(40)]


def test_names_that_recur_are_still_names() -> None:
    rows = "".join(f"w{i},Rosa Delgado{'x' * (i % 26)},{i % 2}\n" for i in range(100))
    table = read_table(f"text,who,client\n{rows}".encode())
    risks = tables.kept_risks(table, ("who", "client"))
    assert [(risk.name, risk.kind, risk.count) for risk in risks] == [("who", "names", 100)]


def test_formulas_are_neutralised_if_that_is_asked_for(tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text('text,note\n- w1,"=HYPERLINK(1)"\n=cmd,@SUM(1)\nw2,-5\n', encoding="utf-8")
    reading = Reading(neutralise=True)
    privatize(order(source, out, columns=Columns(keep=("note",)), reading=reading))
    rows = read(out)
    assert [row["note"] for row in rows] == ["'=HYPERLINK(1)", "'@SUM(1)", "-5"]
    assert rows[0]["text"].startswith("'- ")


def test_a_small_file_cannot_ask_for_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary holds a value once, and 256 rows name it."""
    monkeypatch.setattr("dpcore.tables.parquet_files.MAX_DECODED_BYTES", 100_000_000)
    source = tmp_path / "in.parquet"
    pq.write_table(
        pa.table({"text": pa.DictionaryArray.from_arrays([0] * 256, ["w1 " * 1_000_000])}),
        source, compression="zstd",
    )  # fmt: skip
    assert source.stat().st_size < 10_000
    with pytest.raises(InputError, match="more than 100,000,000 bytes in the rows 1 to 256"):
        privatize(order(source, tmp_path / "out.parquet"))
    with pytest.raises(DpcoreError, match="once they are written out"):
        read_table(source.read_bytes(), least=1, name="in.parquet")


def test_a_small_packed_file_is_not_unpacked_for_ever() -> None:
    bomb = gzip.compress(b"w1 w2\n" * 2_000_000)
    with pytest.raises(DpcoreError, match="once it is unpacked"):
        read_table(bomb, least=1, name="in.txt.gz")


def test_a_folder_of_parts_is_refused_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "part" / "label=a").mkdir(parents=True)
    with pytest.raises(DpcoreError, match="is a folder: join its parts into one file"):
        privatize(order(tmp_path / "part", tmp_path / "out.parquet"))


def test_the_table_of_cases_in_the_docs_is_complete() -> None:
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert not [name for name in CASES if f"`{name}`" not in page]
