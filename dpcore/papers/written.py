"""Sentences and printed tables from the TOML files beside the modules of papers."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@functools.cache
def read_toml(path: str) -> dict[str, Any]:
    """Read a TOML file, once.

    Args:
        path: path relative to this folder, such as "xu2021/printed.toml".
    """
    return tomllib.loads((Path(__file__).parent / path).read_text("utf-8"))


class Filled(str):
    """A sentence with its gaps filled, which keeps the template and the values.

    It is an ordinary string; code that formats the figures in another way finds them here.

    Attributes:
        template: sentence with gaps, as for `str.format`.
        values: values by name; a value may itself be such a sentence.
    """

    template: str
    values: Mapping[str, Any]

    # Positional only: a gap may be called "template".
    def __new__(cls, template: str, /, **values: Any) -> Filled:
        """Fill the gaps."""
        sentence = super().__new__(cls, template.format(**values))
        sentence.template, sentence.values = template, values
        return sentence

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Return the arguments from which `copy` and `pickle` rebuild the string."""
        return (self.template,), dict(self.values)
