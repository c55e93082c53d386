"""The page Curves under AppTest: its curves, and what is measured for whom."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.curves import board as board_room
from pages.curves import curves
from pages.curves.choosing import LIST, SAMPLE, Words
from pages.curves.scene import CurvesScene
from pages.shared import session
from pages.shared.session import CURVE_MECHANISMS
from tests.pages.app import dials, figures, methods
from tests.pages.curves.reading import watch_sessions


def test_it_opens_with_curves_of_two_groups(opened: Callable[..., AppTest]) -> None:
    test = opened()
    drawn = figures(test)
    assert len(drawn) == 4
    assert set(dials(test)) == {"metric", "log"}
    names = {trace["name"] for figure in drawn for trace in figure["data"] if "name" in trace}
    assert names == set(CURVE_MECHANISMS)
    measured = test.session_state["denying_held"]
    assert len(measured.parts) == len(CURVE_MECHANISMS)
    assert "tem: mean" in methods(test)
    assert "(exact)" in methods(test)
    assert "interval of 95 %" in methods(test)
    assert "two standard errors)" in methods(test)


def test_local_mechanisms_with_and_without_delta_are_told_apart(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(curve_metric=[], curve_log=[], curve_local=["laplace", "gaussian"])
    assert len(figures(test)) == 2
    assert any("up to a probability δ: gaussian" in e.value for e in test.markdown)


def test_no_mechanism_is_a_hint(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=[], curve_log=[], curve_local=[])
    assert not test.exception
    assert "Choose at least one mechanism" in test.info[0].value


def test_thin_lines_of_all_words_on_request(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], lines=True)
    thin = figures(test)[0]["data"][0]
    assert thin["line"]["width"] == 1


def test_another_mechanism_keeps_what_is_measured(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], curve_local=[])
    (before,) = test.session_state["denying_held"].parts.values()
    before = dict(before)
    test.session_state["curve_local"] = ["gaussian"]
    test.run()
    stored = test.session_state["denying_held"].parts
    (after,) = (parts for name, parts in stored.items() if name[1] == "tem.v1")
    assert len(stored) == 2
    assert all(after[i] is part for i, part in before.items())
    assert len(figures(test)) == 4


def test_a_sample_is_measured_once_for_all_and_typed_words_for_one_session_alone(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"curve_metric": ["tem"], "curve_log": [], "seed": 77}
    opened(**few)
    asked: list[str] = []
    watch_sessions(monkeypatch, lambda part: asked.extend(part.names))
    assert len(figures(opened(**few))) == 2
    assert asked == []
    for _ in range(2):
        opened(**few, of=LIST, words="city, money")
    assert asked == ["city", "money"] * 2


def test_what_is_measured_in_advance_is_what_a_first_view_takes(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = session.lexicon("default")
    work = curves.Work(Words(SAMPLE, 3).selection(words, 78), 20, 78, public=True)
    curves.measure_ahead([session.mechanism(words, "tem.v1")], work)
    watch_sessions(monkeypatch, lambda part: pytest.fail("measured"))
    assert len(figures(opened(curve_metric=["tem"], curve_log=[], seed=78))) == 2


@pytest.mark.slow
def test_curves_are_drawn_as_soon_as_they_are_there(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run measures for a moment, draws, and the next one goes on, with the same result."""
    link = {"curve_metric": ["tem"], "curve_log": [], "curve_local": [], "sample": 20}
    whole = opened(**link, seed=79).dataframe[0].value
    word_counts: list[int] = []

    def board(scene: CurvesScene, *_: object) -> None:
        word_counts.append(len(scene.curves[0].measured.selection))

    monkeypatch.setattr(curves, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(curves, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(board_room, "board", board)
    opened(**link, seed=80)
    assert word_counts == [
        7,
        7,
        14,
        20,
    ]  # words: a group a run, but the second draws the first one's
    monkeypatch.undo()
    test = opened(**link, seed=79)
    assert test.dataframe[0].value.equals(whole)
    assert not test.warning


@pytest.mark.slow
def test_a_stop_keeps_what_is_there_and_goes_on(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], curve_local=[], sample=20)
    measured = test.session_state["denying_held"]
    (parts,) = measured.parts.values()
    assert len(parts) == 3
    whole = test.dataframe[0].value
    parts.pop(2)
    test.session_state["denying_stopped"] = True
    test.run()
    assert "Stopped" in test.warning[0].value
    assert any("tem: 14 of 20 words" in element.value for element in test.markdown)
    assert test.dataframe[0].value["of"].tolist() == ["mean of 14", "median", "worst"]
    next(button for button in test.button if button.label == "Continue measuring").click().run()
    assert not test.warning
    assert test.dataframe[0].value.equals(whole)
