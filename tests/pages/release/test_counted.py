"""Counts beside the truth, below a private copy on the Release page."""

import csv
import io
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dpcore as dp
from dpcore.crowd.comparison import compare
from dpcore.crowd.planner import countable_words, plan
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from pages.release import counted as counted_page
from tests.pages.app import figures, shown_text
from tests.pages.release.settings import goal_epsilon, upload
from tests.pages.release.test_copy import files, made, started

__all__ = ["started"]

TEXTS = ("The film was wonderful, a wonderful cast.", "A boring film, terrible and boring.")
DATA = "text,verdict\n" + "".join(
    f'"{TEXTS[i % 2]}",{"good" if i % 2 else "bad"}\n' for i in range(600)
)
WRITTEN = (("wonderful", "bad"), ("boring", "good"))
RESPONSE = {"use_metric": [], "use_local": ["k-ary"], "use_log": [], "offer": "k-ary"}


def counted(
    opened: Callable[..., AppTest], jobs: list[Any], keep: list[str], **settings: Any
) -> tuple[AppTest, Any]:
    """The page with a private copy of `DATA`, and its state of it."""
    test = upload(opened(**settings), DATA.encode())
    test.multiselect(key="release_keep_2").set_value(keep).run()
    test = made(test, jobs)
    return test, files(test)


@pytest.mark.slow
def test_counts_by_label_are_those_of_the_engine_and_the_rings_the_truth(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test, work = counted(opened, started, ["verdict"], **RESPONSE)
    assert not test.exception
    rows = list(csv.DictReader(io.StringIO(work.copy.data.decode(), newline="")))
    texts, labels = ([row[name] for row in rows] for name in ("column 1", "column 2"))
    assert set(labels) == {"good", "bad"}
    found = dp.count(
        texts, work.order.mechanism, work.order.epsilon, top=12, by=labels, looked_at=60
    )
    figure = figures(test)[-1]
    first, second, rings = figure["data"]
    assert {first["name"], second["name"], rings["name"]} == {"bad", "good", "truth"}
    expected = {(row.query, row.group): row for row in found.rows}
    for trace in (first, second):
        for word, x in zip(trace["y"], trace["x"], strict=True):
            row = expected[word, trace["name"]]
            assert row.low <= x <= row.high
    truth = dict(zip(zip(rings["y"], map(round, rings["x"]), strict=True), rings["x"], strict=True))
    written = {("wonderful", 600), ("wonderful", 0), ("boring", 600), ("boring", 0)}
    assert written <= set(truth)
    # A file of the figure would hold the truth.
    assert not [each for each in test.get("expander") if each.label == "Numbers and files"]
    shown = shown_text(test)
    for word, group in WRITTEN:
        more = round(expected[word, group].estimate)
        assert f"“{word}” is more common in {group}: about {more:,} times, and about " in shown
    assert (
        "at most 5 % of such findings are false, as many as if all 25,000 words had been compared"
        in shown
    )
    # No word is drawn that was never written, and came out by noise alone.
    words = {word.strip(".,").lower() for text in TEXTS for word in text.split()}
    assert set(first["y"]) == set(second["y"]) <= words
    (command,) = (code.value for code in test.code if " count " in code.value)
    assert command == (
        "python -m dpcore count private.csv --record private.csv.run.json --top 12 --by 'column 2'"
    )


@pytest.mark.slow
def test_without_a_label_content_words_are_counted(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test, _ = counted(opened, started, [], **RESPONSE)
    only, rings = figures(test)[-1]["data"]
    assert only["name"] == "all"
    assert {"film", "wonderful", "boring"} <= set(only["y"])
    assert not {"the", "a", "was"} & set(only["y"])
    assert dict(zip(rings["y"], rings["x"], strict=True))["film"] == 600
    assert "is more common in" not in shown_text(test)
    assert "--by" not in "".join(code.value for code in test.code)


FEW = "text,verdict,month\n" + "".join(
    f'"{TEXTS[i % 2]}",{"good" if i % 2 else ""},{i % 3}\n' for i in range(24)
)


def test_too_few_texts_are_said_to_be_too_few_and_an_empty_group_has_a_name(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**RESPONSE), FEW.encode())
    test.multiselect(key="release_keep_3").set_value(["verdict"]).run()
    test = made(test, started)
    shown = shown_text(test)
    assert "No difference between the groups is certain: 24 texts are too few at this ε." in shown
    assert "noise alone can do that." in shown
    traces = figures(test)[-1]["data"]
    assert {trace["name"] for trace in traces} == {"(empty)", "good", "truth"}
    (word,) = set(traces[0]["y"])  # the one of the sentence
    sentence = (
        rf"The clearest of 25,000 words, “{word}”, came out (\d+) times in (\S+) and (\d+) times"
    )
    match = re.search(sentence, shown)
    assert match is not None
    texts: dict[str, list[str]] = {"good": [], "(empty)": []}
    for row in csv.DictReader(io.StringIO(files(test).copy.data.decode(), newline="")):
        texts[row["column 2"] or "(empty)"].append(row["column 1"])
    came_out = {
        group: sum(re.findall(r"[\w'-]+", text.lower()).count(word) for text in several)
        for group, several in texts.items()
    }
    more, group, less = match.groups()
    assert came_out.pop(group) == int(more)
    assert list(came_out.values()) == [int(less)]


def test_a_word_of_ones_choice_is_counted_for_itself(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**RESPONSE), FEW.encode())
    test.multiselect(key="release_keep_3").set_value(["verdict"]).run()
    test = made(test, started)
    test.text_input(key="release_asked_word").set_value("Wonderful").run()
    sentences = next(text.value for text in test.text if "“wonderful” in" in text.value)
    *lines, verdict = sentences.split("\n")
    told_of = (
        r"“wonderful” in (\S+): ([\d,]+) to ([\d,]+) times \(95 %\); in your file (\d+) times\."
    )
    matches = [re.fullmatch(told_of, line) for line in lines]
    assert {each[1]: each[4] for each in matches if each} == {"good": "0", "(empty)": "24"}
    assert "between the groups is" in verdict
    work = files(test)
    rows = list(csv.DictReader(io.StringIO(work.copy.data.decode(), newline="")))
    texts, labels = ([row[name] for row in rows] for name in ("column 1", "column 2"))
    estimates = dp.count(texts, work.order.mechanism, work.order.epsilon, ["wonderful"], by=labels)
    ends = {(math.floor(row.low), math.ceil(row.high)) for row in estimates.rows}
    assert {(int(each[2]), int(each[3])) for each in matches if each} == ends
    test.text_input(key="release_asked_word").set_value("qqzz").run()
    assert "The vocabulary does not hold this word" in shown_text(test)


def test_of_two_columns_one_is_chosen_to_compare_by(
    opened: Callable[..., AppTest], started: list[Any]
) -> None:
    test = upload(opened(**RESPONSE), FEW.encode())
    test.multiselect(key="release_keep_3").set_value(["verdict", "month"]).run()
    test = made(test, started)
    (field,) = [box for box in test.selectbox if box.label == "Compare texts by"]
    assert field.options == ["verdict", "month"]
    other = next(place for place in (1, 2) if place != field.value)
    field.set_value(other).run()
    command = next(code.value for code in test.code if " count " in code.value)
    assert f"--by 'column {other + 1}'" in command
    groups = {trace["name"] for trace in figures(test)[-1]["data"]}
    assert groups == ({"0", "1", "2", "truth"} if other == 2 else {"(empty)", "good", "truth"})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("k-ary", "Counting: 600 texts are few. To within half of the truth"),
        ("tem", "Counting: this page cannot count a copy by tem; the command “count” can"),
        ("madlib", "Counting: nothing can be counted in a copy by madlib."),
    ],
)
def test_before_the_release_it_is_said_what_can_be_counted(
    opened: Callable[..., AppTest], name: str, says: str
) -> None:
    group = "use_local" if name == "k-ary" else "use_metric"
    settings: dict[str, Any] = {"use_metric": [], "use_local": [], "use_log": [], "offer": name}
    test = upload(opened(**settings | {group: [name]}), DATA.encode())
    assert says in shown_text(test)
    if name == "tem":
        curve = recorded_curve(create(name, load("default")))
        assert curve is not None
        few, some = (curve.at_epsilon(f"counted-{n}", goal_epsilon(name)) for n in (10**4, 10**5))
        assert few is not None
        assert some is not None
        assert few < 0.1 < some
        assert (
            f"in 100,000 texts of 220 words each, {100 * some:.0f} % of content words"
            in shown_text(test)
        )
    if name == "k-ary":
        epsilon = goal_epsilon(name)
        level = 1 - 0.05 / len(load("default"))
        mechanism = create(name, load("default"))
        asked: dict[str, Any] = {"epsilon": epsilon, "words_per_text": 6.5, "level": level}
        share = countable_words(mechanism, texts=600, error=0.5, **asked).share
        needed = plan(mechanism, error=0.5, words="the", share=0.01, **asked).texts
        assert share is not None
        assert needed is not None
        shown = shown_text(test)
        assert f"only what makes up {100 * share:.2g} % of all words, or more." in shown
        assert f"it takes about {int(float(f'{needed:.2g}')):,} such texts" in shown


def test_of_a_lexicon_without_frequencies_nothing_is_expected() -> None:
    def page() -> None:
        from dpcore.mechanisms.registry import create
        from pages.release.counted import say_expected
        from tests.mechanisms.contract import SMALL

        say_expected(create("k-ary", SMALL), 3.0, 300, 7_800)

    test = AppTest.from_function(page).run(timeout=60)
    assert not test.exception
    assert not test.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [("tem", "With this mechanism it takes some minutes"), ("madlib", "Nothing can be counted in")],
)
def test_what_cannot_be_counted_here_is_said(
    opened: Callable[..., AppTest], started: list[Any], name: str, says: str
) -> None:
    settings = {"use_metric": [name], "use_local": [], "use_log": [], "offer": name}
    test, work = counted(opened, started, ["verdict"], **settings)
    assert work.order.mechanism.short == create(name, load("default")).short
    assert work.order.treatment == DEFAULT_TREATMENT
    assert says in shown_text(test) + " ".join(e.value for e in test.error)
    assert "The rings are" not in shown_text(test)  # nothing is drawn
    assert any(" count " in code.value for code in test.code) == (name == "tem")


@pytest.mark.slow
def test_lines_of_text_are_counted_too(opened: Callable[..., AppTest], started: list[Any]) -> None:
    test = upload(opened(**RESPONSE), ("\n".join(TEXTS * 100) + "\n").encode(), "own.txt")
    test = made(test, started)
    _, rings = figures(test)[-1]["data"]
    assert dict(zip(rings["y"], rings["x"], strict=True))["film"] == 200


def test_groups_are_compared_by_content_words_before_findings_are_picked() -> None:
    """Function words that differ must not raise the rate of false ones among the others."""
    lexicon = load()
    response = create("k-ary", lexicon)
    private = ["the the the film", "film film boring of"] * 40
    every = dp.count(private, response, 9.0, top=4, by=["a", "b"] * 40, looked_at=4)
    some = counted_page._of_content_words(every, lexicon)
    assert some is not None
    assert set(some.estimators.queries.names) == {"film", "boring"}
    assert some.hypotheses == every.hypotheses
    compared = {row.query: row for row in compare(some).rows}
    before = {row.query: row for row in compare(every).rows}
    assert compared["film"].p == before["film"].p
    # Ranked among content words alone, so no less than where function words come first.
    assert all(compared[word].q >= before[word].q for word in compared)
    functions = dp.count(["the of"] * 9, response, 9.0, top=2)
    assert counted_page._of_content_words(functions, lexicon) is None
