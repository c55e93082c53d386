"""`redact`: the fields of its JSON, its output for people, and its refusals."""

from pathlib import Path

import pytest

from dpcore import __version__
from tests.shell import result, run

TEXT = "Please call Rosa Delgado on 555-010-9999, not me."


def test_the_json_holds_the_text_its_spans_and_what_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = result(capsys, "redact", "--text", TEXT)
    assert answer == {
        "redactor": "rules",
        "version": __version__,
        "text": "Please call ▇ on ▇, not me.",
        "named": "Please call [NAME] on [PHONE], not me.",
        "spans": [
            {"start": 12, "end": 24, "kind": "name", "text": "Rosa Delgado"},
            {"start": 28, "end": 40, "kind": "phone", "text": "555-010-9999"},
        ],
        "words": 8,
        "left": 5,
        "promise": None,
    }


def test_a_person_reads_kinds_and_that_nothing_is_guaranteed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "letter.txt"
    file.write_text(TEXT, encoding="utf-8")
    code, out, err = run(capsys, "redact", "--file", str(file))
    assert code == 0
    assert out.splitlines()[0] == "Please call [NAME] on [PHONE], not me."
    assert {line.split()[0] for line in out.splitlines()[3:]} == {"name", "phone"}
    assert err.strip() == (
        "no ε: nothing is guaranteed about what stays; 5 of 8 words are released as they are"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", TEXT, "--redactor", "presidio"], "must be one of rules, entities"),
        (["--text", TEXT, "--file", "x"], "--text"),
        ([], "--text"),
        (["--text", " "], "empty"),
        (["--file", "no such file"], "cannot read"),
    ],
)
def test_what_is_refused_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, "redact", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
