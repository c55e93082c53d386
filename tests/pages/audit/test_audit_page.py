"""The Audit page under AppTest: the table, every claim, computing one again, and nonsense."""

import functools
import json
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpcore.errors import ParameterError
from dpcore.lexicon import catalogue
from dpcore.papers.claims import CLAIMS
from dpcore.papers.verdicts import read_recorded
from pages.audit import pictures, store
from pages.shared import progress, resources
from tests.mechanisms import lexicons
from tests.pages.app import open_link, shown_text, table

opened = functools.partial(open_link, "audit")


def compute(test: AppTest) -> AppTest:
    return next(b for b in test.button if b.label == "Compute with these settings").click().run()


def test_it_opens_with_the_recorded_table_and_computes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "verdict", lambda *_: pytest.fail("computed"))
    test = opened()
    rows = table(test, "source")
    assert rows["key"].tolist() == list(CLAIMS)
    assert rows["verdict"].str.match(r"[✘✔◉○?] \w").all()
    assert "✘ refuted: 5" in shown_text(test)
    assert not {b.label for b in test.button} & {"Audit all claims on this lexicon"}


def test_every_claim_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "PROFILED", ())  # the pictures have their own test
    test = opened()
    for key in reversed(CLAIMS):
        test.selectbox(key="claim").set_value(key).run()
        recorded = read_recorded().of(key)
        shown = shown_text(test)
        for part in (
            recorded.title,
            recorded.claim,
            recorded.computed,
            recorded.repair,
            recorded.command,
        ):
            assert part in shown
        assert recorded.failing_step in shown
        assert recorded.label in shown
        assert len(table(test, "figure")) == len(recorded.numbers)


def figures(test: AppTest) -> list[dict[str, Any]]:
    assert not test.exception, test.exception
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def test_the_profile_is_drawn_claimed_against_true() -> None:
    test = opened(claim="gaussian")
    (profile,) = figures(test)
    assert [trace["name"] for trace in profile["data"]] == [
        "the claim allows at most", "true δ of the noise",
    ]  # fmt: skip
    assert "At none of the ε drawn is the true curve above" in shown_text(test)


def test_adept_has_its_geometry_and_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_PAIRS", 500)
    test = opened(claim="adept-published")
    assert len(figures(test)) == 2
    assert "above what the claim allows from ε =" in shown_text(test)
    assert "2.828·C in the L1 norm" in shown_text(test)
    test.button(key="draw_pairs").click().run()
    assert len(figures(test)) == 3
    assert "Share of 500 pairs" in shown_text(test)
    assert "Clipped by the L1 norm: at most 0.0%" in shown_text(test)


def test_the_repairs_stand_with_their_cost() -> None:
    test = opened()
    test.selectbox(key="claim").set_value("adept-published").run()
    assert "ADePT, as published: ✘ refuted" in shown_text(test)
    instead = table(test, "cost")
    assert instead["mechanism"].tolist() == [
        "ADePT, as published",
        "ADePT, clipped by the L1 norm",
        "ADePT, with the right scale",
        "ADePT, with round noise",
    ]
    assert instead["value"].tolist() == ["2.828", "2.828", "16", "11.49"]


def test_a_claim_is_computed_at_other_settings() -> None:
    test = opened(claim="adept-published")
    assert {n.key for n in test.number_input} == {
        "audit_epsilon",
        "audit_latent",
        "audit_clip_norm",
    }
    test.number_input(key="audit_epsilon").set_value(2.0)
    test.number_input(key="audit_latent").set_value(16)
    test = compute(test)
    shown = shown_text(test)
    assert "ε = 2 between any two texts." in shown
    figures = next(d.value for d in test.dataframe if list(d.value.columns) == ["figure", "value"])
    assert dict(figures.to_numpy().tolist())["true epsilon"] == "8"
    assert "--at epsilon=2.0 --at latent=16" in shown
    # One coordinate: there the published proof is right.
    test.number_input(key="audit_latent").set_value(1)
    assert "ADePT, as published: ✔ proved" in shown_text(compute(test))


def test_settings_of_a_link_wait_for_the_button() -> None:
    test = opened(claim="gaussian-classical", audit_epsilon="40")
    assert "Not computed yet" in shown_text(test)
    assert "Clipped Gaussian, classical σ: ✘ refuted" in shown_text(compute(test))


@pytest.mark.parametrize("epsilon", ["0.001", "1000"])
@pytest.mark.parametrize("claim", ["truncated-gumbel-repaired", "tem-calibrated"])
def test_certified_claims_hold_at_the_ends_of_their_settings(claim: str, epsilon: str) -> None:
    """Probabilities of 25,000 words that underflow at ε = 1000 refute nothing."""
    shown = shown_text(compute(opened(claim=claim, audit_epsilon=epsilon, audit_words="2")))
    proved = (claim, epsilon) == ("tem-calibrated", "1000")
    expected = "✔ proved" if proved else "◉ checked exactly on this vocabulary"
    assert f": {expected}" in shown
    assert f"--at epsilon={float(epsilon)} --at words=2" in shown


@pytest.mark.parametrize(
    "link",
    [
        {"claim": "no-such-claim"},
        {"claim": "gaussian", "audit_epsilon": "-1"},
        {"claim": "gaussian", "audit_delta": "2", "audit_epsilon": "much"},
    ],
)
def test_a_link_of_nonsense_shows_the_usual_view(link: dict[str, str]) -> None:
    test = opened(**link)
    assert not test.exception
    assert len(table(test, "source")) == len(CLAIMS)
    assert test.selectbox(key="claim").value in CLAIMS


def test_the_choice_shows_titles_and_the_link_has_the_key() -> None:
    test = opened(claim="tem-calibrated")
    choice = test.selectbox(key="claim")
    assert choice.value == "tem-calibrated"
    assert "TEM, Theorem 2" in choice.options
    choice.set_value("madlib").run()
    assert test.query_params["claim"] in ("madlib", ["madlib"])
    test.selectbox(key="claim").set_value(next(iter(CLAIMS))).run()
    assert "claim" not in test.query_params


def test_a_long_computation_shows_progress_and_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    test = opened(claim="gaussian")

    def slow(*arguments: Any) -> None:
        report = arguments[-1]
        for done in range(1, 4):
            report("laws", done, 40)
        stops = [b for b in st.session_state if b == "audit_stop"]
        raise ParameterError(f"buttons: {stops}")

    monkeypatch.setattr(store, "verdict", slow)
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_PULSE_SECONDS", 0.0)
    assert "buttons: ['audit_stop']" in shown_text(compute(test))
    assert not [b for b in test.button if b.key == "audit_stop"]


def test_what_the_engine_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise ParameterError("epsilon must be smaller: choose another one")

    test = opened(claim="gaussian")
    monkeypatch.setattr(store, "verdict", refusing)
    assert "choose another one" in shown_text(compute(test))


def test_another_lexicon_is_audited_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dict.fromkeys(("pixeldp", "gaussian"))
    monkeypatch.setattr(store, "CLAIMS", few)
    monkeypatch.setattr(catalogue, "load", lambda _: lexicons.cloud(50, 6))
    resources.catalogued.clear()
    try:
        test = opened(claim="gaussian")
        assert f"0 of {len(CLAIMS)} claims are computed on this lexicon" in shown_text(test)
        assert "Until then the table shows the verdicts on the bundled lexicon" in shown_text(test)
        assert "Not computed yet" in shown_text(test)
        test.button(key="audit_all").click().run()
        assert set(table(test, "source")["key"]) == set(few)
        assert "--claim gaussian --lexicon PATH-OF-THE-LEXICON" in shown_text(test)
    finally:
        resources.catalogued.clear()
