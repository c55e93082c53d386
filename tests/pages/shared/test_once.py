"""Public results: computed once, the oldest forgotten, an interrupted one computed again."""

import threading

import pytest

from pages.shared import once as module
from pages.shared.once import is_there, once


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
    assert module._KEPT > 1
