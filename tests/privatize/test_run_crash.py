"""Killed at every file operation, a run is finished to the bit, or refused with advice."""

import json
import os
import subprocess
import sys

import pytest

from dpcore.jobs.worker import THREADS
from tests.needs import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks")

ALWAYS = ("txt", "1")
CASES: list[tuple[str, ...]] = [
    (kind, workers) for kind in ("txt", "csv", "jsonl", "parquet") for workers in ("1", "2")
]
CASES.append(("txt", "1", "release"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=" ".join(case), marks=() if case == ALWAYS else pytest.mark.full)
        for case in CASES
    ],
)
def test_no_kill_leaves_a_record_that_is_false(
    case: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.privatize.crash", *case],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | dict.fromkeys(THREADS, "1"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    points = answer["points"]
    with capsys.disabled():
        print(f"\n{' '.join(case)}: {points} points, {answer['states']} states", end=" ")
    assert answer["failures"] == []
    # Each span alone is written, marked and flushed: ten operations and more.
    assert points["run"] > 60
    assert (points["worker"] > 30) == (points["worker with all"] > 30) == (case[1] == "2")
    assert answer["states"] > 30
