"""Recorded black-box audits of third-party packages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.audit.blackbox.audit import per_unit
from dpcore.audit.verdict import Outcome
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import FIELDS, bundled_data, refuse_of_the_system

_FILE = "packages.json"


@dataclass(frozen=True)
class PackageAudit:
    """Audit of one mechanism of one package release at one ε.

    Attributes:
        key: key for links.
        package: name and version.
        mechanism: name used by the package.
        source: source of the guarantee that is audited.
        claim: the guarantee in words.
        outcome: refuted or not refuted.
        label: the outcome and the extent of the audit.
        epsilon: the claimed ε.
        epsilon_low: lower bound: no smaller ε is true; 0 if nothing is shown.
        shown: the counts behind the outcome, in one sentence.
        findings: further findings, one sentence each.
        calls: number of calls of the function.
        error: probability with which a refutation or a bound may be wrong.
        lexicon: lexicon of the input words.
        fields: the complete record.
    """

    key: str
    package: str
    mechanism: str
    source: str
    claim: str
    outcome: Outcome
    label: str
    epsilon: float
    epsilon_low: float
    shown: str
    findings: tuple[str, ...]
    calls: int
    error: float
    lexicon: str
    fields: dict[str, Any]

    @property
    def passes_unknown(self) -> bool:
        """True if a string that is not a word of the lexicon came through."""
        return any(probe["passed"] for probe in self.fields["probes"])


@dataclass(frozen=True)
class RecordedPackages:
    """All audits of packages and their origin.

    Attributes:
        command: command that reproduces them.
        version: version of dpcore.
        seed: seed of the choice of words.
        audits: one per mechanism and ε, grouped by package.
    """

    command: str
    version: str
    seed: int
    audits: tuple[PackageAudit, ...]


def packages_file() -> Path:
    """Return the path of the bundled record."""
    return bundled_data("audit", _FILE) / _FILE


def read_packages(path: Path | None = None) -> RecordedPackages:
    """Read the recorded audits of packages.

    Args:
        path: file written by `tests/benchmarks/packages.py`; None reads the bundled one.

    Raises:
        ParameterError: the file is missing or damaged.
    """
    place = packages_file() if path is None else path
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
        return RecordedPackages(
            command=str(record["command"]),
            version=str(record["version"]),
            seed=int(record["seed"]),
            audits=tuple(_audit(row) for row in record["audits"]),
        )
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        raise ParameterError(
            f"the recorded audits of packages cannot be read ({type(error).__name__}); "
            "`python tests/benchmarks/packages.py --out data/audit/packages.json` makes them again"
        ) from None


def _audit(row: dict[str, Any]) -> PackageAudit:
    epsilon = float(row["claimed_epsilon"])
    name = str(row["callable"]).partition(":")[2]
    return PackageAudit(
        key=f"{name}-{epsilon:g}",
        package=str(row["package"]),
        mechanism=str(row["mechanism"]),
        source=str(row["source"]),
        claim=f"ε = {epsilon:g} {per_unit(str(row['metric']))}",
        outcome=Outcome(row["outcome"]),
        label=str(row["verdict"]),
        epsilon=epsilon,
        epsilon_low=float(row["epsilon_low"]),
        shown=str(row["shown"]),
        findings=tuple(map(str, row["findings"])),
        calls=int(row["calls"]),
        error=float(row["error"]),
        lexicon=str(row["lexicon"]),
        fields=row,
    )
