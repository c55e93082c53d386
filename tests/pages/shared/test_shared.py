"""The small parts that pages share: groups, progress, presets, frame."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.sentence import prepare
from pages.shared import progress, session
from pages.shared.dial import GROUPS, admissible_grid, group_of
from pages.shared.once import memo
from pages.shared.session import (
    DEFAULT_MECHANISMS,
    DEFAULT_PRESET,
    PRESETS,
    Bench,
    admissible,
    bench_for,
)
from pages.shared.sidebar import Choices


def test_every_meaning_has_one_group_and_its_grid_ascends() -> None:
    for meaning in EpsilonMeaning:
        assert sum(meaning in group.meanings for group in GROUPS) == 1
        assert meaning in group_of(meaning).meanings
    for group in GROUPS:
        assert list(group.grid) == sorted(set(group.grid))
        labels = [group.label(value) for value in group.grid]
        assert len(set(labels)) == len(labels)
        assert all(math.isfinite(epsilon) and epsilon > 0 for epsilon in group.grid)


def test_the_slider_in_ln_epsilon_begins_where_the_mechanism_is_defined() -> None:
    words = session.lexicon("default")
    mechanism = session.mechanism(words, "truncated-gumbel.v1")
    group = group_of(mechanism.meaning)
    grid = admissible_grid(group, [mechanism])
    assert grid[0] in mechanism.admissible
    assert grid[0] * math.exp(-0.25) not in mechanism.admissible
    assert group.label(grid[-1]) == "20"
    assert list(admissible(mechanism)) == list(grid)


def test_the_page_opens_with_six_mechanisms_and_known_presets() -> None:
    shorts = {kind.short for kind in MECHANISMS.values()}
    assert set(DEFAULT_MECHANISMS) <= shorts
    assert DEFAULT_PRESET in PRESETS
    assert 5 <= len(PRESETS) <= 6
    words = session.lexicon("default")
    unknown = [len(prepare(text, words).encoding.unknown) for text in PRESETS.values()]
    assert unknown[list(PRESETS).index(DEFAULT_PRESET)] == 0
    assert max(unknown) > 0


def test_the_bench_computes_once_and_forgets_the_oldest() -> None:
    words = session.lexicon("default")
    bench = Bench(prepare("a small dog", words), session.directions(words.fingerprint))
    tem = session.mechanism(words, "tem.v1")
    assert bench.draw(tem, 1, 0) is bench.draw(tem, 1, 0)
    assert bench.draw(tem, 1, 1) is not bench.draw(tem, 1, 0)
    assert bench.has_draw(tem, 1, 0)
    other = session.mechanism(words, "tem.v1", (("beta", 0.5),))
    assert not bench.has_draw(other, 1, 0)
    law, row = bench.law(tem, bench.word(2), 5.0)
    assert law.epsilons[row] == 5.0
    assert bench.law(tem, bench.word(2), 5.0)[0] is law
    for epsilon in range(6, 40):
        bench.law(tem, bench.word(2), float(epsilon))
    assert not bench.has_law(tem, bench.word(2), 5.0)
    (distance,) = bench.distance(bench.word(2), [bench.neighbours(bench.word(2), 1)[0]])
    assert distance > 0


def test_only_the_first_example_has_one_bench_for_all_sessions() -> None:
    words = session.lexicon("default")

    def bench(text: str, choices: Choices) -> Bench:
        st.session_state.clear()  # a session of its own
        return bench_for(text, words, choices)

    choices, public = Choices("default"), PRESETS[DEFAULT_PRESET]
    assert bench(public, choices) is bench(public, choices)
    assert bench(public, choices) is not bench(
        public, Choices("default", Treatment(keep_stop_words=True))
    )
    assert [token.text for token in bench(public, choices).sentence.tokens][:2] == ["My", "doctor"]
    for typed in (public + " ", "a small dog"):
        assert bench(typed, choices) is not bench(typed, choices)
        assert bench_for(typed, words, choices) is bench_for(typed, words, choices)


def test_a_bench_of_several_sessions_at_once_forgets_without_an_error() -> None:
    known: dict[int, int] = {}

    def run(number: int) -> list[int]:
        return [memo(known, (number * i) % 13, lambda: 7, kept=5) for i in range(3_000)]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(1, 9)))
    assert all(value == 7 for values in results for value in values)
    assert len(known) <= 5


def test_progress_shows_the_time_left_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(float(second) for second in range(100))
    shown: list[str] = []

    class Slot:
        def progress(self, share: float, text: str) -> None:
            shown.append(f"{share:.2f} {text}")

        def empty(self) -> None:
            shown.append("gone")

    monkeypatch.setattr("pages.shared.progress.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("pages.shared.progress.st.empty", Slot)
    steps: Iterator[int] = progress.timed("Drawing", [1, 2, 3, 4])
    assert list(steps) == [1, 2, 3, 4]
    # One second passes between two looks at the clock: after the first step 2 s are gone.
    assert shown[0] == "0.25 Drawing: 1 of 4, about 6 s left"
    assert shown[-1] == "gone"
    shown.clear()
    monkeypatch.setattr("pages.shared.progress.time.monotonic", lambda: 0.0)
    assert list(progress.timed("Drawing", [1, 2])) == [1, 2]
    assert shown == []


def test_what_is_missing_from_certainty_is_summed_from_logarithms() -> None:
    words = session.lexicon("default")
    bench = Bench(prepare("doctor", words), session.directions(words.fingerprint))
    word, response = bench.word(0), session.mechanism(words, "k-ary.v1")
    assert bench.probability(response, word, word, 60.0)[0] == 1.0
    wanted = math.log(len(words) - 1) - 60.0
    assert bench.log_change(response, word, 60.0) == pytest.approx(wanted, rel=1e-12)
    tem = session.mechanism(words, "tem.v1")
    stays = bench.probability(tem, word, word, 2.0)[0]
    assert math.exp(bench.log_change(tem, word, 2.0)) == pytest.approx(1.0 - stays, rel=1e-9)


def test_the_odds_of_what_never_comes_out_are_known_by_their_logarithms() -> None:
    words = session.lexicon("default")
    bench = Bench(prepare("doctor", words), session.directions(words.fingerprint))
    word, response = bench.word(0), session.mechanism(words, "k-ary.v1")
    far, nowhere = (word + 1) % len(words), (word + 2) % len(words)
    assert bench.probability(response, word, nowhere, 1000.0)[0] == 0.0
    logs = [bench.log_probability(response, each, nowhere, 1000.0) for each in (word, far)]
    assert logs == pytest.approx([-1000.0, -1000.0], rel=1e-9)  # both are as unlikely: 1
