"""Links to the Release page: what is chosen comes back, and nonsense shows the usual view."""

import functools
from typing import Any

import pytest

from pages.shared.contents import MOVED
from tests.pages.app import component, open_link

visited = functools.partial(open_link, "release")


def test_a_link_of_nonsense_shows_the_usual_view() -> None:
    link = {"use_source": "elsewhere", "use_view": "nowhere", "use_within": "much"}
    link |= {"use_trials": "99", "use_texts": "-1", "use_metric": "oracle"}
    link |= {"aim": "fame", "aim_guess": "much", "aim_accuracy": "-1", "offer": "<b>"}
    board = component(visited(**link), "offers")
    assert (board["group"], board["chosen"]) == ("goal_guess", "tem")


@pytest.mark.slow
def test_the_ends_of_epsilon_and_the_texts_come_with_a_link() -> None:
    link: dict[str, Any] = {"use_corpus": "topic", "use_metric": ["tem"]}
    test = visited(**link, use_ends_metric=["2", "9"])
    assert test.segmented_control(key="use_corpus").value == "topic"
    assert test.select_slider(key="use_ends_metric").value == (2.0, 9.0)
    test = visited(**link, use_ends_metric=["much"])
    assert test.select_slider(key="use_ends_metric").value == (1.4, 20.0)


def test_goal_step_and_row_come_with_a_link() -> None:
    link = {"aim": "accuracy", "aim_accuracy": "25", "offer": "k-ary", "use_corpus": "topic"}
    test = visited(**link)
    board = component(test, "offers")
    assert (board["group"], board["chosen"]) == ("goal_accuracy", "k-ary")
    assert component(test, "dial")["steps"][board["step"]]["left"][1] == "25 points"
    assert {name: test.query_params[name] for name in link} == link
    usual = visited()
    board = component(usual, "offers")
    assert (board["group"], board["chosen"]) == ("goal_guess", "tem")
    assert component(usual, "dial")["steps"][board["step"]]["left"][1] == "10 of 100 content words"
    assert not {"aim", "aim_guess", "offer", "use_corpus"} & set(usual.query_params)


@pytest.mark.slow
def test_a_link_of_the_page_before_leads_here_or_to_the_recorded_experiments() -> None:
    assert MOVED["utility"] == "release"
    here = visited(use_source="own", use_metric=["madlib"], use_trials="2")
    assert here.title[0].value == "What can you release?"
    assert here.number_input(key="use_trials").value == 2
    there = visited(experiment="carvalho2021-figure-1", use_view="membership")
    assert there.title[0].value == "Is the guarantee true?"
    assert there.query_params["experiment"] == "carvalho2021-figure-1"
