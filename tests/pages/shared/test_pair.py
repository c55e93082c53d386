"""The two words in focus on all pages: what follows a choice, and what stays out of the link."""

import functools
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.session import PRESETS
from tests.pages.app import open_page, unopened

FEW = {"metric": ["tem"], "log": [], "local": []}


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    return functools.partial(open_page, "rewrite", **FEW, view="One word: strip and odds")


def place(test: AppTest) -> str:
    assert not test.exception
    box = test.selectbox(key="place_box")
    return str(box.options[box.index]).partition(". ")[2]


def test_rewrite_opens_on_a_word_that_was_chosen_elsewhere(
    opened: Callable[..., AppTest],
) -> None:
    assert "hospital" in PRESETS["hospital"]
    assert place(opened()) == "doctor"
    assert place(opened(word="hospital")) == "hospital"
    assert place(opened(word="garage")) == "doctor"


def test_a_word_of_the_text_is_chosen_everywhere_and_stays_out_of_the_link(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(word="hospital")
    box = test.selectbox(key="place_box")
    sister = next(i for i, option in enumerate(box.options) if option.endswith(". sister"))
    box.select_index(sister).run()
    assert place(test) == "sister"
    assert test.session_state["word"] == "sister"
    assert "word" not in test.query_params
    assert "sister" not in str(test.query_params)


def test_a_choice_elsewhere_moves_a_text_that_is_already_open(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()
    test.session_state["word"] = "sister"
    assert place(test.run()) == "sister"
    test.session_state["word"] = "garage"
    assert place(test.run()) == "sister"


def test_a_place_in_the_link_is_stronger_than_a_word(opened: Callable[..., AppTest]) -> None:
    test = unopened("rewrite")
    for name, value in (FEW | {"view": "One word: strip and odds"}).items():
        test.session_state[name] = value
    test.query_params["word"] = "hospital"
    test.query_params["place"] = "1"
    assert place(test.run()) == "doctor"
