"""Write docs/artifact.md, for a reviewer: each documented number with its command.

```sh
python -m tests.artifact            # writes the page from dpcore/papers/reproduce.toml
python -m tests.artifact measure    # measures time and memory of all entries, or those named, too
```
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dpcore.cli.study import Claimed, claimed, quick
from dpcore.papers.comparison import agreement, comparison_rows
from dpcore.papers.studies import EXPERIMENTS, STUDIES
from dpcore.study.recorded import Entry, read_bundled, read_recorded
from tests.needs import ROOT

PAGE = ROOT / "docs/artifact.md"
TABLE = ROOT / "dpcore/papers/reproduce.toml"
_HEAD = """# For a reviewer: every number and its command

Written by `python -m tests.artifact` from [the table of entries](../dpcore/papers/reproduce.toml).

```sh
python3 -m venv env && . env/bin/activate
pip install -r requirements.txt
python -m dpcore doctor             # is everything there?
python -m dpcore reproduce          # {quick} of {all} entries, {seconds} seconds of the processor
python -m dpcore reproduce --all    # all of them, {minutes} minutes
python -m dpcore reproduce NAME     # one of them; --list names them, --json prints every number
```

Python 3.11 or later, two cores, {memory} MB of free memory, no network, no GPU and no data but the
repository's. `requirements.lock` has the releases of the packages that were tried last. The command
prints one line an entry, names each number that differs with the expected and the computed one, and
ends with 0 if all are reproduced, with 1 if one is not, and with 2 for a name that is no entry.

**Times** are processor time, without the start of Python (one to two seconds), with an empty cache,
measured on two cores that had other work to do; what you wait for may be less or more. Memory is
the most that the process held. Some commands keep what they computed in the cache: to compute it
again, name an empty folder in `DPCORE_CACHE`.

**Tolerances.** *Rounded*: half a unit of the last digit that the document prints. *Outward*: one
unit of it, for a bound that is rounded to the safe side. *Six digits*: the last digits of a float
differ between processors. All others name their reason. Where an entry names no seed, nothing is
random.

## What is not computed again, and why

An entry with a *record* reads a table of `data/results/`, checks its SHA-256 and compares it with
the document; nothing is measured again. The command that made the record stands beside it, with
the time that the record names. Some of these read real texts (IMDb, SST-2, AG News, Yelp, Yahoo
answers, SNLI, ATIS, SNIPS and others) and vectors (GloVe), whose licences do not let the repository
hold them. [data/README.md](../data/README.md) says where they are from. Put them into one folder,
name it in `DPCORE_DATA`, and give it as `--data "$DPCORE_DATA"`. Those commands are marked *needs
data*.

Not in the table: numbers that several records make together by interpolation (*counted at equal
leakage* in [crowd.md](crowd.md), accuracy where as many near words are guessed in
[optimal.md](optimal.md)), ranges over a group of mechanisms, and numbers that were measured once on
vectors that are not here. The page Trade-off draws the first from the records.

"""
_PAPERS = """## The papers' experiments

`study show NAME` prints the record, and each number of the paper beside ours, with the reason where
they differ. *Within*: of the paper's numbers for which we have an interval, so many lie in it.

| command | paper and figures | rows | within | recorded by | minutes |
|---|---|---|---|---|---|
"""
_MOST = 90  # characters of a passage
_SLUG = re.compile(r"[^\w\- ]")


def page(entries: dict[str, Claimed]) -> str:
    """Return the page as Markdown."""
    records = {entry.name: entry for entry in read_bundled()}
    quick_names = quick(entries)
    head = _HEAD.format(
        quick=len(quick_names),
        all=len(entries),
        seconds=round(sum(entries[name].seconds for name in quick_names)),
        minutes=round(sum(entry.seconds for entry in entries.values()) / 60),
        memory=f"{max(entry.megabytes for entry in entries.values()):,}",
    )
    documents = list(dict.fromkeys(entry.document for entry in entries.values()))
    contents = ["## Contents", ""]
    for document in documents:
        links = ", ".join(
            f"[{name}](#{name})" for name, entry in entries.items() if entry.document == document
        )
        contents.append(f"- [{document}](#{slug(document)}): {links}")
    contents += ["- [The papers' experiments](#the-papers-experiments)", ""]
    parts = [head + "\n".join(contents) + "\n"]
    for document in documents:
        parts.append(f"## {document}\n")
        parts += [
            _section(entry, records) for entry in entries.values() if entry.document == document
        ]
    return "\n".join(parts) + "\n" + _PAPERS + "\n".join(_papers(records)) + "\n"


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return _SLUG.sub("", heading.lower()).replace(" ", "-")


def heading_before(entry: Claimed) -> str:
    """Return the heading under which the first passage of an entry stands; empty outside of any."""
    text = (ROOT / entry.document).read_text(encoding="utf-8")
    if not entry.document.endswith(".md"):
        return ""
    plain, words = re.sub(r"\s", " ", text), entry.checks[0].text.split()
    place = re.search(r"\s+".join(map(re.escape, words)), plain)
    headings = re.findall(r"^#+ (.*)$", text[: place.start() if place else 0], re.MULTILINE)
    return str(headings[-1]) if headings else ""


def _section(entry: Claimed, records: dict[str, Entry]) -> str:
    heading = heading_before(entry)
    where = f"[{entry.document}](../{entry.document})"
    if heading and not heading.startswith("#"):
        where = f"[{entry.document}, {heading}](../{entry.document}#{slug(heading)})"
    numbers = [number for check in entry.checks for number in check.expected]
    listing = ", ".join(numbers[:8]) + (f" … ({len(numbers)} numbers)" if len(numbers) > 8 else "")
    tolerance = f"{entry.tolerance:g}" if isinstance(entry.tolerance, float) else entry.tolerance
    lines = [
        f"### {entry.name}\n",
        f"{entry.claim} In {where}.\n",
        f"```sh\npython -m dpcore {entry.command}\n```\n",
        f"- It says: {_passage(entry.checks[0].text)}",
        f"- Expected: {listing}; tolerance: {tolerance}"
        + (f" ({entry.reason})" if entry.reason else ""),
        f"- {_duration(entry.seconds)}, {entry.megabytes:,} MB"
        + (f"; seed {entry.seed}" if entry.seed is not None else ""),
    ]
    if entry.study:
        lines.append(f"- Record, made by {_made(records[entry.study])}")
    return "\n".join(lines) + "\n"


def _passage(text: str) -> str:
    """Return the first passage as code, whose bars and brackets Markdown leaves alone."""
    words = text.replace("`", "").strip("| ")
    return f"`{words if len(words) <= _MOST else words[:_MOST] + ' …'}`"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "Under a second"
    return f"{seconds:.2g} seconds" if seconds < 60 else f"{seconds / 60:.2g} minutes"


def _made(record: Entry) -> str:
    command = record.command.replace("../shared/data", '"$DPCORE_DATA"')
    data = f"; needs data: {', '.join(record.data)}" if record.data else ""
    return f"`{command}` ({record.date}, {_minutes(record)} minutes of one core{data})"


def _minutes(record: Entry) -> str:
    return f"{record.seconds / 60:,.0f}"


def _papers(records: dict[str, Entry]) -> list[str]:
    rows = []
    for name in STUDIES | EXPERIMENTS:
        record = records.get(name)
        compared = comparison_rows(read_recorded(name)) if record else ()
        if record and compared:
            verdict = agreement(compared)
            within = f"{verdict.within} of {verdict.numbers}" if verdict.numbers else "–"
            command = _made(record).split(" (")[0]
            rows.append(
                f"| `study show {name}` | {record.source} | {len(compared)} | {within} | "
                f"{command}{', needs data' if record.data else ''} | {_minutes(record)} |"
            )
    return rows


def _measured(name: str) -> tuple[float, int]:
    """Run one entry in a process of its own with an empty cache: seconds and megabytes."""
    with tempfile.TemporaryDirectory() as cache:
        read, write = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "dpcore", "reproduce", name, "--json"],
            cwd=ROOT, env=os.environ | {"DPCORE_CACHE": cache}, stdout=write,
        )  # fmt: skip
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as answer:
            entry: dict[str, Any] = json.load(answer)["entries"][0]
        _, _, usage = os.wait4(process.pid, 0)
    if not entry["reproduced"]:
        print(name, "is NOT reproduced")
    return float(entry["seconds"]), round(usage.ru_maxrss / 1024)


def measure(names: list[str], path: Path = TABLE) -> None:
    """Write time and memory of these entries into the table; of all if none is named."""
    text = path.read_text(encoding="utf-8")
    for name in names or claimed(text):
        seconds, megabytes = _measured(name)
        print(f"{name:<32} {seconds:8.3g} s {megabytes:6,} MB", flush=True)
        text = re.sub(
            rf"(^\[{name}\]\n(?:.+\n)*?)seconds = .*\nmegabytes = .*\n",
            rf"\g<1>seconds = {seconds:.2g}\nmegabytes = {megabytes}\n",
            text,
            flags=re.MULTILINE,
        )
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2:])
    PAGE.write_text(page(claimed(TABLE.read_text(encoding="utf-8"))), encoding="utf-8")
