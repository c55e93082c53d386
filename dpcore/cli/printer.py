"""What a command says: one JSON object for a program, or lines and tables for a person."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpcore.lexicon.progress import Progress, silent

# A column: {name}, {name:format} or {name:format|heading}.
_COLUMN = re.compile(r"{(?P<name>\w+)(:(?P<width>[<>]?\d*)[^}|]*)?(\|(?P<heading>[^}]*))?}")
_BYTE_STAGES = frozenset({"reading", "downloading", "checking"})


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


def table(template: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a table: a heading, then one line a row.

    Args:
        template: a line as `str.format` reads it, in which a column may have a heading after a
            bar: "{epsilon:>10.4g|ε} {word:<16}". Heading and rows have their widths and their
            alignment from it, so they cannot drift apart.
        rows: the values by the names of the template; what it does not name is not printed.
    """

    def heading(column: re.Match[str]) -> str:
        # Of the format of a value a heading keeps alignment and width: ">10.4g" becomes ">10".
        text = column["name"] if column["heading"] is None else column["heading"]
        return format(text, column["width"] or "")

    yield _COLUMN.sub(heading, template)
    line = re.sub(r"\|[^}]*", "", template)
    for row in rows:
        yield line.format_map(row)


@contextlib.contextmanager
def progress_bars() -> Iterator[Progress]:
    """Give a `Progress` that draws a bar a stage on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(stage: str, done: int, total: int) -> None:
        if stage not in bars:
            for earlier in bars.values():
                earlier.close()
            in_bytes = stage in _BYTE_STAGES
            bars[stage] = tqdm(
                desc=stage,
                total=total or None,
                unit="B" if in_bytes else "",
                unit_scale=in_bytes,
                file=sys.stderr,
            )
        bar = bars[stage]
        bar.n = done
        # `update` draws at most ten times a second; the end of a stage has to be seen.
        bar.refresh() if total and done >= total else bar.update(0)

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()
