"""Links to the Utility page: what is chosen comes back, and nonsense shows the usual view."""

import functools
from typing import Any

import pytest

from tests.pages.app import open_link

visited = functools.partial(open_link, "utility")


@pytest.mark.parametrize(
    "link",
    [
        {"use_source": "elsewhere", "use_view": "nowhere", "use_within": "much"},
        {"use_trials": "99", "use_texts": "-1", "use_metric": "oracle"},
    ],
)
def test_a_link_of_nonsense_shows_the_usual_view(link: dict[str, str]) -> None:
    test = visited(**link)
    assert not test.exception, test.exception


def test_the_ends_of_epsilon_and_the_texts_come_with_a_link() -> None:
    link: dict[str, Any] = {"use_corpus": "topic", "use_metric": ["tem"]}
    test = visited(**link, use_ends_metric=["2", "9"])
    assert test.segmented_control(key="use_corpus").value == "topic"
    assert test.select_slider(key="use_ends_metric").value == (2.0, 9.0)
    test = visited(**link, use_ends_metric=["much"])
    assert test.select_slider(key="use_ends_metric").value == (1.4, 20.0)
