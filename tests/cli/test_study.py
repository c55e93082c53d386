"""The command `study`: what is listed, a run from end to end, and refusals."""

import dataclasses
import json

import pytest

from dpcore.cli import main as cli
from dpcore.papers.studies import STUDIES
from dpcore.study.results import read_recorded
from tests.study.conftest import tiny  # noqa: F401 - a fixture


def test_the_list_names_every_study(capsys):
    assert cli.main(["study", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in STUDIES)
    assert "not recorded" not in printed
    assert cli.main(["study", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["studies"]
    assert [study["name"] for study in found] == list(STUDIES)
    assert all(study["recorded"] and study["command"] for study in found)


@pytest.fixture
def few(tiny, monkeypatch):  # noqa: F811
    """The tiny study on the bundled lexicon, without the slow series."""
    study = dataclasses.replace(tiny, vocabulary="bundled", series=(tiny.series[3],), panels=())
    monkeypatch.setitem(STUDIES, "tiny", study)
    return study


def test_a_run_writes_what_it_prints(few, tmp_path, capsys):
    run = ["study", "run", "tiny", "--out", str(tmp_path / "out"), "--words", "3", "--json"]
    assert cli.main(run) == 0
    printed = json.loads(capsys.readouterr().out)
    found = read_recorded("tiny", tmp_path / "out")
    assert dataclasses.asdict(found.entry) == printed
    assert printed["command"] == "python -m dpcore study run tiny --words 3 --seed 0"
    assert cli.main(run[:-1]) == 0
    assert "of which 3 measured" in capsys.readouterr().out
    assert read_recorded("tiny", tmp_path / "out").table.equals(found.table)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "no study 'nothing'; there are: xu2021-figure-1-imdb"),
        (["xu2021-figure-1-snli"], "give their folder"),
        (["xu2021-figure-1-snli", "--data", "."], "does not hold snli_dev_test.parquet and glove"),
        (["tiny", "--words", "0"], "got 0"),
        (["tiny", "--seed", "-1"], "a seed is a whole number"),
    ],
)
def test_refusals(few, arguments, said, tmp_path, capsys):
    assert cli.main(["study", "run", *arguments, "--out", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(few, tmp_path, capsys):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli.main(["study", "run", "tiny", "--out", str(tmp_path / "file")]) == 2
    assert "cannot write results" in capsys.readouterr().err
