"""The command `leak`."""

from dataclasses import asdict
from pathlib import Path

import pytest

from dpcore.attack.budget import repeated_leak
from dpcore.attack.leak import leak
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from tests.shell import result, run

Capture = pytest.CaptureFixture[str]

K_ARY = ("leak", "--mechanism", "k-ary")


def _refusal(capsys: Capture, *arguments: str) -> str:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    return err


def test_one_epsilon_is_one_object_and_several_are_rows(capsys: Capture) -> None:
    expected = leak(create("k-ary", load(None)), [9.0, 12.0])
    one = result(capsys, *K_ARY, "--epsilon", "9")
    assert {key: one[key] for key in expected[0].to_dict() if key != "mechanism"} == {
        key: value for key, value in expected[0].to_dict().items() if key != "mechanism"
    }
    assert (one["mechanism"], one["lexicon"]) == ("k-ary.v1", "wpl-25k")
    rows = result(capsys, *K_ARY, "--epsilon", "9,12")["rows"]
    assert [row["after"] for row in rows] == [row.after for row in expected]


def test_a_stranger_from_a_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("June,3\nmay\t1\n\nnot-in-the-words,5\n", encoding="utf-8")
    row = result(capsys, *K_ARY, "--epsilon", "30", "--counts-file", str(file))
    assert row["stranger"] == "file"
    assert row["before"] == 0.75
    assert row["after"] > 0.99
    for text, message in (
        ("june,x\n", "line 1 of"),
        ("zzyzx,1\n", "counts no word"),
        ("june", "line 1"),
    ):
        file.write_text(text, encoding="utf-8")
        said = _refusal(capsys, *K_ARY, "--epsilon", "3", "--counts-file", str(file))
        assert message in said
        assert "june" not in said.lower()
        assert "zzyzx" not in said
    assert "cannot read" in _refusal(
        capsys, *K_ARY, "--epsilon", "3", "--counts-file", str(tmp_path / "no")
    )


@pytest.mark.parametrize("given", [("--stranger", "nobody"), ("--gain", "soul"), ("--draws", "0")])
def test_nonsense_is_refused(given: tuple[str, str], capsys: Capture) -> None:
    assert _refusal(capsys, *K_ARY, "--epsilon", "3", *given)


def test_repeated_releases(capsys: Capture) -> None:
    given = (*K_ARY, "--epsilon", "8", "--releases", "3", "--share", "0.2", "--persons", "50")
    answer = result(capsys, *given)
    expected = repeated_leak(create("k-ary", load(None)), 8.0, 3)
    assert [row["value"] for row in answer["rows"]] == [row.value for row in expected.rows]
    assert answer["memoised"] == answer["rows"][0]["value"]
    assert answer["reached"] == asdict(expected.reached(0.2))
    assert answer["recognition"] == asdict(expected.recognition(50))
    code, out, _ = run(capsys, *given)
    assert code == 0
    assert "20 of 100 words are guessed after 3 releases" in out
    assert "recognise one of 50 persons" in out
    several = result(capsys, *K_ARY, "--epsilon", "8,9", "--releases", "2")["answers"]
    assert [one["epsilon"] for one in several] == [8.0, 9.0]
    assert "--gain" in _refusal(capsys, *given, "--gain", "near")
    assert "65" in _refusal(capsys, *K_ARY, "--epsilon", "8", "--releases", "65")
    assert "share" in _refusal(capsys, *given[:-4], "--share", "2")
