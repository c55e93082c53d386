"""Packages of others, audited by their outputs alone: the record, and what makes it again."""

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
    """One mechanism of one release, audited at one ε.

    Attributes:
        key: for a link.
        package: name and version.
        mechanism: as the package calls it.
        source: whose promise it is held against.
        claim: the promise in words.
        outcome: refuted or not refuted.
        label: the outcome, and how far the audit looked.
        epsilon: the claimed ε.
        epsilon_low: no smaller ε is true; 0 if nothing is shown.
        shown: what was counted, in a sentence.
        findings: what else was found, a sentence each.
        calls: of the function.
        error: probability with which a refutation or a bound may be wrong.
        lexicon: of the words that it was given.
        fields: all that was recorded of it.
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
        """Whether a string that is no word of the lexicon came through."""
        return any(probe["passed"] for probe in self.fields["probes"])


@dataclass(frozen=True)
class RecordedPackages:
    """All audits of packages, and where they come from.

    Attributes:
        command: what makes them again.
        version: of dpcore.
        seed: of the choice of words.
        audits: one a mechanism and ε, by package.
    """

    command: str
    version: str
    seed: int
    audits: tuple[PackageAudit, ...]


def bundled_file() -> Path:
    """Where the record lies."""
    return bundled_data("audit", _FILE) / _FILE


def read_packages(path: Path | None = None) -> RecordedPackages:
    """The recorded audits of packages.

    Args:
        path: of a file that `tests/benchmarks/packages.py` wrote; None: the one that comes along.

    Raises:
        ParameterError: the file is missing or damaged.
    """
    place = bundled_file() if path is None else path
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
