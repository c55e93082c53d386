"""Recorded results on disk: a round trip, and every kind of damage refused by name."""

import dataclasses
import json

import pandas as pd
import pytest

from dpcore.errors import StudyError
from dpcore.study.manifest import MANIFEST, check_writable
from dpcore.study.recording import Options, record
from dpcore.study.results import (
    check_table,
    read_manifest,
    read_recorded,
    write_recorded,
)


@pytest.fixture(scope="module")
def made(tiny, vocabulary):
    return record(tiny, vocabulary, Options())


@pytest.fixture
def folder(tmp_path, made):
    write_recorded(*made, tmp_path / "out")
    return tmp_path / "out"


def test_what_is_written_is_read(folder, made):
    found = read_recorded("tiny", folder)
    pd.testing.assert_frame_equal(found.table, made[1], check_exact=True, check_dtype=False)
    assert found.entry == dataclasses.replace(
        made[0], file=found.entry.file, sha256=found.entry.sha256
    )
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "tiny.parquet"]


def test_a_second_study_joins_and_the_same_one_replaces(folder, made):
    entry, table = made
    write_recorded(dataclasses.replace(entry, name="another"), table, folder)
    write_recorded(dataclasses.replace(entry, seconds=7.0), table, folder)
    entries = {one.name: one for one in read_manifest(folder)}
    assert set(entries) == {"another", "tiny"}
    assert entries["tiny"].seconds == 7.0


def test_a_changed_table_is_refused(folder):
    path = folder / "tiny.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StudyError, match="damaged: its SHA-256"):
        read_recorded("tiny", folder)
    path.unlink()
    with pytest.raises(StudyError, match="cannot be read"):
        read_recorded("tiny", folder)


def _edit(folder, change):
    path = folder / MANIFEST
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_text(json.dumps(facts), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(format=2), "format 1"),
        (lambda m: m["runs"][0].pop("seed"), "seed"),
        (lambda m: m["runs"][0].update(more=1), "more"),
        (lambda m: m["runs"][0].update(seed="0"), "'seed'.*wrong type"),
        (lambda m: m["runs"][0].update(file="../tiny.parquet"), "beside the manifest"),
        (lambda m: m["runs"].append(m["runs"][0]), "twice"),
    ],
)
def test_a_damaged_manifest_is_refused(folder, change, said):
    _edit(folder, change)
    with pytest.raises(StudyError, match=said):
        read_manifest(folder)


def test_what_is_no_manifest_is_refused(tmp_path, folder):
    with pytest.raises(StudyError, match="no recorded results"):
        read_manifest(tmp_path / "nowhere")
    (folder / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(StudyError, match="not JSON"):
        read_manifest(folder)


def test_an_unknown_study_names_the_recorded_ones(folder):
    with pytest.raises(StudyError, match="recorded are: tiny"):
        read_recorded("nothing", folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop(columns="mean"), "has the columns"),
        (lambda t: t.assign(mean=t["mean"].astype(str)), "wrong type.*mean"),
        (lambda t: t.assign(epsilon=-t["epsilon"]), "ε finite"),
        (lambda t: t.assign(status="perhaps"), "status"),
        (lambda t: t.assign(mean=t["mean"] + 1.5), "nw outside"),
        (lambda t: t.assign(worst=t["worst"].where(t["quantity"] != "sw", 99.0)), "sw outside"),
        (lambda t: t[:0], "needs rows"),
    ],
)
def test_a_wrong_table_is_refused(made, change, said):
    with pytest.raises(StudyError, match=said):
        check_table(change(made[1]), 50)


def test_a_folder_that_is_a_file_cannot_be_written(tmp_path, made):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for write in (check_writable, lambda folder: write_recorded(*made, folder)):
        with pytest.raises(StudyError, match="cannot write results"):
            write(tmp_path / "file")
    check_writable(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
