"""A table of one's own on the Release page: refused with a reason, or used and told to nobody."""

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.limits import MAX_LABELLED_BYTES
from dpcore.study import live_jobs
from tests.pages.app import component, shown_text
from tests.pages.release.settings import SMALL, taken, upload
from tests.shell import accepted

ROWS = "\n".join(f"text number {i},{'*good*' if i % 2 else 'bad'}" for i in range(40))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        ("w,k\nzu groß,ja".encode("latin-1"), "not UTF-8"),
        (b"a,b\n1,2,3", "line 2 has 3 entries"),
        (b"a,b\n" + b"x" * MAX_LABELLED_BYTES, "larger than"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    opened: Callable[..., AppTest], data: bytes, reason: str
) -> None:
    test = upload(opened(**SMALL), data)
    shown = shown_text(test)
    assert "This table cannot be used." in shown
    assert reason in shown
    assert "Choose another file" in shown
    assert not {"use_start", "release_make"} & {button.key for button in test.button}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"words,kind\na,x\nb,y\nc,x", "needs at least 10 different texts"),
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
    assert row["steps"][9]["cells"][1].startswith("at least 9.3 of 100")
    assert row["steps"][9]["cells"][2] == "not measured here"


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
        from dpcore.study.live import perform

        lives.append(live)
        job = Job()
        job.rows = tuple(perform(live.jobs()[0])["rows"])
        return job

    monkeypatch.setattr(live_jobs, "start", start)
    test = upload(opened(**SMALL), f"words,kind\n{ROWS}\n,bad\n".encode())
    assert "41 rows; left out: 1 without text or label, 0 repeated. Used: 40 texts" in shown_text(
        test
    )
    test.button(key="use_start").click().run()
    assert lives[0].texts.classes == ("*good*", "bad")
    assert not test.exception
    codes = [code.value for code in taken(test).code]
    shown = " ".join(codes)
    assert "--file ./own.csv --text-column words --label-column kind" in shown
    assert "text number" not in shown
    assert "own.csv" not in codes[0]  # the link
    assert "What you typed is not in the link" in shown_text(test)
    board = component(test, "offers")  # the baseline alone is known by now
    assert board["columns"][3].startswith("Accuracy (clean ")


@pytest.mark.parametrize(
    ("name", "text", "quoted", "note"),
    [
        ("my file.csv", "a;b\nsome words;1\n", "'./my file.csv'", True),
        ("tab.tsv", "a\tb\nsome words\t1\n", "./tab.tsv", False),
        ("$(touch x).csv", "`a`,b\nsome words,1\n", "'./$(touch x).csv'", False),
    ],
)
def test_names_are_quoted_and_a_file_that_the_command_cannot_read_is_named(
    opened: Callable[..., AppTest], name: str, text: str, quoted: str, note: bool
) -> None:
    test = taken(upload(opened(**SMALL), text.encode(), name))
    (command,) = [code.value for code in test.code if "privatize" in code.value][:1]
    assert quoted in command
    assert command == shlex.join(shlex.split(command))
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "dpcore", "privatize"]
    assert accepted(words[3:])["text_column"] == text[: text.index("b") - 1]
    assert ("save the file as one of these first" in shown_text(test)) == note
