"""How far a live run is: every part moves it on, the time left is that of parts like it."""

import pytest

from dpcore.study.live_jobs import VALUES, WORDS, Course

PARTS = [(name, trial) for trial in range(2) for name in ("baseline", "madlib", "tem")]


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
        share, said = course.progress(float(now))
        assert said.startswith(f"Part 2 of 6 (madlib, trial 1): {done:,} of ")
        assert stage in said
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
    share, said = course.progress(52.0)
    assert said.endswith("52 s, about 50 s left")
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
