"""Turns: in order, a few at a time, with a number for each waiting client; leaving makes room."""

import gc
import threading

import pytest

from dpcore.errors import ParameterError
from dpcore.jobs.background import Turns, waiting

PATIENCE = 20.0


def test_who_comes_first_works_and_the_others_know_how_many_are_before_them() -> None:
    line = Turns(2)
    turns = [line.join() for _ in range(5)]
    assert [turn.before for turn in turns] == [0, 0, 1, 2, 3]
    assert [turn.wait(0) for turn in turns] == [True, True, False, False, False]
    turns[1].leave()
    assert [turn.before for turn in turns] == [0, 0, 0, 1, 2]
    assert not turns[1].wait(0)
    turns[3].leave()  # from the middle of the line
    turns[3].leave()
    assert [turn.before for turn in turns] == [0, 0, 0, 0, 1]
    assert [waiting(turn.before) for turn in turns[3:]] == ["Starting", "Waiting: 1 before you"]


def test_a_block_that_fails_makes_room_and_so_does_a_turn_that_no_one_holds() -> None:
    line = Turns(1)
    with pytest.raises(ZeroDivisionError), line.join():
        1 / 0  # noqa: B018
    kept = line.join()
    forgotten = line.join()
    last = line.join()
    assert last.before == 2
    del forgotten
    gc.collect()
    assert last.before == 1
    kept.leave()
    assert last.wait(0)


def test_never_more_at_work_than_places_and_all_get_their_turn() -> None:
    line, lock = Turns(3), threading.Lock()
    now, most, done = [0], [0], []

    def work(number: int) -> None:
        with line.join() as turn:
            assert turn.wait(PATIENCE)
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            threading.Event().wait(0.005)
            with lock:
                now[0] -= 1
                done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(done) == list(range(30))
    assert 1 <= most[0] <= 3
    assert line.join().wait(0)


def test_a_place_is_free_once_its_owner_has_ended() -> None:
    line, joined = Turns(1), []
    thread = threading.Thread(target=lambda: joined.append(line.join(threading.current_thread())))
    thread.start()
    thread.join(PATIENCE)
    assert not joined[0].left
    assert line.join(threading.current_thread()).wait(0)


def test_a_line_without_a_place_is_refused() -> None:
    with pytest.raises(ParameterError, match="1 place or more, got 0"):
        Turns(0)
