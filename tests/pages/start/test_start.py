"""The start page: rewritten when it opens, the same numbers as elsewhere, nothing heavy, links."""

import math
import re

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.papers.overview import headline, shown
from dpcore.papers.verdicts import read_recorded
from pages.audit.tables import signed
from pages.lesson.steps import STEPS
from pages.shared.contents import CONTENTS
from pages.shared.presets import DEFAULT_PRESET, PRESETS
from pages.start.sentence import SHOWN
from tests.needs import ROOT
from tests.pages.app import open_page, rows, shown_text, written


def prose(test: AppTest) -> str:
    return " ".join(element.value for element in test.markdown)


@pytest.fixture(scope="module")
def fresh() -> AppTest:
    return open_page("start")


def test_it_opens_on_a_sentence_that_is_already_rewritten(fresh: AppTest) -> None:
    drawn = rows(fresh)
    assert [key.rpartition(".")[0] for key in drawn] == list(SHOWN)
    assert fresh.text_area(key="text").value == PRESETS[DEFAULT_PRESET]
    assert any(token.get("changed") for row in drawn.values() for token in row["tokens"])
    assert {row["status"]["label"] for row in drawn.values()} == {"proved", "refuted"}
    assert not fresh.get("plotly_chart")
    assert not fresh.get("dataframe")


def test_what_is_said_of_a_row_is_what_the_row_shows(fresh: AppTest) -> None:
    for row in rows(fresh).values():
        changed, _, protected, _ = row["count"].split()
        assert f"**{row['title']}** changed {changed} of {protected} words." in prose(fresh)
        assert re.search(
            rf"{re.escape(row['title'])}\*\* [^*]*{row['status']['label']}\.", prose(fresh)
        )


def test_its_rows_are_those_of_the_page_rewrite_after_a_walk() -> None:
    state = {"seed": 7, "draw": 2, "eps_metric": 5.0, "eps_log": math.exp(12.0)}
    test = open_page("rewrite", text="a small dog", **state)
    elsewhere = rows(test)
    readings = [text.value[7:-1] for text in test.markdown if "may multiply the odds" in text.value]
    assert len(readings) == 3
    test = test.switch_page("pages/start/page.py").run()
    assert test.text_area(key="text").value == "a small dog"
    for key, row in rows(test).items():
        assert written(row) == written(elsewhere[key])
        assert row["count"] == elsewhere[key]["count"]
        assert row["promise"] == elsewhere[key]["promise"]
    assert all(reading in prose(test) for reading in readings)
    assert "seed 7" in shown_text(test)


def test_the_verdicts_are_those_of_the_record_and_lead_to_their_claims(fresh: AppTest) -> None:
    recorded = read_recorded().verdicts
    shown_there = [element.value for element in fresh.text]
    links = {link.proto.label: link.proto.query_string for link in fresh.get("page_link")}
    for verdict in recorded:
        name, value = headline(verdict)
        assert f"Claimed: {verdict.claim}\nComputed: {name}: {shown(value)}" in shown_there
        assert signed(verdict) in shown_there
        assert links[verdict.title] == f"claim={verdict.key}"


def test_it_leads_into_every_step_and_every_page(fresh: AppTest) -> None:
    links = {link.proto.label: link.proto for link in fresh.get("page_link")}
    for place, step in enumerate(STEPS, start=1):
        assert links[f"{place}. {step.title}"].query_string == f"step={step.key}"
    for page in CONTENTS[1:]:
        assert links[page.title].page == page.address
        assert page.question in [element.value for element in fresh.text]


def test_the_readme_has_the_same_pages_with_the_same_questions() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in CONTENTS:
        assert f"| {page.title} | {page.question} |" in readme


@pytest.mark.parametrize("name", ["view", "place", "eps_metric", "local", "tem_beta", "seed"])
def test_an_old_link_of_the_first_page_opens_the_page_rewrite(name: str) -> None:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    test.query_params[name] = "1"
    test.query_params["preset"] = "letter"
    test = test.run()
    assert not test.exception, test.exception
    assert test.title[0].value == "What is left of your words?"
    assert test.text_area(key="text").value == PRESETS["letter"]


def test_a_link_with_a_preset_stays() -> None:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    test.query_params["preset"] = "letter"
    test = test.run()
    assert test.text_area(key="text").value == PRESETS["letter"]
    assert len(rows(test)) == len(SHOWN)


@pytest.mark.parametrize(
    "text", ["", "  ", "\x00", "\U0001f600" * 40, "<b>bold</b> <script>alert(1)</script>", "…"]
)
def test_nonsense_is_rewritten_or_refused_in_a_sentence(text: str) -> None:
    test = open_page("start", text=text)
    assert not test.exception, test.exception
    assert "Which promises are true?" in [element.value for element in test.subheader]


def test_too_many_words_are_refused_with_the_number() -> None:
    test = open_page("start", text="word " * 10_000)
    assert not test.exception, test.exception
    assert [element.value for element in test.error] == ["This could not be rewritten."]
    assert "Which promises are true?" in [element.value for element in test.subheader]
