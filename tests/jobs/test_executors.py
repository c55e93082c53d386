"""Executors: each job once, in any order; a worker that dies loses nothing; no orphans."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import MissingPackageError, ParameterError, StudyError, TextError
from dpcore.jobs import executors
from dpcore.jobs.executors import Serial
from dpcore.jobs.worker import outcome, perform, request
from tests.fixtures import Uninstall
from tests.needs import ROOT

TASKS = "tests.study.tasks"
KINDS = [1, 2]


def jobs(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"x": x, **more} for x in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("workers", KINDS)
def test_every_job_is_done_once(workers: int) -> None:
    with executors.of(workers) as pool:
        for _ in range(2):  # the workers of a pool can be used again
            results = list(pool.run(f"{TASKS}:square", jobs(20)))
            assert sorted(p["x"] for p, _ in results) == list(range(20))
            assert all(result["square"] == p["x"] ** 2 for p, result in results)
        others = {result["pid"] for _, result in results} - {os.getpid()}
    assert len(others) == (0 if workers == 1 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [executors.Serial, lambda hear: executors.Processes(2, hear)])
def test_what_a_job_tells_is_heard_before_its_result(
    kind: Callable[..., Any] | type[Serial],
) -> None:
    heard: list[Any] = []
    with kind(heard.append) as pool:
        for payload, result in pool.run(f"{TASKS}:tell_of_it", jobs(6)):
            told = [report["half"] for report in heard if report["of"] == payload["x"]]
            assert told == [1, 2]
            assert result == {"square": payload["x"] ** 2}
    assert len(heard) == 12


@pytest.mark.parametrize("workers", KINDS)
def test_jobs_are_asked_for_only_a_few_ahead(workers: int) -> None:
    asked = []

    def endless() -> Iterator[dict[str, int]]:
        for x in range(10**9):
            asked.append(x)
            yield {"x": x}

    with executors.of(workers) as pool:
        results = list(islice(pool.run(f"{TASKS}:square", endless()), 5))
    assert len(results) == 5
    assert len(asked) <= 5 + 3 * workers


@pytest.mark.slow
def test_a_worker_that_dies_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    with executors.of(2) as pool:
        results = list(pool.run(f"{TASKS}:die_once", jobs(12, at=5, mark=mark)))
    assert sorted(p["x"] for p, _ in results) == list(range(12))
    assert os.path.exists(mark)  # noqa: PTH110 - the worker did die


@pytest.mark.slow
def test_a_job_that_kills_every_worker_ends_the_run() -> None:
    with executors.of(2) as pool:
        with pytest.raises(StudyError, match="died 3 times in the same job"):
            list(pool.run(f"{TASKS}:die", jobs(1)))
        assert next(pool.run(f"{TASKS}:square", jobs(1)))[1]["square"] == 0


@pytest.mark.parametrize("workers", KINDS)
def test_what_no_worker_expects_names_file_and_line(workers: int) -> None:
    with executors.of(workers) as pool, pytest.raises(StudyError, match=r"tasks\.py:\d+: KeyError"):
        list(pool.run(f"{TASKS}:fail", jobs(1)))


@pytest.mark.slow
def test_what_a_library_prints_is_no_answer() -> None:
    with executors.of(2) as pool:
        results = list(pool.run(f"{TASKS}:print_much", jobs(3)))
    assert sorted(result["x"] for _, result in results) == [0, 1, 2]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Return True if a process that is not our child ends in time."""
    end = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def test_closing_a_run_ends_its_jobs(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    def some() -> Iterator[dict[str, str]]:
        yield {"mark": str(mark)}
        while not (mark.exists() and mark.read_text()):
            time.sleep(0.01)
        raise TextError("enough")

    with executors.of(2) as pool, pytest.raises(TextError, match="enough"):
        list(pool.run(f"{TASKS}:wait", some()))
    assert gone(int(mark.read_text()))


def test_workers_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = (
        "from dpcore.jobs import executors\n"
        "with executors.of(2) as pool:\n"
        f"    list(pool.run('{TASKS}:wait', [{{'mark': {str(mark)!r}}}]))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    end = time.monotonic() + 30
    while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    assert gone(int(mark.read_text()))


def test_a_worker_of_another_version_refuses() -> None:
    sent = request(f"{TASKS}:square", {"x": 1}) | {"version": "0.0.0"}
    with pytest.raises(StudyError, match="same version"):
        outcome(perform(sent))


@pytest.mark.parametrize("workers", [0, -1, 10_000])
def test_a_wrong_number_of_workers_is_refused(workers: int) -> None:
    with pytest.raises(ParameterError, match="1 to 256"):
        executors.of(workers)


def test_a_scheduler_without_dask_says_what_to_install(uninstalled: Uninstall) -> None:
    uninstalled("dask")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-dask\.txt"):
        executors.of(1, "tcp://127.0.0.1:1")
