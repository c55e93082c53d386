"""How a recorded result was made, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.study.tables import UNDEFINED

if TYPE_CHECKING:
    from dpcore.study.recorded import Entry, Recorded


def provenance(entry: Entry) -> list[str]:
    """Lines of plain text: words or sizes, seeds, versions, machine, files and fingerprints."""
    # Digests are cut to 16 digits: enough to compare by eye, and the manifest has them whole.
    lines = _words(entry) if entry.of_words else _trials(entry)
    lines += [f"Read: {name}, SHA-256 {digest[:16]}…" for name, digest in entry.data.items()]
    lines += [
        f"{series['name']}: {series['detail']}, {series['words']:,} words."
        for series in entry.series
        if series["words"]
    ]
    return lines


def _words(entry: Entry) -> list[str]:
    words = entry.vocabulary
    tokens = ""
    if words["tokens"] is not None:
        tokens = f", {words['tokens']:,} tokens of which {words['unknown_tokens']:,} have no vector"
    return [
        f"Vocabulary: {words['title']}{tokens}.",
        _extent(words),
        f"Words measured: {entry.selection}. R = {entry.runs:,}, seed {entry.seed}.",
        f"{_versions(entry)}, {_machine(entry)}, {entry.seconds:,.0f} s.",
    ]


def _trials(entry: Entry) -> list[str]:
    packages = ", ".join(f"{name} {version}" for name, version in entry.packages.items())
    return [
        entry.sizes,
        f"Seeds {', '.join(map(str, seeds(entry)))}.",
        f"{_versions(entry)}, {packages}; {_machine(entry)}, {entry.seconds:,.0f} s of one core.",
        *(f"{lexicon['name']}: {_extent(lexicon)}" for lexicon in entry.lexicons),
    ]


def seeds(entry: Entry) -> list[int]:
    """The seeds of all trials of an experiment; a cell of several has those from its own on."""
    together = int(dict(entry.plan["options"]).get("trials", 1))
    return [seed + trial for seed in entry.plan["seeds"] for trial in range(together)]


def _extent(words: dict[str, Any]) -> str:
    return (
        f"n = {words['words']:,} words, d = {words['dimension']}, smallest distance Δ₀ = "
        f"{words['separation']:.4f}, largest Δ = {words['diameter']:.4f}; fingerprint "
        f"{words['fingerprint'][:16]}…"
    )


def _versions(entry: Entry) -> str:
    machine = entry.machine
    return f"dpcore {entry.version}, Python {machine['python']}, numpy {machine['numpy']}"


def _machine(entry: Entry) -> str:
    machine = entry.machine
    return f"{machine['system']} {machine['processor']}, {machine['cores']} cores; {entry.date}"


def undefined_sentence(recorded: Recorded) -> str:
    """Which ε of the grid a mechanism does not have; empty if it has them all."""
    rows = recorded.table[recorded.table["status"] == UNDEFINED]
    sentences = []
    for series, part in rows.groupby("series", sort=False):
        values = sorted(set(part["epsilon"].tolist()))
        logs = ", ".join(f"{math.log(value):.4g}" for value in values)
        sentences.append(
            f"{series} is not defined at {len(values)} of the ε that were asked for "
            f"(ln ε = {logs}), so nothing is drawn there."
        )
    return " ".join(sentences)
