"""Sentences, numbers and names that a page can say in another language: they keep their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec

_Given = ParamSpec("_Given")


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


class Numeral(str):
    """A number written for readers, with the few words that belong to it: "at most 1 in 4,000"."""

    __slots__ = ()


class Named(str):
    """A name of a curve, of a mechanism or of a method, translated as in the legend of a figure."""

    __slots__ = ()


def as_numeral(write: Callable[_Given, str]) -> Callable[_Given, Numeral]:
    """Mark the texts that a function returns as numbers."""

    @wraps(write)
    def written(*args: _Given.args, **named: _Given.kwargs) -> Numeral:
        return Numeral(write(*args, **named))

    return written


def listed(parts: Iterable[str], between: str = ", ") -> Filled:
    """Join texts, each of which is translated by itself."""
    texts = {f"text{place}": text for place, text in enumerate(parts)}
    return Filled(between.join(f"{{{name}}}" for name in texts), **texts)
