"""Recorded experiments on the Utility page: views, equal privacy, examples, damage."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import StudyError
from dpcore.study import live_jobs
from pages.shared.recorded import recorded as bundled_record
from pages.utility import recorded
from tests.needs import ROOT
from tests.pages.app import figures, shown_text
from tests.pages.utility.settings import NAMES, OWN, THERE, with_curves


def test_it_opens_with_a_record_and_starts_nothing(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_jobs, "start", lambda *_: pytest.fail("a run was started"))
    test = opened()
    assert test.selectbox(key="experiment").value == NAMES[0]
    assert len(figures(test)) >= 2
    assert "95 % intervals of the mean over" in shown_text(test)
    assert "without privacy: " in shown_text(test)
    assert "recorded 2" in shown_text(test)


def test_no_learner_is_loaded_for_the_first_view() -> None:
    program = (
        "import sys, pages.utility.views, pages.utility.running;"
        "from pages.utility.recorded import recorded;"
        f"recorded({NAMES[0]!r}); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_record_has_its_views(opened: Callable[..., AppTest], name: str) -> None:
    test = opened(experiment=name)
    entry = THERE[name]
    views = ["Curves", "Frontier", "Membership", "Solve for ε"]
    views += ["Paper against measurement"] * bool(entry.source) + ["Link and command"]
    for view in views:
        test.session_state["use_view"] = view
        test.run()
        assert not test.exception, (view, test.exception)
    assert entry.command in shown_text(test)
    assert entry.sizes in shown_text(test)
    assert entry.lexicons[0]["fingerprint"][:16] in shown_text(test)


def test_refuted_claims_are_named_beside_their_curves(opened: Callable[..., AppTest]) -> None:
    name = "huang2024-figure-4-agnews"
    if name not in THERE:
        pytest.skip(f"{name} is not recorded")
    assert "refuted at some or all of these ε: gaussian-classical, trlaplace." in shown_text(
        opened(experiment=name)
    )
    assert "refuted at some" not in shown_text(opened(experiment="teaching-corpus"))


@pytest.mark.parametrize("how", ["nw", "auc", "loss"])
def test_mechanisms_are_compared_at_equal_privacy(opened: Callable[..., AppTest], how: str) -> None:
    test = opened(experiment=with_curves(), use_compare=how)
    titles = {figure["layout"]["xaxis"]["title"]["text"] for figure in figures(test)}
    wanted = {
        "nw": "Nw: share of words that stay",
        "auc": "attacker's AUC (0.5: guessing)",
        "loss": "largest proved loss between two words (nats)",
    }
    assert titles == {wanted[how]}


def test_the_smallest_epsilon_is_told_by_mechanism(opened: Callable[..., AppTest]) -> None:
    test = opened(experiment=with_curves(), use_view="Solve for ε")
    before = shown_text(test)
    assert "tem: ε = " in before
    assert "Within 5 points of" in before
    test.number_input(key="use_within").set_value(0.0).run()
    assert "Within 0 points of" in shown_text(test)
    assert shown_text(test) != before


def test_the_attacker_is_drawn_on_logarithmic_axes(opened: Callable[..., AppTest]) -> None:
    test = opened(experiment=with_curves(), use_view="Membership")
    (figure,) = figures(test)
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"
    assert "in 100 texts that were not used" in shown_text(test)
    assert "nothing is seen below a false-positive rate" in shown_text(test)


def test_examples_of_a_record_are_those_of_the_chosen_classifier(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = with_curves()
    record = bundled_record(name)
    row = record.table[record.table["quantity"] == "accuracy"].iloc[[0]]
    learner = row["learner"].iloc[0]
    texts = {"original": "![x](http://a.b)", "private": "a *b*", "true": "good", "guessed": "bad"}
    example = row.assign(label="madlib", epsilon=2.0, quantity="example", **texts)
    other = example.assign(learner="other", original="of another classifier")
    both = dataclasses.replace(record, examples=pd.concat([other, example], ignore_index=True))
    monkeypatch.setattr(recorded, "recorded", lambda _: both)
    test = opened(
        experiment=name, use_view="Examples", use_classifier=learner, use_labels=row["data"].iloc[0]
    )
    shown = shown_text(test)
    assert "![x](http://a.b) Its label: good" in shown
    assert "a *b* Read as: bad" in shown
    assert "of another classifier" not in shown
    assert [text.value for text in test.text if text.value == texts["original"]]


def test_damage_is_said_and_a_run_of_ones_own_still_works(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> Any:
        raise StudyError("the manifest is damaged: record it again")

    monkeypatch.setattr(recorded, "read_bundled", damaged)
    test = opened()
    assert "record it again" in shown_text(test)
    assert "a run of your own works" in shown_text(test)
    test.segmented_control(key="use_source").set_value(OWN).run()
    assert not test.exception
