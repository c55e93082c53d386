"""Where the lexicon that comes with the laboratory lies, and what was computed of it beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_folder() -> Path:
    """The folder of the bundled lexicon: in a checkout data/lexicon, else in the package."""
    in_checkout = _PACKAGE.parent / "data" / "lexicon"
    if (in_checkout / "vectors.npy").is_file():
        return in_checkout
    return _PACKAGE / "_data" / "lexicon"


def bundled_extent(fingerprint: str) -> dict[str, Any] | None:
    """The extent that was computed beforehand for this fingerprint, as JSON, or None."""
    return _bundled("extent.json", fingerprint)


def bundled_stretch(fingerprint: str, label: str) -> dict[str, Any] | None:
    """The stretch of a public map that was computed beforehand, as JSON, or None."""
    return _bundled("stretch.json", f"{fingerprint} {label}")


def _bundled(name: str, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads((bundled_folder() / name).read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(found) if isinstance(found, dict) else None
