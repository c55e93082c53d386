"""A dial of the page Curves that rests: what runs, and that nothing stale is left."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.curves import curves as computing
from pages.curves import scene
from pages.curves.board import EQUAL
from pages.curves.scene import COMPARED, TAKING, VIEWS, fragment_of
from pages.shared.dial import GROUPS
from tests.pages.app import dials, figures, methods, turn, watched
from tests.pages.curves.reading import assert_no_cell_says_none, marks, row, watch_sessions

METRIC = GROUPS[0]
PARTS = fragment_of(METRIC), VIEWS, TAKING


def test_a_turn_of_the_dial_measures_nothing_and_draws_no_figure_again(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened()
    before, marked = row(test, "mean"), marks(test)
    assert len(figures(test)) == 4
    monkeypatch.setattr(computing, "measure_waiting", lambda *a: pytest.fail("measured"))
    watch_sessions(monkeypatch, lambda part: pytest.fail("measured"))
    turn(test, METRIC, 3.0, *PARTS)
    assert not dials(test)  # the hand has turned it
    after = row(test, "mean")
    assert (after["Nw"] < before["Nw"]).all()
    assert row(test, "median")["Nw at most"].isna().all()
    assert_no_cell_says_none(test)
    assert "at ε = 3." in methods(test)
    # Of the curves only the fragment of its group runs, which holds no figure.
    assert figures(test) == []
    assert len(test.dataframe) == 2
    assert len(marks(test)) == 2
    assert set(marks(test)).isdisjoint(marked)


def test_the_words_are_those_at_the_epsilon_of_their_own_dial(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()
    turn(test, METRIC, 3.0, *PARTS)
    shown = test.dataframe[1].value.set_index("mechanism")
    assert set(shown["epsilon"].loc["tem.v1"]) == {3.0}
    assert set(shown["epsilon"].loc["truncated-gumbel.v1"]) != {3.0}


@pytest.mark.parametrize(("view", "runs"), [("Appendix C", False), ("", True)])
def test_only_a_view_that_shows_numbers_at_epsilon_runs(
    monkeypatch: pytest.MonkeyPatch, view: str, runs: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(scene, "run_parts", lambda *parts: asked.extend(parts))
    monkeypatch.setattr("streamlit.session_state", {"part": view} if view else {})
    scene._rested(fragment_of(METRIC))
    assert (VIEWS in asked) == runs
    assert [part for part in asked if part != VIEWS] == [fragment_of(METRIC), TAKING]


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"lines": True, "word": "city", "other_word": "hospital"},
        {"taking": True},
        {"compare": EQUAL, "reference": "tem", "curve_local": ["gaussian"]},
    ],
    ids=["curves", "pinned", "commands", "equal"],
)
def test_after_a_step_the_screen_is_that_of_a_visit_with_the_new_epsilon(
    opened: Callable[..., AppTest], state: dict[str, Any]
) -> None:
    parts = (COMPARED, VIEWS, TAKING) if "compare" in state else PARTS
    test, before = watched(lambda: opened(**state))
    test, after = watched(lambda: turn(test, METRIC, 3.0, *parts), before)
    _, wanted = watched(lambda: opened(eps_metric=3.0, **state))
    assert len(wanted) > 10
    assert before != wanted
    assert after == wanted


@pytest.mark.slow
def test_a_run_of_the_whole_page_stays_one_if_a_dial_has_turned_too(
    opened: Callable[..., AppTest],
) -> None:
    """Several quick changes arrive together: a fragment alone would lose the others."""
    test = opened()
    test.session_state["eps_metric"] = 3.0
    test.query_params["eps_metric"] = "3"
    test.session_state["lines"] = True
    _, after = watched(test.run)
    _, wanted = watched(lambda: opened(eps_metric=3.0, lines=True))
    # A fresh visit measures first, which takes places of its own; the test writes no address.
    shown, wished = (
        {screen[1:] for screen in screens.values() if not screen[2].startswith(b"[(")}
        for screens in (after, wanted)
    )
    assert shown == wished
