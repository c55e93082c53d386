"""The views of the Deniability page: commands, links, answers, equal Nw, papers."""

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.cli.main import main
from pages.deniability.board import EQUAL
from pages.deniability.choosing import LIST, TEXT
from tests.pages.app import figures, shown_text
from tests.pages.deniability.reading import CORPUS, assert_no_cell_says_none, row


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({}, id="sample"),
        pytest.param({"by": "density"}, id="density", marks=pytest.mark.slow),
        pytest.param({"of": LIST, "words": "city, money"}, id="list"),
        pytest.param({"of": TEXT, "corpus": CORPUS}, id="text"),
    ],
)
def test_the_commands_print_the_numbers_of_the_table(
    opened: Callable[..., AppTest],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: dict[str, str],
) -> None:
    # At this ε no two words tie, so that rounding does not decide which is the worst.
    state = {"part": "Link and command", "curve_metric": ["madlib", "tem"], "eps_metric": 2.5}
    test = opened(**state, tem_beta=0.01, **words)
    lines = test.code[-1].value.splitlines()
    assert len(lines) == 3
    (tmp_path / "text").write_text(CORPUS, encoding="utf-8")
    for line in lines[:2]:
        arguments = shlex.split(line.replace("FILE.txt", str(tmp_path / "text")))
        assert arguments[:3] == ["python", "-m", "dpcore"]
        assert main([*arguments[3:], "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        summary = {entry["quantity"]: entry for entry in answer["summary"]}
        (key,) = {entry["mechanism"] for entry in answer["summary"]}
        assert ("--set beta=0.01" in line) == (key == "tem.v1")
        for name, label in (("nw", "Nw"), ("sw", "Sw"), ("effective", "effective number")):
            for of in ("mean", "worst", "median"):
                value = row(test, of).loc[key.removesuffix(".v1"), label]
                wanted = summary[name][of]  # JSON has no infinity
                assert value == (math.inf if wanted is None else pytest.approx(wanted, rel=1e-12))
            worst = row(test, "worst").loc[key.removesuffix(".v1"), "which word"]
            assert summary[name]["worst_word"] in worst.split(" / ")


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
    assert f"to {largest:g}, no longer (or not for certain) at" in shown_text(test)
    test.number_input(key="bound_nw").set_value(1.0).run()
    assert "which is the largest that was measured" in shown_text(test)


@pytest.mark.parametrize(
    ("wanted", "bound"),
    [("Nw at most", 0.3), ("Sw at least", 5.0), ("Effective number at least", 4.0)],
)
@pytest.mark.parametrize("over", ["mean", "median", "worst"])
def test_the_answer_can_be_taken_over_by_one_click(
    opened: Callable[..., AppTest], wanted: str, bound: float, over: str
) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], wanted=wanted, over=over)
    quantity = {"N": "nw", "S": "sw", "E": "effective"}[wanted[0]]
    test.number_input(key=f"bound_{quantity}").set_value(bound).run()
    test.button(key="take_tem").click().run()
    assert not test.exception
    epsilon = test.select_slider(key="eps_metric").value
    assert isinstance(epsilon, float)
    assert f"at ε = {epsilon:g}." in shown_text(test)
    label = {"nw": "Nw", "sw": "Sw", "effective": "effective number"}[quantity]
    value = row(test, over).loc["tem", label]
    assert value <= bound if quantity == "nw" else value >= bound
    grid = [float(option) for option in test.select_slider(key="eps_metric").options]
    test.select_slider(key="eps_metric").set_value(grid[grid.index(epsilon) + 1]).run()
    beyond = row(test, over).loc["tem", label]
    assert beyond > bound if quantity == "nw" else beyond < bound


def test_equal_nw_reads_the_epsilon_of_the_others(opened: Callable[..., AppTest]) -> None:
    test = opened(compare=EQUAL, reference="tem", curve_local=["gaussian"])
    assert len(figures(test)) == 2
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert not test.exception
    shown = test.dataframe[0].value.set_index("mechanism")
    assert shown.loc["tem", "ε at this Nw"] == pytest.approx(3.0)
    goal: Any = shown.loc["madlib"]
    assert goal["more than"] < goal["ε at this Nw"] < goal["less than"]
    assert "The mean Sw where the mean Nw is" in shown_text(test)
    assert any("Equal Nw is not equal privacy" in e.value for e in test.markdown)


def test_equal_nw_never_reached_is_an_empty_row(opened: Callable[..., AppTest]) -> None:
    test = opened(compare=EQUAL, reference="tem")
    test.select_slider(key="eps_metric").set_value(0.1).run()
    shown = test.dataframe[0].value.set_index("mechanism")
    assert shown.loc["truncated-gumbel"].isna().all()
    assert_no_cell_says_none(test)
    assert "truncated-gumbel has it at no measured ε." in shown_text(test)


@pytest.mark.parametrize("view", ["The papers' figures", "Appendix C"])
def test_the_views_on_the_papers_open(opened: Callable[..., AppTest], view: str) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], part=view)
    assert len(figures(test)) > 2
