"""What stands written beside the modules of papers: sentences, and tables that a paper prints."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@functools.cache
def written(path: str) -> dict[str, Any]:
    """A TOML file, read once.

    Args:
        path: below this folder, such as "xu2021/printed.toml".
    """
    return tomllib.loads((Path(__file__).parent / path).read_text("utf-8"))


class Filled(str):
    """A sentence with its gaps filled, which remembers both.

    It is an ordinary string; who would write its figures otherwise finds them here.

    Attributes:
        template: with gaps, as for `str.format`.
        values: what fills them, by name; a value may be such a sentence itself.
    """

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> Filled:
        """Fill the gaps."""
        sentence = super().__new__(cls, template.format(**values))
        sentence.template, sentence.values = template, values
        return sentence

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """What a copy is made of."""
        return (self.template,), dict(self.values)
