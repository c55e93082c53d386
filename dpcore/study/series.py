"""Task of a study of words: one series of words and ε, measured by a worker."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure import words as measured
from dpcore.measure.deniability import QUANTITIES, STANDARD_ERRORS, Deniability, measure, summarise
from dpcore.measure.words import Selection
from dpcore.noise.streams import generator
from dpcore.study.plan import Cell, Row
from dpcore.study.runner import Sources
from dpcore.study.tables import MEASURED, UNDEFINED, WORD_FIGURES


def measure_series(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one series: its rows, and one row without a quantity for its facts."""
    mechanism = sources.mechanism(cell)
    lexicon, runs = mechanism.lexicon, int(cell.option("runs"))
    named = cell.option("named")
    if named:
        names = [name for name in named if name in lexicon]
        chosen = measured.select_words(lexicon, names) if names else None
    else:
        selection = _selection(cell, lexicon)
        most = cell.option("most") or len(selection)
        chosen = measured.subsample(
            selection, most, generator(cell.seed, "fewer words", cell.label)
        )
    # Inadmissible ε are recorded too, so that a figure can say why a curve ends.
    inside = [epsilon for epsilon in cell.epsilons if epsilon in mechanism.admissible]
    outside = [epsilon for epsilon in cell.epsilons if epsilon not in mechanism.admissible]
    facts: Row = {"quantity": "", "method": "", "detail": "", "numerical_error": 0.0}
    facts["words"] = len(chosen) if chosen else 0
    rows: list[Row] = []
    if chosen and inside:
        method = str(cell.option("method"))
        deniability = measure(mechanism, chosen, inside, method=method, runs=runs, seed=cell.seed)
        facts |= {
            "method": str(deniability.method),
            "detail": deniability.figures.detail,
            "numerical_error": deniability.figures.numerical_error,
        }
        rows = _word_rows(deniability) if named else _summary_rows(deniability)
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
    """Convert to a JSON value: numpy numbers become Python numbers, NaN becomes None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _selection(cell: Cell, lexicon: Lexicon) -> Selection:
    """Rebuild the words of the study from `dpcore.study.recording.chosen_plan`."""
    words = np.array(cell.option("chosen"), dtype=np.int64)
    return measured.Selection(
        words,
        tuple(lexicon.words[i] for i in words.tolist()),
        np.array(cell.option("weights"), dtype=np.float64),
        str(cell.option("described")),
        int(cell.option("tokens")),
        int(cell.option("unknown")),
    )


def _summary_rows(deniability: Deniability) -> list[Row]:
    """Return one row per quantity and ε over the words."""
    rows: list[Row] = []
    for quantity in QUANTITIES:
        s = summarise(deniability, quantity)
        spread = (s.deviation, s.mean_error, s.mean_low, s.mean_high)
        figures = np.array((s.mean, *spread, s.median, s.worst, *s.bands))
        rows += _rows("", quantity, deniability, figures, len(deniability.selection))
    return rows


def _word_rows(deniability: Deniability) -> list[Row]:
    """Return one row per word, quantity and ε."""
    rows: list[Row] = []
    for quantity in QUANTITIES:
        values = getattr(deniability.figures, quantity)
        errors = getattr(deniability.figures, f"{quantity}_error")
        low, high = values - STANDARD_ERRORS * errors, values + STANDARD_ERRORS * errors
        if quantity == "nw":  # a share: its interval is not symmetric near 0 and 1
            low, high = deniability.figures.nw_low, deniability.figures.nw_high
        for i, name in enumerate(deniability.selection.names):
            # For one word the median, the worst and every quantile equal its own value.
            spread = (np.zeros_like(errors[i]), errors[i], low[i], high[i])
            figures = np.array((values[i], *spread, *[values[i]] * 6))
            rows += _rows(name, quantity, deniability, figures, 1)
    return rows


def _rows(
    word: str, quantity: str, deniability: Deniability, figures: NDArray[np.float64], words: int
) -> list[Row]:
    """Return rows at each ε; `figures` has one line for each of `WORD_FIGURES`."""
    named = {"word": word, "quantity": quantity, "status": MEASURED, "words": words}
    epsilons = zip(deniability.epsilons.tolist(), figures.T, strict=True)
    return [
        named | {"epsilon": epsilon} | dict(zip(WORD_FIGURES, column, strict=True))
        for epsilon, column in epsilons
    ]
