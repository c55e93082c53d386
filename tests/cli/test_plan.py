"""The command `plan`: three directions, its fields, and what it refuses."""

from pathlib import Path

import pytest

from tests.shell import result, run, small_vectors


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("plan") / "small.vec")


def planned(vectors: str, *more: str) -> tuple[str, ...]:
    return (
        "plan", "--mechanism", "k-ary", "--lexicon", vectors, "--stranger", "equal",
        "--words", "doctor,weather", "--share", "0.01", *more,
    )  # fmt: skip


def test_three_directions(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = result(capsys, *planned(vectors, "--epsilon", "6", "--texts", "1000"))
    assert first["computed"] == "error"
    assert first["texts"] == 1_000
    assert [row["query"] for row in first["rows"]] == ["doctor", "weather"]
    error = repr(first["error"])
    second = result(capsys, *planned(vectors, "--epsilon", "6", "--error", error))
    assert second["computed"] == "texts"
    assert second["texts"] == 1_000
    third = result(capsys, *planned(vectors, "--texts", "1000", "--error", error))
    assert third["computed"] == "epsilon"
    assert third["epsilon"] == pytest.approx(6, rel=1e-3)
    leaked = result(capsys, *planned(vectors, "--leak", repr(first["guessed"]), "--texts", "1000"))
    assert leaked["epsilon"] == pytest.approx(6, rel=1e-5)


def test_the_fields(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = result(capsys, *planned(vectors, "--epsilon", "6", "--texts", "1000", "--countable"))
    assert list(answer) == [
        "computed", "mechanism", "epsilon", "stranger", "guessed", "guessed_before", "texts",
        "words_per_text", "error", "level", "rows", "above_bound", "statement", "parameters",
        "countable", "lexicon", "fingerprint", "version",
    ]  # fmt: skip
    assert list(answer["rows"][0]) == [
        "query", "share", "variance", "error", "texts", "least_share", "above_bound",
    ]  # fmt: skip
    assert list(answer["countable"]) == ["share", "words", "judged"]


def test_a_person_reads_a_sentence_and_a_table(
    vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *planned(vectors, "--epsilon", "6", "--error", "0.1"))
    assert code == 0, err
    assert "it takes" in out
    assert "doctor" in out
    assert "above bound" in out
    assert "the least of any mechanism" in err


@pytest.mark.parametrize(
    "wrong",
    [
        (), ("--texts", "10"), ("--texts", "10", "--error", ".1", "--epsilon", "2"),
        ("--texts", "10", "--epsilon", "2", "--leak", ".1"), ("--texts", "0", "--epsilon", "2"),
        ("--texts", "10", "--epsilon", "2", "--words", ","), ("--texts", "10", "--epsilon", "zero"),
        ("--texts", "10", "--epsilon", "2", "--words", "nosuchword"),
        ("--texts", "10", "--epsilon", "2", "--share", "2"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused(
    wrong: tuple[str, ...], vectors: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, *planned(vectors, *wrong))
    assert code == 2
    assert err.startswith("error: ")
    assert not out
