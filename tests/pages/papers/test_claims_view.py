"""The claims of the page Papers under AppTest: rows, each from near, computed again, nonsense."""

import functools
import json
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from dpcore.lexicon import catalogue
from dpcore.papers import claims as audited
from dpcore.papers.claims import CLAIMS, read_recorded
from dpcore.papers.overview import CITED, PAPERS, REPAIRS, measured
from pages.papers import detail
from pages.papers.claims import signed, word
from pages.shared import progress, session
from pages.shared.messages import SIGNS
from tests.mechanisms import lexicons
from tests.pages.app import component, methods, open_link, shown_text, table

opened = functools.partial(open_link, "papers")


def compute(test: AppTest) -> AppTest:
    return next(b for b in test.button if b.label == "Compute with these settings").click().run()


def listed(test: AppTest) -> list[dict[str, Any]]:
    return [row for group in component(test, "listing")["groups"] for row in group["rows"]]


def refuted() -> set[str]:
    """Keys of the claims that are recorded as refuted."""
    return {v.key for v in read_recorded().verdicts if v.outcome is Outcome.REFUTED}


def chosen(test: AppTest, key: str) -> AppTest:
    """The page after a click on a row."""
    test.query_params["claim"] = key
    return test.run()


def test_it_opens_with_the_recorded_verdicts_and_computes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audited, "verdict", lambda *_: pytest.fail("computed"))
    test = opened()
    rows = {row["key"]: row for row in listed(test)}
    assert set(rows) == set(CLAIMS)
    for verdict in read_recorded().verdicts:
        row = rows[verdict.key]
        assert row["sign"] == SIGNS[verdict.outcome]
        assert row["word"] == word(verdict.outcome)
        assert row["refuted"] == (verdict.outcome is Outcome.REFUTED)
        assert row["figure"] == measured(verdict)
        assert row["name"] == verdict.title
        assert (row["more"] != "") == (verdict.key in REPAIRS)
    titles = [group["title"] for group in component(test, "listing")["groups"]]
    assert titles == [source.title for source in PAPERS.values()]
    assert f"{len(refuted())} refuted" in shown_text(test)
    assert not {b.label for b in test.button} & {"Audit all claims on this lexicon"}


@pytest.mark.slow
def test_every_claim_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detail, "PROFILED", ())  # the pictures have their own test
    test = opened()
    for key in reversed(CLAIMS):
        test = chosen(test, key)
        recorded = read_recorded().of(key)
        assert recorded is not None
        shown = shown_text(test)
        for part in (recorded.claim, recorded.computed, recorded.repair):
            assert part in shown
        assert recorded.failing_step in shown
        assert [h.value for h in test.header] == [f"{recorded.title}: {signed(recorded)}"]
        assert len(table(test, "figure")) == len(recorded.numbers)


def test_the_list_can_be_narrowed_to_a_verdict() -> None:
    test = opened(verdict="refuted")
    assert {row["word"] for row in listed(test)} == {"refuted"}
    assert {row["key"] for row in listed(test)} == refuted()
    assert len(listed(opened(verdict="<b>"))) == len(CLAIMS)


def cell(test: AppTest) -> str:
    """The Python cell of the drawer."""
    test.session_state["taking"] = True
    return next(code.value for code in test.run().code if "import dpcore as dp" in code.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "link",
    [
        {"claim": "adept-published"},
        {"claim": "pixeldp-slides"},
        {"claim": "adept-published", "audit_epsilon": "2", "audit_latent": "16"},
    ],
)
def test_the_python_cell_prints_what_the_page_shows(
    link: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    test = compute(opened(**link))
    capsys.readouterr()
    exec(cell(test), {})
    title, figures = capsys.readouterr().out.strip().split("\n")
    (heading,) = [h.value for h in test.header]
    assert heading.replace("✘ ", "") == title
    assert figures in shown_text(test)
    assert f"python -m dpcore audit --claim {link['claim']}" in shown_text(test)
    for key in CITED[link["claim"]]:
        assert key in shown_text(test)


def figures(test: AppTest) -> list[dict[str, Any]]:
    assert not test.exception, test.exception
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def test_the_profile_is_drawn_claimed_against_true() -> None:
    test = opened(claim="gaussian")
    (profile,) = figures(test)
    assert [trace["name"] for trace in profile["data"]] == [
        "the claim allows at most", "true δ of the noise",
    ]  # fmt: skip
    assert "At none of the ε drawn is the true curve above" in methods(test)


def test_adept_has_its_geometry_and_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detail, "_PAIRS", 500)
    test = opened(claim="adept-published")
    assert len(figures(test)) == 2
    assert "above what the claim allows from ε =" in methods(test)
    assert "2.83·C apart in the L1 norm" in shown_text(test)
    test.button(key="draw_pairs").click().run()
    assert len(figures(test)) == 3
    assert "Share of 500 pairs" in methods(test)
    assert "Clipped by the L1 norm: at most 0%" in methods(test)


def test_the_repairs_stand_with_their_cost() -> None:
    shown = shown_text(chosen(opened(), "adept-published"))
    costs = ["2.83", "16", "11.5"]
    assert "As claimed: at ε = 1: noise of deviation 2.83 C" in shown
    for value in costs:
        assert f"✔ proved; at ε = 1: noise of deviation {value} C" in shown
    test = opened(claim="adept-published")
    test.button(key="repair_adept-c").click().run()
    assert test.header[0].value == "ADePT, with round noise: ✔ proved"
    assert test.query_params["claim"] in ("adept-c", ["adept-c"])


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
    # One coordinate: there the published proof is right.
    test.number_input(key="audit_latent").set_value(1)
    assert [h.value for h in compute(test).header] == ["ADePT, as published: ✔ proved"]
    assert "At the usual settings this claim is refuted." in shown_text(test)
    assert "this claim is refuted" not in shown


def test_settings_of_a_link_wait_for_the_button() -> None:
    test = opened(claim="gaussian-classical", audit_epsilon="40")
    assert "Not computed yet" in shown_text(test)
    assert [h.value for h in compute(test).header] == ["Clipped Gaussian, classical σ: ✘ refuted"]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.001", "1000"])
@pytest.mark.parametrize("claim", ["truncated-gumbel-repaired", "tem-calibrated"])
def test_certified_claims_hold_at_the_ends_of_their_settings(claim: str, epsilon: str) -> None:
    """Probabilities of 25,000 words that underflow at ε = 1000 refute nothing."""
    test = compute(opened(claim=claim, audit_epsilon=epsilon, audit_words="2"))
    proved = (claim, epsilon) == ("tem-calibrated", "1000")
    expected = "✔ proved" if proved else "◉ checked exactly on this vocabulary"
    assert test.header[0].value.endswith(f": {expected}")
    cell(test)
    assert f"--at epsilon={float(epsilon)} --at words=2" in shown_text(test)


def test_a_link_of_nonsense_shows_the_usual_view() -> None:
    for link in (
        {"claim": "no-such-claim"},
        {"claim": "gaussian", "audit_delta": "2", "audit_epsilon": "much"},
    ):
        test = opened(**link)
        assert len(listed(test)) == len(CLAIMS)
        assert component(test, "listing")["chosen"] in CLAIMS


def test_the_link_has_the_key_of_what_is_chosen() -> None:
    test = opened(claim="tem-calibrated")
    assert component(test, "listing")["chosen"] == "tem-calibrated"
    test = chosen(test, next(iter(CLAIMS)))
    assert component(test, "listing")["chosen"] == next(iter(CLAIMS))


def test_an_old_link_leads_here() -> None:
    test = open_link("audit", claim="madlib")
    assert component(test, "listing")["chosen"] == "madlib"


def test_a_long_computation_shows_progress_and_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    test = opened(claim="gaussian")

    def slow(*arguments: Any) -> None:
        report = arguments[-1]
        for done in range(1, 4):
            report("laws", done, 40)
        stops = [b for b in st.session_state if b == "audit_stop"]
        raise ParameterError(f"buttons: {stops}")

    monkeypatch.setattr(audited, "verdict", slow)
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_PULSE_SECONDS", 0.0)
    assert "buttons: ['audit_stop']" in shown_text(compute(test))
    assert not [b for b in test.button if b.key == "audit_stop"]


def test_what_the_engine_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise ParameterError("epsilon must be smaller: choose another one")

    test = opened(claim="gaussian")
    monkeypatch.setattr(audited, "verdict", refusing)
    assert "choose another one" in shown_text(compute(test))


def test_another_lexicon_is_audited_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {key: CLAIMS[key] for key in ("pixeldp", "gaussian")}
    monkeypatch.setattr(audited, "CLAIMS", few)
    monkeypatch.setattr(catalogue, "load", lambda _: lexicons.cloud(50, 6))
    session.catalogued.clear()
    try:
        test = opened(claim="gaussian")
        assert f"0 of {len(CLAIMS)} claims are computed on this lexicon" in shown_text(test)
        assert {row["word"] for row in listed(test)} == {"not computed"}
        assert "Not computed yet" in shown_text(test)
        test.button(key="audit_all").click().run()
        computed = {row["key"] for row in listed(test) if row["word"] != "not computed"}
        assert computed == set(few)
        cell(test)
        assert "--claim gaussian --lexicon PATH-OF-THE-LEXICON" in shown_text(test)
    finally:
        session.catalogued.clear()
