"""A pinned word of the page Curves: its curve, its row, and the link."""

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.cli.main import main
from pages.curves.board import EQUAL
from pages.curves.choosing import LIST, TEXT
from pages.shared.dial import GROUPS
from tests.pages.app import figures, methods, shown_text, turn, type_word
from tests.pages.curves.reading import CORPUS, assert_no_cell_says_none, row


@pytest.mark.slow
def test_a_pinned_word_has_its_curve_and_its_row_and_is_measured_if_need_be(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], of=LIST, words="city money")
    type_word(test, "pin_word", "city")
    type_word(test, "pin_other", "hospital")
    assert not test.exception
    names = [trace.get("name") for trace in figures(test)[0]["data"] if trace.get("name")]
    assert names == ["tem", "tem, “city”", "tem, “hospital”"]
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


# The views of the page Curves: what is taken along, equal Nw, papers.


@pytest.mark.parametrize(
    ("words", "metric", "log"),
    [
        pytest.param({}, ["madlib", "tem"], ["truncated-gumbel"], id="sample"),
        pytest.param({"by": "density"}, ["tem"], [], id="density", marks=pytest.mark.slow),
        pytest.param({"of": LIST, "words": "city, money"}, ["tem"], [], id="list"),
        pytest.param({"of": TEXT, "corpus": CORPUS}, ["tem"], [], id="text"),
    ],
)
def test_commands_and_cell_print_the_numbers_of_the_table(
    opened: Callable[..., AppTest],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: dict[str, str],
    metric: list[str],
    log: list[str],
) -> None:
    # At this ε no two words tie, so that rounding does not decide which is the worst.
    state = {"taking": True, "curve_metric": metric, "curve_log": log, "eps_metric": 2.5}
    test = opened(**state, tem_beta=0.01, **words)
    _, command, cell, _ = (code.value for code in test.code)
    lines = command.splitlines()
    assert len(lines) == len(metric + log)
    (tmp_path / "text").write_text(CORPUS, encoding="utf-8")
    for line in lines[: len(metric)]:
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
    exec(compile(cell.replace("FILE.txt", str(tmp_path / "text")), "cell", "exec"), {})
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [short for short, *_ in printed] == metric + log
    means = pd.concat([row(test, "mean", table) for table in range(1 + len(log))])
    for short, _, *values in printed:
        wanted = means.loc[short, ["Nw", "Sw"]].tolist()
        assert [float(value) for value in values] == pytest.approx(wanted, rel=1e-12)


def test_the_link_holds_no_words_unless_asked(opened: Callable[..., AppTest]) -> None:
    test = opened(taking=True, of=LIST, words="city money", curve_metric=["tem"], curve_log=[])
    assert "money" not in test.code[0].value
    test.toggle(key="link_words").set_value(True).run()
    assert "words=city+money" in test.code[0].value


def test_equal_nw_reads_the_epsilon_of_the_others(opened: Callable[..., AppTest]) -> None:
    test = opened(compare=EQUAL, reference="tem", curve_local=["gaussian"])
    assert len(figures(test)) == 2
    turn(test, GROUPS[0], 3.0)
    assert not test.exception
    shown = test.dataframe[0].value.set_index("mechanism")
    assert shown.loc["tem", "ε at this Nw"] == pytest.approx(3.0)
    goal: Any = shown.loc["madlib"]
    assert goal["more than"] < goal["ε at this Nw"] < goal["less than"]
    assert "The mean Sw where the mean Nw is" in methods(test)
    assert any("Equal Nw is not equal privacy" in e.value for e in test.markdown)


def test_equal_nw_never_reached_is_an_empty_row(opened: Callable[..., AppTest]) -> None:
    test = opened(compare=EQUAL, reference="tem")
    turn(test, GROUPS[0], 0.1)
    shown = test.dataframe[0].value.set_index("mechanism")
    assert shown.loc["truncated-gumbel"].isna().all()
    assert_no_cell_says_none(test)
    assert "truncated-gumbel has it at no measured ε." in methods(test)


@pytest.mark.slow
def test_the_view_on_a_paper_opens(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], part="Appendix C")
    assert len(figures(test)) > 2
