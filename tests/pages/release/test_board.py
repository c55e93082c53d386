"""The table of the Release page: each cell is what the engine says, a coin is no gain."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.leak import leak
from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_least
from dpcore.papers.ours.equal_leakage import task_curves, without_privacy
from dpcore.papers.ours.offers import Clean, Offer, guess_offer
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.study.recorded import Figures, MeanInterval, read_recorded
from pages.release import copying
from pages.release.below import BELOW
from pages.release.board import (
    GOALS,
    Row,
    accuracy_text,
    auc_text,
    badge,
    finding,
    guessed_text,
    packet,
)
from tests.pages.app import component, run_parts, shown_text, watched
from tests.pages.release.settings import goal_epsilon

GUESS, ACCURACY = GOALS["guess"], GOALS["accuracy"]
CLEAN = Clean(MeanInterval(0.79, 0.76, 0.82), 0.5)
TEN = GUESS.steps.index(10)


def row_of(data: dict[str, Any], key: str) -> dict[str, Any]:
    (row,) = (row for row in data["rows"] if row["key"] == key)
    return dict(row)


@pytest.mark.slow
def test_after_a_step_of_the_dial_the_screen_is_that_of_a_visit_with_the_new_goal(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The preview is drawn with fresh noise on every visit; here it is its mechanism's ε.
    monkeypatch.setattr(
        copying, "release_texts", lambda texts, _, epsilon: [str(epsilon)] * len(texts)
    )

    def turned(test: AppTest) -> AppTest:
        test.session_state["aim_guess"] = test.query_params["aim_guess"] = "20"
        return run_parts(test, BELOW)

    test, before = watched(lambda: opened(taking=True))
    test, after = watched(lambda: turned(test), before)
    # The table stands, and the hand has turned the dial; the drawer has buttons for its picture.
    assert {each.key for each in test.get("bidi_component")} <= {"files_offers"}

    def visit() -> AppTest:
        there = opened(taking=True, aim_guess="20")
        there.query_params["aim_guess"] = "20"
        return there.run()

    _, wanted = watched(visit)
    assert before != wanted
    assert after == wanted


@pytest.mark.slow
def test_every_cell_is_what_the_engine_offers(opened: Callable[..., AppTest]) -> None:
    data = component(opened(), "offers")
    figures = Figures(read_recorded("equal-leakage"))
    taught, words = task_curves(figures, "sentiment"), load("default")
    for short in ("madlib", "tem", "optimal", "k-ary", "neighbour-response", "gaussian"):
        kind = create(short, words)
        curve = recorded_curve(kind)
        assert curve is not None
        row = row_of(data, short)
        assert row["name"] == curve.label
        for number, share in enumerate(GUESS.steps):
            offer = guess_offer(kind, curve, taught.get(curve.label), share / 100)
            cells = row["steps"][number]["cells"]
            if offer.epsilon is None or offer.guessed is None:
                assert cells[0] == offer.why
                continue
            assert cells[0].startswith(f"ε = {offer.epsilon:.3g} ")
            assert cells[1].startswith("at least") == offer.at_least
            share = 100 * offer.guessed.mean
            shown = at_least(share, 2) if offer.at_least else f"{share:.2g}"
            assert f"{shown} of 100" in cells[1]
            assert offer.near is not None
            assert cells[2].startswith("at least") == offer.at_least
            if offer.accuracy is not None:
                assert cells[3].startswith(f"{100 * offer.accuracy.mean:.0f} % (")
    clean, _ = without_privacy(figures, "sentiment")
    assert f"(clean {100 * clean.mean:.0f} %)" in data["columns"][4]
    # Read between two measurements: nearly what the law gives.
    promised, shown, *_ = row_of(data, "k-ary")["steps"][TEN]["cells"]
    assert promised.endswith(" any two words")
    epsilon = float(promised.split()[2])
    assert 100 * leak(create("k-ary", words), epsilon).after == pytest.approx(
        float(shown.split()[0]), abs=0.3
    )


def test_the_finding_is_of_the_same_table(opened: Callable[..., AppTest]) -> None:
    data = component(opened(), "offers")
    said = data["findings"][TEN]
    shares = [row["steps"][TEN]["cells"][3].split(" %")[0] for row in data["rows"]]
    most = max(share for share in shares if share.isdigit())  # all have two digits
    best = [row["name"] for row, share in zip(data["rows"], shares, strict=True) if share == most]
    assert any(
        said.startswith(f"Most useful: {name}. A classifier is right on {most} %") for name in best
    )
    assert len(said.split()) <= 35


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        (MeanInterval(0.48, 0.45, 0.51), "0.48: a coin toss"),
        (MeanInterval(0.5, 0.5, 0.5), "0.50: a coin toss"),
        (MeanInterval(0.52, 0.49, 0.55), "0.52 (0.49 to 0.55), maybe a coin toss"),
        (MeanInterval(0.57, 0.54, 0.59), "0.57 (0.54 to 0.59)"),
        (MeanInterval(0.57, math.nan, math.nan), "0.57 (one trial)"),
    ],
)
def test_below_a_half_is_a_coin_and_no_gain(reading: MeanInterval, text: str) -> None:
    assert auc_text(reading) == text


def test_intervals_stand_where_they_say_something() -> None:
    exact = Offer(2.0, guessed=MeanInterval(0.1, 0.0999, 0.1))
    assert guessed_text(exact.guessed, exact.at_least) == "10 of 100"
    drawn = Offer(2.0, guessed=MeanInterval(0.093, 0.087, 0.1), at_least=True)
    assert guessed_text(drawn.guessed, drawn.at_least) == "at least 9.3 of 100 (8.7 to 10)"
    assert guessed_text(None, False) == "not measured here"
    assert accuracy_text(MeanInterval(0.615, 0.587, 0.644)) == "62 % (59 to 64)"
    assert accuracy_text(MeanInterval(0.615, math.nan, math.nan)) == "62 % (one trial)"
    assert badge(Status.CERTIFIED) == "◉ certified"


def test_findings_say_what_is_not_known() -> None:
    assert finding([("tem", Offer(None, "no"))], GUESS, None).startswith("No mechanism")
    assert "not measured yet" in finding([("tem", Offer(2.0))], GUESS, None)
    near = [
        ("a", Offer(2.0, accuracy=MeanInterval(0.62, 0.6, 0.64))),
        ("b", Offer(2.0, accuracy=MeanInterval(0.6, 0.58, 0.62))),
    ]
    assert finding(near, GUESS, CLEAN) == (
        "Most useful: a. A classifier is right on 62 % of the texts, 79 % without privacy; others "
        "may be as good; an unknown number of 100 words are guessed if near ones count."
    )
    assert "others" not in finding([near[0], ("b", Offer(None))], GUESS, CLEAN)
    least = [
        (name, Offer(2.0, guessed=MeanInterval(*[share] * 3), near=MeanInterval(*[0.6] * 3)))
        for name, share in (("a", 0.4), ("b", 0.1))
    ]
    assert finding(least, ACCURACY, CLEAN) == (
        "b gives least away: 10 of 100 content words guessed, 60 if near ones count."
    )
    assert "not measured yet" in finding([("a", Offer(None, "no"))], ACCURACY, None)


@pytest.mark.parametrize(
    ("reading", "known", "says"),
    [
        (MeanInterval(0.29, 0.25, 0.33), False, "Nothing shows that this label can be learned"),
        (MeanInterval(0.27, 0.26, 0.28), False, "a classifier is right on 27 % (26 to 28)"),
        (MeanInterval(0.29, math.nan, math.nan), True, "Most useful: a."),
        (MeanInterval(0.28, math.nan, math.nan), False, "28 % (one trial)"),
        (MeanInterval(0.33, 0.29, 0.37), True, "Most useful: a."),
        (MeanInterval(0.6, 0.1, 1.0), False, "Nothing shows that this label can be learned"),
    ],
)
def test_a_label_that_cannot_be_learned_is_said(
    reading: MeanInterval, known: bool, says: str
) -> None:
    clean = Clean(reading, 0.28)
    assert clean.learnable is known
    offers = [("a", Offer(2.0, accuracy=MeanInterval(0.35, 0.3, 0.4)))]
    said = finding(offers, GUESS, clean)
    assert says in said
    assert ("always guessing the largest class on 28 %" in said) == (not known)
    if not known:
        assert finding(offers, ACCURACY, clean) == said


def test_a_row_says_once_that_something_was_not_measured() -> None:
    kind = create("tem", load("default"))
    seen = MeanInterval(0.6, 0.5, 0.7)
    rows = [
        Row(kind, "a", (Offer(2.0, accuracy=seen),)),
        Row(kind, "b", (Offer(2.0, auc=seen),)),
        Row(kind, "c", (Offer(2.0, guessed=seen, near=seen),)),
    ]
    goal = replace(GUESS, steps=(10,))
    cells = [row["steps"][0]["cells"][1:] for row in packet(rows, goal, CLEAN)["rows"]]
    gap = "not measured here"
    assert cells == [
        [gap, "–", "60 % (50 to 70)", "–"],
        [gap, "–", "–", "0.60 (0.50 to 0.70), maybe a coin toss"],
        ["60 of 100 (50 to 70)", "60 of 100 (50 to 70)", gap, "–"],
    ]
    # Nobody measured it: there is no such column.
    few = packet(rows[2:], goal, None)
    assert [len(few["columns"]), len(few["short"]), len(few["rows"][0]["steps"][0]["cells"])] == [
        4, 4, 3,
    ]  # fmt: skip


def test_a_refuted_promise_wears_its_badge_at_every_step(opened: Callable[..., AppTest]) -> None:
    choice = {"use_local": ["adept"], "use_metric": [], "use_log": ["truncated-gumbel"]}
    data = component(opened(**choice, aim="accuracy"), "offers")
    steps = row_of(data, "truncated-gumbel")["steps"]
    assert [step["refuted"] for step in steps] == [
        not step["cells"][0].startswith("may miss") for step in steps
    ]
    assert any(step["status"] == "✘ refuted" for step in steps)
    data = component(opened(**choice), "offers")
    assert row_of(data, "adept")["steps"][TEN]["cells"][0].startswith("not measured with these")
    # At its least ε nearly half of the words are guessed: it meets the lax goals alone.
    cells = [step["cells"][0] for step in row_of(data, "truncated-gumbel")["steps"]]
    met = [cell.startswith("ln ε") for cell in cells]
    assert met == sorted(met)
    assert set(met) == {False, True}
    for cell in cells[: met.index(True)]:
        assert cell.startswith("may exceed the goal")


def test_another_row_is_chosen_by_its_name_alone(opened: Callable[..., AppTest]) -> None:
    test = opened(offer="k-ary")
    assert component(test, "offers")["chosen"] == "k-ary"
    epsilon = goal_epsilon("k-ary")
    assert f"Chosen: k-ary, ε = {epsilon:.3g} any two words." in shown_text(test)
    test = opened(offer="<b>")
    assert component(test, "offers")["chosen"] == "tem"
