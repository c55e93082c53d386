"""Measurements of some words at a time, put together: for progress, and for stopping half-way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError
from dpcore.measure.deniability import Deniability, Method
from dpcore.measure.exact import exact_means
from dpcore.measure.figures import Figures
from dpcore.measure.protocol import counted_means
from dpcore.measure.words import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

_EACH = (
    "nw", "sw", "effective", "nw_error", "nw_low", "nw_high", "sw_error", "effective_error",
)  # fmt: skip
_MEANS = ("nw_mean_error", "nw_mean_low", "nw_mean_high", "sw_mean_error")


def part_of(selection: Selection, places: Sequence[int]) -> Selection:
    """Some words of a selection with their weights, in the given order."""
    rows = np.asarray(places, dtype=np.int64)
    names = tuple(selection.names[i] for i in rows.tolist())
    return Selection(selection.words[rows], names, selection.weights[rows], selection.description)


def joined(parts: Sequence[Deniability], selection: Selection) -> Deniability:
    """One measurement from several of different words, under one mechanism at the same ε.

    The words' own figures and errors are what a measurement of all words at once gives with the
    same seed. The error of their mean is the same for independent runs and exact laws. Words
    measured along shared directions have errors of unknown correlation between two parts, so
    there it is the upper bound for full correlation: not smaller than that of one measurement.

    Args:
        parts: of different words of the selection.
        selection: gives the order of the words; what no part has measured is left out.

    Raises:
        ParameterError: there is no part, or they differ in mechanism, method, R or ε.
    """
    if not parts:
        raise ParameterError("nothing has been measured; at least one part is needed")
    first = parts[0]
    settings = [(part.mechanism, part.method, part.runs) for part in parts]
    for part, setting in zip(parts[1:], settings[1:], strict=True):
        if not (setting == settings[0] and np.array_equal(part.epsilons, first.epsilons)):
            raise ParameterError(
                "parts must be of one mechanism, method, number of runs and grid of epsilon, got "
                f"{', '.join(map(str, settings[0]))} and {', '.join(map(str, setting))}"
            )
    measured = np.concatenate([part.selection.words for part in parts])
    places = np.flatnonzero(np.isin(selection.words, measured))
    selection = part_of(selection, places.tolist())
    # Parts come in the order in which they were measured; rows go back to that of the selection.
    row_of = {word: i for i, word in enumerate(measured.tolist())}
    order = [row_of[word] for word in selection.words.tolist()]
    each = {
        name: np.concatenate([getattr(p.figures, name) for p in parts])[order] for name in _EACH
    }
    if first.method is Method.RAO_BLACKWELL:
        # A mean of the parts' means, as if their errors were fully correlated.
        shares = np.array([part.selection.weights.sum() for part in parts])
        shares /= shares.sum()
        means = {
            name: shares @ np.stack([getattr(part.figures, name) for part in parts])
            for name in _MEANS
        }
    elif first.method is Method.PROTOCOL:
        means = counted_means(each["nw"], each["sw_error"], selection.weights, first.runs)
    else:
        means = exact_means(each["nw"], selection.weights)
    figures = Figures(
        **each,
        **means,
        numerical_error=max(part.figures.numerical_error for part in parts),
        detail=first.figures.detail,
    )
    return Deniability(
        first.mechanism, first.method, selection, first.epsilons, first.runs, figures
    )
