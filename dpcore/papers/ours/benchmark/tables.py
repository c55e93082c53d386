"""Boards of a benchmark as tables: numbers for a program, lines for people, Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpcore.attack.leak import describe_stranger
from dpcore.outwards import at_least
from dpcore.papers.ours.benchmark.board import GUESSED, MEMBERSHIP, Board
from dpcore.papers.ours.benchmark.cells import LOCAL, METRIC
from dpcore.papers.ours.benchmark.record import COSINE, KEPT, Benchmark, Line
from dpcore.plots.style import number
from dpcore.study.recorded import MeanInterval
from dpcore.written import Filled, Named

if TYPE_CHECKING:
    import pandas as pd

PER = {METRIC: "per distance", LOCAL: "any two words"}
"""What an ε bounds, beside its number: the loss per unit of Euclidean distance, or of any pair."""
_LEFT = {KEPT: "words that stay", COSINE: "meaning by an encoder"}


def title(board: Board) -> str:
    """Return the quantity that is equal on a board."""
    if board.sense == GUESSED:
        return Filled("{words} are guessed", words=board.hundred)
    if board.sense == MEMBERSHIP:
        return Filled("The attacker on membership has an AUC of {auc:g}", auc=board.level)
    return Filled(
        "ε = {epsilon} {unit} is guaranteed",
        epsilon=number(board.epsilon or math.nan),
        unit=unit_of(board.bounds),
    )


def unit_of(bounds: str) -> str:
    """Return what ε of a guarantee is counted by."""
    return Filled("per unit of distance") if bounds == METRIC else Filled("between any two words")


def explained(board: Board) -> str:
    """Explain the title of a board in a sentence."""
    filling = {"words": board.hundred, "stranger": Named(describe_stranger(board.stranger))}
    if board.sense == GUESSED:
        return Filled(
            "ε of each mechanism is where {words} are guessed by {stranger}, and who knows the "
            "mechanism.",
            **filling,
        )
    if board.sense == MEMBERSHIP:
        return Filled(
            "ε of each mechanism is where an attacker tells the texts that a classifier learned "
            "from apart from others with an AUC of {auc:g}, read between measured ε.",
            auc=board.level,
        )
    return Filled(
        "The largest known ε under which no mechanism lets more than {words} be guessed by "
        "{stranger}. Only guarantees that are proved or certified.",
        **filling,
    )


def headings(benchmark: Benchmark) -> dict[str, str]:
    """Return the columns of a board for people, by key."""
    left = {name: _LEFT.get(name, f"accuracy, {name}") for name in benchmark.utilities}
    # Of the first accuracy alone: a place for each would double the width of a board.
    places = {f"{name} place": "place" for name in benchmark.accuracies[:1]}
    return {
        "label": "mechanism",
        "promise": "guarantee there",
        "epsilon": "ε",
        "waste": "× least",
        "guessed": "guessed",
        "near": "near",
        "auc": "AUC",
        **left,
        **places,
        "meaning": "nearness",
        "cost": "cost",
    }


def cells(board: Board, benchmark: Benchmark) -> list[dict[str, str]]:
    """Return the mechanisms on a board as texts by the keys of `headings`."""
    return [_cells(line, benchmark) for line in board.there]


def _cells(line: Line, benchmark: Benchmark) -> dict[str, str]:
    texts = {
        "label": line.label,
        "promise": promise(line),
        "epsilon": "" if line.epsilon is None else number(line.epsilon.mean),
        "waste": "" if line.waste is None else number(float(f"{line.waste:.2g}")),
        "guessed": _guessed(line),
        "near": _share(line.near),
        "auc": _ends(line.auc),
        "meaning": _share(line.meaning),
        "cost": "" if line.cost is None else number(float(f"{line.cost:.2g}")),
    }
    for name in benchmark.utilities:
        texts[name] = _ends(line.left.get(name))
    for name in benchmark.accuracies[:1]:
        texts[f"{name} place"] = place(line, name)
    return texts


def promise(line: Line) -> str:
    """Return the guarantee with its status."""
    if line.promised is None:
        return f"none: {line.status}" if line.status else ""
    delta = "" if line.delta is None else f", δ = {number(line.delta)}"
    status = "certified" if str(line.status).startswith("certified") else str(line.status)
    return f"{number(line.promised)} {PER[line.bounds]}{delta}; {status}"


def place(line: Line, utility: str) -> str:
    """Return the range of places of a mechanism; "–" where there is none."""
    if utility not in line.places:
        return "–"
    first, last = line.places[utility]
    return str(first) if first == last else f"{first}–{last}"


def _guessed(line: Line) -> str:
    if line.guessed is None or not line.at_least or math.isnan(line.guessed.mean):
        return _share(line.guessed)
    return f"≥ {at_least(line.guessed.mean, places=3)}"


def _share(reading: MeanInterval | None) -> str:
    return "" if reading is None or math.isnan(reading.mean) else f"{reading.mean:.3f}"


def _ends(reading: MeanInterval | None) -> str:
    if reading is None:
        return ""
    if math.isnan(reading.low):
        return f"{reading.mean:.3f}"
    return f"{reading.mean:.3f} ({reading.low:.3f}–{reading.high:.3f})"


def absent(board: Board) -> list[str]:
    """List the mechanisms absent from a board, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for line in board.absent:
        reasons.setdefault(line.why, []).append(line.label)
    return [f"{'; '.join(names)}: {why}" for why, names in reasons.items()]


def frame(boards: Sequence[Board]) -> pd.DataFrame:
    """Return all boards as one table of numbers, a row for each mechanism and board."""
    import pandas as pd

    rows = [_flat(line_fields(line), board) for board in boards for line in board.lines]
    return pd.DataFrame(rows)


def _flat(line: dict[str, Any], board: Board) -> dict[str, Any]:
    """Flatten a line to one row: an interval becomes three columns, a range of places two."""
    row: dict[str, Any] = {"sense": board.sense, "level": board.level, "board_bounds": board.bounds}
    for name, value in line.items():
        if name == "left":
            for utility, reading in value.items():
                row |= _columns(utility, reading)
        elif name == "places":
            for utility, (first, last) in value.items():
                row |= {f"{utility} first": first, f"{utility} last": last}
        elif isinstance(value, list):
            row |= _columns(name, value)
        else:
            row[name] = value
    return row


def _columns(name: str, ends: list[float | None]) -> dict[str, float | None]:
    return dict(zip((name, f"{name} low", f"{name} high"), ends, strict=True))


def line_fields(line: Line) -> dict[str, Any]:
    """Return a line as JSON values; a number with an interval is mean, low and high."""
    plain = {
        name: getattr(line, name)
        for name in (
            "label", "mechanism", "bounds", "reason", "why", "promised", "delta", "waste",
            "at_least", "cost", "microseconds",
        )
    }  # fmt: skip
    readings = {
        name: triple(getattr(line, name))
        for name in ("epsilon", "guessed", "near", "auc", "meaning")
    }
    return {
        **plain,
        "status": None if line.status is None else str(line.status),
        **readings,
        "left": {name: triple(reading) for name, reading in line.left.items()},
        "places": {name: list(ends) for name, ends in line.places.items()},
    }


def triple(reading: MeanInterval | None) -> list[float | None] | None:
    """Return mean and both ends; a missing end is null."""
    if reading is None:
        return None
    # JSON has no NaN.
    return [None if math.isnan(value) else value for value in reading]


def markdown(benchmark: Benchmark, boards: Sequence[Board]) -> Iterator[str]:
    """Yield the boards as lines of Markdown, with the mechanisms absent from them."""
    for board in boards:
        yield f"### {title(board)}"
        yield ""
        yield explained(board)
        yield ""
        yield from markdown_table(board, benchmark)
        for sentence in absent(board):
            yield f"- {sentence}"
        yield ""


def markdown_table(board: Board, benchmark: Benchmark) -> Iterator[str]:
    """Yield one board; columns without an entry are left out."""
    names, lines = headings(benchmark), cells(board, benchmark)
    shown = [key for key in names if any(line.get(key) for line in lines)]
    if not lines:
        yield "No mechanism meets this level."
        yield ""
        return
    yield "| " + " | ".join(names[key] for key in shown) + " |"
    yield "|" + "---|" * len(shown)
    for line in lines:
        texts = [f"`{line[key]}`" if key == "label" else line[key] for key in shown]
        yield "| " + " | ".join(texts) + " |"
    yield ""
