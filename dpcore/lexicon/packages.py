"""Which packages are installed, without importing any."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def installed(names: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed, by name of the distribution."""
    versions = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
