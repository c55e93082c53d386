"""Choices on one page carry over to the next."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.dial import GROUPS as EPSILONS
from pages.words.scene import EXAMPLES
from tests.pages.app import open_page, turn, unopened

GROUPS = ("metric", "log", "local")


def chosen(test: AppTest, prefix: str = "") -> dict[str, Any]:
    assert not test.exception, test.exception
    return {group: test.button_group(key=f"{prefix}{group}").value for group in GROUPS}


@pytest.mark.slow
def test_mechanisms_go_along_and_what_was_not_touched_is_the_pages_own() -> None:
    test = open_page("rewrite")
    start = chosen(test)
    test.button_group(key="metric").set_value(["vickrey", "tem"]).run()
    test = test.switch_page("pages/curves/page.py").run()
    assert chosen(test, "curve_")["metric"] == ["vickrey", "tem"]
    assert chosen(test, "curve_")["local"] == []
    test.button_group(key="curve_metric").set_value(["madlib"]).run()
    test.query_params.clear()  # as a browser does when one goes to another page
    test = test.switch_page("pages/rewrite/page.py").run()
    assert chosen(test) == start | {"metric": ["madlib"]}


def test_an_empty_choice_goes_along_too() -> None:
    test = open_page("rewrite")
    test.button_group(key="log").set_value([]).run()
    test = test.switch_page("pages/words/page.py").run()
    assert chosen(test, "curve_")["log"] == []


@pytest.mark.parametrize("page", ["rewrite", "curves"])
def test_a_link_is_stronger_than_what_goes_along(page: str) -> None:
    test = open_page(page, mechanisms_chosen={"metric": (1, ["vickrey"])})
    prefix = "" if page == "rewrite" else "curve_"
    assert chosen(test, prefix)["metric"] == ["vickrey"]
    test = unopened(page)
    test.session_state["mechanisms_chosen"] = {"metric": (1, ["vickrey"])}
    test.query_params[f"{prefix}metric"] = ["tem"]
    assert chosen(test.run(), prefix)["metric"] == ["tem"]


def test_an_epsilon_goes_along_if_someone_chose_it() -> None:
    usual = open_page("attacker").session_state["eps_metric"]
    test = open_page("words")
    assert test.session_state["eps_metric"] == EXAMPLES[0].epsilon != usual
    test.query_params.clear()  # as a browser does when one goes to another page
    test = test.switch_page("pages/attacker/page.py").run()
    assert test.session_state["eps_metric"] == usual
    turn(test, EPSILONS[0], 4.0)
    test = test.switch_page("pages/words/page.py").run()
    assert test.session_state["eps_metric"] == 4.0
