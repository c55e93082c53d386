"""Where the data that come with the laboratory lie, and what was computed beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpcore.lexicon.damage import FIELDS, refuse_of_the_system

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_data(name: str, holding: str) -> Path:
    """A folder of data that come with the laboratory: in a checkout data/…, else in the package.

    Args:
        name: of the folder.
        holding: a file that the folder in a checkout must hold; else it is not ours.
    """
    in_checkout = _PACKAGE.parent / "data" / name
    if (in_checkout / holding).is_file():
        return in_checkout
    return _PACKAGE / "_data" / name


def bundled_folder() -> Path:
    """The folder of the bundled lexicon."""
    return bundled_data("lexicon", "vectors.npy")


def hyperbolic_folder() -> Path:
    """The folder of the bundled points of hyperbolic space."""
    return bundled_data("hyperbolic", "vectors.npy")


def bundled_extent(fingerprint: str) -> dict[str, Any] | None:
    """The extent that was computed beforehand for this fingerprint, as JSON, or None."""
    return _bundled("extent.json", fingerprint)


def bundled_stretch(fingerprint: str, label: str) -> dict[str, Any] | None:
    """The stretch of a public map that was computed beforehand, as JSON, or None."""
    return _bundled("stretch.json", f"{fingerprint} {label}")


def _bundled(name: str, key: str) -> dict[str, Any] | None:
    try:
        fields = json.loads((bundled_folder() / name).read_text(encoding="utf-8"))[key]
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        return None
    return dict(fields) if isinstance(fields, dict) else None
