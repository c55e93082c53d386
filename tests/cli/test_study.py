"""The command `study`: its list, a run from end to end, and refusals."""

import dataclasses
import json
from pathlib import Path

import pytest

from dpcore.cli.main import main as cli
from dpcore.papers.studies import STUDIES
from dpcore.study.plan import Study
from dpcore.study.recorded import read_recorded
from tests.study.conftest import TINY


def test_the_list_names_every_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["study", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in STUDIES)
    assert "not recorded" not in printed
    assert cli(["study", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["studies"]
    assert [study["name"] for study in listed] == list(STUDIES)
    assert all(study["recorded"] and study["command"] for study in listed)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Study:
    """The tiny study on the bundled lexicon, without the slow series."""
    plan = dataclasses.replace(TINY.plan, lexicons=("bundled",), arms=(TINY.plan.arms[3],))
    study = dataclasses.replace(TINY, plan=plan, panels=())
    monkeypatch.setitem(STUDIES, "tiny", study)
    return study


def test_a_run_writes_what_it_prints(
    few: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["study", "run", "tiny", "--out", str(tmp_path / "out"), "--words", "3", "--json"]
    assert cli(run) == 0
    printed = json.loads(capsys.readouterr().out)
    recorded = read_recorded("tiny", tmp_path / "out")
    assert recorded.entry.to_json() == printed
    assert printed["command"] == "python -m dpcore study run tiny --words 3 --seed 0"
    assert cli(run[:-1]) == 0
    assert "of which 3 measured" in capsys.readouterr().out
    assert read_recorded("tiny", tmp_path / "out").table.equals(recorded.table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no study 'nothing'; there are: xu2021-figure-1-imdb"),
        (["xu2021-figure-1-snli"], "give their folder"),
        (["xu2021-figure-1-snli", "--data", "."], "does not hold snli_dev_test.parquet and glove"),
        (["tiny", "--words", "0"], "got 0"),
        (["tiny", "--seed", "-1"], "a seed is a whole number"),
    ],
)
def test_refusals(
    few: Study,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli(["study", "run", *arguments, "--out", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
    few: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli(["study", "run", "tiny", "--out", str(tmp_path / "file")]) == 2
    assert "cannot write results" in capsys.readouterr().err


def test_show_prints_means_over_trials_and_the_comparison(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["study", "show", "carvalho2021-figure-1", "--where", "epsilon=2"]
    command += ["--where", "quantity=accuracy", "--where", "label=tem"]
    assert cli([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    table = read_recorded("carvalho2021-figure-1").table
    table = table[(table["epsilon"] == 2) & (table["label"] == "tem")]
    for row in answer["rows"]:
        same = table[(table["quantity"] == "accuracy") & (table["learner"] == row["learner"])]
        values = same.loc[same["tested_on"] == row["tested_on"], "value"]
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-12)
        assert row["low"] < row["mean"] < row["high"]
        assert row["trials"] == len(values) == 5
    assert len(answer["rows"]) == 6  # three classifiers, on clean and on private text
    assert any(row["in_paper"] == "0.75" for row in answer["comparison"])
    assert cli(command) == 0
    assert "paper 0.75; here" in capsys.readouterr().out


def test_show_has_the_rows_of_a_study_of_words(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["study", "show", "bundled-mechanisms", "--where", "quantity=nw", "--where", "word="]
    assert cli([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    table = read_recorded("bundled-mechanisms").table
    assert len(answer["rows"]) == ((table["quantity"] == "nw") & (table["word"] == "")).sum()
    assert answer["comparison"] == []
    assert cli([*command, "--where", "no=1"]) == 2
    assert "no column 'no'" in capsys.readouterr().err
