"""A private copy of a corpus: the same bits however it is made, and nothing of the original."""

import csv
import dataclasses
import errno
import hashlib
import json
import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.errors import DpcoreError, StudyError
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import document_generator
from dpcore.rewrite.casing import CasePolicy
from dpcore.rewrite.sentence import prepare, release
from dpcore.rewrite.vocabulary import UnknownWordPolicy
from dpcore.study import executors, privatize_span
from dpcore.study.corpus import Columns, format_of
from dpcore.study.privatize import privatize
from dpcore.study.privatize_order import Order
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(300, 6)
TEM = create("tem", LEXICON)
EPSILON = 2.0
TEXTS = [
    *(f"W{i} w{i + 1}, w{i + 2}! Secretword{i}" for i in range(120)),
    "", "w1 \u2028 w2", "“w3”\tw4, w5", 'w6 "w7" w8', "w9 " * 400,
    *(f"w{i % 7}" for i in range(60)),
]  # fmt: skip
KINDS = ("txt", "csv", "tsv", "jsonl", "parquet")


def write(path, texts=TEXTS):
    """A corpus of these texts, with labels where the format has columns."""
    rows = [{"id": i, "text": text, "label": f"l{i % 3}"} for i, text in enumerate(texts)]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=50)
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
    elif path.suffix == ".txt":
        lines = (text.replace("\n", " ") + "\n" for text in texts)
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(rows[0])
            writer.writerows(row.values() for row in rows)
    return path


def read(path):
    """Rows of a file as dictionaries; text lines have one column."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".txt":
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        return [{"text": line} for line in lines]
    if path.suffix == ".jsonl":
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        return [json.loads(line) for line in lines]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def order(source, out, **changed):
    fields = {
        "source": source,
        "out": out,
        "mechanism": TEM,
        "epsilon": EPSILON,
        "columns": Columns(),
        "unknown_words": UnknownWordPolicy.REPLACE,
        "keep_stop_words": False,
        "case": CasePolicy.KEEP,
        "seed": 7,
    }
    return Order(**fields | changed)


SEVEN = hashlib.sha256(b"experiment, seed 7").digest()


def twin(texts=TEXTS, mechanism=TEM, epsilon=EPSILON, secret=SEVEN):
    """Document by document, with nothing shared: what a run with this secret must give."""
    found = []
    for number, text in enumerate(texts):
        if not text.strip():
            found.append("")
            continue
        sentence = prepare(text, mechanism.lexicon, max_characters=10**6, max_tokens=10**6)
        rng = document_generator(secret, number)
        found.append(release(sentence, mechanism, epsilon, rng).text)
    return found


@pytest.fixture(scope="module")
def expected():
    return twin()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("span_bytes", [150, 10**6])
def test_every_format_and_span_gives_the_same_texts(tmp_path, kind, span_bytes, expected):
    source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    spans = list(format_of(source).spans(source, span_bytes))
    assert [span.start for span in spans[1:]] == [span.stop for span in spans[:-1]]
    assert len(spans) > 3 or span_bytes > 150
    keep = () if kind == "txt" else ("label",)
    asked = order(source, out, columns=Columns(keep=keep))
    record = privatize(asked, span_bytes=span_bytes)
    rows = read(out)
    assert [row["text"].replace("\n", " ") for row in rows] == [
        text.replace("\n", " ") for text in expected
    ]
    assert set(rows[0]) == {"text", *keep}
    if keep:
        assert [row["label"] for row in rows] == [f"l{i % 3}" for i in range(len(TEXTS))]
    assert record == json.loads(asked.record.read_text(encoding="utf-8"))
    assert record["documents"] == len(TEXTS)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        f"in.{kind}", f"out.{kind}", f"out.{kind}.run.json",
    ]  # fmt: skip


def test_any_number_of_workers_and_order_gives_the_same_bytes(tmp_path):
    source = write(tmp_path / "in.jsonl")
    found = []
    for name, workers, span_bytes in (("a", 1, 10**6), ("b", 2, 300), ("c", 3, 1_000)):
        out = tmp_path / f"{name}.jsonl"
        with executors.of(workers) as pool:
            privatize(order(source, out), executor=pool, span_bytes=span_bytes)
        found.append(out.read_bytes())
    assert found[0] == found[1] == found[2]


def test_laws_that_workers_share_change_nothing(tmp_path, monkeypatch, expected):
    """Computed in parts of 512 words by two workers; here a part is the whole lexicon."""
    monkeypatch.setattr("dpcore.study.privatize.SHARED_BYTES", 0)
    source, out, said = write(tmp_path / "in.txt"), tmp_path / "out.txt", []
    with executors.of(2) as pool:
        asked = order(source, out)
        privatize(asked, executor=pool, progress=lambda *one: said.append(one), span_bytes=500)
    assert ("laws of the words", 1, 1) in said
    assert [row["text"] for row in read(out)] == [text.replace("\n", " ") for text in expected]


def test_a_release_is_unpredictable_and_says_nothing_of_the_original(tmp_path):
    source = write(tmp_path / "in.jsonl")
    found = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.jsonl"
        record = privatize(order(source, out, seed=None))
        found.append(out.read_bytes())
        assert record["kind"] == "release"
        assert "seed" not in record
        said = json.dumps(record)
        assert "original" not in said.replace('"original": false', "").lower()
        assert hashlib.sha256(source.read_bytes()).hexdigest() not in said
        assert {*read(out)[0]} == {"text"}
        assert b"secretword" not in out.read_bytes().lower()
    assert found[0] != found[1]


def test_an_experiment_holds_the_original_and_says_so(tmp_path):
    for kind in KINDS:
        source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        record = privatize(order(source, out, seed=None, columns=Columns(original=True)))
        assert record["kind"] == "experiment"
        assert "never to be released" in record["released"][-1]
        if kind == "txt":
            lines = [row["text"].split("\t", 1) for row in read(out)]
            assert [old for _, old in lines] == [text.replace("\t", " ") for text in TEXTS]
        else:
            assert [row["original"] for row in read(out)] == TEXTS


def test_an_interrupted_run_goes_on_with_the_same_noise(tmp_path):
    """Stopped in the middle, as by Ctrl-C; the finished spans stay, and the secret is the same."""
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"
    asked = order(source, out, seed=None)
    said = []

    def stop(stage, done, total):
        said.append(done)
        if stage.startswith("rewriting") and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize(asked, span_bytes=300, progress=stop)
    secret = (asked.folder / "secret").read_bytes()
    assert stat.S_IMODE((asked.folder / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(asked.folder.stat().st_mode) == 0o700
    parts = {p.name: p.read_bytes() for p in (asked.folder / "spans").glob("*.part")}
    assert 3 < len(parts) < 40
    assert not out.exists()
    (asked.folder / "spans" / ".x.part").write_text("left by a kill", encoding="utf-8")
    privatize(asked)  # another span size than it began with changes nothing
    found = [row["text"] for row in read(out)]
    assert found == [text.replace("\n", " ") for text in twin(secret=secret)]
    assert (
        b"".join(parts[name] for name in sorted(parts))
        == out.read_bytes()[: sum(map(len, parts.values()))]
    )
    assert not asked.folder.exists()


def test_no_noise_serves_twice(tmp_path):
    """An unfinished run is finished as it began, or deleted: never with another ε or text."""
    source, out = write(tmp_path / "in.txt"), tmp_path / "out.txt"
    asked = order(source, out, seed=None)

    def stop(stage, done, total):
        if stage.startswith("rewriting") and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize(asked, span_bytes=300, progress=stop)
    changes = {
        "epsilon": {"epsilon": 3.0},
        "mechanism": {"mechanism": create("madlib", LEXICON)},
        "fingerprint": {"mechanism": create("tem", lexicons.cloud(300, 6, seed=1))},
        "unknown_words": {"unknown_words": UnknownWordPolicy.MASK},
        "columns": {"columns": Columns(original=True)},
        "seed": {"seed": 4},
    }
    for name, change in changes.items():
        with pytest.raises(StudyError, match=f"another.*{name}"):
            privatize(dataclasses.replace(asked, **change))
    source.write_text("another text\n" * 80, encoding="utf-8")
    with pytest.raises(StudyError, match="another input"):
        privatize(asked)
    write(source)
    (asked.folder / "secret").unlink()
    privatize_span._run.cache_clear()
    with pytest.raises(StudyError, match="lost its secret"):
        privatize(asked)


def test_a_run_that_was_deleted_and_begun_again_has_another_secret(tmp_path):
    """Also in the process that remembers the first."""
    source = write(tmp_path / "in.txt")
    asked = order(source, tmp_path / "out.txt", seed=None)
    found = []
    for _ in range(2):
        privatize(asked)
        found.append(asked.out.read_bytes())
        asked.out.unlink()
        asked.record.unlink()
    assert found[0] != found[1]


@pytest.mark.parametrize("kind", ["txt", "parquet"])
def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path, monkeypatch, kind, expected):
    source, out = write(tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
    real, left = os.replace, [2]

    def full(first, second, **more):
        left[0] -= str(second).endswith(".part")
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(first, second, **more)

    monkeypatch.setattr(os, "replace", full)
    asked = order(source, out)
    with pytest.raises(StudyError, match=r"the disk of .* is full; make room and run the same"):
        privatize(asked, span_bytes=300)
    monkeypatch.undo()
    assert len(list((asked.folder / "spans").glob("*.json"))) == 2
    privatize(asked, span_bytes=300)
    assert [row["text"].replace("\n", " ") for row in read(out)] == [
        text.replace("\n", " ") for text in expected
    ]


def test_a_worker_with_another_mechanism_refuses(tmp_path, monkeypatch):
    source = write(tmp_path / "in.txt")
    monkeypatch.setattr(privatize_span, "canary", lambda mechanism, epsilon: [0])
    asked = order(source, tmp_path / "out.txt", seed=11)
    with pytest.raises(StudyError, match="not that of the run"):
        privatize(asked)


def test_a_failure_names_no_word(tmp_path, monkeypatch):
    source = write(tmp_path / "in.txt")

    def broken(*given):
        raise ValueError("secretword5")

    monkeypatch.setattr(privatize_span, "_private", broken)
    with pytest.raises(StudyError, match="begins with document 1 ") as caught:
        privatize(order(source, tmp_path / "out.txt"))
    assert "secretword" not in str(caught.value)


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
