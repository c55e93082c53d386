"""Where the lexicon that comes with the laboratory lies, and its extent, computed beforehand."""

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
    try:
        table = json.loads((bundled_folder() / "extent.json").read_text(encoding="utf-8"))
        found = table[fingerprint]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(found) if isinstance(found, dict) else None
