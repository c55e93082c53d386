"""Odd tables with marked private words: copy, record, label and output contain none.

python -m tests.tables.fuzz [files]
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import DpcoreError
from dpcore.learn.table import read_table
from dpcore.privatize import table as tables
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from dpcore.tables.detection import format_with
from dpcore.tables.files import Columns
from dpcore.tables.shape import ENCODINGS, SEPARATORS, Reading
from tests.privatize.corpora import order

MARK = "zqxj"
"""Part of every private word; no word of the vocabulary has it, so no mechanism can answer it."""
_ENDS = (".txt", ".csv", ".csv", ".csv", ".tsv", ".jsonl", ".parquet")
_ODD = (
    '"',
    '""',
    "\n",
    "\r",
    "\r\n",
    ",",
    ";",
    "\t",
    "|",
    "\0",
    "=",
    "'",
    " ",
    "\ufeff",
    "\u2028",
    '2"',
)


def odd_table(rng: random.Random) -> tuple[str, bytes]:
    """Draw a table: its name and its bytes; of its names only "text" and "label" are no secret."""
    end = rng.choice(_ENDS)
    width, count = rng.randint(1, 4), rng.randint(1, 6)
    headed = rng.random() < 0.6
    names = ["text", "label", *(f"{MARK}name{i}" for i in range(4))][:width]
    if rng.random() < 0.3:
        rng.shuffle(names)
    kept = names.index("label") if "label" in names else -1
    rows = [
        [str(rng.randint(0, 2)) if i == kept else _text(rng) for i in range(width)]
        for _ in range(count)
    ]
    if end == ".jsonl":
        data = _json_lines(rng, names, rows)
    elif end == ".parquet":
        return f"t{end}", _parquet(rng, names, rows)
    elif end == ".txt":
        data = "".join(f"{' '.join(row)}{rng.choice(_LINE_ENDS)}" for row in rows)
    else:
        data = _csv(rng, names if headed else None, rows)
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.3 else "utf-8"
    packed = data.encode(encoding, "replace")
    if rng.random() < 0.15:
        packed, end = gzip.compress(packed), end + rng.choice((".gz", ".gz", ""))
    if rng.random() < 0.1:
        cut = rng.randint(0, len(packed))
        packed = packed[:cut] + rng.randbytes(rng.randint(0, 2)) + packed[cut + 1 :]
    return f"t{end}", packed


_LINE_ENDS = ("\n", "\n", "\n", "\r\n", "\r")


def _text(rng: random.Random) -> str:
    words = [f"{MARK}{rng.choice('abc')}{rng.randint(0, 9)}" for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        words.insert(rng.randint(0, len(words)), rng.choice(_ODD))
    return rng.choice(("", " ")).join(words)


def _csv(rng: random.Random, names: list[str] | None, rows: list[list[str]]) -> str:
    mark, end = SEPARATORS[rng.choice(("comma", "comma", *SEPARATORS))], rng.choice(_LINE_ENDS)
    lines = [names, *rows] if names else rows
    written = []
    for row in lines:
        cells = []
        for cell in row:
            quoted = rng.random() < 0.3 or any(odd in cell for odd in (mark, '"', "\n", "\r"))
            if quoted and rng.random() < 0.85:
                cell = '"' + cell.replace('"', '""') + '"'
            elif rng.random() < 0.03:
                cell = '"' + cell
            cells.append(cell)
        if rng.random() < 0.03:
            cells.append(_text(rng))
        written.append(mark.join(cells))
    head = f"sep={mark}{end}" if rng.random() < 0.1 else ""
    return head + end.join(written) + (end if rng.random() < 0.8 else "")


def _json_lines(rng: random.Random, names: list[str], rows: list[list[str]]) -> str:
    lines = []
    for row in rows:
        cells: dict[str, Any] = dict(zip(names, row, strict=True))
        if rng.random() < 0.2:
            # Not in the label: the words of a column that a person keeps may leave.
            place = rng.choice([name for name in names if name != "label"])
            cells[place] = rng.choice((None, 5, [_text(rng)], {"a": _text(rng)}))
        if rng.random() < 0.1:
            del cells[rng.choice(list(cells))]
        line = json.dumps(cells, ensure_ascii=rng.random() < 0.5)
        if rng.random() < 0.05:
            line = line[:-1] if rng.random() < 0.5 else line[:-1] + f', "text": "{MARK}a"}}'
        lines += [line, *([""] if rng.random() < 0.1 else [])]
    return "\n".join(lines)


def _parquet(rng: random.Random, names: list[str], rows: list[list[str]]) -> bytes:
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    arrays = [
        pa.array(column).dictionary_encode() if rng.random() < 0.3 else pa.array(column)
        for column in columns
    ]
    if rng.random() < 0.1:
        arrays[0] = pa.array([[cell] for cell in columns[0]])
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=names), file)
    return file.getvalue()


def check(seed: int, folder: Path) -> str:
    """Release one odd table on the disk and in memory.

    Returns:
        "released" or "refused".

    Raises:
        AssertionError: a private word has left.
    """
    rng = random.Random(seed)
    name, data = odd_table(rng)
    source, out = folder / name, folder / f"out{Path(name.removesuffix('.gz')).suffix}"
    source.write_bytes(data)
    keep = ("label",) if rng.random() < 0.5 and not name.startswith("t.txt") else ()
    text = rng.choice(("text", "text", "column 1", "column 2"))
    reading = Reading(
        header=rng.choice(("auto", "auto", "no")),
        separator=rng.choice(("auto", "auto", "comma")),
        encoding=rng.choice(("auto", "auto", "auto", "utf-8", "utf-16-le", "cp1252")),
    )
    columns = Columns(text, keep)
    asked = order(source, out, columns=columns, reading=reading, seed=None)
    said = io.StringIO()
    results = []
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        for way in (_on_disk, _in_memory):
            try:
                results.append(way(asked, data))
            except DpcoreError as error:
                said.write(str(error))
    left = said.getvalue().encode() + b"".join(results)
    for path in folder.iterdir():
        if path != source:
            left += path.name.encode() + path.read_bytes()
            path.unlink()
    source.unlink()
    assert MARK.encode() not in left.lower(), f"seed {seed}: {left[:300]!r}"
    return "released" if results else "refused"


def _on_disk(asked: Order, data: bytes) -> bytes:
    record = privatize(asked, span_bytes=30)
    return json.dumps(record).encode()


def _in_memory(asked: Order, data: bytes) -> bytes:
    """Do what the page does, without a separate process: read, check, and print a command."""
    name, columns = asked.source.name, asked.columns
    reading = asked.reading
    if reading.header == "auto" and columns.text != "text":
        reading = Reading(reading.format, reading.encoding, reading.separator, "no")
    table = read_table(data, least=1, name=name, reading=reading, typed=columns.typed)
    form = format_with(table.shape)
    form.check(table.file, columns)
    parts = tables._read(form, table.file, columns)
    risks = tables._risks(form, parts, columns)
    out = io.BytesIO()
    out.write(form.header(columns))
    for part in parts:
        form.write(part, ["w1"] * len(part.texts), columns, out)
    printed = shlex.join(table.shape.options(name)) + table.shape.sentence + repr(table.shape)
    return out.getvalue() + printed.encode() + "".join(r.sentence for r in risks).encode()


def main(count: int) -> None:
    """Try so many files."""
    outcomes = {"released": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            outcomes[check(seed, Path(folder))] += 1
            if seed % 1000 == 999:
                print(f"{seed + 1:,} files: {outcomes}", flush=True)


if __name__ == "__main__":
    os.nice(10)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
