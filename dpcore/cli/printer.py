"""Output of commands: one JSON object for a program, or lines and tables for a person."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO, Any

from dpcore.lexicon.progress import Progress, silent

# A column: {name}, {name:format} or {name:format|heading}.
_COLUMN = re.compile(r"{(?P<name>\w+)(:(?P<width>[<>]?\d*)[^}|]*)?(\|(?P<heading>[^}]*))?}")
_BYTE_STAGES = frozenset({"reading", "downloading", "checking"})
FAILED = 1
"""Exit code of a command that was not refused and whose answer cannot be made or written."""
UNFINISHED = 3
"""Exit code of a command that has published its result, but could not write all that belongs to it:
the label, or the answer itself."""


class OutputError(Exception):
    """Failure to write standard output; the message says why."""


@dataclass(frozen=True)
class Answer:
    """Result of a command.

    Attributes:
        result: the object that `--json` prints; its fields are stable.
        lines: text for a person instead. A generator runs only if it is printed.
        notes: text for a person on standard error: guarantees and warnings, which a file that
            standard output is sent to should not contain.
        code: the exit code.
        indent: spaces of the JSON; None prints one line.
        published: a sentence on what stays done even if this answer cannot be written; empty for a
            command that publishes nothing.
    """

    result: Mapping[str, Any]
    lines: Iterable[str] = ()
    notes: Iterable[str] = ()
    code: int = 0
    indent: int | None = None
    published: str = ""

    def uncertified(self, commands: Mapping[str, str]) -> Answer:
        """Add the commands that compute missing certificates, by mechanism."""
        notes = [
            f"{name} has no certificate of this lexicon and keeps fewer words than it could: "
            f"`{command}` computes one, then give this command again"
            for name, command in commands.items()
        ]
        result = {**self.result, "calibrate": list(commands.values())}
        return replace(self, result=result, notes=[*self.notes, *notes])

    def show(self, *, as_json: bool) -> int:
        """Print the answer and return the exit code.

        Args:
            as_json: True for one JSON object, False for lines and notes.

        Raises:
            BrokenPipeError: the reader of standard output has gone.
        """
        code = self.code
        try:
            for line in self._json() if as_json else self.lines:
                _say(line)
            flush_output()
        except OutputError as error:
            begin = f"{self.published}; " if self.published else "error: "
            note(f"{begin}the answer could not be written ({error})")
            # An exit code that says more, such as that of an interrupt, stays.
            code = code or (UNFINISHED if self.published else FAILED)
        # The JSON has the same as fields; a program should not have to read standard error.
        for line in () if as_json else self.notes:
            note(line)
        return code

    def _json(self) -> Iterator[str]:
        # Other encodings lack letters, and their replacements need not be JSON.
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        text = to_json(self.result, self.indent)
        yield text if "utf" in encoding.lower() else _ascii(text)


def to_json(result: Mapping[str, Any], indent: int | None = None) -> str:
    """Write JSON as every command does: letters unescaped, no NaN and no infinity."""
    return json.dumps(result, ensure_ascii=False, allow_nan=False, indent=indent)


def _ascii(text: str) -> str:
    """Escape letters beyond ASCII in JSON, where only its strings have them."""
    return "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)


def _say(line: str) -> None:
    """Print a line.

    Raises:
        BrokenPipeError: the reader has gone.
        OutputError: standard output is closed, or cannot be written.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    with _writing():
        print(line)


def flush_output() -> None:
    """Write the buffer of standard output.

    Raises:
        BrokenPipeError: the reader has gone.
        OutputError: it cannot be written.
    """
    if sys.stdout is not None:
        with _writing():
            sys.stdout.flush()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Or Python would try to write the rest when it ends, and fail with a message of its own.
        discard(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(error.strerror or "unknown reason") from None


def discard(stream: IO[str]) -> None:
    """Redirect a stream that cannot be written to nowhere: Python tries again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


@contextlib.contextmanager
def lossless_output() -> Iterator[None]:
    """Print characters that the encoding of standard output lacks as escapes."""
    stream: Any = sys.stdout
    if not hasattr(stream, "reconfigure"):
        yield
        return
    errors = stream.errors
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            stream.reconfigure(errors=errors)


def note(line: str) -> None:
    """Print a line on standard error; do nothing if it is closed or cannot be written."""
    if sys.stderr is None:  # then `print` would take standard output
        return
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def table(template: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table: a heading, then one line a row.

    Args:
        template: a line as `str.format` reads it, in which a column may have a heading after a
            bar: "{epsilon:>10.4g|ε} {word:<16}". Heading and rows have their widths and their
            alignment from it, so they cannot drift apart.
        rows: the values by the names of the template; other values are not printed.
    """

    def heading(column: re.Match[str]) -> str:
        # A heading keeps alignment and width of the format of a value: ">10.4g" becomes ">10".
        text = column["name"] if column["heading"] is None else column["heading"]
        return format(text, column["width"] or "")

    yield _COLUMN.sub(heading, template)
    line = re.sub(r"\|[^}]*", "", template)
    for row in rows:
        yield line.format_map(row)


@contextlib.contextmanager
def progress_bars() -> Iterator[Progress]:
    """Give a `Progress` that draws a bar for each stage on standard error if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield silent
        return
    # Late: only a terminal has bars.
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(stage: str, done: int, total: int) -> None:
        if stage not in bars:
            for earlier in bars.values():
                earlier.close()
            in_bytes = stage in _BYTE_STAGES
            bars[stage] = tqdm(
                desc=stage,
                # 0 means that the total is not known; tqdm then counts without an end.
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
