"""A step of a slider of the page Words: what runs, and that nothing stale is left."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.dial import GROUPS, admissible_grid
from pages.words import board
from tests.pages.app import component, dials, methods, turn, watched
from tests.pages.words.reading import FEW, panes, table, watch_sessions

FRAGMENTS = ("pair_views",)


def test_a_step_of_the_slider_measures_nothing_and_sends_no_panes(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened(**FEW)
    before = table(test)
    told = dials(test)["metric"]
    assert told["step"] == panes(test)["step"]
    assert told["epsilons"] == list(admissible_grid(GROUPS[0], []))
    watch_sessions(monkeypatch, lambda: pytest.fail("measured"))
    turn(test, GROUPS[0], 2.0, *FRAGMENTS)
    names = [element.proto.component_name for element in test.get("bidi_component")]
    assert not any(name.endswith(".panes") for name in names)
    assert not dials(test)  # the hand has turned it
    after = table(test)
    assert (after["nw"].astype(float) < before["nw"].astype(float)).all()
    assert set(after["epsilon"]) == {"2"}


def test_a_step_of_the_slider_moves_the_mass_of_the_map_alone(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(more="Whole vocabulary", **FEW)
    before = component(test, "vocabulary")
    turn(test, GROUPS[0], 2.0, *FRAGMENTS)
    after = component(test, "vocabulary")
    assert "at ε = 2: " in methods(test)
    assert {name for name in after if after[name] != before[name]} == {"mass", "alt"}


@pytest.mark.parametrize(
    ("state", "runs"),
    [({}, True), ({"more": "Facts"}, False), ({"more": "Facts", "taking": True}, True)],
)
def test_a_view_runs_that_shows_numbers_at_epsilon_and_so_does_an_open_drawer(
    monkeypatch: pytest.MonkeyPatch, state: dict[str, Any], runs: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(board, "run_parts", lambda *parts: asked.extend(parts))
    monkeypatch.setattr("streamlit.session_state", state)
    board._moved()
    assert asked == (list(FRAGMENTS) if runs else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"more": "Whole vocabulary", "curve_log": [], "projection": "PCA", "taking": True},
        {"more": "Facts", "taking": True},
        {"more": "True distances", "outputs_of": "madlib", "taking": True},
    ],
    ids=["pair", "vocabulary", "commands", "distances"],
)
@pytest.mark.parametrize("value", [0.1, 3.0, 1000.0])
def test_after_a_step_the_screen_is_that_of_a_visit_with_the_new_epsilon(
    opened: Callable[..., AppTest], state: dict[str, Any], value: float
) -> None:
    test, before = watched(lambda: opened(**state))
    test, after = watched(lambda: turn(test, GROUPS[0], value, *FRAGMENTS), before)
    _, wanted = watched(lambda: opened(eps_metric=value, **state))
    assert len(wanted) > 3
    assert before != wanted
    assert after == wanted


def test_a_run_of_the_whole_page_stays_one_if_a_slider_has_moved_too(
    opened: Callable[..., AppTest],
) -> None:
    """Several quick changes arrive together: a fragment alone would lose the others."""
    state = {"more": "Whole vocabulary", **FEW}
    test = opened(**state)
    test.session_state["eps_metric"] = 2.0
    test.query_params["eps_metric"] = "2"
    test.session_state["projection"] = "PCA"
    _, after = watched(test.run)
    _, wanted = watched(lambda: opened(eps_metric=2.0, projection="PCA", **state))
    # A fresh visit measures first, which takes places of its own; the test writes no address.
    shown, wished = (
        {screen[1:] for screen in screens.values() if not screen[2].startswith(b"[(")}
        for screens in (after, wanted)
    )
    assert shown == wished
