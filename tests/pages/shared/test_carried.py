"""Choices on one page carry over to the next."""

from typing import Any

import pytest
import streamlit as st
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


def moved(test: AppTest, page: str) -> AppTest:
    """The same session on another page, as by the menu."""
    test.query_params.clear()  # as a browser does
    return test.switch_page(f"pages/{page}/page.py").run()


@pytest.mark.slow
def test_a_chosen_epsilon_is_the_same_on_every_page_that_has_its_dial() -> None:
    test = open_page("attacker")
    turn(test, EPSILONS[0], 14.0)
    for page in ("rewrite", "curves", "words", "robustness", "attacker"):
        test = moved(test, page)
        assert not test.exception
        assert test.session_state["eps_metric"] == 14.0


def test_a_chosen_epsilon_outlives_a_mechanism_that_does_not_admit_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(st, "toast", lambda text, icon: said.append(text))
    test = open_page("attacker")
    turn(test, EPSILONS[0], 4.0)
    assert not said
    field = test.selectbox(key="attacked")
    field.set_value("truncated-gumbel-repaired").run()  # it begins at 4.94
    assert test.session_state["eps_metric"] == 5.0
    assert said == ["You chose ε = 4; the nearest step here is 5."]
    test = moved(test, "words")
    assert test.session_state["eps_metric"] == 4.0
    test = moved(test, "attacker")
    assert test.session_state["eps_metric"] == 5.0
    test.selectbox(key="attacked").set_value("tem").run()
    assert test.session_state["eps_metric"] == 4.0


def test_a_default_that_a_mechanism_does_not_admit_is_no_choice() -> None:
    test = open_page("attacker")
    test.selectbox(key="attacked").set_value("truncated-gumbel-repaired").run()
    test = moved(test, "words")
    assert test.session_state["eps_metric"] == EXAMPLES[0].epsilon
