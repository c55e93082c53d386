"""The page Words under AppTest: what it shows of two words, and what is measured."""

import base64
import json
import math
import shlex
from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpcore.cli.main import main
from dpcore.measure.maps.fit import DEFAULT_PAIR
from dpcore.plots.maps.panes import APART
from dpcore.plots.style import style_of
from pages.shared import session as resources
from pages.shared.dial import GROUPS, group_of
from pages.shared.epsilon_dial import set_epsilon
from pages.shared.session import CURVE_MECHANISMS
from pages.shared.words import OTHER
from pages.words import measuring, scene
from pages.words.scene import EXAMPLES, Example
from pages.words.tables import swatch
from pages.words.words import none_found, try_less_protected
from tests.pages.app import dials, figures, methods, shown_text, unopened
from tests.pages.words.reading import FEW, panes, shown, table, watch_sessions


def test_it_opens_with_a_word_in_a_crowd_and_one_alone(opened: Callable[..., AppTest]) -> None:
    test = opened()
    opening = EXAMPLES[0]
    assert shown(test) == opening.names
    data = panes(test)
    assert (data["mechanism"], data["readings"][data["step"]]) == ("madlib", "ε = 14")
    row = data["rows"][data["step"]]
    assert data["standings"][row] == ["crowd", "alone"]
    said = "madlib, ε = 14: “umbrella” stands alone, guessed in 57 of 100 outputs; “june”, in a "
    assert data["captions"][row] == said + "crowd, in 25."
    # The link names all of it, so that it shows the same when the page opens with something else.
    asked = {name: test.query_params[name] for name in ("word", "other", "outputs_of")}
    assert asked == {"word": "june", "other": "umbrella", "outputs_of": "madlib"}
    assert test.query_params["eps_metric"] == "14"
    assert not figures(test)
    rows = table(test)
    assert [name.split()[1] for name in rows["mechanism"]] == [
        mechanism for mechanism in CURVE_MECHANISMS for _ in (0, 1)
    ]
    assert rows["mark"].nunique() == len(CURVE_MECHANISMS)
    assert rows["word"].tolist() == list(opening.names) * len(CURVE_MECHANISMS)
    refuted = rows["mechanism"].str.contains("truncated-gumbel")
    for name in ("attack_nearest", "attack"):
        assert (rows[name].str.endswith("(refuted)") == refuted).all()
        assert (rows[name].str.contains("(≤ ", regex=False) != refuted).all()
    assert "A slider for truncated-gumbel, whose ε is on another scale." in shown_text(test)
    assert set(dials(test)) == {"metric", "log"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_an_example_shows_what_its_title_says(
    opened: Callable[..., AppTest], example: Example
) -> None:
    test = opened(**FEW, more="Facts")
    assert shown(test) == DEFAULT_PAIR
    test.selectbox(key="words_example").set_value(example.title).run()
    data = panes(test)
    assert shown(test) == example.names
    assert data["mechanism"] == example.mechanism
    row = data["rows"][data["step"]]
    assert data["captions"][row].startswith(f"{example.mechanism}, ε = {example.epsilon:g}: ")
    alike = "Why" in example.title
    assert data["standings"][row] == (["alike"] * 2 if alike else ["crowd", "alone"])
    numbers = {"insulin": "75 of 100 outputs; “june”, in a crowd, in 38."} | {
        "garage": "76 of 100 outputs; “monday”, in a crowd, in 50."
    }
    said = numbers.get(example.names[1], "near words take 14 and 0." if alike else "in 25.")
    assert data["captions"][row].endswith(said)
    assert test.selectbox(key="words_example").value is None  # it can be chosen once more


def beside(names: tuple[str, str], key: str, epsilon: float, *compared: str) -> scene.WordsScene:
    """Return two words under a mechanism whose dial stands at ε."""
    words = resources.lexicon("default")
    kind, *others = (resources.mechanism(words, each) for each in (key, *compared))
    set_epsilon(group_of(kind.meaning), epsilon)
    return scene.WordsScene(scene.bench_for(words, *names), kind, others, "default")


def click(shown: scene.WordsScene) -> str | None:
    """Ask for a less protected second word; return it, or None if the page says there is none."""
    st.session_state.pop(OTHER, None)
    before = none_found(shown)
    try_less_protected(shown)
    other = st.session_state.get(OTHER)
    assert (other is None) == (none_found(shown) != before)
    return other


def test_a_less_protected_word_is_guessed_more_often_and_is_another_each_time() -> None:
    key, epsilon = "truncated-gumbel.v1", math.exp(8.5)
    kind = resources.mechanism(resources.lexicon("default"), key)

    def stays(word: str) -> float:
        return kind.law(word, epsilon).probability(word)

    names, offers = ("doctor", "violin"), []
    for _ in range(11):
        word = click(beside(names, key, epsilon))
        assert word is not None
        assert stays(word) >= stays("doctor") + APART
        offers.append(word)
        names = ("doctor", word)
    # Ten in descending order, then the first of them again.
    assert len(set(offers)) == 10
    assert offers[-1] == offers[0]
    assert [stays(word) for word in offers[:10]] == sorted(map(stays, offers[:10]), reverse=True)
    assert click(beside((offers[0], "doctor"), key, epsilon)) is None  # it is lonely itself


@pytest.mark.parametrize(
    ("key", "epsilon"),
    [
        ("k-ary.v1", 10.0),  # all words stay equally often
        ("madlib.v1", 0.1),  # no word stays
        ("madlib.v1", 1000.0),  # all words stay
        ("optimal.v1", 0.1),
    ],
)
def test_where_no_word_is_less_protected_the_page_says_so(key: str, epsilon: float) -> None:
    scene = beside(("doctor", "violin"), key, epsilon, "k-ary.v1")
    assert click(scene) is None
    sentence = none_found(scene)
    assert sentence is not None
    start = "No other common word that was tried is guessed clearly more often than “doctor” here: "
    assert sentence["text"] == start + "raise or lower ε, or choose another mechanism."
    # A second click tells it once more; it is about this pair, this mechanism and this ε alone.
    try_less_protected(scene)
    again = none_found(scene)
    assert again == sentence | {"number": sentence["number"] + 1}
    assert none_found(beside(("doctor", "violin"), "tem.v1", epsilon)) is None
    assert none_found(beside(("violin", "doctor"), key, epsilon)) is None
    assert none_found(beside(("doctor", "violin"), key, 2 * epsilon)) is None


def test_a_compared_mechanism_under_which_some_are_less_protected_is_named() -> None:
    set_epsilon(GROUPS[1], math.exp(8.5))
    scene = beside(("doctor", "violin"), "tem.v1", 2.5, "optimal.v1", "truncated-gumbel.v1")
    assert click(scene) is None
    sentence = none_found(scene)
    assert sentence is not None
    assert sentence["text"].endswith("here: choose truncated-gumbel, under which some are.")


def test_where_a_mechanism_is_not_defined_a_click_changes_nothing() -> None:
    scene = beside(("doctor", "violin"), "trlaplace.v1", 1000.0)
    assert 1000.0 not in scene.mechanism.admissible
    st.session_state.pop(OTHER, None)
    try_less_protected(scene)
    assert OTHER not in st.session_state
    assert none_found(scene) is None


def test_old_links_mean_what_they_meant(opened: Callable[..., AppTest]) -> None:
    test = unopened("words")
    test.query_params["eps_metric"] = "3"
    data = panes(test.run())
    assert shown(test) == DEFAULT_PAIR
    assert (data["mechanism"], data["readings"][data["step"]]) == ("tem", "ε = 3")


def test_the_curves_are_those_of_both_words(opened: Callable[..., AppTest]) -> None:
    test = opened(more="Curves", **FEW)
    assert len(figures(test)) == 1
    assert "The same ε treats “monday” and “garage” most differently under" in shown_text(test)


def test_facts_and_distances_are_a_click_away(opened: Callable[..., AppTest]) -> None:
    test = opened(more="Facts", **FEW)
    facts = test.dataframe[0].value.set_index("fact")
    assert list(facts.loc["stratum"]) == ["dense", "sparse"]
    test = opened(more="True distances", **FEW)
    assert len(figures(test)) == 1
    assert "“monday”: the nearest word is" in methods(test)


def test_beside_a_mechanism_stands_its_mark_in_its_colour() -> None:
    for mechanism in CURVE_MECHANISMS:
        drawing = base64.b64decode(swatch(f"{mechanism}.v1").partition(",")[2]).decode()
        style = style_of(mechanism)
        assert f'fill="{style.colour}">{style.glyph}</text>' in drawing


def test_a_pair_that_was_measured_ahead_is_not_measured_again(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene, "DEFAULT_PAIR", ("doctor", "violin"))
    words = resources.lexicon("default")
    names = ("doctor", "violin")
    measuring.measure_ahead(words, names, [resources.mechanism(words, "tem.v1")])
    watch_sessions(monkeypatch, lambda: pytest.fail("measured"))
    test = opened(**FEW)
    assert shown(test) == ("doctor", "violin")
    assert table(test)["word"].tolist() == ["doctor", "violin"]


@pytest.mark.slow
def test_the_table_holds_the_numbers_of_the_commands(
    opened: Callable[..., AppTest], capsys: pytest.CaptureFixture[str]
) -> None:
    few = FEW | {"curve_metric": ["madlib", "tem"], "eps_metric": 12.0}
    rows = table(opened(**few))
    lists = opened(more="Facts", **few).dataframe
    test = opened(taking=True, **few)
    lines = test.code[1].value.splitlines()
    assert len(lines) == 3 + 2
    for line in lines:
        assert line.startswith("python -m dpcore ")
        assert main([*shlex.split(line)[3:], "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        if " neighbours " in line:
            near = lists[1 if "monday" in line else 2].value
            assert near["word"].tolist() == [row["word"] for row in answer["neighbours"]]
        for row in answer.get("rows", []):
            same = rows["mechanism"].str.endswith(" " + row["mechanism"].removesuffix(".v1"))
            here = rows[same & (rows["word"] == row["word"])].iloc[0]
            assert here["nw"].startswith(f"{row['nw']:.3g}")
            if "attack_low" in row:
                assert here["attack"].startswith(f"{row['attack_low']:.3f}")
                assert here["distance"].startswith(f"{row['output_distance']:.3g}")


def test_the_python_cell_prints_how_often_the_words_stay(
    opened: Callable[..., AppTest], capsys: pytest.CaptureFixture[str]
) -> None:
    state = FEW | {"eps_metric": 3.0}
    rows = table(opened(**state))
    (cell,) = (c.value for c in opened(taking=True, **state).code if "dp.mechanism" in c.value)
    capsys.readouterr()
    exec(cell, {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == rows["word"].tolist()
    for line, nw in zip(lines, rows["nw"], strict=True):
        assert f"{float(line.split()[1]):.3g}" == nw.split()[0]


def test_no_mechanism_is_a_hint(opened: Callable[..., AppTest]) -> None:
    test = opened(**FEW | {"curve_metric": []})
    assert not test.exception
    assert "Choose at least one mechanism" in test.info[0].value
    assert shown(test) == DEFAULT_PAIR  # the panes have one all the same


def test_a_stop_keeps_what_is_there(opened: Callable[..., AppTest]) -> None:
    """The slow mechanism is measured a few ε at a time; half of its steps are taken away."""
    test = opened(**FEW, word="doctor")
    bench = test.session_state["neighbouring_bench"][1]
    (key,) = bench._rows
    bench._rows.pop(key)
    bench._tables.clear()
    test.session_state["neighbouring_stopped"] = bench
    test.run()
    assert "Stopped" in test.warning[0].value
    assert not any("attack" in drawn.value.columns for drawn in test.dataframe)
    test.button(key="go_on_pair").click().run()
    assert not test.warning
    assert len(table(test)) == 2
