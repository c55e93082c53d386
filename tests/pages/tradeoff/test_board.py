"""The Trade-off page: what the board is given at every step, and what the views below it say."""

import contextlib
import io
import itertools
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.trade.ground import GUESSED, MEANT, NEARLY
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create, resolve
from dpcore.papers.ours.equal_leakage import task_curves
from dpcore.papers.ours.tradeoff import ARMS, recorded_curves
from dpcore.rewrite.sentence import draw, prepare
from dpcore.study.recorded import Figures, read_recorded
from pages.shared.session import DEFAULT_PRESET, PRESETS
from pages.tradeoff import scene
from pages.tradeoff.quantities import LEAKAGES, UTILITIES, Utility
from tests.pages.app import component, open_link, open_page, shown_text, table, unopened

WORD = LEAKAGES[0]


def board(test: AppTest) -> dict[str, Any]:
    return component(test, "tradeoff")


def lines(data: dict[str, Any], chart: int = 0) -> list[dict[str, Any]]:
    """The curves of one chart with their names."""
    curves = data["charts"][chart]["curves"]
    return [look | curve for look, curve in zip(data["lines"], curves, strict=True)]


@pytest.fixture(scope="module")
def first() -> AppTest:
    return open_page("tradeoff")


def test_marks_are_the_recorded_curves_at_every_step(first: AppTest) -> None:
    data = board(first)
    word, near = data["charts"]
    assert word["level"] == [pytest.approx(100 * share) for share in WORD.steps]
    assert near["level"] == [None] * len(WORD.steps)
    assert len(data["lines"]) == 5
    for line in lines(data):
        curve = recorded_curves()[line["label"]]
        assert [x for x, _ in line["points"]] == pytest.approx(
            100 * curve.values(GUESSED), abs=6e-4
        )
        for share, place in zip(WORD.steps, line["at"], strict=True):
            left = curve.at(MEANT, GUESSED, share)
            if left is None:
                assert place is None
            else:
                assert place == pytest.approx([100 * share, 100 * left], abs=6e-4)
        for (x, y), (left, right, low, high) in zip(line["points"], line["bars"], strict=True):
            assert left <= x <= right
            assert low <= y <= high


def test_the_two_charts_are_of_one_epsilon(first: AppTest) -> None:
    """At each step of the dial a mechanism has one ε, and what it leaves there is one number."""
    data = board(first)
    for word, near in zip(lines(data, 0), lines(data, 1), strict=True):
        curve = recorded_curves()[word["label"]]
        for share, one, other in zip(WORD.steps, word["at"], near["at"], strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                assert one[1] == other[1]
                assert other[0] == pytest.approx(
                    100 * (curve.at(NEARLY, GUESSED, share) or 0.0), abs=6e-4
                )
    step = data["step"]
    nears = {line["label"]: line["at"][step][0] for line in lines(data, 1) if line["at"][step]}
    most, least = max(nears, key=nears.__getitem__), min(nears, key=nears.__getitem__)
    of_madlib, said = data["findings"][step].split(". ")[1:]
    assert of_madlib == "For madlib this is a lower bound: a better attacker may guess more"
    counted = f"Counting near words, {most} gives away {nears[most]:.2g} of 100, {least}"
    assert said.startswith(counted)


def test_sentences_are_the_draw_of_the_seed_at_the_epsilon_of_the_step(first: AppTest) -> None:
    data, lexicon = board(first), load(None)
    text = PRESETS[DEFAULT_PRESET]
    sentence = prepare(text, lexicon)
    arms = {arm.name: arm for arm in ARMS}
    steps = (2, 6, 12)
    for row in data["rows"]:
        label = data["lines"][row["line"]]["label"]
        arm = arms[label]
        curve = recorded_curves()[label]
        wanted = [curve.epsilon_at(GUESSED, share) for share in WORD.steps]
        there = sorted({epsilon for epsilon in wanted if epsilon is not None})
        mechanism = create(resolve(arm.mechanism).key, lexicon, dict(arm.settings))
        drawn = draw(sentence, mechanism, 2024, 0, epsilons=np.array(there))
        for step in steps:
            epsilon = wanted[step]
            if epsilon is None:
                assert row["words"][step] is None
                assert row["promise"][step].startswith(("not measured", "never gives away"))
                continue
            shown = "".join(gap + data["texts"][i] for i, _, gap in row["words"][step])
            assert shown == drawn.at(epsilon).text
            changed = sum(flag for _, flag, _ in row["words"][step])
            assert changed == drawn.at(epsilon).changed


def test_rows_stand_in_the_order_of_what_they_leave(first: AppTest) -> None:
    data = board(first)
    step = data["step"]
    left = [lines(data)[row["line"]]["at"][step][1] for row in data["rows"]]
    assert left == sorted(left, reverse=True)


def test_a_finding_names_the_most_and_the_least_in_few_words(first: AppTest) -> None:
    data = board(first)
    for step, finding in enumerate(data["findings"]):
        assert len(finding.split()) <= 50
        there = {
            line["label"]: line["at"][step][1]
            for line in lines(data)
            if line["at"][step] is not None
        }
        if not there:
            assert "none of these methods" in finding
            continue
        assert max(there, key=lambda label: there[label]) in finding
        assert f"{max(there.values()):.0f}\u00a0%" in finding
        assert f"{min(there.values()):.0f}\u00a0%" in finding


def test_nobody_stands_above_the_line_that_nobody_can_cross() -> None:
    data = board(open_link("tradeoff", left="kept"))
    for frame in data["charts"][0]["frames"]:
        (guide,) = frame["guides"]
        assert guide["kind"] == "bound"
    for x, y in itertools.chain.from_iterable(line["points"] for line in lines(data)):
        assert y <= x + 1e-9
    assert board(open_link("tradeoff"))["charts"][0]["frames"][0]["guides"][0]["kind"] == "loose"


@pytest.mark.slow
@pytest.mark.parametrize("leakage", LEAKAGES, ids=lambda one: one.key)
def test_every_pair_of_axes_is_drawn_or_not_offered(leakage: Any) -> None:
    for utility in UTILITIES:
        test = open_link("tradeoff", learned=leakage.key, left=utility.name)
        data = board(test)
        of_texts = utility.data is not None
        offered = leakage.key not in ({"near", "kind", "pair"} if of_texts else {"auc"})
        chosen = test.selectbox(key="left").value
        assert (chosen == utility.name) == offered
        assert any(line["points"] for line in lines(data))
        dial = component(test, "dial")
        assert dial["group"] == data["group"] == f"leak_{leakage.key}"
        assert len(dial["steps"]) == len(data["findings"])


def test_what_texts_teach_is_the_recorded_accuracy() -> None:
    data = board(open_link("tradeoff", left="sst2"))
    figures = Figures(read_recorded("equal-leakage-sst2"))
    curves = task_curves(figures, "SST-2")
    for line in lines(data):
        curve = curves.get(line["label"])
        if curve is None:
            assert line["points"] == []
        else:
            values = 100 * curve.values("accuracy")
            assert [y for _, y in line["points"]] == pytest.approx(values, abs=6e-4)
    assert "without privacy 72" in data["charts"][0]["frames"][0]["guides"][0]["label"]


def test_words_are_counted_where_the_noise_can_be_undone() -> None:
    left = "counted-100000"
    test = open_link("tradeoff", left=left, part="What the axes mean")
    data = board(test)
    drawn = {line["label"]: line["points"] for line in lines(data)}
    assert not drawn["madlib"]
    for label in drawn.keys() - {"madlib"}:
        values = 100 * recorded_curves()[label].values(left)
        assert [y for _, y in drawn[label]] == pytest.approx(values, abs=6e-4)
    # The diagonal says something of one word, not of a number of words.
    assert not any(frame["guides"] for chart in data["charts"] for frame in chart["frames"])
    assert "of the words countable" in data["findings"][data["step"]]
    for frame in data["charts"][0]["frames"]:
        assert (frame["y"]["low"], frame["y"]["high"]) == (0.0, 100.0)
    for row in data["rows"]:
        is_madlib = data["lines"][row["line"]]["label"] == "madlib"
        assert row["promise"][data["step"]].endswith("nothing can be counted") == is_madlib
    # Not measured is not impossible.
    other = board(open_link("tradeoff", left=left, curves="diffractor,gaussian"))
    said = {other["lines"][row["line"]]["label"]: row["promise"] for row in other["rows"]}
    assert any(each.endswith("counting was not measured") for each in said["diffractor"])
    assert any(each.endswith("nothing can be counted") for each in said["gaussian"])
    assert "(220 words each)" in shown_text(test)


@pytest.mark.slow
@pytest.mark.parametrize("utility", [one for one in UTILITIES if one.data], ids=lambda u: u.name)
def test_all_that_is_learned_is_inside_the_figure(utility: Utility) -> None:
    data = board(open_link("tradeoff", left=utility.name))
    low, high = (data["charts"][0]["frames"][0]["y"][end] for end in ("low", "high"))
    assert any(line["points"] for line in lines(data))
    heights = [y for line in lines(data) for _, y in line["points"]]
    (guide,) = data["charts"][0]["frames"][0]["guides"]
    assert low < min(heights) < max(heights) < high
    assert low < guide["points"][0][1] < high


def test_a_link_sets_the_dial_and_nonsense_does_not() -> None:
    for level, share in (("20", 0.2), ("19.2", 0.2), ("1e9", 0.9), ("x", 0.2), ("nan", 0.2)):
        data = component(open_link("tradeoff", level=level), "dial")
        assert data["shares"][data["step"]] == share


def test_the_numbers_below_are_those_of_the_dial() -> None:
    test = open_link("tradeoff", level="40", curves="tem,neighbour-response-10", part="In numbers")
    numbers = table(test, "mechanism", "ε").set_index("mechanism")
    curve = recorded_curves()["tem"]
    assert numbers.loc["tem", "ε"] == pytest.approx(curve.epsilon_at(GUESSED, 0.4))
    left = 100 * (curve.at(MEANT, GUESSED, 0.4) or 0.0)
    assert numbers.loc["tem", "meaning left (%)"] == pytest.approx(left)
    assert numbers["ε"].isna().tolist() == [False, True]  # of ten words
    row = board(test)["rows"][-1]
    assert row["promise"][board(test)["step"]] == "never gives away more than 38 of 100"


def opened_drawer(**link: str) -> AppTest:
    test = unopened("tradeoff")
    test.session_state["taking"] = True
    for name, value in link.items():
        test.query_params[name] = value
    return test.run()


@pytest.mark.parametrize("left", ["meaning", "sentiment", "counted-100000"])
def test_the_python_cell_prints_what_the_table_says(left: str) -> None:
    test = opened_drawer(left=left, curves="tem,madlib")
    (cell,) = [code.value for code in test.code if "import" in code.value]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(cell, {})
    numbers = table(
        open_link("tradeoff", left=left, curves="tem,madlib", part="In numbers"), "mechanism", "ε"
    )
    expected = numbers.set_index("mechanism").filter(like="(%)").iloc[:, 0]
    for line in printed.getvalue().splitlines():
        label, _, value = line.split()
        assert 100 * float(value) == pytest.approx(expected[label])
    # The noise of madlib cannot be undone.
    assert len(printed.getvalue().splitlines()) == (1 if left == "counted-100000" else 2)


def test_what_is_typed_is_neither_in_the_link_nor_in_the_command() -> None:
    test = opened_drawer()
    test.text_area(key="text").set_value("zebra crossing <b>xyzzy</b>").run()
    assert "zebra" in str(board(test))  # at the step that changes least
    assert "zebra" not in shown_text(test)
    assert "zebra" not in str(dict(test.query_params))


def test_without_a_mechanism_the_page_says_what_to_do() -> None:
    test = open_link("tradeoff", curves="")
    assert "Choose at least one mechanism" in shown_text(test)
    names = [element.proto.component_name for element in test.get("bidi_component")]
    assert not any(name.endswith((".tradeoff", ".dial")) for name in names)


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        ({}, True),  # the first view, whose goal is that of the dial
        ({"part": "In numbers"}, True),
        ({"part": "How is this computed?"}, False),
        ({"part": "How is this computed?", "taking": True}, True),
    ],
)
def test_below_runs_what_shows_the_place_of_the_dial(
    monkeypatch: pytest.MonkeyPatch, state: dict[str, Any], runs: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(scene, "run_parts", lambda *parts: asked.extend(parts))
    monkeypatch.setattr("pages.shared.link.write", lambda *_: None)
    monkeypatch.setattr("streamlit.session_state", state)
    scene._rested(WORD, 3)
    assert (scene.VIEWS in asked) == runs
