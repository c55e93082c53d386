"""Links to the Utility page: what is chosen comes back, and nonsense shows the usual view."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import figures, open_link
from tests.pages.utility.settings import OWN, with_curves

visited = functools.partial(open_link, "utility")


@pytest.mark.parametrize(
    "link",
    [
        {"experiment": "no-such", "use_view": "nowhere", "use_within": "much"},
        {"use_source": "elsewhere", "use_labels": "<b>", "use_compare": "never"},
        {"use_source": OWN, "use_trials": "99", "use_texts": "-1", "use_metric": "oracle"},
    ],
)
def test_a_link_of_nonsense_shows_the_usual_view(link: dict[str, str]) -> None:
    test = visited(**link)
    assert not test.exception, test.exception


def test_what_is_chosen_comes_back_with_the_link(opened: Callable[..., AppTest]) -> None:
    test = opened(experiment=with_curves())
    assert not {"use_drawn", "use_compare", "use_tested"} & set(test.query_params)
    test.pills(key="use_drawn").set_value(["nw", "rouge1"]).run()
    test.segmented_control(key="use_compare").set_value("auc").run()
    link = dict(test.query_params)
    assert (link["use_drawn"], link["use_compare"]) == ("nw,rouge1", "auc")
    again = visited(**link)
    assert len(figures(again)) == len(figures(test)) == 2
    assert again.pills(key="use_drawn").value == ["nw", "rouge1"]
    assert visited(**link | {"use_drawn": ""}).info[0].value.startswith("Choose at least one")
    assert visited(**link | {"use_drawn": "<b>"}).pills(key="use_drawn").value[0] == "accuracy"
    view = {"experiment": with_curves(), "use_view": "frontier", "use_cost": "nw"}
    assert visited(**view).selectbox(key="use_cost").value == "nw"


def test_the_ends_of_epsilon_and_the_texts_come_with_a_link() -> None:
    link: dict[str, Any] = {"use_source": OWN, "use_corpus": "topic", "use_metric": ["tem"]}
    test = visited(**link, use_ends_metric=["2", "9"])
    assert test.segmented_control(key="use_corpus").value == "topic"
    assert test.select_slider(key="use_ends_metric").value == (2.0, 9.0)
    test = visited(**link, use_ends_metric=["much"])
    assert test.select_slider(key="use_ends_metric").value == (1.4, 20.0)
