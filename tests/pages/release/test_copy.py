"""A file's private copy on the page Release: made for a click, saved, and not twice by accident."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpcore as dp
from dpcore.guarantee import Status
from dpcore.learn.table import read_table
from dpcore.mechanisms.registry import create
from dpcore.privatize import table as in_memory
from dpcore.privatize.table import PrivateCopy
from pages.release.made import Made
from tests.pages.app import dials, open_link, shown_text
from tests.shell import accepted

DATA = "id,stars,words\n" + "".join(
    f"{i},{i % 5},The *doctor* number {i} was terrible in the weather of july\n" for i in range(30)
)


def uploaded(data: str = DATA, **link: str) -> AppTest:
    test = open_link("release", **link)
    test.file_uploader(key="release_file").upload("own.csv", data.encode(), "text/csv")
    return test.run()


def make(test: AppTest) -> AppTest:
    return test.button(key="release_make").click().run()


def tick(test: AppTest, label: str) -> AppTest:
    (box,) = [box for box in test.checkbox if box.label == label]
    return box.check().run()


def made(test: AppTest) -> Made:
    result = test.session_state["release_made"]
    assert isinstance(result, Made)
    return result


def command(test: AppTest) -> str:
    test.session_state["taking"] = True
    return next(c.value for c in test.run().code if c.value.startswith("python -m dpcore"))


def rows_of(copy: PrivateCopy) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(copy.csv, newline="")))


def test_a_file_becomes_a_private_copy_with_its_record_and_label() -> None:
    test = uploaded(eps_metric="2")
    assert "metric" in dials(test)
    assert test.selectbox[0].value == "words"  # the longest entries
    (keep,) = test.multiselect
    assert keep.value == []
    keep.set_value(["stars"]).run()
    assert "released as they are: nothing protects them" in shown_text(test)
    assert "release_made" not in test.session_state
    make(test)
    result = made(test)
    rows = rows_of(result.copy)
    assert list(rows[0]) == ["words", "stars"]
    assert [row["stars"] for row in rows] == [str(i % 5) for i in range(30)]
    assert all(len(row["words"].split()) == 11 for row in rows)
    record = result.copy.record
    assert (record["documents"], record["kind"], record["epsilon"]) == (30, "release", 2.0)
    tem = create("tem", dp.lexicon())
    assert record["guarantee"] == json.loads(json.dumps(tem.guarantee(2.0).to_dict()))
    shown = shown_text(test)
    assert f"30 texts, {record['protected_words']} protected words, by tem" in shown
    assert result.label.guesses in shown
    assert result.label.citation in shown
    names = {button.proto.label for button in test.get("download_button")}
    assert names >= {"Private copy as CSV", "Record as JSON", "Privacy label"}


def test_a_second_copy_spends_epsilon_twice_and_wants_a_tick() -> None:
    test = make(uploaded())
    first = made(test)
    assert "A second one spends ε twice" in shown_text(test)
    assert test.button(key="release_make").disabled
    make(tick(test, "Make another one all the same"))
    assert made(test).copy.csv != first.copy.csv
    assert test.button(key="release_make").disabled  # the third wants a tick of its own
    other = test.file_uploader(key="release_file")
    other.upload("own.csv", DATA.replace("doctor", "nurse").encode(), "text/csv")
    assert not test.run().button(key="release_make").disabled


def test_a_refuted_promise_wants_a_tick_under_its_warning() -> None:
    test = uploaded(attacked="truncated-gumbel")
    stated = create("truncated-gumbel", dp.lexicon()).guarantee(1000.0)
    assert stated.status is Status.REFUTED
    assert "The promise of this mechanism is refuted." in shown_text(test)
    assert stated.reason in shown_text(test)
    assert test.button(key="release_make").disabled
    assert not tick(test, "I know that this promise is false").button(key="release_make").disabled


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "PAGE_RELEASE_ROWS", 10)
    test = uploaded()
    assert "the table has 30 rows, and at most 10 are released in memory" in shown_text(test)
    assert test.button(key="release_make").disabled


@pytest.mark.parametrize(
    ("data", "reason"), [("", "the file is empty"), ("one\na\nb\n", "at least two columns")]
)
def test_what_is_no_table_is_refused(data: str, reason: str) -> None:
    test = uploaded(data)
    assert "This table cannot be used." in shown_text(test)
    assert reason in shown_text(test)


def test_the_command_and_the_cell_make_such_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    test = uploaded(eps_metric="2")
    test.multiselect[0].set_value(["stars"]).run()
    options = accepted(command(test).split()[3:])
    given = {name: options[name] for name in ("text_column", "keep", "epsilon")}
    assert given == {"text_column": "words", "keep": "stars", "epsilon": "2.0"}
    cell = next(c.value for c in test.code if "privatize_column" in c.value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE.csv").write_text(DATA, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(cell, names)
    table = read_table((tmp_path / "PRIVATE.csv").read_bytes())
    assert table.columns == ("words", "stars")
    assert len(table.rows) == 30
    assert capsys.readouterr().out.strip() in shown_text(test)


def test_nothing_of_the_file_stands_in_the_link() -> None:
    test = uploaded(eps_metric="2")
    test.multiselect[0].set_value(["stars"]).run()
    make(test)
    assert "stars" not in str(dict(test.query_params))


def test_links_from_before_lead_on() -> None:
    moved = open_link("utility", use_corpus="topic")
    assert moved.segmented_control(key="use_corpus").value == "topic"
    papers = open_link("utility", experiment="teaching-corpus")
    assert papers.title[0].value == "Is the promise true?"
    assert papers.query_params["experiment"] == "teaching-corpus"
