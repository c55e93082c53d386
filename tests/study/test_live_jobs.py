"""Live runs in the background: partial results, waiting, stopping, errors, who holds them, and how
far each is."""

import gc
import threading
from typing import Any

import pytest

from dpcore.errors import CorpusError, StudyError
from dpcore.limits import MAX_LIVE_RUNS
from dpcore.study import live_jobs
from dpcore.study.live import VALUES, WORDS
from dpcore.study.live_jobs import Course

PATIENCE = 60.0
PARTS = [(name, trial) for trial in range(2) for name in ("baseline", "madlib", "tem")]


class Plan:
    """Stands in for `Live`: four jobs."""

    def jobs(self) -> list[dict[str, Any]]:
        names = ["baseline", "tem", "madlib", "laplace"]
        cells = [{"label": name, "seed": 0} for name in names]
        return [{"number": number, "cell": cell} for number, cell in enumerate(cells)]


PLAN: Any = Plan()
ROW: Any = 0  # of the first job


class Slow:
    """An executor whose jobs are done when the test says so."""

    workers = 1

    def __init__(self, fails_at: int = -1) -> None:
        self.go = threading.Semaphore(0)
        self.left = threading.Event()
        self.fails_at = fails_at

    def __call__(self, listen: Any) -> "Slow":
        self.tell = listen
        return self

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *_: object) -> None:
        self.left.set()
        self.go.release()

    def run(self, function: str, payloads: Any) -> Any:
        for job in payloads:
            self.go.acquire()
            if self.left.is_set():
                raise StudyError("a worker process died")
            if job["number"] == self.fails_at:
                raise CorpusError("the labels teach nothing: choose others")
            self.tell({"stage": WORDS, "done": 5, "total": 10})
            yield job, {"rows": [job["number"]], "examples": [{"of": job["number"]}]}


def until(condition: Any) -> None:
    done = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if condition():
            return
        done.wait(0.01)
    raise AssertionError("nothing happened")


def begun(run: live_jobs.LiveRun) -> None:
    until(lambda: at_work(run))


def at_work(run: live_jobs.LiveRun) -> bool:
    return run.progress()[1].startswith("Part ")


def test_rows_come_as_they_are_done() -> None:
    slow = Slow()
    run = live_jobs.start(PLAN, slow)
    begun(run)
    assert (run.finished, run.rows, run.done) == (0, (), False)
    slow.go.release()
    until(lambda: run.finished == 1)
    assert run.rows == (ROW,)
    assert run.progress()[1].startswith("Part 2 of 4 (tem, trial 1): ")
    slow.go.release()
    until(lambda: run.finished == 2)
    assert "left" in run.progress()[1]
    slow.go.release(2)
    assert run.wait(PATIENCE)
    assert (run.finished, run.error, run.stopped) == (4, None, False)
    assert len(run.examples) == 4
    run.stop()
    assert not run.stopped  # it had ended


def test_a_stop_keeps_what_is_done() -> None:
    slow = Slow()
    run = live_jobs.start(PLAN, slow)
    slow.go.release()
    until(lambda: run.finished == 1)
    run.stop()
    assert run.wait(PATIENCE)
    assert run.stopped
    assert run.error is None
    assert run.rows == (ROW,)


def test_a_refusal_is_said_and_what_is_done_stays() -> None:
    slow = Slow(fails_at=1)
    slow.go.release(2)
    run = live_jobs.start(PLAN, slow)
    assert run.wait(PATIENCE)
    assert run.error == "the labels teach nothing: choose others"
    assert len(run.rows) == 1


def test_others_wait_their_turn_and_may_give_up() -> None:
    first = [Slow() for _ in range(MAX_LIVE_RUNS)]
    runs = [live_jobs.start(PLAN, slow) for slow in first]
    until(lambda: all(at_work(run) for run in runs))
    waiting, leaving = live_jobs.start(PLAN, Slow()), live_jobs.start(PLAN, Slow())
    assert waiting.progress() == (0.0, "Waiting: 1 before you")
    assert leaving.progress() == (0.0, "Waiting: 2 before you")
    leaving.stop()
    assert leaving.wait(PATIENCE)
    runs[0].stop()
    until(lambda: at_work(waiting))
    for run in (*runs, waiting):
        run.stop()
        assert run.wait(PATIENCE)


def test_a_run_that_nobody_holds_ends() -> None:
    slow = Slow()
    run = live_jobs.start(PLAN, slow)
    begun(run)
    del run
    gc.collect()
    assert slow.left.wait(PATIENCE)


@pytest.mark.parametrize("stop", [False, True])
def test_in_a_real_process(stop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker refuses these jobs, which is enough to see that it runs and can be ended."""
    run = live_jobs.start(PLAN)
    if stop:
        run.stop()
    assert run.wait(PATIENCE)
    assert (run.error is None) == stop
    assert run.rows == ()


def test_it_moves_within_a_part_and_never_back() -> None:
    course = Course(PARTS, begun=10.0)
    assert course.progress(11.0) == (
        0.0,
        "Part 1 of 6 (baseline, trial 1): reading texts; 1 s",
    )
    course.finish_part(12.0)
    shares = []
    for now, stage, done in ((13, WORDS, 100), (14, WORDS, 200), (15, VALUES, 3), (16, VALUES, 6)):
        course.hear(stage, done, 6 if stage == VALUES else 200)
        share, message = course.progress(float(now))
        assert message.startswith(f"Part 2 of 6 (madlib, trial 1): {done:,} of ")
        assert stage in message
        shares.append(share)
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    course.finish_part(16.0)
    course.hear(WORDS, 1, 1_000)  # slower than it looked
    assert course.progress(40.0)[0] >= shares[-1]


def test_the_time_left_is_that_of_the_same_mechanism_in_another_trial() -> None:
    course = Course(PARTS, begun=0.0)
    for end in (1.0, 11.0, 51.0, 52.0):  # 1 s, 10 s, 40 s, and the second baseline
        course.finish_part(end)
    share, message = course.progress(52.0)
    assert message.endswith("52 s, about 50 s left")
    assert share == pytest.approx(52 / 102)
    course.finish_part(62.0)
    assert course.progress(64.0)[1].endswith("64 s, about 38 s left")


def test_the_pace_of_a_part_is_what_is_known_of_a_new_mechanism() -> None:
    course = Course([("baseline", 0), ("madlib", 0), ("tem", 0)], begun=0.0)
    course.finish_part(1.0)
    assert "left" not in course.progress(1.5)[1]  # of a mechanism nothing is known
    course.hear(WORDS, 1, 2)  # half of the way from 0.05 to 0.6 of the part
    assert course.progress(4.0)[1].endswith("4 s, about 15 s left")  # 9.2 s a part, 3 are over
    course.finish_part(401.0)
    assert course.progress(402.0)[1].endswith("about 7 min left")
    course.finish_part(801.0)
    assert course.progress(801.0) == (1.0, "All 3 parts done after 801 s")
