"""Folders that are being made or deleted, under names that no run of `privatize` takes up."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "secret"  # noqa: S105 - the name of a file
"""What is deleted before all else."""
_SCRAP = re.compile(r"\.scrap-[0-9a-f]{16}")


def scrap_of(out: Path) -> Path:
    """A name for a folder that is being made or deleted; no run takes such a folder up."""
    return out.with_name(f"{out.name}.scrap-{secrets.token_hex(8)}")


def drop(folder: Path, out: Path) -> None:
    """Delete a folder, in one step as far as any later run can see."""
    scrap = scrap_of(out)
    os.rename(folder, scrap)
    _delete(scrap)


def _delete(scrap: Path) -> None:
    """Delete what was renamed; what cannot be deleted now is deleted by the next run."""
    (scrap / SECRET).unlink(missing_ok=True)  # before anything that may take long
    shutil.rmtree(scrap, ignore_errors=True)


def sweep(out: Path) -> None:
    """Delete what a killed run had begun to make or to delete."""
    with os.scandir(out.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(out.name)]
    for name in names:
        if _SCRAP.fullmatch(name[len(out.name) :]):
            _delete(out.with_name(name))
