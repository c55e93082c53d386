"""How a recorded result was made, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.study.results import UNDEFINED

if TYPE_CHECKING:
    from dpcore.study.experiment_results import ExperimentEntry
    from dpcore.study.results import Entry, Recorded


def provenance(entry: Entry) -> list[str]:
    """Lines of plain text: words, seed, version, machine, files and fingerprints."""
    words, machine = entry.vocabulary, entry.machine
    tokens = ""
    if words["tokens"] is not None:
        tokens = f", {words['tokens']:,} tokens of which {words['unknown_tokens']:,} have no vector"
    lines = [
        f"Vocabulary: {words['title']}{tokens}.",
        f"n = {words['words']:,} words, d = {words['dimension']}, smallest distance Δ₀ = "
        f"{words['separation']:.4f}, largest Δ = {words['diameter']:.4f}; fingerprint "
        f"{words['fingerprint'][:16]}…",
        f"Words measured: {entry.selection}. R = {entry.runs:,}, seed {entry.seed}.",
        f"dpcore {entry.version}, Python {machine['python']}, numpy {machine['numpy']}, "
        f"{machine['system']} {machine['processor']}, {machine['cores']} cores; {entry.date}, "
        f"{entry.seconds:,.0f} s.",
    ]
    lines += [f"Read: {name}, SHA-256 {digest[:16]}…" for name, digest in entry.data.items()]
    lines += [
        f"{one['name']}: {one['detail']}, {one['words']:,} words."
        for one in entry.series
        if one["words"]
    ]
    return lines


def experiment_provenance(entry: ExperimentEntry) -> list[str]:
    """Lines of plain text: sizes, seeds, versions, machine, words and vectors, files."""
    machine, seeds = entry.machine, entry.plan["seeds"]
    packages = ", ".join(f"{name} {version}" for name, version in entry.packages.items())
    lines = [
        entry.sizes,
        f"Seeds {', '.join(str(seed) for seed in seeds)}.",
        f"dpcore {entry.version}, Python {machine['python']}, numpy {machine['numpy']}, "
        f"{packages}; {machine['system']} {machine['processor']}, {machine['cores']} cores; "
        f"{entry.date}, {entry.seconds:,.0f} s of one core.",
    ]
    lines += [
        f"{one['name']}: n = {one['words']:,} words, d = {one['dimension']}, smallest distance "
        f"Δ₀ = {one['separation']:.4f}, largest Δ = {one['diameter']:.4f}; fingerprint "
        f"{one['fingerprint'][:16]}…"
        for one in entry.lexicons
    ]
    return lines + [f"Read: {name}, SHA-256 {digest[:16]}…" for name, digest in entry.data.items()]


def undefined_sentence(recorded: Recorded) -> str:
    """Which ε of the grid a mechanism does not have; empty if it has them all."""
    rows = recorded.table[recorded.table["status"] == UNDEFINED]
    said = []
    for series, part in rows.groupby("series", sort=False):
        values = sorted(set(part["epsilon"].tolist()))
        logs = ", ".join(f"{math.log(value):.4g}" for value in values)
        said.append(
            f"{series} is not defined at {len(values)} of the ε that were asked for "
            f"(ln ε = {logs}), so nothing is drawn there."
        )
    return " ".join(said)
