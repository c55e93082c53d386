"""Runs on the Release page: started, watched, stopped, refused."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.jobs.executors import Serial
from dpcore.study import live as live_jobs
from pages.release.below import BELOW
from tests.pages.app import figures, run_parts, shown_text
from tests.pages.release.settings import SMALL, goal_epsilon, taken

PATIENCE = 120.0


@pytest.mark.slow
def test_a_step_of_the_dial_loses_no_result_of_a_run_that_has_just_ended(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, runs = live_jobs.start_run, []

    def here(live: Any) -> Any:
        runs.append(start(live, Serial))
        return runs[-1]

    monkeypatch.setattr(live_jobs, "start_run", here)
    test = opened(**SMALL)
    test.button(key="use_start").click().run()
    assert runs[0].wait(PATIENCE)
    run_parts(test, BELOW)
    assert test.session_state["use_run"].seen == runs[0].finished
    assert len(figures(test)) == 2


@pytest.mark.slow
def test_a_run_is_started_watched_and_shown(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, runs = live_jobs.start_run, []

    def here(live: Any) -> Any:
        runs.append(start(live, Serial))
        return runs[-1]

    monkeypatch.setattr(live_jobs, "start_run", here)
    test = opened(**SMALL)
    assert [b.key for b in test.button if b.key == "use_start"]
    test.button(key="use_start").click().run()
    assert runs[0].wait(PATIENCE)
    test.run()
    shown = shown_text(test)
    assert "Teaching corpus: sentiment: 100 texts, 2 trials, classifier averaged" in shown
    assert len(figures(test)) == 2
    test.session_state["use_view"] = "Examples"
    assert "Classified as: " in shown_text(test.run())
    test.session_state["use_view"] = "Solve for ε"
    assert "madlib: " in shown_text(test.run())
    commands = next(code.value for code in taken(test).code if "utility" in code.value).split("\n")
    assert commands[1].startswith("python -m dpcore utility --labels sentiment --mechanism madlib")
    assert "--texts 100 --trials 2" in commands[1]
    measured = runs[0].rows
    assert {row["epsilon"] for row in measured if row["mechanism"]} > {goal_epsilon("madlib")}


def test_a_stop_keeps_the_parts_that_are_done(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Job:
        done, stopped, finished, rows, examples = False, False, 0, (), ()
        error: str | None = None

        def progress(self) -> tuple[float, str]:
            return 0.25, "1 of 4 parts done after 9 s, about 27 s left"

        def stop(self) -> None:
            self.done = self.stopped = True

        def wait(self, seconds: float) -> bool:
            return self.done

    job = Job()
    monkeypatch.setattr(live_jobs, "start_run", lambda live: job)
    test = opened(**SMALL)
    test.button(key="use_start").click().run()
    assert not test.exception
    test.button(key="use_stop").click().run()
    assert job.stopped
    assert "Stopped after 0 of 4 parts." in shown_text(test)
    test.button(key="use_start").click().run()  # and may be run again
    job.done, job.stopped = True, False
    job.error = "a worker ran out of memory"
    assert "a worker ran out of memory" in shown_text(test.run())


def test_without_a_mechanism_it_says_what_to_do(opened: Callable[..., AppTest]) -> None:
    test = opened(use_metric=[], use_log=[], use_local=[])
    assert "Choose at least one mechanism" in shown_text(test)


def test_an_epsilon_that_no_mechanism_has_is_refused(opened: Callable[..., AppTest]) -> None:
    test = opened(**SMALL | {"use_metric": ["truncated-gumbel-repaired"], "aim_guess": "1"})
    test.select_slider(key="use_ends_metric").set_value((0.1, 0.2)).run()
    assert "truncated-gumbel-repaired has no ε between these two ends" in shown_text(test)
    test.button(key="use_start").click().run()
    assert "at least one mechanism, with an ε that it has" in shown_text(test)
