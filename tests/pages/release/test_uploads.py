"""An uploaded table on the Release page: refused with a reason, or used and shown to no other."""

import gzip
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.learn.corpus import teaching_corpus
from dpcore.limits import MAX_LABELLED_BYTES
from dpcore.mechanisms.registry import resolve
from dpcore.study import live as live_jobs
from pages.attacker.board import PEOPLE
from pages.shared.dial import group_of
from tests.pages.app import component, shown_text
from tests.pages.release.settings import SMALL, taken, upload
from tests.shell import run

ROWS = "\n".join(f"text number {i},{'*good*' if i % 2 else 'bad'}" for i in range(40))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        ("w,k\nzu groß,ja".encode("latin-1"), "not UTF-8"),
        (b"a,b\n1,2,3", "(line 2) of own.csv has 3 cells"),
        (b"a,b\n" + b"x" * MAX_LABELLED_BYTES, "larger than"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    opened: Callable[..., AppTest], data: bytes, reason: str
) -> None:
    test = upload(opened(**SMALL), data)
    shown = shown_text(test)
    assert "This file cannot be used." in shown
    assert reason in shown
    assert "Choose another file" in shown
    assert not {"use_start", "release_make"} & {button.key for button in test.button}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"words,kind\na,x\nb,y\nc,x\nd,x", "needs at least 10 different texts"),
        (b"words,kind\n" + b"".join(b"a%d,same\n" % i for i in range(30)), "Choose a column of"),
        (b"only one column\na\nb", "Choose a column of labels"),
    ],
)
def test_without_labels_to_learn_a_private_copy_can_be_made(
    opened: Callable[..., AppTest], data: bytes, reason: str
) -> None:
    test = upload(opened(**SMALL), data)
    shown = shown_text(test)
    assert reason in shown
    assert not test.button(key="release_make").disabled
    assert all(button.disabled for button in test.button if button.key == "use_start")
    assert "own.csv: " in shown
    (row,) = component(test, "offers")["rows"]
    assert row["steps"][9]["cells"][1].startswith("at least 9.4 of 100")
    assert row["steps"][9]["cells"][2].startswith("at least 1")
    assert len(row["steps"][9]["cells"]) == 3  # no column of what nobody measured


def test_a_class_of_one_text_is_left_out_of_the_test_alone(opened: Callable[..., AppTest]) -> None:
    test = upload(opened(**SMALL), f"words,kind\n{ROWS}\none of its own,odd\n".encode())
    shown = shown_text(test)
    assert "Used: 40 texts of 2 classes" in shown
    assert "left out of this test because their class has fewer than 10: 1." in shown
    assert "own.csv: 41 texts" in shown
    assert not test.button(key="use_start").disabled
    assert not test.button(key="release_make").disabled


@pytest.mark.parametrize(
    ("cells", "guessed"),
    [
        (lambda i: (f"Rosa Delgado {i}", "yes" if i % 2 else "no"), "second"),
        (lambda i: (f"Rosa Delgado {i}", f"a{i}@example.org"), None),
        (lambda i: ("" if i % 4 else "3", f"{i % 5}"), "second"),
    ],
)
def test_the_column_of_labels_is_guessed_by_its_number_of_values(
    opened: Callable[..., AppTest], cells: Callable[[int], tuple[str, str]], guessed: str | None
) -> None:
    rows = [",".join((f"the weather was bad on day {i}", *cells(i))) for i in range(12)]
    test = upload(opened(**SMALL), "\n".join(["text,first,second", *rows]).encode())
    place = test.selectbox(key="use_column_Column of labels_3_0").value
    assert place == (None if guessed is None else 2)
    assert test.multiselect(key="release_keep_3").value == []  # nothing is copied by a guess


def test_a_file_of_another_language_is_told_that_it_would_be_random_words(
    opened: Callable[..., AppTest],
) -> None:
    test = upload(opened(**SMALL), "טקסט,תווית\nשלום לכולם,טוב\nמזג האוויר נעים,רע\n".encode())
    assert "Most words of this file are not in the vocabulary" in shown_text(test)
    test = upload(opened(**SMALL), b"text,label\nthe weather was bad,1\n")
    assert "are not in the vocabulary**" not in shown_text(test)


def test_empty_texts_are_counted_as_such(opened: Callable[..., AppTest]) -> None:
    data = "text,label\n" + "".join(f"{'the weather' if i % 3 else ''},{i % 2}\n" for i in range(9))
    assert "own.csv: 9 texts, 3 of them empty; 100%" in shown_text(
        upload(opened(**SMALL), data.encode())
    )


def test_a_file_that_is_not_here_any_more_is_said_so(opened: Callable[..., AppTest]) -> None:
    test = opened(**SMALL, use_corpus="uploaded")
    shown = shown_text(test)
    assert "No file is here: a link never holds one." in shown
    assert "teaching.csv: 1,440 texts" in shown
    assert "No file is here" not in shown_text(opened(**SMALL))
    assert "No file is here" not in shown_text(upload(test, b"text,label\na,1\nb,2\n"))


def test_the_row_that_the_page_starts_with_is_not_praised(opened: Callable[..., AppTest]) -> None:
    shown = shown_text(opened())
    assert "tem is only the row that the page starts with: choose another." in shown
    assert "is only the row" not in shown_text(opened(offer="madlib"))
    assert "is only the row" not in shown_text(opened(use_metric=["tem"], use_local=[], use_log=[]))


def test_a_goal_of_accuracy_asks_for_the_test(opened: Callable[..., AppTest]) -> None:
    test = upload(opened(**SMALL, aim="accuracy"), f"words,kind\n{ROWS}\n".encode())
    assert "This goal needs accuracy on your texts: start the test" in shown_text(test)
    assert component(test, "offers")["findings"][0].startswith("Accuracy on your file is not")


@pytest.mark.slow
def test_the_first_command_reads_the_file_that_the_page_gives(
    opened: Callable[..., AppTest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    test = taken(opened(**SMALL))
    assert "Save Teaching as CSV above first" in shown_text(test).replace("*", "")
    corpus = teaching_corpus()
    table = pd.DataFrame(
        {"text": corpus.texts, "sentiment": corpus.sentiment, "topic": corpus.topic}
    )
    (tmp_path / "teaching.csv").write_bytes(table.head(20).to_csv(index=False).encode("utf-8-sig"))
    (command,) = [code.value for code in test.code if "privatize" in code.value][:1]
    words = shlex.split(command)
    assert words[4] == "./teaching.csv"
    monkeypatch.chdir(tmp_path)
    code, _, error = run(capsys, *words[3:])
    assert code == 0, error
    assert json.loads((tmp_path / "private.csv.run.json").read_text())["documents"] == 20


def test_the_teaching_corpus_is_one_click_away(opened: Callable[..., AppTest]) -> None:
    test = upload(opened(**SMALL), b"words,kind\na,x\nb,y\n")
    assert "own.csv: 2 texts" in shown_text(test)
    test.button(key="use_teaching").click().run()
    assert "teaching.csv: 1,440 texts; 96%" in shown_text(test)


def test_a_table_is_used_and_stays_out_of_link_and_command(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = []

    class Job:
        done, stopped, error, finished, examples = True, False, None, 1, ()
        rows: tuple[dict[str, Any], ...] = ()

    def start(live: Any) -> Job:
        from dpcore.study.live import run_job

        lives.append(live)
        job = Job()
        job.rows = tuple(run_job(live.jobs()[0])["rows"])
        return job

    monkeypatch.setattr(live_jobs, "start_run", start)
    test = upload(opened(**SMALL), f"words,kind\n{ROWS}\n,bad\n".encode())
    assert "41 rows; left out: 1 without text or label, 0 repeated. Used: 40 texts" in shown_text(
        test
    )
    test.button(key="use_start").click().run()
    assert lives[0].texts.classes == ("*good*", "bad")
    assert not test.exception
    codes = [code.value for code in taken(test).code]
    shown = " ".join(codes)
    options = "--separator comma --header yes --text-column 'column 1' --label-column 'column 2'"
    assert f"--file ./own.csv {options}" in shown
    assert "text number" not in shown
    assert "own.csv" not in codes[0]  # the link
    assert "Your text is not in the link" in shown_text(test)
    board = component(test, "offers")  # the baseline alone is known by now
    assert board["columns"][4].startswith("Accuracy (clean ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "quoted"),
    [
        ("my file.csv", "text;b\nsome words;1\n", "'./my file.csv'"),
        ("tab.tsv", "text\tb\nsome words\t1\n", "./tab.tsv"),
        ("$(touch x).csv", "`text`,b\nsome words,1\n", "'./$(touch x).csv'"),
        ("wide.csv", "sep=;\ntext;a, b\nsome words;1\n", "./wide.csv"),
        ("cr.csv", "text,label\rsome words,1\rothers,2\r", "./cr.csv"),
        ("own.jsonl", '{"text": "some words", "b": 1}\n\n{"b": 2}\n', "./own.jsonl"),
        ("notes.txt", "some words\nothers\n", "./notes.txt"),
    ],
)
def test_the_command_makes_the_copy_of_the_file_as_the_page_reads_it(
    opened: Callable[..., AppTest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    quoted: str,
) -> None:
    test = taken(upload(opened(**SMALL), text.encode(), name))
    (command,) = [code.value for code in test.code if "privatize" in code.value][:1]
    assert quoted in command
    assert command == shlex.join(shlex.split(command))
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "dpcore", "privatize"]
    (tmp_path / name).write_text(text, newline="")
    monkeypatch.chdir(tmp_path)
    code, _, error = run(capsys, *words[3:])
    assert code == 0, error
    read = re.search(rf"{re.escape(name)}: (\d+) texts", shown_text(test))
    record = json.loads((tmp_path / f"{words[words.index('--out') + 1]}.run.json").read_text())
    assert read is not None
    assert record["documents"] == int(read[1])


PRIVATE = "Rosa Delgado was fired"


@pytest.mark.parametrize("name", ["notes.txt", "notes.csv", "notes.tsv", "notes.txt.gz"])
def test_a_text_in_the_first_line_is_a_text(opened: Callable[..., AppTest], name: str) -> None:
    data = f"{PRIVATE} again\nI was ill\n".encode()
    test = taken(
        upload(opened(**SMALL), gzip.compress(data) if name.endswith("gz") else data, name)
    )
    assert f"{name}: 2 texts" in shown_text(test)
    for code in test.code:
        assert "Rosa" not in code.value


def test_names_of_columns_are_public_only_on_a_word(opened: Callable[..., AppTest]) -> None:
    data = b"text,Rosa Delgado\nI was ill,1\nI was well,2\n"
    test = taken(upload(opened(**SMALL), data))
    assert "Its first line: text | Rosa Delgado" in shown_text(test)
    test.multiselect(key="release_keep_2").set_value(["Rosa Delgado"]).run()
    assert all("Rosa" not in code.value for code in test.code)
    command = next(code.value for code in test.code if "privatize" in code.value)
    assert "--text-column 'column 1'" in command
    assert "--keep 'column 2'" in command
    (public,) = [toggle for toggle in test.toggle if str(toggle.key).endswith("_public")]
    public.set_value(True).run()
    command = next(code.value for code in test.code if "privatize" in code.value)
    assert "--text-column text" in command
    assert "--keep 'Rosa Delgado'" in command


def test_a_person_says_what_the_first_line_is(opened: Callable[..., AppTest]) -> None:
    test = upload(opened(**SMALL), b"text,label\nI was ill,1\nI was well,2\n")
    assert "own.csv: 2 texts" in shown_text(test)
    (header,) = [each for each in test.segmented_control if str(each.key).endswith("_header")]
    assert header.value == "yes"
    header.set_value("no").run()
    assert "own.csv: 3 texts" in shown_text(test)
    (header,) = [each for each in test.segmented_control if str(each.key).endswith("_header")]
    assert header.value == "no"


def test_what_one_author_wrote_is_counted_and_composed_and_no_name_is_shown(
    opened: Callable[..., AppTest],
) -> None:
    rows = [f"the weather was cold {i},{'secret-name' if i < 3 else f'b{i}'}" for i in range(6)]
    test = upload(opened(**SMALL), "\n".join(["text,who", *rows]).encode())
    assert "authors; no one" not in shown_text(test)
    field = test.selectbox(key="release_author_2")
    assert field.value is None
    field.set_value("who").run()
    assert not test.exception
    shown = shown_text(test)
    assert "4 authors; no one wrote more than 3 texts and 15 words." in shown
    assert "the whole text is protected within" in shown
    assert "secret-name" not in shown
    assert not test.button(key="release_make").disabled
    # The link to the people who are found names the view, the mechanism and its ε.
    (link,) = [
        each.proto for each in test.get("page_link") if "people are found" in each.proto.label
    ]
    asked = parse_qs(link.query_string)
    mechanism = asked["attacked"][0]
    (named,) = [name for name in asked if name.startswith("eps_")]
    assert asked["about"] == [PEOPLE]
    assert named == f"eps_{group_of(resolve(mechanism).meaning).name}"
    assert float(asked[named][0]) > 0


def test_a_file_without_other_columns_has_no_column_of_authors(
    opened: Callable[..., AppTest],
) -> None:
    test = upload(opened(**SMALL), b"only one column\na\nb")
    assert not [box for box in test.selectbox if str(box.key).startswith("release_author")]
    test.button(key="use_teaching").click().run()
    assert not [box for box in test.selectbox if str(box.key).startswith("release_author")]
