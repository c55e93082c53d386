"""The Deniability page under AppTest: curves, sliders, refusals, and what is never shared."""

import json
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore import cli
from dpcore.limits import PAGE_WORDS
from pages.denying import curves as computing
from pages.denying.choosing import LIST, START_SAMPLE
from pages.shared import resources
from pages.shared.presets import CURVE_MECHANISMS
from tests.needs import ROOT
from tests.pages.test_rewrite_app import strings_of

FEW = {"sample": 3, "runs": 20}


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    def make(**state: object) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        test.switch_page("pages/deniability.py")
        for name, value in (FEW | state).items():
            test.session_state[name] = value
        return test.run()

    return make


def figures(test: AppTest) -> list[dict[str, Any]]:
    assert not test.exception, test.exception
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def said(test: AppTest) -> str:
    return " ".join(str(element.value) for element in test.text)


def test_it_opens_with_curves_of_two_groups(opened: Callable[..., AppTest]) -> None:
    test = opened()
    found = figures(test)
    assert len(found) == 4
    assert {slider.key for slider in test.select_slider} == {"eps_metric", "eps_log"}
    names = {trace["name"] for figure in found for trace in figure["data"] if "name" in trace}
    assert names == set(CURVE_MECHANISMS)
    held = test.session_state["denying_held"]
    assert len(held.parts) == len(CURVE_MECHANISMS)
    assert "tem: mean" in said(test)
    assert "(exact)" in said(test)
    assert "(2 s.e.)" in said(test)


def test_the_first_view_measures_a_few_ordinary_words() -> None:
    assert 10 <= START_SAMPLE <= 20


def test_a_step_of_the_slider_measures_nothing(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened()
    before = test.dataframe[0].value
    asked: list[str] = []
    monkeypatch.setattr(computing, "measure", lambda *a, **k: asked.append("measured"))
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert not test.exception
    assert asked == []
    after = test.dataframe[0].value
    assert (after["Nw mean"] < before["Nw mean"]).all()
    assert "at ε = 3." in said(test)
    shape = figures(test)[0]["layout"]["shapes"][0]
    assert shape["x0"] == 3.0


def test_another_mechanism_keeps_what_is_measured(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], curve_local=[])
    (before,) = test.session_state["denying_held"].parts.values()
    before = dict(before)
    test.session_state["curve_local"] = ["gaussian"]
    test.run()
    held = test.session_state["denying_held"].parts
    (after,) = (parts for name, parts in held.items() if name[0] == "tem.v1")
    assert len(held) == 2
    assert all(after[i] is part for i, part in before.items())
    assert len(figures(test)) == 4


def test_typed_words_are_measured_and_named(opened: Callable[..., AppTest]) -> None:
    test = opened(
        of=LIST, words="Doctor, city;  money", curve_metric=["tem"], curve_log=[], curve_local=[]
    )
    test.session_state["part"] = "Word by word"
    test.run()
    table = test.dataframe[-1].value
    assert table["word"].tolist() == ["doctor", "city", "money"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "the list of words is empty"),
        (" ,; \n", "the list of words is empty"),
        ("hospital qqzzyyxx", "qqzzyyxx"),
        ("aaqqxx bbqqxx", "'aaqqxx', 'bbqqxx' are not in lexicon"),
        (" ".join(f"w{i}" for i in range(PAGE_WORDS + 1)), f"got {PAGE_WORDS + 1} words"),
        ("x" * 5000, "2,000 characters"),
    ],
)
def test_bad_words_get_one_clear_sentence(
    opened: Callable[..., AppTest], typed: str, message: str
) -> None:
    test = opened(of=LIST, words=typed)
    assert not test.exception
    assert len(test.error) == 1
    assert message in said(test)
    assert not test.get("plotly_chart")


def test_typed_words_are_no_markup_and_enter_no_shared_cache(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(of=LIST, words="**hospital** <img/src=x> unmistakablesecretword")
    assert not test.exception
    rendered = [str(e.value) for kind in (test.markdown, test.error) for e in kind]
    assert not any("**hospital**" in text or "<img" in text for text in rendered)
    words = resources.lexicon("default")
    shared = [words, *(resources.mechanism(words, f"{short}.v1") for short in CURVE_MECHANISMS)]
    secret = "unmistakablesecretword"
    assert not any(secret in text for thing in shared for text in strings_of(thing))


def test_no_mechanism_is_a_hint(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=[], curve_log=[], curve_local=[])
    assert not test.exception
    assert "Choose at least one mechanism" in test.info[0].value


def test_a_stop_keeps_what_is_there_and_goes_on(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], curve_local=[], sample=20)
    held = test.session_state["denying_held"]
    (parts,) = held.parts.values()
    assert len(parts) == 3
    whole = test.dataframe[0].value
    parts.pop(2)
    test.session_state["denying_stopped"] = True
    test.run()
    assert "Stopped" in test.warning[0].value
    assert any("tem: 14 of 20 words" in element.value for element in test.markdown)
    assert test.dataframe[0].value["words"].tolist() == [14]
    next(button for button in test.button if button.label == "Go on measuring").click().run()
    assert not test.warning
    assert test.dataframe[0].value.equals(whole)


@pytest.mark.parametrize("typed", [None, "city, money"])
def test_the_commands_print_the_numbers_of_the_table(
    opened: Callable[..., AppTest], capsys: pytest.CaptureFixture[str], typed: str | None
) -> None:
    words = {} if typed is None else {"of": LIST, "words": typed}
    test = opened(part="Link and command", curve_metric=["madlib", "tem"], tem_beta=0.01, **words)
    shown = test.dataframe[0].value.set_index("mechanism")
    lines = test.code[-1].value.splitlines()
    assert len(lines) == 3
    for line in lines[:2]:
        arguments = shlex.split(line)
        assert arguments[:3] == ["python", "-m", "dpcore"]
        assert cli.main([*arguments[3:], "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        rows = {row["quantity"]: row for row in answer["summary"]}
        (key,) = {row["mechanism"] for row in answer["summary"]}
        assert ("--set beta=0.01" in line) == (key == "tem.v1")
        for name, label in (("nw", "Nw"), ("sw", "Sw")):
            for column, field in (("mean", "mean"), ("worst", "worst"), ("median", "median")):
                value = shown.loc[key, f"{label} {column}"]
                assert value == pytest.approx(rows[name][field], rel=1e-12)
            assert shown.loc[key, f"{label} worst word"] == rows[name]["worst_word"]


def test_the_link_holds_no_words_unless_asked(opened: Callable[..., AppTest]) -> None:
    test = opened(
        part="Link and command", of=LIST, words="city money", curve_metric=["tem"], curve_log=[]
    )
    assert "money" not in test.code[0].value
    test.toggle(key="link_words").set_value(True).run()
    assert "words=city+money" in test.code[0].value


def test_solving_reads_the_curve(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], curve_local=[])
    table = next(iter(test.session_state["denying_held"].parts.values()))[0]
    mean = table.selection.weights @ table.figures.nw / table.selection.weights.sum()
    largest = table.epsilons[np.flatnonzero(mean <= 0.5)[-1]]
    assert f"to {largest:g}, no longer (or not for certain) at" in said(test)
    test.number_input(key="bound_nw").set_value(1.0).run()
    assert "which is the largest that was measured" in said(test)


def test_local_mechanisms_with_and_without_delta_are_told_apart(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(curve_metric=[], curve_log=[], curve_local=["laplace", "gaussian"])
    assert len(figures(test)) == 2
    assert any("up to a probability δ: gaussian" in e.value for e in test.markdown)
