"""Audited packages on the page Papers: rows, one of them from near, links, damage."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from dpcore.papers.packages import read_packages
from pages.papers import packages
from tests.pages.app import component, open_link, shown_text

RECORD = read_packages()
USUAL = RECORD.audits[0].key


def opened(**link: str) -> AppTest:
    return open_link("papers", **{"look": "packages", **link})


def listed(test: AppTest) -> list[dict[str, Any]]:
    return list(component(test, "listing")["groups"])


def test_it_lists_all_audits_by_package() -> None:
    test = opened()
    assert not test.exception
    groups = listed(test)
    assert [group["title"] for group in groups] == ["mldp-text 0.1.2", "pypantera 1.0.2"]
    rows = [row for group in groups for row in group["rows"]]
    assert [row["key"] for row in rows] == [audit.key for audit in RECORD.audits]
    for row, audit in zip(rows, RECORD.audits, strict=True):
        assert row["refuted"] == (audit.outcome is Outcome.REFUTED)
        assert row["word"] == str(audit.outcome)
        assert ("unknown words come through" in row["figure"]) == audit.passes_unknown
    assert component(test, "listing")["chosen"] == USUAL


@pytest.mark.parametrize(
    "audit",
    [next(a for a in RECORD.audits if a.outcome is outcome) for outcome in
     (Outcome.REFUTED, Outcome.NOT_REFUTED)],
    ids=lambda audit: audit.key,
)  # fmt: skip
def test_one_of_them_from_near(audit: Any) -> None:
    test = opened(package=audit.key)
    assert not test.exception
    shown = shown_text(test)
    assert audit.shown in shown
    assert audit.label in shown
    assert all(finding in shown for finding in audit.findings)
    assert "is no proof" in " ".join(str(element.value) for element in test.markdown)
    table = test.dataframe[0].value
    assert len(table) == len(audit.fields["evidence"])
    assert RECORD.command in [str(element.value) for element in test.code]


def test_a_link_of_nonsense_shows_the_usual_view() -> None:
    test = opened(package="<b>", claim="x")
    assert not test.exception
    assert component(test, "listing")["chosen"] == USUAL
    assert set(test.query_params) == {"look"}


def test_a_damaged_record_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> None:
        raise ParameterError("the recorded audits of packages cannot be read")

    monkeypatch.setattr(packages, "read_packages", damaged)
    monkeypatch.setattr(packages, "once", lambda name, key, compute: compute())
    test = opened()
    assert not test.exception
    assert "the recorded audits of packages cannot be read" in shown_text(test)
