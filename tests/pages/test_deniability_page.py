"""The Deniability page under AppTest: curves, sliders, refusals, and what is never shared."""

import json
import math
import re
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore import cli
from dpcore.errors import TextError
from dpcore.limits import PAGE_CORPUS_BYTES, PAGE_CORPUS_CHARACTERS, PAGE_WORDS
from pages.denying import curves as computing
from pages.denying import measuring
from pages.denying.board import EQUAL
from pages.denying.choosing import LIST, SAMPLE, START_SAMPLE, TEXT, Words
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


def row(test: AppTest, of: str, table: int = 0) -> Any:
    """The rows of one kind of the table at ε, by mechanism."""
    shown = test.dataframe[table].value
    return shown[shown["of"].str.startswith(of)].set_index("mechanism")


def assert_no_cell_says_none(test: AppTest) -> None:
    """A missing value is drawn as an empty cell, not as the word that stands for it."""
    assert any(table.value.isna().any(axis=None) for table in test.dataframe)
    for table in test.dataframe:
        assert table.proto.HasField("placeholder")
        assert table.proto.placeholder == ""
        assert not table.value.isin(["None", "nan", "NaN"]).any(axis=None)


def watch_sessions(monkeypatch: pytest.MonkeyPatch, then: Callable[[Any], object]) -> None:
    """Hear of every group of words that is measured, but not of the start's work in advance."""
    measured = measuring._measured

    def watched(mechanism: Any, part: Any, *rest: Any) -> Any:
        if threading.current_thread().name != measuring.AHEAD:
            then(part)
        return measured(mechanism, part, *rest)

    monkeypatch.setattr(measuring, "_measured", watched)


def pin(test: AppTest, key: str, word: str | None) -> None:
    """Choose a word, or type one that is not offered, which `AppTest` does not know by itself."""
    box = test.selectbox(key=key)
    if word is not None and word not in box.options:
        box.options.append(word)
    box.set_value(word).run()


def marks(test: AppTest) -> list[str]:
    """Where the lines of the marks stand."""
    return re.findall(
        r"left:(calc\([^)]*\))[^>]*dotted", " ".join(e.proto.body for e in test.get("html"))
    )


def test_a_step_of_the_slider_measures_nothing_and_draws_no_figure_again(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened()
    before, charts, marked = row(test, "mean"), figures(test), marks(test)
    monkeypatch.setattr(computing, "measure_waiting", lambda *a: pytest.fail("measured"))
    watch_sessions(monkeypatch, lambda part: pytest.fail("measured"))
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert not test.exception
    after = row(test, "mean")
    assert (after["Nw"] < before["Nw"]).all()
    assert row(test, "median")["± Nw"].isna().all()
    assert_no_cell_says_none(test)
    assert "at ε = 3." in said(test)
    # A step runs the fragment of its group alone, and its figures come out the same.
    assert figures(test) == charts[:2]
    assert len(test.dataframe) == 1
    assert len(marks(test)) == 2
    assert set(marks(test)).isdisjoint(marked)


@pytest.mark.parametrize(("view", "tables"), [("Solve for ε", 1), ("Word by word", 2)])
def test_a_step_runs_only_a_view_that_shows_numbers_at_epsilon(
    opened: Callable[..., AppTest], view: str, tables: int
) -> None:
    test = opened(part=view)
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert not test.exception
    assert len(test.dataframe) == tables
    if tables == 2:
        shown = test.dataframe[1].value.set_index("mechanism")
        assert set(shown.loc["tem.v1", "epsilon"]) == {3.0}
        assert set(shown.loc["truncated-gumbel.v1", "epsilon"]) != {3.0}


def test_a_sample_is_measured_once_for_all_and_typed_words_for_one_session_alone(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"curve_metric": ["tem"], "curve_log": [], "seed": 77}
    opened(**few)
    asked: list[str] = []
    watch_sessions(monkeypatch, lambda part: asked.extend(part.names))
    assert len(figures(opened(**few))) == 2
    assert asked == []
    for _ in range(2):
        opened(**few, of=LIST, words="city, money")
    assert asked == ["city", "money"] * 2


def test_what_is_measured_in_advance_is_what_a_first_view_takes(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = resources.lexicon("default")
    work = measuring.Work(Words(SAMPLE, 3).selection(words, 78), 20, 78, public=True)
    measuring.measure_ahead([resources.mechanism(words, "tem.v1")], work).join()
    watch_sessions(monkeypatch, lambda part: pytest.fail("measured"))
    assert len(figures(opened(curve_metric=["tem"], curve_log=[], seed=78))) == 2


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
    assert test.dataframe[0].value["of"].tolist() == ["mean of 14", "median", "worst"]
    next(button for button in test.button if button.label == "Go on measuring").click().run()
    assert not test.warning
    assert test.dataframe[0].value.equals(whole)


CORPUS = "The doctor said the city and the money. The doctor said no, not the doctor."


@pytest.mark.parametrize(
    "words",
    [{}, {"by": "density"}, {"of": LIST, "words": "city, money"}, {"of": TEXT, "corpus": CORPUS}],
    ids=["sample", "density", "list", "text"],
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
        assert cli.main([*arguments[3:], "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        found = {entry["quantity"]: entry for entry in answer["summary"]}
        (key,) = {entry["mechanism"] for entry in answer["summary"]}
        assert ("--set beta=0.01" in line) == (key == "tem.v1")
        for name, label in (("nw", "Nw"), ("sw", "Sw"), ("effective", "effective number")):
            for of in ("mean", "worst", "median"):
                value = row(test, of).loc[key.removesuffix(".v1"), label]
                wanted = found[name][of]  # JSON has no infinity
                assert value == (math.inf if wanted is None else pytest.approx(wanted, rel=1e-12))
            worst = row(test, "worst").loc[key.removesuffix(".v1"), "which word"]
            assert found[name]["worst_word"] in worst.split(" / ")


def test_a_text_is_measured_by_frequency_and_says_what_is_measured(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(
        of=TEXT, corpus=CORPUS, sample=5, part="Word by word", curve_metric=["tem"], curve_log=[]
    )
    assert not test.exception
    weights = test.dataframe[-1].value.set_index("word")["weight"]
    assert (weights["the"], weights["doctor"]) == (5.0, 3.0)
    assert weights.sum() == pytest.approx(15.0)
    assert any("15 words, of which 15 are in the vocabulary" in e.value for e in test.markdown)
    state = {"part": "Link and command", "curve_metric": ["tem"], "curve_log": []}
    test = opened(of=TEXT, corpus=CORPUS, sample=5, **state)
    assert "doctor" not in test.code[0].value
    assert "--corpus FILE.txt --at-most 5" in test.code[-1].value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no text yet"),
        (" \n ", "there is no text yet"),
        ("qqzzyyxx zzqqyyxx", "none of the words of the text is among the 25,000 words"),
        ("a " * PAGE_CORPUS_CHARACTERS, f"at most {PAGE_CORPUS_CHARACTERS:,} are allowed"),
        ("city \x00 money", "control character"),
    ],
    ids=["empty", "blank", "unknown", "long", "binary"],
)
def test_a_bad_text_gets_one_clear_sentence(
    opened: Callable[..., AppTest], text: str, message: str
) -> None:
    test = opened(of=TEXT, corpus=text)
    assert not test.exception
    assert len(test.error) == 1
    assert message in said(test)
    assert not test.get("plotly_chart")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("die Straße".encode("latin-1"), "not UTF-8"),
        ("city".encode("utf-16"), "UTF-16"),
        (b"x" * (PAGE_CORPUS_BYTES + 1), f"larger than {PAGE_CORPUS_BYTES:,} bytes"),
    ],
    ids=["latin1", "utf16", "large"],
)
def test_a_bad_file_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Words(TEXT, 5, text="city", data=data).selection(resources.lexicon("default"), 0)


def test_a_file_goes_before_the_pasted_text(opened: Callable[..., AppTest]) -> None:
    test = opened(of=TEXT, corpus="city", part="Word by word", curve_metric=["tem"], curve_log=[])
    test.get("file_uploader")[0].upload("story.txt", b"money money", "text/plain").run()
    assert not test.exception
    assert test.dataframe[-1].value["word"].tolist() == ["money"]


def test_a_pinned_word_has_its_curve_and_its_row_and_is_measured_if_need_be(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], of=LIST, words="city money")
    pin(test, "pin_word", "city")
    pin(test, "pin_other", "hospital")
    assert not test.exception
    names = [trace.get("name") for trace in figures(test)[0]["data"] if trace.get("name")]
    assert names == ["tem", "tem, city", "tem, hospital"]
    assert row(test, "pinned")["which word"].tolist() == ["city"]
    assert row(test, "compared")["which word"].tolist() == ["hospital"]
    assert row(test, "mean of 2")["Nw"].notna().all()
    assert "Drawn bold: city solid, hospital dotted." in said(test)
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
    pin(test, "pin_word", "City")
    assert test.query_params["word"] == "city"
    pin(test, "pin_word", None)
    assert not test.exception
    assert "word" not in test.query_params
    assert row(test, "pinned").empty


def test_a_pinned_word_that_there_is_not_is_one_sentence(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[])
    pin(test, "pin_word", "**qqzzyyxx**")
    assert not test.exception
    assert "'**qqzzyyxx**' is not among the 25,000 words" in said(test)
    assert not any("qqzzyyxx" in str(e.value) for e in (*test.markdown, *test.warning))
    assert len(figures(test)) == 2


def test_thin_lines_of_all_words_on_request(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], lines=True)
    thin = figures(test)[0]["data"][0]
    assert thin["line"]["width"] == 1


def test_equal_nw_reads_the_epsilon_of_the_others(opened: Callable[..., AppTest]) -> None:
    test = opened(compare=EQUAL, reference="tem", curve_local=["gaussian"])
    assert len(figures(test)) == 2
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert not test.exception
    shown = test.dataframe[0].value.set_index("mechanism")
    assert shown.loc["tem", "ε at this Nw"] == pytest.approx(3.0)
    assert shown.loc["madlib", "more than"] < shown.loc["madlib", "ε at this Nw"]
    assert shown.loc["madlib", "ε at this Nw"] < shown.loc["madlib", "less than"]
    assert "The mean Sw where the mean Nw is" in said(test)
    assert any("Equal Nw is not equal privacy" in e.value for e in test.markdown)


def test_equal_nw_never_reached_is_an_empty_row(opened: Callable[..., AppTest]) -> None:
    test = opened(compare=EQUAL, reference="tem")
    test.select_slider(key="eps_metric").set_value(0.1).run()
    shown = test.dataframe[0].value.set_index("mechanism")
    assert shown.loc["truncated-gumbel"].isna().all()
    assert_no_cell_says_none(test)
    assert "truncated-gumbel has it at no measured ε." in said(test)


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
    at = test.select_slider(key="eps_metric").value
    assert f"at ε = {at:g}." in said(test)
    label = {"nw": "Nw", "sw": "Sw", "effective": "effective number"}[quantity]
    value = row(test, over).loc["tem", label]
    assert value <= bound if quantity == "nw" else value >= bound
    grid = [float(option) for option in test.select_slider(key="eps_metric").options]
    test.select_slider(key="eps_metric").set_value(grid[grid.index(at) + 1]).run()
    beyond = row(test, over).loc["tem", label]
    assert beyond > bound if quantity == "nw" else beyond < bound


@pytest.mark.parametrize("view", ["The papers' figures", "Appendix C"])
def test_the_views_on_the_papers_open(opened: Callable[..., AppTest], view: str) -> None:
    test = opened(curve_metric=["tem"], curve_log=[], part=view)
    assert len(figures(test)) > 2


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
