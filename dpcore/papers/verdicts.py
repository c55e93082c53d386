"""The verdicts on the bundled lexicon that come with the laboratory, and how they are made."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Verdict
from dpcore.errors import ParameterError
from dpcore.lexicon.bundled import bundled_data
from dpcore.lexicon.cache import write_text
from dpcore.lexicon.damage import FIELDS, refuse_of_the_system

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

_FILE = "verdicts.json"
_AGAIN = "python -m dpcore audit --all --file data/audit/verdicts.json"


@dataclass(frozen=True)
class RecordedVerdicts:
    """A table of verdicts and where it comes from.

    Attributes:
        command: what computes them again.
        lexicon: name of the vocabulary.
        fingerprint: its digest.
        version: of dpcore.
        settings: at which the claims were audited; its seed is that of every sample.
        verdicts: one a claim, in the order of `claims.CLAIMS`.
    """

    command: str
    lexicon: str
    fingerprint: str
    version: str
    settings: AuditSettings
    verdicts: tuple[Verdict, ...]

    def of(self, key: str) -> Verdict | None:
        """The verdict on one claim, or None if it was not recorded."""
        return next((verdict for verdict in self.verdicts if verdict.key == key), None)


def summary(
    lexicon: Lexicon, settings: AuditSettings, verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """The JSON form of a table of verdicts."""
    return {
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "version": __version__,
        "settings": dataclasses.asdict(settings),
        "verdicts": [verdict.to_dict() for verdict in verdicts],
    }


def keep(
    path: Path, lexicon: Lexicon, settings: AuditSettings, verdicts: Sequence[Verdict]
) -> None:
    """Write a table of all verdicts with the command that makes it again.

    Raises:
        ParameterError: the file cannot be written.
    """
    names = [field.name for field in dataclasses.fields(settings)]
    command = f"python -m dpcore audit --all{settings.options(lexicon, *names)}"
    fields = {"command": command} | summary(lexicon, settings, verdicts)
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False, indent=1)
    try:
        write_text(path, text + "\n")
    except OSError as error:
        raise ParameterError(f"cannot write the verdicts: {error.strerror or error}") from None


def bundled_file() -> Path:
    """Where the recorded verdicts lie."""
    return bundled_data("audit", _FILE) / _FILE


def read_recorded(path: Path | None = None) -> RecordedVerdicts:
    """The recorded verdicts.

    Args:
        path: of a file that `audit --all --file` wrote; None: the one that comes with dpcore.

    Raises:
        ParameterError: the file is missing or damaged; the message says how to make it again.
    """
    place = bundled_file() if path is None else path
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
        return RecordedVerdicts(
            command=str(record["command"]),
            lexicon=str(record["lexicon"]),
            fingerprint=str(record["fingerprint"]),
            version=str(record["version"]),
            settings=AuditSettings(**record["settings"]),
            verdicts=tuple(Verdict.from_dict(row) for row in record["verdicts"]),
        )
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        raise ParameterError(
            f"the recorded verdicts cannot be read ({type(error).__name__}); `{_AGAIN}` makes "
            "them again"
        ) from None
