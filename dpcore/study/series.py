"""The task of a recorded study: one series of words and ε, measured by a worker."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.measure import words as measured
from dpcore.measure.deniability import measure
from dpcore.measure.summary import BANDS, QUANTITIES, STANDARD_ERRORS, summarise
from dpcore.noise.streams import generator
from dpcore.study.tables import MEASURED, UNDEFINED

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.deniability import Deniability
    from dpcore.measure.words import Selection
    from dpcore.study.plan import Cell
    from dpcore.study.runner import Row
    from dpcore.study.sources import Sources

_ERRORS = {"nw": "nw_error", "sw": "sw_error", "effective": "effective_error"}


def measure_series(cell: Cell, sources: Sources) -> list[Row]:
    """The task of a worker: the rows of one series, and one without a quantity for its facts."""
    mechanism = sources.mechanism(cell)
    lexicon, runs = mechanism.lexicon, int(cell.option("runs"))
    named = cell.option("named")
    if named:
        names = [name for name in named if name in lexicon]
        chosen = measured.named(lexicon, names) if names else None
    else:
        selection = _selection(cell, lexicon)
        most = cell.option("most") or len(selection)
        chosen = measured.reduced(selection, most, generator(cell.seed, "fewer words", cell.label))
    inside = [epsilon for epsilon in cell.epsilons if epsilon in mechanism.admissible]
    outside = [epsilon for epsilon in cell.epsilons if epsilon not in mechanism.admissible]
    facts: Row = {"quantity": "", "method": "", "detail": "", "numerical_error": 0.0}
    facts["words"] = len(chosen) if chosen else 0
    rows: list[Row] = []
    if chosen and inside:
        method = str(cell.option("method"))
        found = measure(mechanism, chosen, inside, method=method, runs=runs, seed=cell.seed)
        facts |= {
            "method": str(found.method),
            "detail": found.figures.detail,
            "numerical_error": found.figures.numerical_error,
        }
        rows = _word_rows(found) if named else _summary_rows(found)
    common = {"curve": cell.option("curve"), "series": cell.label, "mechanism": mechanism.key}
    common |= {"method": facts["method"], "runs": runs}
    if not named:
        empty = {"status": UNDEFINED, "word": "", "words": 0}
        rows += [
            {"epsilon": epsilon, "quantity": quantity, **empty}
            for quantity in QUANTITIES
            for epsilon in outside
        ]
    deltas = {epsilon: mechanism.true_delta(epsilon) for epsilon in inside}
    rows = [row | common | {"true_delta": deltas.get(row["epsilon"])} for row in rows]
    return [facts, *({name: _plain(value) for name, value in row.items()} for row in rows)]


def _plain(value: Any) -> Any:
    """A JSON value: numbers of numpy as Python has them, and None for NaN."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _selection(cell: Cell, lexicon: Lexicon) -> Selection:
    """The words of the study, as `dpcore.study.recording.chosen_plan` wrote them."""
    words = np.array(cell.option("chosen"), dtype=np.int64)
    return measured.Selection(
        words,
        tuple(lexicon.words[i] for i in words.tolist()),
        np.array(cell.option("weights"), dtype=np.float64),
        str(cell.option("described")),
        int(cell.option("tokens")),
        int(cell.option("unknown")),
    )


def _summary_rows(found: Deniability) -> list[Row]:
    """One row a quantity and ε over the words."""
    rows = []
    for quantity in QUANTITIES:
        s = summarise(found, quantity)
        rows += [
            {
                "word": "",
                "quantity": quantity,
                "status": MEASURED,
                "epsilon": epsilon,
                "mean": s.mean[e],
                "standard_deviation": s.deviation[e],
                "standard_error": s.mean_error[e],
                "mean_low": s.mean_low[e],
                "mean_high": s.mean_high[e],
                "median": s.median[e],
                "worst": s.worst[e],
                **{f"q{100 * q:02.0f}": s.bands[j, e] for j, q in enumerate(BANDS)},
                "words": len(found.selection),
            }
            for e, epsilon in enumerate(found.epsilons.tolist())
        ]
    return rows


def _word_rows(found: Deniability) -> list[Row]:
    """One row a word, quantity and ε."""
    rows = []
    for quantity in QUANTITIES:
        values = getattr(found.figures, quantity)
        errors = getattr(found.figures, _ERRORS[quantity])
        low, high = values - STANDARD_ERRORS * errors, values + STANDARD_ERRORS * errors
        if quantity == "nw":
            low, high = found.figures.nw_low, found.figures.nw_high
        rows += [
            {
                "word": name,
                "quantity": quantity,
                "status": MEASURED,
                "epsilon": epsilon,
                "mean": values[i, e],
                "standard_deviation": 0.0,
                "standard_error": errors[i, e],
                "mean_low": low[i, e],
                "mean_high": high[i, e],
                **dict.fromkeys(("median", "worst", "q05", "q25", "q75", "q95"), values[i, e]),
                "words": 1,
            }
            for i, name in enumerate(found.selection.names)
            for e, epsilon in enumerate(found.epsilons.tolist())
        ]
    return rows
