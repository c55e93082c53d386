"""The kit of the study: its answers are computed, its form asks nothing of a network."""

import json
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from docs.study import kit
from docs.study.kit import GROUPS, SUBJECTS, TASKS, AnswersError
from dpcore.learn.intervals import student_quantile
from tests.needs import ROOT

KIT = ROOT / "docs/study"
FORM = (KIT / "form.html").read_text(encoding="utf-8")
RECORDED: list[dict[str, Any]] = json.loads((KIT / "tasks.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_right_answers_are_those_of_the_engine() -> None:
    now = kit.computed()
    for task, recorded in zip(now, RECORDED, strict=True):
        values = task.pop("computed"), recorded["computed"]
        if not isinstance(values[0], str):  # the last digit may differ between machines
            assert values[0] == pytest.approx(values[1], rel=2e-3), recorded["name"]
        assert task | {"computed": values[1]} == recorded


def test_the_form_is_made_from_the_tasks_and_has_no_answer() -> None:
    assert kit.form(RECORDED) == FORM
    data = re.search(r"const study = /\*TASKS\*/(\{.*?\n\})/\*END\*/;", FORM, re.DOTALL)[1]
    study = json.loads(data)
    assert [task["name"] for task in study["tasks"]] == [task.name for task in TASKS]
    assert all(set(t) == {"name", "subject", "question", "options"} for t in study["tasks"])
    assert study["version"] == kit.VERSION


def test_each_subject_has_five_tasks_and_the_wordings_agree_with_what_is_computed() -> None:
    for subject in SUBJECTS:
        assert sum(task.subject == subject for task in TASKS) == 5
    by_name = {task["name"]: task for task in RECORDED}
    # Numbers that one question tells of another.
    assert "guesses 31 of 100" in by_name["near-word"]["question"]
    assert round(by_name["knows-english"]["computed"]) == 31
    assert "guesses 11 of 100" in by_name["again"]["question"]
    assert round(by_name["repeated-answer"]["computed"]) == 11


@pytest.mark.slow
def test_numbers_in_the_wordings_are_computed() -> None:
    assert round(kit._stays(kit._tem(), "doctor", 2.0)) == 7
    equal = dp.leak(kit._neighbours(), 9.2, "equal").after
    assert round(100 * equal) == 8
    plan = dp.plan(kit._kary(), error=0.2, leakage=0.1, words=["great"])
    assert round(1 / plan.rows[0].share) == 2311
    assert plan.words_per_text == 220
    assert len(dp.lexicon()) == 25_000
    readme = (KIT / "README.md").read_text(encoding="utf-8")
    guessing = np.mean([1 / len(task["options"]) for task in RECORDED])
    assert f"Guessing gives a share of {guessing:.2f}" in readme
    half = student_quantile(19, 1 - 0.05 / 3) * math.sqrt(2 * 0.2**2 / 20)
    assert f"the interval of a difference is ±{half:.2f}" in readme
    # What the control text says without a computation of its own.
    text = " ".join((KIT / "control.md").read_text(encoding="utf-8").split())
    assert "At ε = 1 the factor is 2.7, at ε = 5 it is 148, at ε = 10 it is 22,000" in text
    assert [round(math.e, 1), round(math.exp(5)), round(math.exp(10), -3)] == [2.7, 148, 22_000]
    assert "less than once in a hundred times" in text
    assert dp.leak(kit._kary(), 8.0).before < 0.01


@pytest.mark.parametrize("truth", [16.0, 60.0, 1e6])
def test_an_answer_that_is_not_clearly_one_option_is_refused(truth: float) -> None:
    task = kit.Task("t", "epsilon", "How many?", (5, 20, 50), lambda: truth)
    with pytest.raises(ValueError, match="not clearly one of"):
        kit.right(task, truth)
    assert kit.right(task, 21.0) == 1
    assert kit.right(kit.Task("t", "epsilon", "Which?", ("a", "b", "c"), lambda: "b"), "b") == 1


class _Parts(HTMLParser):
    """Tags, and attributes by which a page can ask for something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.asking: list[tuple[str, str | None]] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        loads = {"src", "href", "action", "data", "srcset", "poster", "formaction", "ping"}
        self.asking += [(name, value) for name, value in attrs if name in loads]
        attributes = dict(attrs)
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(attributes["content"])


def test_the_form_makes_no_request_and_keeps_nothing() -> None:
    parts = _Parts()
    parts.feed(FORM)
    assert not parts.asking
    assert not parts.tags & {"link", "img", "iframe", "object", "embed", "base", "video", "audio"}
    assert parts.policy.startswith("default-src 'none';")  # the browser refuses what is missed
    assert "form-action 'none'" in parts.policy
    assert not re.findall(r"connect-src|https?:|//[a-z]", parts.policy)
    barred = (
        r"fetch|XMLHttpRequest|sendBeacon|WebSocket|EventSource|RTCPeer|import\s*\(|cookie\s*=|"
        r"localStorage|sessionStorage|indexedDB|navigator|url\(|@import|innerHTML|eval|\bopen\("
    )
    assert not re.findall(barred, FORM)


def saved(code: str, group: str, right: Iterator[bool]) -> dict[str, Any]:
    """A file of the form, of someone who is right where the iterator says so."""
    answers = {
        task["name"]: task["right"] if next(right) else (task["right"] + 1) % len(task["options"])
        for task in RECORDED
    }
    return {
        "version": kit.VERSION, "consent": True, "code": code, "group": group, "minutes": 9,
        "answers": answers,
    }  # fmt: skip


def folder(tmp_path: Path, rng: np.random.Generator, people: int = 8) -> Path:
    for number in range(people):
        chance = 0.8 if number % 2 else 0.4
        marks = iter(rng.random(len(RECORDED)) < chance)
        answers = saved(f"c{number}", GROUPS[1 - number % 2], marks)
        (tmp_path / f"c{number}.json").write_text(json.dumps(answers), encoding="utf-8")
    return tmp_path


def test_files_of_answers_are_evaluated_with_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder(tmp_path, np.random.default_rng(5))
    assert kit.main(["evaluate", str(place), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["people"] == {"pages": 4, "text": 4}
    people = [kit.read(path, RECORDED) for path in sorted(place.glob("*.json"))]
    for subject, row in result["subjects"].items():
        names = [task["name"] for task in RECORDED if task["subject"] == subject]
        scores = {
            group: [np.mean([p.right[n] for n in names]) for p in people if p.group == group]
            for group in GROUPS
        }
        for group in GROUPS:
            assert row[group]["mean"] == pytest.approx(np.mean(scores[group]))
            # Student's interval by hand: t(3) = 3.182.
            half = 3.182446 * np.std(scores[group], ddof=1) / 2
            assert row[group]["high"] - row[group]["mean"] == pytest.approx(half, rel=1e-5)
        first, second = (np.asarray(scores[group]) for group in GROUPS)
        error = math.sqrt(first.var(ddof=1) / 4 + second.var(ddof=1) / 4)
        # t(3) at 1 − 0.05/3, of two sides: 4.8567.
        half = row["difference"]["high"] - row["difference"]["mean"]
        assert half == pytest.approx(4.856656 * error, rel=1e-4)
        assert row["difference"]["mean"] == pytest.approx(first.mean() - second.mean())
    one = result["tasks"]["again"]["pages"]
    assert 0 <= one["low"] <= one["share"] <= one["high"] <= 1
    assert kit.main(["evaluate", str(place)]) == 0
    table = capsys.readouterr().out
    assert "people: 4 pages, 4 text" in table
    assert all(f"| {title} |" in table for title in SUBJECTS.values())


def test_one_person_has_no_interval_and_an_open_question_is_not_right(tmp_path: Path) -> None:
    answers = saved("a", "pages", iter([True] * 15))
    answers["answers"]["again"] = None
    del answers["answers"]["raw"]
    (tmp_path / "a.json").write_text(json.dumps(answers), encoding="utf-8")
    result = kit.evaluate([kit.read(tmp_path / "a.json", RECORDED)], RECORDED)
    assert result["subjects"]["leakage"]["pages"] == {"mean": 0.8, "low": None, "high": None}
    assert result["subjects"]["leakage"]["text"] is None
    assert result["subjects"]["crowd"]["difference"] is None
    assert kit._table(result)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 0}, {"consent": False}, {"consent": 1}, {"group": "others"}, {"code": ""},
        {"answers": {"again": 9}}, {"answers": {"again": True}}, {"answers": {"unknown": 1}},
        {"answers": {"again": "2"}}, {"answers": None},
    ],
)  # fmt: skip
def test_a_file_that_is_not_of_the_form_is_refused(
    change: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = saved("a", "pages", iter([True] * 15)) | change
    (tmp_path / "a.json").write_text(json.dumps(answers), encoding="utf-8")
    with pytest.raises(AnswersError, match=r"a\.json"):
        kit.read(tmp_path / "a.json", RECORDED)
    assert kit.main(["evaluate", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: a.json")


def test_a_person_who_saved_twice_is_found(tmp_path: Path) -> None:
    people = [kit.Person("a", "pages", {}), kit.Person("a", "pages", {})]
    with pytest.raises(AnswersError, match="more than one file of a"):
        kit.evaluate(people, RECORDED)
    assert kit.main(["evaluate", str(tmp_path)]) == 2  # a folder without files


@pytest.mark.parametrize("people", [1, 2, 7, 40])
def test_groups_are_drawn_in_pairs(people: int) -> None:
    rows = kit.assign(people)
    assert len(rows) == len({code for code, _ in rows}) == people  # alike by chance: 2·10⁻⁷
    for first in range(0, people - 1, 2):
        assert {group for _, group in rows[first : first + 2]} == set(GROUPS)


def test_the_kit_says_that_nobody_has_taken_part() -> None:
    assert "**Nobody has taken part in it yet**" in (KIT / "README.md").read_text(encoding="utf-8")
    assert "Nobody has taken part" in str(kit.__doc__)
    assert not list(KIT.rglob("answers*"))
