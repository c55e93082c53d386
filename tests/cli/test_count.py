"""The command `count`: from a private copy to numbers, and what it refuses."""

import errno
import tempfile
from pathlib import Path

import pytest

from tests.shell import result, run, small_vectors


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A copy, its record, and the lexicon."""
    from dpcore.cli.main import main

    folder = tmp_path_factory.mktemp("count")
    vectors = small_vectors(folder / "small.vec")
    source, out = folder / "in.csv", folder / "out.csv"
    rows = ["weather terrible doctor,no", "word5 word5 doctor,yes"] * 200
    source.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    command = (
        "privatize", str(source), "--out", str(out), "--mechanism", "k-ary", "--epsilon", "7",
        "--keep", "label", "--lexicon", vectors,
    )  # fmt: skip
    assert main(command) == 0
    return str(out), f"{out}.run.json", vectors


def count(made: tuple[str, str, str], *more: str) -> tuple[str, ...]:
    out, record, vectors = made
    return ("count", out, "--record", record, "--lexicon", vectors, *more)


def test_words_are_counted_by_a_column(
    made: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = result(capsys, *count(made, "--words", "word5,terrible", "--by", "label"))
    assert answer["mechanism"] == "k-ary"
    assert answer["words_total"] == 1_200
    rows = {(row["query"], row["group"]): row for row in answer["rows"]}
    assert rows["word5", "yes"]["low"] > 200 > rows["word5", "no"]["high"]
    assert {row["query"] for row in answer["differences"]["rows"] if row["differs"]} == {
        "word5", "terrible",
    }  # fmt: skip


@pytest.mark.slow
def test_two_processes_count_alike_and_leave_nothing_beside_the_copy(
    made: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = count(made, "--words", "word5,terrible", "--by", "label")
    before = set(Path(made[0]).parent.iterdir())
    assert result(capsys, *asked, "--workers", "2") == result(capsys, *asked)
    assert set(Path(made[0]).parent.iterdir()) == before
    code, _, err = run(capsys, *asked, "--workers", "0")
    assert (code, "workers must be a whole number" in err) == (2, True)


def test_a_person_reads_tables(
    made: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *count(made, "--top", "5", "--by", "label"))
    assert code == 0, err
    assert "differ" in out
    assert "word5" in out
    code, out, err = run(capsys, *count(made, "--near", "doctor", "--for", "population"))
    assert code == 0
    assert "near doctor" in out
    assert "No ε is spent" in err


def test_workers_need_a_place_beside_the_copy(
    made: tuple[str, str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: object) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    code, _, err = run(capsys, *count(made, "--words", "word5", "--workers", "2"))
    assert code == 2
    assert "out.csv for the lexicon, and there is none (Read-only file system)" in err


def test_kinds_are_counted(made: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    # The system's own randomness drew the copy: an interval of 95 % leaves out the truth at times.
    answer = result(capsys, *count(made, "--kinds", "--level", "0.999999"))
    rows = {row["query"]: row for row in answer["rows"]}
    assert rows["noun.person"]["low"] <= 400 <= rows["noun.person"]["high"]


def test_a_list_may_be_a_secret_and_is_not_printed(
    made: tuple[str, str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "list.txt"
    path.write_text("doctor\nterrible\nnobodyknows\n", encoding="utf-8")
    code, out, err = run(capsys, *count(made, "--list", str(path)))
    assert code == 0, err
    assert "1 unknown" in out
    assert "nobodyknows" not in out + err
    assert "terrible" not in out + err
    path.write_text("nobodyknows\n", encoding="utf-8")
    code, out, err = run(capsys, *count(made, "--list", str(path)))
    assert code == 2
    assert "nobodyknows" not in out + err


def test_a_copy_is_checked_against_its_record(
    made: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert result(capsys, *count(made, "--check"))["refuted"] is False


def test_what_cannot_be_counted_is_refused(
    made: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (
        (), ("--words", "a", "--top", "3"), ("--words", "nosuchword"), ("--words", ","),
        ("--top", "0"), ("--words", "doctor", "--by", "text"),
        ("--words", "doctor", "--level", "2"),
    ):  # fmt: skip
        code, out, err = run(capsys, *count(made, *wrong))
        assert (code, out) == (2, ""), wrong
        assert err.startswith("error: "), wrong
    out_path, record, _ = made
    code, _, err = run(capsys, "count", out_path, "--record", record, "--words", "doctor")
    assert code == 2
    assert "another fingerprint" in err
