"""Running a plan: the same rows however it is run, and never the same work twice."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import LexiconError, StudyError, TextError
from dpcore.jobs import executors
from dpcore.study.plan import BASELINE, COLUMNS, Arm, Plan, Row
from dpcore.study.runner import Sources, collected, gather, run
from tests.mechanisms import lexicons
from tests.needs import ROOT

ARMS = (Arm("tem", (1.0, 2.0, 3.0)), Arm(BASELINE))
LEXICON = lexicons.cloud(40, 5)
SLOWLY = {"options": (("pause", 0.15),)}


def plan(**changed: Any) -> Plan:
    fields = {"name": "p", "task": "tests.study.tasks:measure", "arms": ARMS, "seeds": (0, 1)}
    return Plan(**fields | {"lexicons": ("small",)} | changed)


def sources(toy: Plan, folder: Path, **files: Any) -> Sources:
    return gather(toy, folder, lexicons={"small": LEXICON}, files=files)


def noise(rows: Iterable[Row]) -> list[Row]:
    return [{k: row[k] for k in (*COLUMNS[:6], "noise", "shared")} for row in rows]


def left(toy: Plan, read: Sources, folder: Path) -> int:
    """Cells that are still to be done: each gives one row."""
    return len(toy.cells()) - len(collected(toy, read, folder))


@pytest.mark.slow
def test_rows_are_the_same_for_any_number_of_workers_and_order(tmp_path: Path) -> None:
    toy = plan()
    result = []
    for number, workers in enumerate((1, 2, 3)):
        folder = tmp_path / str(number)
        read = sources(toy, folder)
        with executors.of(workers) as pool:
            done = list(run(toy, read, folder, executor=pool))
        assert sorted(d.cell.label for d in done) == sorted(c.label for c in toy.cells())
        result.append(collected(toy, read, folder))
    assert noise(result[0]) == noise(result[1]) == noise(result[2])
    assert [row["epsilon"] for row in result[0][:4]] == [1.0, 2.0, 3.0, None]
    assert {row["threads"] for row in result[2]} == {"1"}
    assert {row["mapped"] for row in result[2] if row["mechanism"]} == {True}
    assert len({row["noise"] for row in result[0]}) == len(toy.cells())


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    toy, steps = plan(), []
    read = sources(toy, tmp_path)
    first = list(islice(run(toy, read, tmp_path), 3))
    assert left(toy, read, tmp_path) == len(toy.cells()) - 3
    again = list(run(toy, read, tmp_path, progress=lambda *step: steps.append(step)))
    assert [d.again for d in again] == [True] * 3 + [False] * 5
    assert [d.rows for d in again[:3]] == [d.rows for d in first]
    assert steps[0][1:] == (0, 5)
    assert steps[-1][1:] == (5, 5)
    assert "3 were done before" in steps[-1][0]
    more = plan(arms=(*ARMS, Arm("tem", (4.0,), label="more")))
    assert left(more, sources(more, tmp_path), tmp_path) == 2


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    toy = plan(**SLOWLY)
    program = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from dpcore.jobs import executors\n"
        "from dpcore.study import runner\n"
        "from tests.study.test_runner import SLOWLY, plan\n"
        "read = runner.Sources.from_json(json.loads(sys.stdin.read()))\n"
        "with executors.of(2) as pool:\n"
        f"    list(runner.run(plan(**SLOWLY), read, Path({str(folder)!r}), executor=pool))\n"
    )
    read = sources(toy, folder)
    sent = json.dumps(read.to_json())
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, text=True
    )
    process.stdin.write(sent)
    process.stdin.close()
    end = time.monotonic() + 60
    while left(toy, read, folder) > 5 and time.monotonic() < end:
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = len(toy.cells()) - left(toy, read, folder)
    assert 3 <= before < len(toy.cells())
    with executors.of(2) as pool:
        done = list(run(toy, read, folder, executor=pool))
    assert sum(d.again for d in done) == before
    undisturbed = list(run(toy, read, tmp_path / "whole"))
    assert noise(collected(toy, read, folder)) == noise(r for d in undisturbed for r in d.rows)


def test_a_damaged_cell_is_done_again(tmp_path: Path) -> None:
    toy = plan()
    read = sources(toy, tmp_path)
    whole = noise(row for done in run(toy, read, tmp_path) for row in done.rows)
    for path, text in zip(
        sorted((tmp_path / "cells").iterdir()), ("", "{", "[]", '{"cell": {}}', "\0"), strict=False
    ):
        path.write_text(text, encoding="utf-8")
    assert left(toy, read, tmp_path) == 5
    assert noise(row for row in collected(toy, read, tmp_path)) != whole
    list(run(toy, read, tmp_path))
    assert noise(collected(toy, read, tmp_path)) == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refusal_names_the_cell_and_keeps_the_others(tmp_path: Path, workers: int) -> None:
    toy = plan(options=(("refuse", "baseline"),), seeds=(0,))
    read = sources(toy, tmp_path)
    message = "baseline, seed 0: nothing to read here"
    with executors.of(workers) as pool, pytest.raises(TextError, match=message):
        list(run(toy, read, tmp_path, executor=pool))
    assert left(toy, read, tmp_path) <= 3


def test_a_changed_file_or_lexicon_is_refused_by_the_worker(tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("one", encoding="utf-8")
    toy = plan(data=("a",), seeds=(3,))
    read = sources(toy, tmp_path, a=data)
    assert read.file("a") == data.resolve()
    assert Sources.from_json(json.loads(json.dumps(read.to_json()))) == read
    data.write_text("two", encoding="utf-8")
    changed = sources(toy, tmp_path, a=data)
    data.write_text("three", encoding="utf-8")
    with pytest.raises(StudyError, match="changed since the run began"):
        changed.file("a")
    data.unlink()
    with pytest.raises(StudyError, match="no file for the data a"):
        sources(toy, tmp_path, a=data)
    place = dict(read.lexicons)["small"]
    other = Sources((("small", type(place)(place.path, "0" * 64)),), ())
    with pytest.raises(LexiconError, match="another one than the run began with"):
        other.lexicon("small")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(StudyError, match="cannot write"):
        sources(plan(), blocked)
    read = sources(plan(), tmp_path)
    with pytest.raises(StudyError, match="cannot write to"):
        list(run(plan(), read, blocked))
