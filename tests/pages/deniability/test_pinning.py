"""A pinned word of the Deniability page: its curve, its row, and the link."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.deniability.choosing import LIST
from tests.pages.app import figures, shown_text, type_word
from tests.pages.deniability.reading import row


def test_a_pinned_word_has_its_curve_and_its_row_and_is_measured_if_need_be(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], of=LIST, words="city money")
    type_word(test, "pin_word", "city")
    type_word(test, "pin_other", "hospital")
    assert not test.exception
    names = [trace.get("name") for trace in figures(test)[0]["data"] if trace.get("name")]
    assert names == ["tem", "tem, city", "tem, hospital"]
    assert row(test, "pinned")["which word"].tolist() == ["city"]
    assert row(test, "compared")["which word"].tolist() == ["hospital"]
    assert row(test, "mean of 2")["Nw"].notna().all()
    assert "Drawn bold: city solid, hospital dotted." in shown_text(test)
    alone = opened(curve_metric=["tem"], curve_log=[], of=LIST, words="hospital")
    for column in ("Nw", "Sw", "effective number"):
        value = row(test, "compared").loc["tem", column]
        assert value == row(alone, "one word").loc["tem", column]
    # Words that were typed stay out of the link, whichever of them is pinned.
    assert "word" not in test.query_params
    assert (test.session_state["word"], test.session_state["other_word"]) == ("city", "hospital")


def test_a_pinned_word_of_a_sample_stands_in_the_link_and_goes_again(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(curve_metric=["tem"], curve_log=[])
    type_word(test, "pin_word", "City")
    assert test.query_params["word"] == "city"
    type_word(test, "pin_word", None)
    assert not test.exception
    assert "word" not in test.query_params
    assert row(test, "pinned").empty


def test_a_pinned_word_that_there_is_not_is_one_sentence(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[])
    type_word(test, "pin_word", "**qqzzyyxx**")
    assert not test.exception
    assert "'**qqzzyyxx**' is not among the 25,000 words" in shown_text(test)
    assert not any("qqzzyyxx" in str(e.value) for e in (*test.markdown, *test.warning))
    assert len(figures(test)) == 2
