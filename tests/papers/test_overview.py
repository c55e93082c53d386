"""Summary of a claim in a row: its source, and one or two figures in a few words."""

import math
import re

import pytest

import dpcore
from dpcore.audit.report import AuditSettings
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.claims import CLAIMS, read_recorded, verdict
from dpcore.papers.overview import (
    CITED,
    LABORATORY,
    PAPER,
    PAPERS,
    SAYS,
    bibtex,
    brief,
    entries,
    measured,
)
from tests.mechanisms import lexicons
from tests.needs import ROOT

# What is to be cited: every key that a mechanism names is an entry, and the laboratory is one.


def test_every_entry_is_whole() -> None:
    for key, entry in entries().items():
        assert re.match(r"@[a-z]+\{" + re.escape(key) + ",", entry)
        assert entry.count("{") == entry.count("}")
        assert entry.endswith("}")
        for field in ("author", "title"):
            assert re.search(rf"^  {field} = \{{.+\}},?$", entry, re.MULTILINE), key


def test_what_mechanisms_cite_is_there() -> None:
    ours = {"optimal"}  # of this laboratory alone
    for kind in MECHANISMS.values():
        assert set(kind.cited) <= set(entries())
        assert bool(kind.cited) != (kind.short in ours), kind.short


def test_the_laboratory_is_cited_once_and_last() -> None:
    text = bibtex("xu2021gumbel", "carvalho2021tem", "xu2021gumbel")
    assert text.count("@") == 3
    assert text.endswith(entries()[LABORATORY])
    assert dpcore.__version__ in entries()[LABORATORY]
    with pytest.raises(KeyError):
        bibtex("nobody1900")


def test_the_page_of_sources_names_every_entry() -> None:
    page = (ROOT / "docs" / "sources.md").read_text("utf-8")
    assert {key for key in entries() if f"`{key}`" in page} == set(entries()) - {LABORATORY}


def test_every_claim_has_a_source_a_saying_and_what_to_cite() -> None:
    for key in CLAIMS:
        assert PAPER[key] in PAPERS
        assert len(SAYS[key].split()) <= 12
        assert "{" not in SAYS[key]
        bibtex(*CITED[key])  # every key has an entry
    assert set(PAPER.values()) == set(PAPERS)
    for source in PAPERS.values():
        bibtex(*source.cited)


def test_figures_of_the_record_stand_in_the_rows() -> None:
    """By hand, from the recorded numbers: each rounded so that the statement stays true."""
    shown = {v.key: measured(v) for v in read_recorded().verdicts}
    assert shown["xu-theorem-1"] == "claimed ε 16.3, true ε at least 155"  # 155.153
    assert shown["adept-published"] == "claimed ε 1, true ε 5.66"  # √32
    assert shown["huang-theorem-3"] == "δ: claimed nearly 0, true 0.979"  # 4^−300
    assert shown["gaussian-classical"] == "δ: claimed 1 in 100,000, true 1 in 24,300,000"  # 4.11e-8
    assert shown["neighbour-response"].startswith("Gaussian noise needs at least 6.49 times")
    assert shown["carvalho-theorem-2"] == "claimed ε 5.18, true of these words 2.59"
    assert shown["tem-calibrated"] == "claimed ε 5.18, true of these words 2.9"
    assert all(len(text) < 90 and "{" not in text for text in shown.values())


def test_true_epsilons_of_adept_at_other_settings() -> None:
    """√n times the claim, whatever both are."""
    for epsilon, latent in ((2.0, 16), (0.5, 100)):
        settings = AuditSettings(epsilon=epsilon, latent=latent)
        result = verdict("adept-published", load(), settings)
        assert measured(result) == f"claimed ε {epsilon:g}, true ε {epsilon * math.sqrt(latent):g}"


@pytest.mark.parametrize("key", ["xu-theorem-1", "gaussian", "carvalho-theorem-2", "optimal"])
def test_another_vocabulary_has_its_figures_too(key: str) -> None:
    text = measured(verdict(key, lexicons.cloud(50, 6)))
    assert "{" not in text
    assert any(letter.isdigit() for letter in text)


@pytest.mark.parametrize(
    ("value", "text"), [(2.8284, "2.83"), (1234.5, "1,230"), (24, "24"), ("∞", "∞"), (0.0, "0")]
)
def test_three_digits(value: float | str, text: str) -> None:
    assert brief(value) == text
