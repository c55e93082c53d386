"""Public results: computed once, the oldest forgotten, an interrupted one computed again."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import streamlit as st

from dpcore.jobs.background import Turns
from dpcore.limits import MAX_PAGE_WORK
from pages.shared import once as module
from pages.shared import progress
from pages.shared.once import is_there, once, take_turn
from pages.shared.progress import Reporter, timed


def test_a_result_is_computed_once_under_its_key() -> None:
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        return 7

    assert not is_there("a kind of test", 1)
    assert once("a kind of test", 1, compute) == once("a kind of test", 1, compute) == 7
    assert len(calls) == 1
    assert is_there("a kind of test", 1)
    assert not is_there("another kind", 1)


def test_none_is_a_result_too() -> None:
    assert once("nothing", 1, lambda: None) is None
    assert once("nothing", 1, lambda: pytest.fail("computed again")) is None


def test_the_oldest_goes_first() -> None:
    for key in range(4):
        once("few", key, lambda: 0, kept=3)
    assert [is_there("few", key) for key in range(4)] == [False, True, True, True]


def test_what_was_interrupted_is_computed_by_the_next() -> None:
    def stopped() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once("stopped", 1, stopped)
    assert once("stopped", 1, lambda: 3) == 3


def test_who_asks_meanwhile_waits_for_the_same_result() -> None:
    started, go, results = threading.Event(), threading.Event(), []

    def slow() -> object:
        started.set()
        go.wait(10)
        return object()

    threads = [
        threading.Thread(target=lambda: results.append(once("slow", 1, slow))) for _ in range(3)
    ]
    threads[0].start()
    assert started.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)
    assert len(results) == 3
    assert results[0] is results[1] is results[2]
    assert module._KEPT_ONCE > 1


# Long computations of a process: two at a time, others told how many are before them.


PATIENCE = 20.0


class Slot:
    """Stands in for an empty place of a page."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def progress(self, share: float, text: str) -> None:
        assert 0 <= share <= 1
        self.texts.append(text)

    def container(self) -> "Slot":
        return self

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def empty(self) -> None:
        self.texts.append("gone")


@pytest.fixture(autouse=True)
def slot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slot]:
    """Every place that is made on the page; nothing counts as short.

    The queue is one of its own: in that of the process, a channel that a test of Attacker asked for
    may still be prepared in the background.
    """
    empty = Slot()
    monkeypatch.setattr(module, "WORK", Turns(MAX_PAGE_WORK))
    monkeypatch.setattr(st, "empty", lambda: empty)
    monkeypatch.setattr(module, "_PULSE_SECONDS", 0.01)
    monkeypatch.setattr(progress, "_SILENT_SECONDS", -1.0)
    monkeypatch.setattr(progress, "_PULSE_SECONDS", -1.0)
    yield empty
    assert module.WORK.join(threading.current_thread()).wait(0)  # everybody has left


def in_a_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


@contextmanager
def others(count: int = MAX_PAGE_WORK) -> Iterator[None]:
    """Script runs of other people, who keep their turn until the end of the block."""
    go, came = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        mine = take_turn()
        came.release()
        go.wait(PATIENCE)
        if mine is not None:
            mine.leave()

    threads = [in_a_thread(work) for _ in range(count)]
    try:
        assert all(came.acquire(timeout=PATIENCE) for _ in threads)
        yield
    finally:
        go.set()
        for thread in threads:
            thread.join(PATIENCE)


def test_a_loop_waits_for_its_turn_and_says_so(slot: Slot) -> None:
    done: list[int] = []
    with others():
        loop = in_a_thread(lambda: done.extend(timed("Drawing", [1, 2, 3])))
        until = time.monotonic() + PATIENCE
        while not slot.texts and time.monotonic() < until:
            time.sleep(0.01)
        assert slot.texts[-1] == "Waiting: 1 before you; long computations take turns."
        assert done == [1]
    loop.join(PATIENCE)
    assert done == [1, 2, 3]
    assert slot.texts[-1] == "gone"


def test_work_that_reports_waits_too_and_an_interruption_makes_room(slot: Slot) -> None:
    ended = threading.Event()

    def interrupted() -> None:
        slot.progress = leave  # type: ignore[method-assign]
        try:
            with Reporter("Attacking") as progress:
                progress("texts", 1, 10)
        except KeyboardInterrupt:
            ended.set()

    def leave(share: float, text: str) -> None:
        raise KeyboardInterrupt

    with others():
        in_a_thread(interrupted).join(PATIENCE)
        assert ended.is_set()
    del slot.progress
    with Reporter("Attacking") as progress:
        progress("texts", 1, 10)
    # What was interrupted has taken away its progress; what came after it was shown.
    assert slot.texts[0] == "gone"
    assert slot.texts[1].startswith("Attacking: texts, 1 of 10")


def test_a_run_that_has_its_turn_takes_no_second_one() -> None:
    first = take_turn()
    assert first is not None
    assert list(timed("Within", range(3))) == [0, 1, 2]
    assert take_turn() is None
    first.leave()
    second = take_turn()
    assert second is not None
    second.leave()


def test_a_run_that_forgot_its_turn_takes_another() -> None:
    for _ in range(3 * MAX_PAGE_WORK):
        taken = take_turn()
        assert taken is not None
        del taken


def test_what_others_may_be_waiting_for_does_not_wait() -> None:
    with others():
        assert once("a kind of turn", 1, take_turn) is None
