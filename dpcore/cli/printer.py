"""What a command says: one JSON object for a program, or lines and tables for a person."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_FIELD = re.compile(r"{(\w+)(?::([<>]?\d*)[^}]*)?}")


@dataclass(frozen=True)
class Answer:
    """What a command found.

    Attributes:
        result: the object that `--json` prints; its fields are stable.
        lines: what a person reads instead. A generator works only if a person reads.
        notes: what a person is told on standard error beside it: promises and warnings, which
            a file that standard output is sent to should not hold.
        code: the exit code.
        indent: spaces of the JSON; None prints one line.
    """

    result: Mapping[str, Any]
    lines: Iterable[str] = ()
    notes: Iterable[str] = ()
    code: int = 0
    indent: int | None = None

    def show(self, *, as_json: bool) -> int:
        """Print it; returns the exit code."""
        if as_json:
            print(to_json(self.result, self.indent))
            return self.code
        for line in self.lines:
            print(line)
        for line in self.notes:
            note(line)
        return self.code


def to_json(result: Mapping[str, Any], indent: int | None = None) -> str:
    """JSON as every command writes it: letters as they are, no NaN and no infinity."""
    return json.dumps(result, ensure_ascii=False, allow_nan=False, indent=indent)


def note(line: str) -> None:
    """Say something on standard error."""
    print(line, file=sys.stderr)


def table(template: str, rows: Iterable[Mapping[str, Any]], **titles: str) -> Iterator[str]:
    """The lines of a table: a heading, then one line a row.

    Args:
        template: a line as `str.format` reads it, such as "{epsilon:>10.4g} {word:<16}". Heading
            and rows have their widths and their alignment from it, so they cannot drift apart.
        rows: the values by the names of the template.
        titles: headings of columns; a column that has none is headed by its name.
    """
    # Of the format of a value, a heading keeps alignment and width: ">10.4g" becomes ">10".
    yield _FIELD.sub(lambda field: format(titles.get(field[1], field[1]), field[2] or ""), template)
    for row in rows:
        yield template.format_map(row)
