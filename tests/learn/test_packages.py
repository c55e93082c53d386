"""One thread for small linear algebra, and the previous setting restored."""

import threading

import numpy as np
from threadpoolctl import threadpool_info

from dpcore.optional import one_thread


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_inside_and_as_many_as_before_after_it() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # the library is loaded
    before = threads()
    with one_thread():
        assert threads() == {1}
    assert threads() == before


def test_two_that_overlap_leave_the_setting_as_it_was() -> None:
    before, inside, others = threads(), threading.Event(), []

    def other() -> None:
        inside.wait(10)
        with one_thread():
            others.append(threads())

    thread = threading.Thread(target=other)
    thread.start()
    with one_thread():
        inside.set()
        thread.join(0.2)
        assert others == []  # it waits for its turn
    thread.join(10)
    assert others == [{1}]
    assert threads() == before
