"""The lesson: nine steps, a guess each, the score, the sheets, and the explanations elsewhere."""

import functools
import re
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.lesson import EXERCISES, ODDS_EPSILON, ODDS_WORDS
from pages.lesson.lesson import GUESS, answer_cell, computed
from pages.lesson.steps import BY_PAGE, STEPS, answers, step, turn_table, turned, worksheet
from pages.shared.language import say, speaking
from tests.needs import ROOT
from tests.pages.app import component, open_link, shown_text, unopened

opened = functools.partial(open_link, "lesson")


def guess(test: AppTest, key: str, *, right: bool) -> AppTest:
    task = computed(key)
    if task.options:
        place = int(task.answer) if right else (int(task.answer) + 1) % len(task.options)
        test.radio(key=f"{GUESS}{key}").set_value(task.options[place])
    else:
        far = task.low if task.answer > (task.low + task.high) / 2 else task.high
        number = round(task.answer, 1) if right else far
        test.number_input(key=f"{GUESS}{key}").set_value(number)
    return test.button(key=f"lesson_check_{key}").click().run()


def score_shown(test: AppTest) -> str:
    """Return the text above the progress bar of the guesses."""
    return " ".join(str(bar.proto.text) for bar in test.get("progress"))


def test_the_steps_are_those_of_the_exercises() -> None:
    assert tuple(each.key for each in STEPS) == tuple(EXERCISES)
    assert set(BY_PAGE) <= {"", *(path.parent.name for path in (ROOT / "pages").glob("*/page.py"))}
    assert {key for keys in BY_PAGE.values() for key in keys} <= set(EXERCISES)
    for each in STEPS:
        assert (ROOT / each.page).is_file()


@pytest.mark.slow
def test_the_whole_lesson_can_be_walked() -> None:
    test = opened()
    for place, each in enumerate(STEPS):
        shown = shown_text(test)
        assert f"{place + 1}. {each.title}" in shown
        assert computed(each.key).question in shown
        assert computed(each.key).truth not in shown
        test = guess(test, each.key, right=place % 2 == 0)
        shown = shown_text(test)
        assert computed(each.key).truth in shown
        assert ("Correct." in shown) == (place % 2 == 0)
        counted = score_shown(test)
        assert counted == f"{place + 1} of {len(STEPS)} guesses made, {place // 2 + 1} correct."
        if place < len(STEPS) - 1:
            test = test.button(key="lesson_forward").click().run()
    assert "lesson_forward" not in {each.key for each in test.button}
    shown = shown_text(test)
    assert f"**{(len(STEPS) + 1) // 2} of {len(STEPS)} correct**" in shown
    missed = [each.key for each in STEPS[1::2]]
    assert [
        str(each.key).removeprefix("lesson_again_")
        for each in test.button
        if "_again_" in str(each.key)
    ] == missed
    assert shown_text(test.button(key=f"lesson_again_{missed[0]}").click().run()).count(
        step(missed[0]).title
    )
    test = test.button(key="lesson_anew").click().run()
    assert score_shown(test) == ""


@pytest.mark.slow
def test_the_first_guess_counts() -> None:
    test = guess(opened(step="odds"), "odds", right=False)
    assert "Not quite." in shown_text(test)
    assert test.radio(key=f"{GUESS}odds").disabled
    assert not [button for button in test.button if button.key == "lesson_check_odds"]
    test = test.button(key="lesson_forward").click().run()
    test = test.button(key="lesson_back").click().run()
    assert "Not quite." in shown_text(test)


@pytest.mark.parametrize(
    ("step", "asked"), [("price", "type a number from 0 to 100."), ("crowd", "choose an")]
)
def test_checking_without_a_guess_asks_for_one(step: str, asked: str) -> None:
    test = opened(step=step).button(key=f"lesson_check_{step}").click().run()
    assert computed(step).truth not in shown_text(test)
    assert f"Guess first: {asked}" in shown_text(test)


def test_a_link_of_nonsense_opens_the_first_step() -> None:
    assert f"1. {STEPS[0].title}" in shown_text(opened(step="<b>"))


def test_a_link_opens_its_step() -> None:
    for place, each in list(enumerate(STEPS, start=1))[5:7]:
        assert f"{place}. {each.title}" in shown_text(opened(step=each.key))


def test_the_link_has_the_setting_of_its_step_alone() -> None:
    test = opened(step="odds", at="8")
    assert component(test, "turning")["start"] == 8
    assert test.query_params["at"] == "8"
    test = test.button(key="lesson_forward").click().run()
    assert component(test, "turning")["start"] == turned("crowd").start
    assert "at" not in test.query_params
    test = test.button(key="lesson_back").click().run()
    assert component(test, "turning")["start"] == 8


@pytest.mark.parametrize("at", ["x", "-1", "1e9", "", "999"])
def test_a_setting_of_nonsense_is_the_usual_or_the_last_one(at: str) -> None:
    start = component(opened(step="odds", at=at), "turning")["start"]
    assert start == (len(turned("odds").frames) - 1 if at == "999" else turned("odds").start)


def test_a_number_says_how_near_is_correct() -> None:
    label = opened(step="choose").number_input(key=f"{GUESS}choose").label
    assert label == "Your guess, from 1 to 4; 0.15 more or less is correct"


def test_the_footer_names_what_the_step_is_computed_from() -> None:
    assert "handwritten" not in shown_text(opened(step="odds"))
    assert "200 draws for each handwritten digit" in shown_text(opened(step="proof"))


class Balanced(HTMLParser):
    """Tags that are opened and closed in order; the words between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.slow
@pytest.mark.parametrize("make", [worksheet, answers])
def test_the_sheets_are_whole_and_load_nothing(make: Callable[..., str]) -> None:
    tasks = tuple(computed(each.key) for each in STEPS)
    sheet = make(tasks)
    read = Balanced()
    read.feed(sheet)
    assert not read.open
    assert not re.search(r"src=|href=|url\(|@import|<script", sheet)
    for task in tasks:
        assert task.question in read.words
        assert (task.truth in read.words) == (make is answers)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["rewrite", "words", "papers", "attacker"])
def test_other_pages_explain_themselves_when_asked(page: str) -> None:
    test = unopened(page)
    test.query_params["explain"] = "true"
    shown = shown_text(test.run())
    for key in BY_PAGE[page]:
        assert next(each for each in STEPS if each.key == key).story in shown
    silent = shown_text(test.toggle(key="explain").set_value(False).run())
    assert STEPS[1].story not in silent


def test_the_promise_of_odds_is_about_one_output_of_one_word() -> None:
    """TEM's worst output of one draw keeps the bound; the same output twice does not."""
    story = step("odds").story
    assert "covers one output of one word" in story
    assert "the factors multiply" in story
    assert "whatever else" not in story
    lexicon = load()
    pair = lexicon.indices(ODDS_WORDS)
    rows = lexicon.vectors[pair].astype(float)
    bound = ODDS_EPSILON * np.linalg.norm(rows[0] - rows[1])
    laws = [create("tem", lexicon).law(int(word), [ODDS_EPSILON]).probabilities[0] for word in pair]
    once = np.abs(np.log(laws[0] / laws[1])).max()
    assert once <= bound < 2 * once


@pytest.mark.slow
@pytest.mark.parametrize("key", EXERCISES)
def test_what_can_be_turned_keeps_the_answer_until_the_guess(key: str) -> None:
    whole = turned(key)
    before = component(opened(step=key), "turning")
    assert [frame["name"] for frame in before["frames"]] == [frame.name for frame in whole.frames]
    for sent, frame in zip(before["frames"], whole.frames, strict=True):
        assert (sent["finding"] != frame.finding) == frame.asked
        assert all((bar[1] is None) == frame.asked for bar in sent["bars"])
    after = component(guess(opened(step=key), key, right=False), "turning")
    assert [frame["finding"] for frame in after["frames"]] == [
        frame.finding for frame in whole.frames
    ]


def test_what_is_taken_along_computes_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(turn_table("odds", guessed=True)) > len(turn_table("odds", guessed=False)) > 0
    for key in ("odds", "claim"):
        exec(answer_cell(key), {})
        printed = capsys.readouterr().out
        assert computed(key).truth in printed
        assert all(bar.text in printed for frame in turned(key).frames for bar in frame.bars)


def test_a_title_of_another_language_than_the_last_runs_opens_its_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    german = opened(lang="de").selectbox(key="step").options
    test = opened()
    field, usual = test.selectbox(key="step"), vars(Selectbox)["index"]
    # Chosen from the German list; the session reads it by the English one.
    field.options = german
    monkeypatch.setattr(
        Selectbox, "index", property(lambda self: 2 if self.key == "step" else usual.__get__(self))
    )
    test.button_group(key="lang").set_value("de").run()
    assert not test.exception
    with speaking("de"):
        assert f"3. {say(STEPS[2].title)}" in shown_text(test)
