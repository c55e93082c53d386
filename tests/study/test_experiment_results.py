"""Recorded experiments on disk: a round trip, and every kind of damage refused by name."""

import dataclasses
import json

import pytest

from dpcore.errors import StudyError
from dpcore.study.experiment_results import (
    ExperimentEntry,
    check_experiment,
    read_experiment,
    read_experiments,
    tidy,
    write_experiment,
)
from dpcore.study.manifest import MANIFEST
from dpcore.study.rows import COLUMNS, row
from dpcore.study.wrong_answers import EXAMPLE, TEXTS

ENTRY = ExperimentEntry(
    "toy", "A toy", "", "make it", {"arms": []}, "few", "0.1.0", "2026-01-01", 1.5, 1,
    [{"name": "l"}], {"a": "0"}, {"scipy": "1"}, {"cores": 2}, "", "",
)  # fmt: skip
OWN = {"label": "tem", "mechanism": "tem", "lexicon": "l", "data": "d", "seed": 0}


def table():
    rows = [OWN | row("accuracy", 0.7, epsilon=1.0, learner="a"), OWN | row("bleu", 55.0)]
    return tidy(rows)


@pytest.fixture
def folder(tmp_path):
    write_experiment(ENTRY, table(), tmp_path / "out")
    return tmp_path / "out"


def test_what_is_written_is_read(folder):
    found = read_experiment("toy", folder)
    assert tuple(found.table.columns) == COLUMNS
    assert found.rows("accuracy", learner="a")["value"].tolist() == [0.7]
    assert found.rows("accuracy", learner="b").empty
    assert found.table["epsilon"].isna().tolist() == [False, True]
    changed = dataclasses.replace(ENTRY, file=found.entry.file, sha256=found.entry.sha256)
    assert found.entry == changed
    write_experiment(dataclasses.replace(ENTRY, name="second"), table(), folder)
    write_experiment(dataclasses.replace(ENTRY, seconds=9.0), table(), folder)
    assert [entry.name for entry in read_experiments(folder)] == ["second", "toy"]
    assert read_experiment("toy", folder).entry.seconds == 9.0


def test_examples_are_kept_beside_the_numbers(folder):
    example = {"quantity": EXAMPLE, "epsilon": 1.0, "original": "a", "private": "b"}
    both = tidy([OWN | row("nw", 0.5), OWN | example | {"true": "x", "guessed": "y"}])
    write_experiment(ENTRY, both, folder)
    found = read_experiment("toy", folder)
    assert tuple(found.table.columns) == COLUMNS
    assert found.table["quantity"].tolist() == ["nw"]
    assert found.examples[[*TEXTS]].to_numpy().tolist() == [["a", "b", "x", "y"]]
    write_experiment(ENTRY, table(), folder)
    assert read_experiment("toy", folder).examples is None


def test_a_changed_table_is_refused(folder):
    path = folder / "toy.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StudyError, match="damaged: its SHA-256"):
        read_experiment("toy", folder)
    path.unlink()
    with pytest.raises(StudyError, match="cannot be read"):
        read_experiment("toy", folder)
    with pytest.raises(StudyError, match="recorded are: toy"):
        read_experiment("nothing", folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(format=2), "format 1"),
        (lambda m: m["experiments"][0].pop("plan"), "too many fields"),
        (lambda m: m["experiments"][0].update(workers="1"), "'workers'.*wrong type"),
        (lambda m: m["experiments"][0].update(file="../toy.parquet"), "beside the manifest"),
    ],
)
def test_a_damaged_manifest_is_refused(folder, change, said):
    path = folder / MANIFEST
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(StudyError, match=said):
        read_experiments(folder)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(StudyError, match="not JSON"):
        read_experiments(folder)
    path.unlink()
    with pytest.raises(StudyError, match="no recorded experiments"):
        read_experiments(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop(columns="value"), "has the columns"),
        (lambda t: t[:0], "needs rows"),
        (lambda t: t.assign(value=t["value"].astype(str)), "numbers where"),
        (lambda t: t.assign(epsilon=-1.0), "ε of an experiment"),
        (lambda t: t.assign(value=1.5), "share outside"),
        (lambda t: t.assign(value=float("nan")), "share outside"),
    ],
)
def test_a_wrong_table_is_refused(change, said):
    with pytest.raises(StudyError, match=said):
        check_experiment(change(table()))


def test_a_folder_that_is_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StudyError, match="cannot write results"):
        write_experiment(ENTRY, table(), tmp_path / "file")
