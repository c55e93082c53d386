"""Maps built in the background: shared, stopped, failed, waiting."""

import gc
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import ParameterError
from dpcore.jobs.background import BACKGROUND
from dpcore.lexicon.catalogue import write_stored
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.maps import fit
from dpcore.measure.maps import jobs as map_jobs
from tests.mechanisms import lexicons
from tests.needs import ROOT

LONG = 60.0  # seconds that no step here takes; reached only if something hangs
RUNNING = map_jobs._MAPS.running


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for run in list(RUNNING.values()):
        while run.shares:
            run.lose()
        assert run.ended.wait(LONG)


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that replaces the building by one of `tests.measure.maps.building`."""

    def replace(name: str) -> None:
        monkeypatch.setattr(map_jobs._MAPS, "function", f"tests.measure.maps.building:{name}")

    return replace


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def prepares(job: Any) -> None:
    until(lambda: job.progress()[1].startswith("Preparing"))


def gone(pid: int) -> bool:
    """Return True if a process has ended, or is a zombie of its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_job_builds_the_map_in_another_process(cache: Path, middle: Lexicon) -> None:
    job = map_jobs.start(middle, "pca")
    assert job.wait(LONG)
    assert (job.done, job.error) == (True, None)
    shown = fit.vocabulary_map(middle, "pca")
    assert len(shown) == len(middle)
    assert map_jobs.start(middle, "pca") is None
    assert not RUNNING


def test_a_lexicon_of_the_catalogue_is_named_and_another_one_is_handed_over(
    cache: Path, small: Lexicon, instead: Callable[[str], None]
) -> None:
    instead("note")
    assert map_jobs.start(small, "umap", [4, 2], 20, seed=7).wait(LONG)
    request = json.loads((cache / "asked").read_text())
    assert request["there"]
    assert not Path(request["lexicon"]).exists()  # when it is no longer needed
    assert request["plan"] == {
        "projection": "umap", "centres": [2, 4], "neighbours": 20, "seed": 7
    }  # fmt: skip
    write_stored(small, cache / "lexicons" / "mine", {})
    assert map_jobs.start(small, "umap").wait(LONG)
    assert json.loads((cache / "asked").read_text())["lexicon"] == "mine"


@pytest.mark.full
def test_a_map_around_words_is_built_as_it_was_asked_for(cache: Path, middle: Lexicon) -> None:
    assert map_jobs.start(middle, "umap", [7, 3], 40, seed=2).wait(LONG)
    assert fit.local_map(middle, [7, 3], 40, "umap", seed=2).centres == (7, 3)


def test_sessions_share_one_process_that_stops_when_all_have_stopped(
    cache: Path, small: Lexicon, instead: Callable[[str], None]
) -> None:
    instead("wait")
    jobs = [map_jobs.start(small, "umap") for _ in range(3)]
    (run,) = RUNNING.values()
    prepares(jobs[0])
    pid = int((cache / "pid").read_text())
    jobs[0].stop()
    jobs[0].stop()
    assert jobs[0].done
    assert jobs[0].wait(0)
    assert not run.ended.is_set()
    assert (jobs[1].done, jobs[1].error) == (False, None)
    jobs[1].stop()
    assert not gone(pid)
    del jobs[2]  # a session that went away does not keep the process alive
    gc.collect()
    assert run.ended.wait(LONG)
    assert gone(pid)
    assert not RUNNING


@pytest.mark.slow
def test_a_stopped_map_can_be_asked_for_again(
    middle: Lexicon, instead: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    building = map_jobs._MAPS.function
    instead("wait")
    job = map_jobs.start(middle, "pca")
    prepares(job)
    job.stop()
    monkeypatch.setattr(map_jobs._MAPS, "function", building)
    again = map_jobs.start(middle, "pca")
    assert again.wait(LONG)
    assert again.error is None
    assert len(fit.vocabulary_map(middle, "pca")) == len(middle)


def test_only_one_map_is_built_at_a_time(
    cache: Path, small: Lexicon, middle: Lexicon, instead: Callable[[str], None]
) -> None:
    instead("wait")
    first = map_jobs.start(small, "umap")
    prepares(first)
    second = map_jobs.start(middle, "umap")
    assert second.progress() == (0.0, "Waiting: 1 before you")
    third = map_jobs.start(middle, "densmap")
    assert third.progress() == (0.0, "Waiting: 2 before you")
    third.stop()
    assert third.wait(LONG)
    before = (cache / "pid").read_text()
    first.stop()
    prepares(second)
    assert (cache / "pid").read_text() != before


def test_progress_grows_and_says_the_time_left(
    small: Lexicon, instead: Callable[[str], None]
) -> None:
    instead("go_through")
    job = map_jobs.start(small, "umap")
    seen: list[Any] = []

    def told() -> bool:
        now = job.progress()
        if not seen or seen[-1] != now:
            seen.append(now)
        return now[1].startswith("Measuring")

    until(told)
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] < 1
    assert any(re.search(r"400 of 500, about \d+ s left$", text) for _, text in seen)


AGAIN = "; try again, or see what it says with: python -m dpcore map build --projection umap"
FAILURES = {
    "refuse": "too few of them$",
    "fail": rf"a worker failed at building\.py:\d+: RuntimeError.*{AGAIN}",
    "die": rf"a worker process died \(out of memory\?\).*{AGAIN}",
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_sentence(
    small: Lexicon, instead: Callable[[str], None], name: str
) -> None:
    instead(name)
    job = map_jobs.start(small, "umap")
    assert job.wait(LONG)
    assert job.error is not None
    assert re.match(FAILURES[name], job.error)
    assert "\n" not in job.error
    assert not RUNNING


def test_what_could_not_be_kept_is_refused_before_or_after(
    small: Lexicon, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file, where a folder should be", encoding="utf-8")
    job = map_jobs.start(small, "umap")
    assert job.wait(LONG)
    assert job.error is not None
    assert re.match("a map is kept in .* name another folder in DPCORE_CACHE", job.error)
    cache.unlink()
    cache.mkdir()
    write_stored(small, cache / "lexicons" / "mine", {})
    monkeypatch.setattr(fit, "keep_map", lambda *_: False)  # the disk is full by now
    plan = {"projection": "pca", "seed": 0, "centres": [], "neighbours": 0}
    with pytest.raises(ParameterError, match="the map could not be kept in"):
        map_jobs.build({"lexicon": "mine", "plan": plan}, lambda told: None)


def test_a_program_that_cannot_be_started_is_one_sentence(
    small: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    job = map_jobs.start(small, "umap")
    assert job.wait(LONG)
    assert job.error.startswith("this cannot be done here (No such file")


def test_what_cannot_be_built_is_refused_at_once(small: Lexicon) -> None:
    with pytest.raises(ParameterError, match="use local_map"):
        map_jobs.start(small, "pca", [1], 20)
    with pytest.raises(ParameterError, match="needs at least"):
        map_jobs.start(lexicons.cloud(5, 3), "umap")
    with pytest.raises(ParameterError, match="k must be"):
        map_jobs.start(small, "umap", [1], 60)
    assert not RUNNING
    assert not [thread for thread in threading.enumerate() if thread.name == BACKGROUND]


def test_nothing_runs_on_when_the_server_ends(cache: Path) -> None:
    """At the end of the process its children are stopped."""
    program = (
        "import os, pathlib, time\n"
        "from dpcore.measure.maps import jobs as map_jobs\n"
        "from tests.mechanisms import lexicons\n"
        "map_jobs._MAPS.function = 'tests.measure.maps.building:wait'\n"
        "job = map_jobs.start(lexicons.cloud(60, 4), 'umap')\n"
        "while not job.progress()[1].startswith('Preparing'):\n"
        "    time.sleep(0.01)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=LONG, capture_output=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    pid = int((cache / "pid").read_text())
    until(lambda: gone(pid))
