"""The recorded audits of packages: each figure follows from the counts, and the page says it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dpcore.audit.blackbox.report import ASSUMED
from dpcore.audit.montecarlo import clopper_pearson, loss_bound
from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from dpcore.outwards import at_least
from dpcore.papers.packages import PackageAudit, packages_file, read_packages
from tests.benchmarks import packages
from tests.needs import ROOT

RECORD = read_packages()
PAGE = (ROOT / "docs/packages.md").read_text(encoding="utf-8")


def test_all_subjects_are_recorded_at_all_epsilons() -> None:
    keys = [f"{name}-{epsilon:g}" for name in packages.SUBJECTS for epsilon in packages.EPSILONS]
    assert [audit.key for audit in RECORD.audits] == keys
    for audit in RECORD.audits:
        subject = packages.SUBJECTS[audit.key.rpartition("-")[0]]
        assert audit.mechanism == subject.title
        assert audit.source == subject.source
        assert audit.fields["metric"] == subject.metric
        assert audit.package == packages.PACKAGES[subject.package].requirement.replace("==", " ")
        assert audit.calls <= subject.calls
        assert audit.fields["seed"] == RECORD.seed == packages.SEED
        assert audit.fields["assumed"] == ASSUMED


def test_the_environments_hold_the_releases_that_are_judged() -> None:
    environments = json.loads(packages_file().read_text(encoding="utf-8"))["environments"]
    for name, package in packages.PACKAGES.items():
        title, _, version = package.requirement.partition("==")
        releases = {key.replace("_", "-"): value for key, value in environments[name].items()}
        assert releases[title] == version
        assert "numpy" in releases


@pytest.mark.parametrize("audit", RECORD.audits, ids=lambda audit: audit.key)
def test_every_bound_follows_from_its_counts(audit: PackageAudit) -> None:
    events = audit.fields["evidence"]
    error = 0.5 * audit.error / len(events)
    for e in events:
        counts = e["count"], e["draws"], e["other_count"], e["other_draws"]
        loss = loss_bound(*counts, delta=0.0, error=error)
        if e["loss"] is None:
            assert loss == -float("inf")
            continue
        assert e["loss"] == pytest.approx(loss, rel=1e-12)
        units = e["allowed"] / audit.epsilon
        assert e["epsilon"] == pytest.approx(max(loss / units, 0.0), rel=1e-12)
        low = clopper_pearson(*counts[:2], 0.5 * error)[0]
        high = clopper_pearson(*counts[2:], 0.5 * error)[1]
        assert e["delta"] <= max(low - high, 0.0) + 1e-12
    assert audit.epsilon_low == max(e["epsilon"] for e in events)
    repeats = audit.fields["repeats"]
    by_counts = audit.epsilon_low > audit.epsilon and not repeats["remembers"]
    assert (audit.outcome is Outcome.REFUTED) == (by_counts or repeats["same_noise"])


def test_the_table_of_the_page_is_the_record() -> None:
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.M)
    assert len(rows) == len(RECORD.audits)
    for row, audit in zip(rows, RECORD.audits, strict=True):
        assert row[:4] == (
            audit.package,
            audit.mechanism,
            audit.claim,
            str(audit.outcome),
        )
        assert row[4] == (
            f"ε ≥ {at_least(audit.epsilon_low, 3)}" if audit.epsilon_low else "nothing"
        )
        assert row[5] == ("come through" if audit.passes_unknown else "do not come through")


def test_the_figures_of_the_page_are_those_of_the_record() -> None:
    audits = {audit.key: audit for audit in RECORD.audits}
    gumbel, custext = audits["mldp_text_truncated_gumbel-1"], audits["pypantera_custext-1"]
    text = " ".join(PAGE.split())
    for audit, wording in (
        (gumbel, "“{word}” gives “february” in {count:,} of {draws:,} calls, “{other}” in "
         "{other_count:,} of {other_draws:,}, and at their distance of {distance:.3f}"),
        (custext, "“{word}” gives one of nine outputs in {count:,} of {draws:,} calls, "
         "“{other}” in none of {other_draws:,}"),
    ):  # fmt: skip
        assert wording.format(**audit.fields["evidence"][0]) in text
    assert custext.fields["evidence"][0]["other_count"] == 0
    for value, wording in (
        (gumbel.epsilon_low, "So ε ≥ {}, but for"),
        (custext.epsilon_low, "So ε ≥ {}, and no δ"),
        (custext.fields["delta_low"], "no δ below {} is true"),
    ):
        (digits,) = re.findall(wording.format(r"([\d.]+)"), text)
        assert 0 <= value - float(digits) < 0.01  # rounded down
    share = gumbel.fields["unchanged"]
    assert f"Most words stay: {share['count']} of {share['words']}." in text
    assert f"{custext.fields['refused']} of {custext.fields['tried']} words end in an error" in text
    told = audits["pypantera_santext-5"].fields["told_apart"]
    assert f"a factor of at least e^{told:.1f} for SanText" in text
    most = max(a.fields["resolution"] for a in RECORD.audits if a.calls <= 100_000)
    assert f"100,000 calls cannot show one above e^{most:.1f}" in text
    public = packages.lexicon()
    least = 2 * (1 + np.log(len(public))) / public.extent.separation
    assert f"which is {least:.1f} for these words" in text


def test_a_damaged_record_is_refused_with_the_command(tmp_path: Path) -> None:
    for text in ("", "[]", '{"command": "x", "version": "1", "seed": 1, "audits": [{}]}'):
        (tmp_path / "packages.json").write_text(text, encoding="utf-8")
        with pytest.raises(ParameterError, match=r"python tests/benchmarks/packages.py --out"):
            read_packages(tmp_path / "packages.json")
    with pytest.raises(ParameterError, match="FileNotFoundError"):
        read_packages(tmp_path / "nothing.json")
