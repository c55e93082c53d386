"""The command `reproduce`: its comparison, its table against the documents, and its page."""

from __future__ import annotations

import json

import pytest

from dpcore.cli import study
from dpcore.cli.main import COMMANDS, main
from dpcore.cli.study import Check, Claimed, claimed, compared_numbers, quick
from dpcore.study.recorded import read_bundled
from tests import artifact
from tests.needs import ROOT

ENTRIES = claimed()
SMALL = """
[right]
document = "README.md"
claim = "The bundled lexicon has 25,000 words."
command = "lexicon list"
seconds = 1
megabytes = 1
checks = [{ quote = "the bundled {25,000} words", at = ["lexicons > name=default > words"] }]

[wrong]
document = "README.md"
claim = "It has one more."
command = "lexicon list"
seconds = 1
megabytes = 1
checks = [{ quote = "{25,001} words", at = ["lexicons > name=default > words"] }]

[unknown]
document = "README.md"
claim = "A place that the answer does not have."
command = "lexicon list"
seconds = 1
megabytes = 1
checks = [{ quote = "{25,000} words", at = ["lexicons > name=nothing > words"] }]

[failing]
document = "README.md"
claim = "A command that is refused."
command = "distribution --mechanism no-such --epsilon 1 --word doctor"
seconds = 100
megabytes = 1
checks = [{ quote = "{1}", at = ["epsilon"] }]
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = claimed(SMALL)
    monkeypatch.setattr(study, "claimed", lambda: entries)


@pytest.mark.usefixtures("small")
def test_right_and_wrong_and_unknown_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "right"]) == 0
    assert capsys.readouterr().out.endswith("reproduced, 1 numbers\n1 of 1 reproduced\n")
    assert main(["reproduce"]) == 1  # all but the one that takes longer than a minute
    printed = capsys.readouterr().out
    assert "expected 25,001, got 25000 at lexicons > name=default > words" in printed
    assert "expected 25,000, got nothing at lexicons > name=nothing > words" in printed
    assert printed.endswith("1 of 3 reproduced\n")


@pytest.mark.usefixtures("small")
def test_a_command_that_fails_is_not_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--all", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["reproduced"], answer["of"]) == (1, 4)
    assert "no-such" in answer["entries"][3]["error"]
    assert not answer["entries"][3]["numbers"]
    assert main(["reproduce", "failing"]) == 1
    printed = capsys.readouterr()
    assert "NOT reproduced: " in printed.out
    assert not printed.err


@pytest.mark.usefixtures("small")
def test_a_name_that_is_no_entry_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "right", "no-such"]) == 2
    assert "no entry 'no-such'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "got", "tolerance", "agrees"),
    [
        (".148", 0.1484, "rounded", True),
        (".148", 0.1486, "rounded", False),
        (".148", 0.14728, "outward", True),
        (".148", 0.1469, "outward", False),
        ("0.5", 0.50000004, "six digits", True),
        ("0.5", 0.50001, "six digits", False),
        ("−.028", -0.0281, "rounded", True),
        ("70", 70.4, "rounded", True),
        ("25,000", 25001, "rounded", False),
        ("80", 82.0, 5.0, True),
        ("refuted", "refuted", "rounded", True),
        ("refuted", "proved", "rounded", False),
        ("1", True, "rounded", False),
        ("1", None, "rounded", False),
        ("1", float("nan"), 5.0, False),
    ],
)
def test_tolerances(written: str, got: object, tolerance: str | float, agrees: bool) -> None:
    check = Check(quote=f"{{{written}}}", at=("value",))
    (number,) = compared_numbers(check, {"value": got}, tolerance)
    assert number["agrees"] is agrees


def test_scale_and_unit() -> None:
    check = Check(quote="{320} %", at=("share",), scale=100, unit=10)
    assert compared_numbers(check, {"share": 3.16})[0]["agrees"]
    assert not compared_numbers(check, {"share": 3.14})[0]["agrees"]


def test_places() -> None:
    rows = [{"word": "a", "at": 2.0, "n": 1}, {"word": "b", "at": 2.0, "n": 2}]
    for at, over, expected in (
        (("rows > * > n",), (), "{1} {2}"),
        (("rows > word={}; at=2 > n",), ("a", "b"), "{1} {2}"),
        (("rows > 1 > n",), (), "{2}"),
    ):
        check = Check(quote=expected, at=at, over=over)
        assert all(number["agrees"] for number in compared_numbers(check, {"rows": rows}))
    # Two rows have it: none is taken. And neither a number nor a place may be left over.
    left_over = {"rows > at=2 > n": "{1}", "rows > 0 > n": "{1} {1}", "rows > * > n": "{1}"}
    for path, quote in left_over.items():
        numbers = compared_numbers(Check(quote=quote, at=(path,)), {"rows": rows})
        assert not all(number["agrees"] for number in numbers)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_the_expected_numbers_stand_in_the_document(entry: Claimed) -> None:
    text = " ".join((ROOT / entry.document).read_text(encoding="utf-8").split())
    assert entry.checks
    for check in entry.checks:
        assert check.expected
        assert " ".join(check.text.split()) in text, check.text
    # A tolerance that is not that of the digits has a reason.
    assert entry.reason or entry.tolerance == "rounded"
    assert entry.command.split()[0] in COMMANDS.names
    reads = entry.command.startswith(("study ", "benchmark --recorded"))
    assert (entry.study in {record.name for record in read_bundled()}) == reads


def test_the_page_is_that_of_the_table() -> None:
    assert artifact.PAGE.read_text(encoding="utf-8") == artifact.page(ENTRIES), (
        "docs/artifact.md is not that of dpcore/papers/reproduce.toml: python -m tests.artifact"
    )


def test_the_page_names_every_entry_once() -> None:
    written = artifact.PAGE.read_text(encoding="utf-8").splitlines()
    for name, entry in ENTRIES.items():
        assert written.count(f"### {name}") == 1
        assert f"python -m dpcore {entry.command}" in written
        assert entry.seconds > 0
        assert entry.megabytes > 0


@pytest.mark.slow
def test_the_quick_entries_are_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--json"]) == 0, capsys.readouterr().out
    answer = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in answer["entries"]] == quick(ENTRIES)
    assert answer["of"] > 40
