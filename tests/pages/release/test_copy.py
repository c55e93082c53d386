"""The private copy on the Release page: made once, said what it is, and nothing beyond it."""

import contextlib
import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from dpcore.audit.composition import composition
from dpcore.jobs.executors import Serial
from dpcore.lexicon.catalogue import load
from dpcore.limits import PAGE_RELEASE_ROWS
from dpcore.mechanisms.registry import create
from dpcore.privatize import table as tables
from dpcore.privatize.label import privacy_label
from pages.release import copying
from tests.pages.app import shown_text
from tests.pages.release.settings import goal_epsilon, taken, upload

ONE = {"use_metric": ["tem"], "use_local": [], "use_log": []}
DATA = "words,*stars*,mail\n" + "".join(
    f'"The weather was terrible, zyxwvut{i}!",{i % 2},a{i}@example.org\n' for i in range(30)
)
PATIENCE = 60.0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Releases that were begun, each in this process."""
    start, jobs = tables.start, []

    def here(order: Any, table: Any, lexicon: str) -> Any:
        jobs.append(start(order, table, lexicon, Serial))
        return jobs[-1]

    monkeypatch.setattr(tables, "start", here)
    return jobs


def made(test: AppTest, jobs: list[Any]) -> AppTest:
    test.button(key="release_make").click().run()
    assert jobs[-1].wait(PATIENCE)
    test.run()
    return test.run()  # which the page asks for by itself when it has taken the copy in


def files(test: AppTest) -> Any:
    """Return the page's state of the copy."""
    return test.session_state["release_work"]


@pytest.mark.slow
def test_it_is_made_once_and_again_only_on_a_second_word(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**ONE), DATA.encode())
    assert "own.csv: 30 texts; 80% of their first 150 words" in shown_text(test)
    test = made(test, started)
    shown = shown_text(test)
    epsilon = goal_epsilon("tem")
    assert f"own.csv by tem, ε = {epsilon:.3g} per distance: 30 texts, 150 words." in shown
    assert create("tem", load("default")).guarantee(epsilon).statement in shown
    assert "These texts were released once in this session." in shown
    assert test.button(key="release_make").disabled
    assert len(started) == 1
    test.run()
    assert len(started) == 1
    test.checkbox(key="release_again_1").check().run()
    test = made(test, started)
    assert len(started) == 2
    assert "released 2 times in this session" in shown_text(test)
    assert test.button(key="release_make").disabled
    # Another mechanism or ε for the same texts is a second release as well.
    test.segmented_control(key="aim").set_value("accuracy").run()
    assert all(b.disabled for b in test.button if b.key == "release_make")


def test_a_copy_counts_that_was_made_in_a_run_that_was_stopped_just_then(
    opened: Callable[..., AppTest], started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = upload(opened(**ONE), DATA.encode())
    test.button(key="release_make").click().run()
    assert started[-1].wait(PATIENCE)
    label, stops = privacy_label, iter([True])

    def stopped(*given: Any) -> Any:
        if next(stops, False):
            raise StopException
        return label(*given)

    monkeypatch.setattr(copying, "privacy_label", stopped)
    for _ in range(3):
        test.run()
    assert "These texts were released once in this session." in shown_text(test)
    assert "tem, ε = " in shown_text(test)
    assert files(test).label is not None
    assert test.button(key="release_make").disabled


def test_columns_go_along_only_if_they_were_chosen(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**ONE), DATA.encode())
    assert test.multiselect(key="release_keep_3").value == []
    test.multiselect(key="release_keep_3").set_value(["*stars*"]).run()
    assert "Released unchanged, with no protection" in shown_text(test)
    assert "Columns of the copy: column 1, column 2" in [each.value for each in test.text]
    test = made(test, started)
    work = files(test)
    rows = list(csv.DictReader(io.StringIO(work.copy.data.decode(), newline="")))
    assert list(rows[0]) == ["column 1", "column 2"]
    assert [row["column 2"] for row in rows] == [str(i % 2) for i in range(30)]
    assert "@" not in work.copy.data.decode()
    assert work.copy.record["columns"] == {
        "text": "column 1",
        "keep": ["column 2"],
        "original": False,
    }
    assert "the column column 2, unchanged" in work.label.to_html()
    shown = shown_text(test)
    for _, sentences in work.label.sections:
        for sentence in sentences:
            assert sentence in shown
    (folded,) = [each for each in test.expander if each.label == "A walk through NIST SP 800-226"]
    assert not folded.proto.expanded
    lines = "\n".join(each.value for each in folded.text)
    for row in work.label.walk:
        assert f"{row.question} {row.title}".rstrip() in lines
        for sentence in (" ".join(row.answer), *row.points):
            assert sentence in lines
    assert "No: the cells of “column 2” are released as they are." in lines
    command = next(code.value for code in taken(test).code if "privatize" in code.value)
    assert command == (
        "python -m dpcore privatize ./own.csv --out ./private.csv --separator comma "
        "--header yes --text-column 'column 1' --mechanism tem.v1 --epsilon "
        f"{goal_epsilon('tem'):g} --keep 'column 2' --label ./label.html"
    )


@pytest.mark.slow
def test_five_rows_are_previewed_with_noise_that_no_copy_gets(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    def preview(test: AppTest) -> list[str]:
        texts = [each.value for each in test.text]
        first = texts.index("The weather was terrible, zyxwvut0!")
        return list(texts[first : texts.index("The weather was terrible, zyxwvut4!") + 2])

    test = upload(opened(**ONE), DATA.encode())
    seen = preview(test)
    assert seen[::2] == [f"The weather was terrible, zyxwvut{i}!" for i in range(5)]
    assert not any("zyxwvut" in text for text in seen[1::2])
    assert preview(test.run()) == seen  # another click draws nothing again
    assert "beside the copy it would spend ε a second time" in shown_text(test)
    assert "With tem" in shown_text(test)
    test = made(test, started)
    assert preview(test) == seen
    rows = list(csv.DictReader(io.StringIO(files(test).copy.data.decode(), newline="")))
    assert [row["column 1"] for row in rows[:5]] != seen[1::2]
    # Kept cells are shown as they would be released.
    test.multiselect(key="release_keep_3").set_value(["mail"]).run()
    assert "Unchanged: a0@example.org" in [each.value for each in test.text]
    # Another ε is another draw; the one before comes back as it was.
    test.session_state["aim_guess"] = "80"
    assert preview(test.run()) != seen
    other = upload(opened(**ONE), DATA.encode())
    assert preview(other) != seen  # of this session alone


def test_a_preview_shows_the_beginning_of_a_long_text(opened: Callable[..., AppTest]) -> None:
    long = "weather, " * 4_000
    test = upload(opened(**ONE), f'text\n"{long}"\n""\n"{"x" * 9_000}"\n'.encode())
    texts = [each.value for each in test.text]
    assert "x" * 200 in texts
    assert max(map(len, texts)) < 2_000
    assert any(text.startswith("weather, weather,") and len(text) <= 200 for text in texts)


def test_a_column_that_gives_people_away_takes_a_word(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**ONE), DATA.encode())
    test.multiselect(key="release_keep_3").set_value(["mail"]).run()
    shown = shown_text(test)
    assert "These columns may identify people." in shown
    assert "30 of 30 cells look like an address" in shown
    assert test.button(key="release_make").disabled
    (word,) = [box for box in test.checkbox if str(box.key).startswith("release_risky_")]
    word.check().run()
    test = made(test, started)
    work = files(test)
    assert "a7@example.org" in work.copy.data.decode()
    assert "addresses" in json.dumps(work.copy.record["kept"])
    command = next(code.value for code in taken(test).code if "privatize" in code.value)
    assert "--keep 'column 3' --keep-anyway" in command


def test_the_preview_shows_the_names_that_the_copy_gets(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**ONE), DATA.encode())
    test.multiselect(key="release_keep_3").set_value(["*stars*"]).run()
    (asked,) = [toggle for toggle in test.toggle if str(toggle.key).endswith("_public")]
    assert asked.label == "Use the names of your columns in the private copy"
    assert not asked.value  # names are private until a person says otherwise
    asked.set_value(True).run()
    assert "Columns of the copy: words, *stars*" in [each.value for each in test.text]
    rows = csv.DictReader(io.StringIO(files(made(test, started)).copy.data.decode(), newline=""))
    assert list(rows.fieldnames or ()) == ["words", "*stars*"]


def test_record_and_label_say_what_holds_for_one_author_as_the_page_does(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**ONE), DATA.encode())
    assert "who wrote what was not counted here" in files(made(test, started)).label.to_html()
    test = upload(opened(**ONE), DATA.encode())
    test.selectbox(key="release_author_3").set_value("*stars*").run()
    assert "2 authors; no one wrote more than 15 texts and 75 words." in shown_text(test)
    work = files(made(test, started))
    tem = create("tem", load("default"))
    expected = composition(tem, goal_epsilon("tem"), 75).to_dict() | {"texts": 15}
    assert work.copy.record["composed_author"] == expected
    assert json.loads(work.label.to_json())["author"] == expected
    sentence = (
        "All texts of one author: no one wrote more than 15 texts and 75 protected words. Taken "
        f"as one text: {expected['statement']}"
    )
    assert sentence in work.label.to_html()
    assert expected["statement"] in [each.value for each in test.text]  # beside the button too


SWALLOWED = 'text,label\nbad weather,1\nmy doctor,2" tall\nrosa has hiv,"3\nmore,4\n"\nx,5\n'


def test_swallowed_rows_are_not_released_unasked(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**ONE), SWALLOWED.encode())
    test.multiselect(key="release_keep_2").set_value(["label"]).run()
    assert "row 3 of own.csv has a line end in column 2" in shown_text(test)
    assert test.button(key="release_make").disabled
    (word,) = [box for box in test.checkbox if str(box.key).startswith("release_breaks_")]
    word.check().run()
    test = made(test, started)
    assert files(test).copy.record["reading"]["line_breaks"] is True
    command = next(code.value for code in taken(test).code if "privatize" in code.value)
    assert "--allow-line-breaks" in command


def test_formulas_are_said_and_made_harmless(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    data = b'text,note\nitem one was very good,"=HYPERLINK(1)"\nthe food,@SUM(1)\n'
    test = upload(opened(**ONE), data)
    test.multiselect(key="release_keep_2").set_value(["note"]).run()
    assert "2 of 2 cells begin like a formula" in shown_text(test)
    test = made(test, started)
    assert "'=HYPERLINK(1)" in files(test).copy.data.decode()
    assert "'@SUM(1)" in files(test).copy.data.decode()
    command = next(code.value for code in taken(test).code if "privatize" in code.value)
    assert "--neutralise-formulas" in command


def test_a_copy_has_the_format_of_the_file(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    data = b'{"text": "my doctor", "label": 1}\n\n{"label": null}\n'
    test = upload(opened(**ONE), data, "own.jsonl")
    test.multiselect(key="release_keep_2").set_value(["label"]).run()
    test = made(test, started)
    rows = [json.loads(line) for line in files(test).copy.data.decode().splitlines()]
    assert rows[0]["column 2"] == 1
    assert rows[1] == {"column 1": None, "column 2": None}
    assert files(test).order.out.name == "private.jsonl"


def test_typed_text_is_nowhere_but_in_the_session(
    opened: Callable[..., AppTest], started: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    test = made(upload(opened(**ONE), DATA.encode()), started)
    assert "zyxwvut" not in str(dict(test.query_params))
    assert "zyxwvut" not in caplog.text
    work = files(test)
    assert "zyxwvut" not in json.dumps(work.copy.record) + work.label.to_json()
    for element in (*test.markdown, *test.info, *test.warning):
        assert "zyxwvut" not in str(element.value)


@pytest.mark.slow
def test_a_promise_under_a_condition_takes_a_warning_that_was_read(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    choice = {"use_metric": [], "use_local": ["custext"], "use_log": []}
    test = upload(opened(**choice, aim_guess="60"), DATA.encode())
    shown = shown_text(test)
    kind = create("custext", load("default"))
    assert "The guarantee of this mechanism holds under a condition only." in shown
    assert kind.guarantee(goal_epsilon("custext", 60)).reason in shown
    assert test.button(key="release_make").disabled
    test.checkbox(key="release_read_custext").check().run()
    assert not test.button(key="release_make").disabled
    test = made(test, started)
    assert files(test).label.warning.startswith("The guarantee holds under a condition")
    assert "Read this first:" in shown_text(test)


def test_a_large_table_is_told_the_command(opened: Callable[..., AppTest]) -> None:
    data = "words\n" + "rain\n" * (PAGE_RELEASE_ROWS + 1)
    test = upload(opened(**ONE), data.encode())
    test.button(key="release_make").click().run()
    assert "5,001 rows, and at most 5,000 are released in memory" in shown_text(test)
    assert not test.button(key="release_make").disabled  # nothing was released


def test_it_is_watched_and_stopped(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Job:
        done = stopped = False
        error = None

        def progress(self) -> tuple[float, str]:
            return 0.25, "100 of 400 texts, about 9 s left"

        def stop(self) -> None:
            self.done = self.stopped = True

        def wait(self, seconds: float) -> bool:
            return self.done

        def copy(self, order: Any, table: Any) -> None:
            return None

    job = Job()
    monkeypatch.setattr(tables, "start", lambda order, table, lexicon: job)
    test = upload(opened(**ONE), DATA.encode())
    test.button(key="release_make").click().run()
    assert not test.exception
    assert "release_make" not in {button.key for button in test.button}
    test.button(key="release_stop").click().run()
    assert "Stopped: nothing was released." in shown_text(test)
    assert not test.button(key="release_make").disabled


@pytest.mark.slow
def test_the_cell_prints_what_the_page_says(opened: Callable[..., AppTest]) -> None:
    test = taken(opened(**ONE))
    cell = next(code.value for code in test.code if "privatize_column" in code.value)
    printed = io.StringIO()
    space: dict[str, Any] = {}
    with contextlib.redirect_stdout(printed):
        exec(cell, space)
    count, statement = printed.getvalue().splitlines()
    assert count == "1440 texts"
    assert "teaching.csv: 1,440 texts" in shown_text(test)
    assert statement == create("tem", load("default")).guarantee(goal_epsilon("tem")).statement
    known = {word.lower() for word in load("default").words}
    assert len(space["private"]) == 1440
    assert set(space["private"][0].lower().replace(".", " ").replace(",", " ").split()) & known
