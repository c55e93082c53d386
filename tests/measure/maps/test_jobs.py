"""Maps in a process of their own: shared, stopped, failed, waiting."""

import gc
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dpcore.errors import ParameterError
from dpcore.lexicon.stored import write_stored
from dpcore.measure.maps import jobs as map_jobs
from dpcore.measure.maps import maps
from tests.mechanisms import lexicons

LONG = 60.0  # seconds that no step here takes; reached only if something hangs


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for run in list(map_jobs._running.values()):
        run.stop()
        assert run.ended.wait(LONG)


@pytest.fixture
def instead(monkeypatch):
    """A function that replaces the program of a job; it finds its request in `request`."""

    def replace(program: str) -> None:
        head = "import json, sys, time\nrequest = json.load(sys.stdin)\n"
        monkeypatch.setattr(map_jobs, "COMMAND", (sys.executable, "-c", head + program))

    return replace


def say(stage: str, done: int, total: int) -> str:
    line = json.dumps({"stage": stage, "done": done, "total": total})
    return f"print({line!r}, flush=True)\n"


SLEEP = "time.sleep(600)\n"


def until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_job_builds_the_map_in_another_process(cache, middle):
    job = map_jobs.start(middle, "pca")
    assert job.wait(LONG)
    assert (job.done, job.error) == (True, None)
    shown = maps.vocabulary_map(middle, "pca")
    assert len(shown) == len(middle)
    again = map_jobs.start(middle, "pca")
    assert (again.done, again.error) == (True, None)
    assert not map_jobs._running


def test_a_lexicon_of_the_catalogue_is_named_and_another_one_is_handed_over(
    cache, small, instead, tmp_path
):
    instead(f"open({str(tmp_path / 'said')!r}, 'w').write(json.dumps(request))\n")
    job = map_jobs.start(small, "umap", [4, 2], 20, seed=7)
    assert job.wait(LONG)
    request = json.loads((tmp_path / "said").read_text())
    assert request.pop("lexicon").endswith("lexicon")
    assert request == {"projection": "umap", "centres": [2, 4], "k": 20, "seed": 7}
    assert "could not be kept" in job.error  # this program kept nothing
    write_stored(small, cache / "lexicons" / "mine", {})
    assert map_jobs.start(small, "umap").wait(LONG)
    assert json.loads((tmp_path / "said").read_text())["lexicon"] == "mine"


def test_sessions_share_one_process_that_stops_when_all_have_cancelled(small, instead):
    instead(say("preparing", 0, 0) + SLEEP)
    jobs = [map_jobs.start(small, "umap") for _ in range(3)]
    (run,) = map_jobs._running.values()
    until(lambda: jobs[0].progress()[1].startswith("Preparing"))
    jobs[0].cancel()
    jobs[0].cancel()
    assert jobs[0].done
    assert jobs[0].error == "the map was cancelled"
    assert not run.stopped
    assert (jobs[1].done, jobs[1].error) == (False, None)
    jobs[1].cancel()
    assert not run.stopped
    del jobs[2]  # a session that went away does not keep the process alive
    gc.collect()
    assert run.ended.wait(LONG)
    assert run._process.poll() is not None
    assert not map_jobs._running


def test_a_cancelled_map_can_be_asked_for_again(middle, instead, monkeypatch):
    command = map_jobs.COMMAND
    instead(say("preparing", 0, 0) + SLEEP)
    job = map_jobs.start(middle, "pca")
    until(lambda: job.progress()[1].startswith("Preparing"))
    job.cancel()
    monkeypatch.setattr(map_jobs, "COMMAND", command)
    again = map_jobs.start(middle, "pca")
    assert again.wait(LONG)
    assert again.error is None
    assert len(maps.vocabulary_map(middle, "pca")) == len(middle)


def test_only_one_map_is_built_at_a_time(small, middle, instead):
    instead(say("preparing", 0, 0) + SLEEP)
    first = map_jobs.start(small, "umap")
    until(lambda: first.progress()[1].startswith("Preparing"))
    second = map_jobs.start(middle, "umap")
    assert second.progress() == (None, "Waiting: 1 before you")
    assert second._run._process is None
    third = map_jobs.start(middle, "densmap")
    assert third.progress() == (None, "Waiting: 2 before you")
    third.cancel()
    assert third._run.ended.wait(LONG)
    first.cancel()
    until(lambda: second.progress()[1].startswith("Preparing"))


def test_progress_grows_and_says_the_time_left(small, instead):
    steps = [
        ("reading", 0, 0), ("neighbours", 5, 10), ("preparing", 0, 0), ("layout", 0, 500),
        ("layout", 1, 500), ("layout", 400, 500), ("measuring", 0, 0),
    ]  # fmt: skip
    noise = "print('no JSON', flush=True)\nprint('{\"stage\": 3}', flush=True)\n"
    instead(noise + "".join(say(*step) + "time.sleep(0.15)\n" for step in steps) + SLEEP)
    job = map_jobs.start(small, "umap")
    seen = []

    def told():
        now = job.progress()
        if not seen or seen[-1] != now:
            seen.append(now)
        return now[1].startswith("Measuring")

    until(told)
    fractions = [fraction for fraction, _ in seen if fraction is not None]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] < 1
    assert any(re.search(r"400 of 500, about \d+ s left$", text) for _, text in seen)


FAILURES = {
    "a refusal": (
        "print('warning: x', file=sys.stderr)\n"
        "print('error: too few of them', file=sys.stderr)\nsys.exit(2)\n",
        "too few of them",
    ),
    "a crash": ("raise RuntimeError\n", "the process that builds the map failed; try again"),
    "a kill": (
        "import os\nos.kill(os.getpid(), 9)\n",
        r"was killed \(signal 9; perhaps out of memory\); try again, or see what it says with: "
        "python -m dpcore map build --projection umap",
    ),
    "nothing kept": ("pass\n", "the map could not be kept in .*"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_sentence(small, instead, name):
    program, message = FAILURES[name]
    instead(program)
    job = map_jobs.start(small, "umap")
    assert job.wait(LONG)
    with pytest.raises(ParameterError, match=message):
        raise ParameterError(job.error)
    assert "\n" not in job.error
    assert not map_jobs._running


def test_a_program_that_cannot_be_started_is_one_sentence(small, monkeypatch):
    monkeypatch.setattr(map_jobs, "COMMAND", ("/no/such/program",))
    job = map_jobs.start(small, "umap")
    assert job.wait(LONG)
    assert job.error.startswith("the map cannot be built here (No such file")


def test_what_cannot_be_built_is_refused_at_once(small):
    with pytest.raises(ParameterError, match="use local_map"):
        map_jobs.start(small, "pca", [1], 20)
    with pytest.raises(ParameterError, match="needs at least"):
        map_jobs.start(lexicons.cloud(5, 3), "umap")
    with pytest.raises(ParameterError, match="k must be"):
        map_jobs.start(small, "umap", [1], 60)
    assert not map_jobs._running
    assert not [thread for thread in threading.enumerate() if thread.name == "map job"]


def test_nothing_runs_on_when_the_server_ends(tmp_path, small):
    """At the end of the process its children are stopped."""
    mark = tmp_path / "pid"
    program = (
        "import sys, time\n"
        "from dpcore.measure.maps import jobs as map_jobs\n"
        "from tests.mechanisms import lexicons\n"
        f"child = \"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid()));"
        ' time.sleep(600)"\n'
        "map_jobs.COMMAND = (sys.executable, '-c', child)\n"
        "job = map_jobs.start(lexicons.cloud(60, 4), 'umap')\n"
        f"from pathlib import Path\n"
        f"while not (Path({str(mark)!r}).exists() and Path({str(mark)!r}).read_text()):\n"
        "    time.sleep(0.01)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=LONG, capture_output=True)
    assert done.returncode == 0, done.stderr
    pid = int(mark.read_text())

    def gone():
        try:
            return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
        except OSError:
            return True

    until(gone)
