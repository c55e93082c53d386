"""A step of a slider of the Deniability page: what runs, and that nothing stale is left."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.deniability import curves as computing
from pages.deniability.board import EQUAL
from tests.pages.app import figures, shown_text, step, watched
from tests.pages.deniability.reading import assert_no_cell_says_none, marks, row, watch_sessions

FRAGMENT = "curves_metric"


def test_a_step_of_the_slider_measures_nothing_and_draws_no_figure_again(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened()
    before, marked = row(test, "mean"), marks(test)
    assert len(figures(test)) == 4
    monkeypatch.setattr(computing, "measure_waiting", lambda *a: pytest.fail("measured"))
    watch_sessions(monkeypatch, lambda part: pytest.fail("measured"))
    step(test, "eps_metric", 3.0, FRAGMENT)
    assert not test.exception
    after = row(test, "mean")
    assert (after["Nw"] < before["Nw"]).all()
    assert row(test, "median")["Nw at most"].isna().all()
    assert_no_cell_says_none(test)
    assert "at ε = 3." in shown_text(test)
    # A step runs the fragment of its group alone, which holds no figure.
    assert figures(test) == []
    assert len(test.dataframe) == 1
    assert len(marks(test)) == 2
    assert set(marks(test)).isdisjoint(marked)


@pytest.mark.parametrize(("view", "tables"), [("Solve for ε", 1), ("Word by word", 2)])
def test_a_step_runs_only_a_view_that_shows_numbers_at_epsilon(
    opened: Callable[..., AppTest], view: str, tables: int
) -> None:
    test = opened(part=view)
    step(test, "eps_metric", 3.0, FRAGMENT)
    assert not test.exception
    assert len(test.dataframe) == tables
    if tables == 2:
        shown = test.dataframe[1].value.set_index("mechanism")
        assert set(shown["epsilon"].loc["tem.v1"]) == {3.0}
        assert set(shown["epsilon"].loc["truncated-gumbel.v1"]) != {3.0}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"table_nw_metric": True, "lines": True, "word": "city", "other_word": "hospital"},
        {"part": "Word by word"},
        {"part": "Link and command"},
        {"compare": EQUAL, "reference": "tem", "curve_local": ["gaussian"]},
    ],
    ids=["curves", "pinned", "words", "commands", "equal"],
)
def test_after_a_step_the_screen_is_that_of_a_visit_with_the_new_epsilon(
    opened: Callable[..., AppTest], state: dict[str, Any]
) -> None:
    fragment = "compared" if "compare" in state else FRAGMENT
    test, before = watched(lambda: opened(**state))
    test, after = watched(lambda: step(test, "eps_metric", 3.0, fragment), before)
    _, wanted = watched(lambda: opened(eps_metric=3.0, **state))
    assert len(wanted) > 10
    assert before != wanted
    assert after == wanted


def test_a_run_of_the_whole_page_stays_one_if_a_slider_has_moved_too(
    opened: Callable[..., AppTest],
) -> None:
    """What was done in one hurry arrives together: a part of the page alone would lose the rest."""
    test = opened(part="Word by word")
    test.select_slider(key="eps_metric").set_value(3.0)
    test.session_state["lines"] = True
    _, after = watched(test.run)
    _, wanted = watched(lambda: opened(eps_metric=3.0, part="Word by word", lines=True))
    # A fresh visit measures first, which takes places of its own; the test writes no address.
    shown, wished = (
        {screen[1:] for screen in screens.values() if not screen[2].startswith(b"[(")}
        for screens in (after, wanted)
    )
    assert shown == wished
