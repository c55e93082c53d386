"""A small table released in memory: the content of a file, and nothing of the original."""

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import DpcoreError, StudyError
from dpcore.jobs.executors import Serial
from dpcore.learn.table import Table
from dpcore.lexicon.cache import only_in_memory
from dpcore.lexicon.catalogue import load
from dpcore.limits import PAGE_RELEASE_ROWS, PAGE_RELEASE_WORDS
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import document_generator
from dpcore.privatize import table as tables
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from dpcore.privatize.table import check_table, perform, start
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.sentence import prepare, release
from dpcore.tables.files import Columns

LEXICON = load("default")
TEM = create("tem", LEXICON)
ROWS = tuple(
    (f"The weather was terrible, Zyxwvut{i}!" if i else "", f"l{i % 2}", f"anna{i}@example.org")
    for i in range(230)
)
TABLE = Table(("text", "label", "mail"), ROWS)


def order(keep: tuple[str, ...] = ("label",), **changed: Any) -> Order:
    fields: dict[str, Any] = {
        "source": Path("in.csv"),
        "out": Path("out.csv"),
        "mechanism": TEM,
        "epsilon": 2.0,
        "columns": Columns(keep=keep),
        "treatment": Treatment(),
    }
    return Order(**fields | changed)


def copy_of(asked: Order, table: Table = TABLE) -> tables.PrivateCopy:
    job = start(asked, table, executor=Serial)
    assert job.wait(60)
    assert job.error is None
    copy = job.copy(asked, table)
    assert copy is not None
    return copy


def test_it_holds_the_columns_that_were_asked_for_and_no_unknown_word() -> None:
    copy = copy_of(order())
    rows = list(csv.DictReader(io.StringIO(copy.data.decode(), newline="")))
    assert list(rows[0]) == ["text", "label"]
    assert [row["label"] for row in rows] == [row[1] for row in ROWS]
    assert rows[0]["text"] == ""
    known = {word.lower() for word in LEXICON.words}
    for row in rows[1:]:
        words = row["text"].replace(",", "").replace("!", "").lower().split()
        assert len(words) == 5
        assert set(words) <= known
    assert "zyxwvut" not in copy.data.decode().lower()
    assert "@" not in copy.data.decode()
    assert "@" not in json.dumps(copy.record)


@pytest.mark.slow
def test_its_record_is_that_of_a_file(tmp_path: Path) -> None:
    copy = copy_of(order())
    source = tmp_path / "in.csv"
    with source.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([TABLE.columns, *TABLE.rows])
    record = privatize(order(source=source, out=tmp_path / "out.csv"))
    assert copy.record | {"run": ""} == record | {"run": ""}
    assert copy.record["kind"] == "release"
    assert copy.record["protected_words"] == 5 * 229
    assert copy.record["composed"]["words"] == copy.record["composed_median"]["words"] == 5


def test_its_texts_are_those_of_the_documents_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = bytes(range(32))
    monkeypatch.setattr("dpcore.privatize.table.secrets.token_bytes", lambda size: secret[:size])
    rows = list(csv.DictReader(io.StringIO(copy_of(order()).data.decode(), newline="")))
    for number in (1, 99, 100, 101, 229):
        sentence = prepare(ROWS[number][0], LEXICON)
        twin = release(sentence, TEM, 2.0, document_generator(secret, number)).text
        assert rows[number]["text"] == twin


def test_every_release_has_noise_of_its_own() -> None:
    first, second = copy_of(order()), copy_of(order())
    assert first.data != second.data
    assert first.record["run"] != second.record["run"]


def test_how_far_it_is_is_told() -> None:
    told: list[dict[str, Any]] = []
    payload = {
        "texts": [row[0] for row in ROWS],
        "lexicon": "default",
        "fingerprint": LEXICON.fingerprint,
        "mechanism": TEM.key,
        "parameters": TEM.settings(),
        "epsilon": 2.0,
        "treatment": {"unknown_words": "replace", "keep_stop_words": False, "case": "keep"},
    }
    perform(payload, told.append)
    assert told[0] == {"stage": "texts", "done": 100, "total": 230}
    course = tables._Course(time.monotonic())
    assert "Reading the lexicon" in course.progress(time.monotonic())[1]
    course.hear("texts", 100, 230)
    share, sentence = course.progress(time.monotonic() + 10)
    assert share == pytest.approx(100 / 230)
    assert sentence.startswith("100 of 230 texts, about 13 s left")
    with pytest.raises(StudyError, match="changed meanwhile"):
        perform(payload | {"fingerprint": "0"})
    with pytest.raises(StudyError) as refusal:
        perform(payload | {"texts": ["a secret", None]})
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((("a",),) * (PAGE_RELEASE_ROWS + 1), "5,001 rows, and at most 5,000"),
        ((("a " * (PAGE_RELEASE_WORDS + 1),),), "100,001 words"),
        ((("a" * 2_000_001,),), "bytes of text"),
    ],
)
def test_a_large_table_is_for_the_command(rows: tuple[tuple[str], ...], reason: str) -> None:
    with pytest.raises(StudyError, match=reason) as refusal:
        check_table(Table(("text",), rows), "text")
    assert "python -m dpcore privatize" in str(refusal.value)


def test_what_cannot_be_released_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudyError, match="has no column 'stars'"):
        start(order(("stars",)), TABLE)
    with pytest.raises(StudyError, match="copy the texts unchanged"):
        start(order(("text",)), TABLE)
    with pytest.raises(DpcoreError, match="epsilon"):
        start(order(epsilon=-1.0), TABLE)
    assert not only_in_memory(LEXICON.fingerprint)
    monkeypatch.setattr(tables, "only_in_memory", lambda fingerprint: True)
    with pytest.raises(StudyError, match="in this session's memory alone"):
        start(order(), TABLE)


def test_a_release_that_is_stopped_gives_nothing() -> None:
    asked = order()
    job = start(asked, TABLE)
    job.stop()
    assert job.wait(30)
    assert job.copy(asked, TABLE) is None
