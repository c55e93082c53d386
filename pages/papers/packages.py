"""Audits of third-party packages: one row per mechanism and ε, judged by outputs alone."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpcore.outwards import at_least
from dpcore.papers.packages import PackageAudit, RecordedPackages, read_packages
from pages.papers.claims import Row, listing
from pages.shared import link
from pages.shared.language import later, retold, say
from pages.shared.messages import SIGNS, note
from pages.shared.once import once
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, show_line

PACKAGE = "package"


def recorded_packages() -> RecordedPackages:
    """Return the record, read once for all sessions.

    Raises:
        DpcoreError: it is missing or damaged.
    """
    return once("audits of packages", (), read_packages)


def chosen_audit(record: RecordedPackages) -> PackageAudit:
    """Return the shown audit; it is part of the link."""
    audits = {audit.key: audit for audit in record.audits}
    usual = next(iter(audits))
    linked = st.query_params.get(PACKAGE, usual)
    key = linked if linked in audits else usual
    link.write(PACKAGE, key, usual)
    return audits[key]


def choose_audit(record: RecordedPackages, chosen: PackageAudit) -> None:
    """Draw the rows."""
    # Grouped by package: a package is what somebody installs, and may have several mechanisms.
    packages = {audit.package: audit.package for audit in record.audits}
    listing(
        [_row(audit) for audit in record.audits],
        chosen.key,
        _take,
        label=later("Packages"),
        columns=(later("Verdict"), later("Mechanism"), later("Shown by its outputs")),
        groups=packages,
    )


def package_detail(audit: PackageAudit, record: RecordedPackages) -> None:
    """Draw the details of one audit."""
    st.header(f"{audit.package}: {say(audit.mechanism)}", anchor=False)
    st.text(f"{SIGNS[audit.outcome]} {retold(audit.label)}")
    st.markdown(
        say("Claimed: {claim} ({source}).", claim=retold(audit.claim), source=retold(audit.source))
    )
    st.text(retold(audit.shown))
    for finding in audit.findings:
        st.text(say("Found: {finding}", finding=retold(finding)))
    share = audit.fields["unchanged"]
    note(
        say(
            "{count:,} of {words:,} words came out as they went in; {calls:,} calls, "
            "{microseconds:,.0f} µs a word.",
            count=share["count"],
            words=share["words"],
            calls=audit.calls,
            microseconds=audit.fields["microseconds"],
        )
    )
    show_table(_events(audit), say("The events that were counted"))
    note(
        say(
            "Called as its documentation says, with its own defaults, on 300 frequent words. "
            "“Not refuted” is no proof, and another release may do otherwise: write to its "
            "authors before you write about them."
        )
    )
    # One command for all audits, in environments that hold one package each.
    show_line(record.command)


def package_takeaway(record: RecordedPackages) -> Takeaway:
    """Return link, table and command of the audits, for export."""
    return Takeaway(
        None,
        (),
        command=record.command,
        prints=say("all of these audits, made again in environments of their own"),
        tables={later("audits of packages"): lambda: _table(record)},
    )


def _row(audit: PackageAudit) -> Row:
    low = (
        # A lower bound, so it is rounded down.
        say("ε ≥ {epsilon:.3g}", epsilon=float(at_least(audit.epsilon_low, 3)))
        if audit.epsilon_low
        else say("no bound on ε")
    )
    leaks = [say("unknown words come through")] if audit.passes_unknown else []
    return Row(
        key=audit.key,
        paper=audit.package,
        sign=SIGNS[audit.outcome],
        word=say(str(audit.outcome)),
        says=say(audit.mechanism),
        name=retold(audit.claim),
        figure="; ".join((low, *leaks)),
        refuted=audit.outcome.name == "REFUTED",
    )


def _events(audit: PackageAudit) -> pd.DataFrame:
    rows = [
        (
            e["word"],
            say("{count:,} of {draws:,}", count=e["count"], draws=e["draws"]),
            e["other"],
            say("{count:,} of {draws:,}", count=e["other_count"], draws=e["other_draws"]),
            # Logarithms, where the ratio of two chances may be astronomically large.
            round(e["allowed"], 3),
            None if e["loss"] is None else round(e["loss"], 3),
        )
        for e in audit.fields["evidence"]
    ]
    columns = [
        later("word"),
        later("calls"),
        later("other word"),
        later("its calls"),
        later("ln allowed"),
        later("ln shown"),
    ]
    return pd.DataFrame(rows, columns=columns)


def _table(record: RecordedPackages) -> pd.DataFrame:
    rows = [
        (a.package, a.mechanism, a.claim, str(a.outcome), a.epsilon_low, a.calls, a.shown)
        for a in record.audits
    ]
    columns = ["package", "mechanism", "claimed", "verdict", "epsilon_low", "calls", "shown"]
    return pd.DataFrame(rows, columns=columns)


def _take(key: str) -> None:
    link.put({PACKAGE: [key]})
