"""Recorded studies on disk, of both kinds: a round trip, and every damage refused by name."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpcore.errors import StudyError
from dpcore.study.plan import COLUMNS, row
from dpcore.study.recorded import (
    MANIFEST,
    Entry,
    check_writable,
    read_manifest,
    read_recorded,
    write_recorded,
)
from dpcore.study.tables import EXAMPLE, TEXTS, check_trials, check_words, tidy

ENTRY = Entry(
    name="toy", title="A toy", source="", command="make it", plan={"arms": []}, sizes="few",
    version="0.1.0", date="2026-01-01", seconds=1.5, workers=1, lexicons=[{"name": "l"}],
    data={"a": "0"}, packages={"scipy": "1"}, machine={"cores": 2},
)  # fmt: skip
OWN = {"label": "tem", "mechanism": "tem", "lexicon": "l", "data": "d", "seed": 0}
KINDS = ("runs", "experiments")


def trials() -> pd.DataFrame:
    return tidy([OWN | row("accuracy", 0.7, epsilon=1.0, learner="a"), OWN | row("bleu", 55.0)])


@pytest.fixture(scope="module")
def words(record_tiny: Callable[..., Any]) -> Any:
    return record_tiny()


@pytest.fixture(params=KINDS)
def recording(request: pytest.FixtureRequest, words: Any) -> Any:
    return words if request.param == "runs" else (ENTRY, trials())


@pytest.fixture
def folder(tmp_path: Path, recording: Any) -> Path:
    write_recorded(recording[0], recording[1], tmp_path / "out")
    return tmp_path / "out"


def test_what_is_written_is_read(folder: Path, recording: Any) -> None:
    entry, table = recording
    recorded = read_recorded(entry.name, folder)
    pd.testing.assert_frame_equal(recorded.table, table, check_exact=True, check_dtype=False)
    assert recorded.entry == dataclasses.replace(
        entry, file=recorded.entry.file, sha256=recorded.entry.sha256
    )
    assert recorded.entry.of_words == entry.of_words
    files = sorted(path.name for path in folder.iterdir())
    assert files == [MANIFEST, f"{entry.name}.parquet"]


def test_rows_are_those_of_a_quantity_with_these_values(tmp_path: Path, words: Any) -> None:
    write_recorded(ENTRY, trials(), tmp_path / "trials")
    recorded = read_recorded("toy", tmp_path / "trials")
    assert tuple(recorded.table.columns) == COLUMNS
    assert recorded.rows("accuracy", learner="a")["value"].tolist() == [0.7]
    assert recorded.rows("accuracy", learner="b").empty
    assert recorded.table["epsilon"].isna().tolist() == [False, True]
    write_recorded(words[0], words[1], tmp_path / "words")
    measured = read_recorded("tiny", tmp_path / "words")
    assert set(measured.rows("nw")["word"]) == {""}
    assert set(measured.rows("nw", word="w3")["series"]) == {"madlib, words"}


def test_a_second_study_joins_and_the_same_one_replaces(folder: Path, recording: Any) -> None:
    entry, table = recording
    write_recorded(dataclasses.replace(entry, name="another"), table, folder)
    write_recorded(dataclasses.replace(entry, seconds=7.0), table, folder)
    assert [other.name for other in read_manifest(folder)] == ["another", entry.name]
    assert read_recorded(entry.name, folder).entry.seconds == 7.0


def test_one_folder_holds_one_kind(tmp_path: Path, words: Any) -> None:
    write_recorded(ENTRY, trials(), tmp_path)
    with pytest.raises(StudyError, match="of another kind"):
        write_recorded(words[0], words[1], tmp_path)


def test_examples_are_kept_beside_the_numbers(tmp_path: Path) -> None:
    example = {"quantity": EXAMPLE, "epsilon": 1.0, "original": "a", "private": "b"}
    both = tidy([OWN | row("nw", 0.5), OWN | example | {"true": "x", "guessed": "y"}])
    write_recorded(ENTRY, both, tmp_path)
    recorded = read_recorded("toy", tmp_path)
    assert tuple(recorded.table.columns) == COLUMNS
    assert recorded.table["quantity"].tolist() == ["nw"]
    assert recorded.examples[[*TEXTS]].to_numpy().tolist() == [["a", "b", "x", "y"]]
    write_recorded(ENTRY, trials(), tmp_path)
    assert read_recorded("toy", tmp_path).examples is None


def test_a_changed_table_is_refused(folder: Path, recording: Any) -> None:
    name = recording[0].name
    path = folder / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StudyError, match="damaged: its SHA-256"):
        read_recorded(name, folder)
    path.unlink()
    with pytest.raises(StudyError, match="cannot be read"):
        read_recorded(name, folder)


def _edit(folder: Path, change: Callable[..., Any]) -> None:
    path = folder / MANIFEST
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts, next(name for name in KINDS if name in facts))
    path.write_text(json.dumps(facts), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, _: m.update(format=2), "format 1"),
        (lambda m, kind: m[kind][0].pop("machine"), "machine"),
        (lambda m, kind: m[kind][0].update(more=1), "more"),
        (lambda m, kind: m[kind][0].update(date=0), "'date'.*wrong type"),
        (lambda m, kind: m[kind][0].update(file="../tiny.parquet"), "beside the manifest"),
        (lambda m, kind: m[kind].append(m[kind][0]), "twice"),
        (lambda m, kind: m.update({kind: {}}), "lists no results"),
    ],
)
def test_a_damaged_manifest_is_refused(
    folder: Path, change: Callable[..., Any], message: str
) -> None:
    _edit(folder, change)
    with pytest.raises(StudyError, match=message):
        read_manifest(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: entry.pop("plan"), "too many fields"),
        (lambda entry: entry.update(seed=1), "too many fields: seed"),
        (lambda entry: entry.update(workers="1"), "'workers'.*wrong type"),
    ],
)
def test_an_entry_of_an_experiment_has_the_fields_of_one(
    tmp_path: Path, change: Callable[..., Any], message: str
) -> None:
    write_recorded(ENTRY, trials(), tmp_path)
    _edit(tmp_path, lambda m, kind: change(m[kind][0]))
    with pytest.raises(StudyError, match=message):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: entry.pop("seed"), "seed"),
        (lambda entry: entry.update(seed="0"), "'seed'.*wrong type"),
    ],
)
def test_an_entry_of_words_has_the_fields_of_one(
    tmp_path: Path, words: Any, change: Callable[..., Any], message: str
) -> None:
    write_recorded(words[0], words[1], tmp_path)
    _edit(tmp_path, lambda m, kind: change(m[kind][0]))
    with pytest.raises(StudyError, match=message):
        read_manifest(tmp_path)


def test_anything_but_a_manifest_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StudyError, match="no recorded results"):
        read_manifest(tmp_path / "nowhere")
    (folder / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(StudyError, match="not JSON"):
        read_manifest(folder)


def test_an_unknown_study_names_the_recorded_ones(folder: Path, recording: Any) -> None:
    with pytest.raises(StudyError, match=f"recorded are: {recording[0].name}"):
        read_recorded("nothing", folder)


@pytest.mark.parametrize(
    ("change", "message"),
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
def test_a_wrong_table_of_words_is_refused(
    words: Any, change: Callable[..., Any], message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        check_words(change(words[1]), 50)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="value"), "has the columns"),
        (lambda t: t[:0], "needs rows"),
        (lambda t: t.assign(value=t["value"].astype(str)), "numbers where"),
        (lambda t: t.assign(epsilon=-1.0), "ε of an experiment"),
        (lambda t: t.assign(value=1.5), "share outside"),
        (lambda t: t.assign(value=float("nan")), "share outside"),
    ],
)
def test_a_wrong_table_of_trials_is_refused(change: Callable[..., Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        check_trials(change(trials()))


def test_a_folder_that_is_a_file_cannot_be_written(tmp_path: Path, recording: Any) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for write in (
        check_writable,
        lambda folder: write_recorded(recording[0], recording[1], folder),
    ):
        with pytest.raises(StudyError, match="cannot write results"):
            write(tmp_path / "file")
    check_writable(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
