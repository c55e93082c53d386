"""A real local Dask cluster: the same contract as the other executors, and a worker killed."""

import contextlib
import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask.distributed import Client

from dpcore.errors import StudyError, TextError
from dpcore.jobs import executors
from dpcore.jobs.cluster import Cluster
from dpcore.study.runner import collected, run
from tests.needs import ROOT
from tests.study.tasks import KILL
from tests.study.test_runner import noise, plan, sources

TASKS = "tests.study.tasks"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask about itself
        with Cluster(workers=2) as opened:
            yield opened  # the last tests of this file kill its workers


def test_every_job_is_done_once_by_two_workers(cluster: Cluster) -> None:
    assert cluster.workers == 2
    results = list(cluster.run(f"{TASKS}:square", ({"x": x} for x in range(30))))
    assert sorted(p["x"] for p, _ in results) == list(range(30))
    assert all(result["square"] == p["x"] ** 2 for p, result in results)
    pids = {result["pid"] for _, result in results}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_failures_are_sentences(cluster: Cluster) -> None:
    with pytest.raises(StudyError, match=r"tasks\.py:\d+: KeyError"):
        list(cluster.run(f"{TASKS}:fail", [{"x": 1}]))


def test_a_refusal_crosses_the_network_as_it_is(cluster: Cluster, tmp_path: Path) -> None:
    refusing = plan(options=(("refuse", "baseline"),), seeds=(0,))
    with pytest.raises(TextError, match="baseline, seed 0: nothing to read here"):
        list(run(refusing, sources(refusing, tmp_path), tmp_path, executor=cluster))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "tcp://"])
def test_a_scheduler_that_is_not_there_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("dpcore.jobs.cluster._PATIENCE", 1.0)
    with pytest.raises(StudyError, match=r"no Dask scheduler answers at .*--workers"):
        Cluster(address).__enter__()
    # Collected later, at a moment of its own choosing, the failed client could stop a new one.
    assert not [x for x in gc.get_objects() if type(x) is Client and x.status != "running"]


def test_a_scheduler_is_used_by_its_address(cluster: Cluster) -> None:
    with executors.of(1, cluster._client.scheduler.address) as other:
        assert other.workers == 2
        results = list(other.run(f"{TASKS}:square", [{"x": 3}]))
    assert results[0][1]["square"] == 9
    still_there = next(cluster.run(f"{TASKS}:square", [{"x": 2}]))
    assert still_there[1]["square"] == 4


def test_a_scheduler_without_workers_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from dask.distributed import LocalCluster

    monkeypatch.setattr("dpcore.jobs.cluster._PATIENCE", 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(n_workers=0, dashboard_address=None)  # type: ignore[no-untyped-call]
        with cluster as empty:
            message = r"has no workers; start some with `dask worker tcp://"
            with pytest.raises(StudyError, match=message):
                Cluster(empty.scheduler_address).__enter__()


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_sentence() -> None:
    """Results finished before the failure have been yielded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Cluster(workers=1) as short:
            results = short.run(f"{TASKS}:square", ({"x": x} for x in range(10**6)))
            assert next(results)[1]["square"] >= 0
            short._client.cluster.close()
            with pytest.raises(StudyError, match=r"connection to the Dask scheduler .* was lost"):
                list(results)


LOSING = """
import os, sys
from dpcore.errors import StudyError
from dpcore.jobs.cluster import Cluster
from tests.study.tasks import KILL
try:
    with Cluster(sys.argv[1]) as cluster:
        jobs = cluster.run("tests.study.tasks:square", ({"x": x} for x in range(10**6)))
        next(jobs)
        os.kill(int(sys.argv[2]), KILL)
        list(jobs)
except StudyError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_scheduler_that_is_killed_prints_nothing_of_its_own(tmp_path: Path) -> None:
    """Seen from a process of its own, as a person sees it: one sentence and no traceback."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    place = tmp_path / "scheduler.json"
    dask = [sys.executable, "-W", "ignore", "-m", "dask"]
    options = ("--scheduler-file", str(place), "--no-dashboard")
    quiet: dict[str, Any] = {
        "env": environment,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    host = ("--host", "127.0.0.1", "--port", "0")
    with contextlib.ExitStack() as stack:
        started = []
        for kind in (("scheduler", *host), ("worker", "--nthreads", "1")):
            started.append(subprocess.Popen([*dask, *kind, *options], **quiet))
            stack.callback(started[-1].wait)
            stack.callback(started[-1].kill)
            end = time.monotonic() + 60
            while not place.exists() and time.monotonic() < end:
                time.sleep(0.05)
        address = json.loads(place.read_text(encoding="utf-8"))["address"]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LOSING, address, str(started[0].pid)],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert re.fullmatch(r"the connection to the Dask scheduler \S+ was lost; [^\n]+\n", done.stdout)
    assert done.stderr == ""


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """The killed worker was in the middle of a cell; the rows are those of an undisturbed run."""
    pausing = plan(options=(("pause", 0.3),))
    read = sources(pausing, tmp_path)
    pids = {result["pid"] for _, result in cluster.run(f"{TASKS}:square", [{"x": 1}] * 8)}
    victim = min(pids)
    killer = threading.Timer(0.5, os.kill, (victim, KILL))
    killer.start()
    done = list(run(pausing, read, tmp_path, executor=cluster))
    killer.join()
    assert len(done) == len(pausing.cells())
    undisturbed = [row for cell in run(pausing, read, tmp_path / "serial") for row in cell.rows]
    assert noise(collected(pausing, read, tmp_path)) == noise(undisturbed)
    end = time.monotonic() + 20  # the nanny starts another worker
    while time.monotonic() < end:
        workers = {r["pid"] for _, r in cluster.run(f"{TASKS}:square", [{"x": 1}] * 8)}
        if len(workers) == 2:
            break
    assert victim not in workers


@pytest.mark.slow
def test_a_job_that_kills_every_worker_ends_the_run(cluster: Cluster) -> None:
    with pytest.raises(StudyError, match="killed several Dask workers"):
        list(cluster.run(f"{TASKS}:die", [{"x": 1}]))


@pytest.mark.slow
def test_workers_that_do_not_come_back_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcore.jobs.cluster._PATIENCE", 1.0)
    monkeypatch.setattr("dpcore.jobs.cluster._LOOK", 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Cluster(workers=1) as short:
            results = short.run(f"{TASKS}:square", ({"x": x} for x in range(10**6)))
            assert next(results)[1]["square"] >= 0
            local = short._client.cluster
            local.sync(next(iter(local.workers.values())).close)  # with its nanny
            with pytest.raises(StudyError, match=r"all Dask workers are gone|was lost"):
                list(results)
