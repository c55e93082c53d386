"""At which ε a mechanism lets a share of the words be guessed, found by measuring.

Levels of leakage, because equal ε is no equal privacy: it means something else in every mechanism.
First all admissible ε are looked at on a coarse grid (`measure.epsilon_ranges.scan`), with few
outputs. Then a bracket around each level is cut into three, twice, so that its ends differ by a
seventh; between them the log odds of the share are a straight line in ln ε (`TradeCurve`). What is
guessed in truth at an ε that was found so is to be measured again, with other noise.

The share is that of `tradeoff`: Bayes' where columns of the law are closed forms, elsewhere of one
who repeats what came out, a lower bound. Where a law is computed word by word, that share is the
mean Nw of some words (`measure.deniability`), which says more than counting their outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import Ground
from dpcore.attack.trade.tradeoff import amounts, has_columns
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import measure
from dpcore.measure.epsilon_ranges import scan
from dpcore.measure.summary import summarise
from dpcore.measure.words import sample
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.mechanisms.mechanism import Mechanism

_EVERY = 2  # of the grid of `scan`: three ε a decade are close enough for a bracket
_CUTS, _ROUNDS = 3, 2
_CLOSE = 1.01  # ratio of the ends of a bracket that needs no cut
_JUMP = 4.0  # ratio of the shares at the ends of the last bracket, from which on none is between
_NEARLY = 0.95
"""Of a level that a mechanism does not quite reach, or not quite leave: from here on it is set
where it gives away a hundredth less than the most that it does, or more than the least."""


@dataclass(frozen=True)
class Outputs:
    """How many outputs are looked at, by what a share costs.

    Attributes:
        columns: where a column of the law is a closed form.
        laws: where a law is computed word by word: laws, or outputs drawn from them.
        draws: where outputs are drawn by adding noise.
    """

    columns: int
    laws: int
    draws: int

    def of(self, mechanism: Mechanism) -> int:
        """How many of this mechanism."""
        if has_columns(mechanism):
            return self.columns
        return self.laws if mechanism.exact_law else self.draws


COARSE = Outputs(100, 60, 400)
FINE = Outputs(200, 200, 5_000)


@dataclass(frozen=True)
class Level:
    """Where a mechanism meets a level.

    Attributes:
        share: of the words, the level.
        epsilon: ε; None if it does not meet it.
        why: why not, or what was done in its place; empty if there is nothing to say.
    """

    share: float
    epsilon: float | None
    why: str = ""


def epsilons_at(
    mechanism: Mechanism,
    shares: Sequence[float],
    grid: Sequence[float] | FloatArray | None = None,
    *,
    coarse: Outputs = COARSE,
    fine: Outputs = FINE,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Level, ...]:
    """The ε at which so many words are guessed, for each of several shares.

    Args:
        mechanism: any.
        shares: of the words, each above 0 and below 1.
        grid: ε that are looked at first, ascending; `first_epsilons` if None.
        coarse: outputs that are looked at on the grid.
        fine: outputs within brackets.
        seed: of all drawing.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: a share is out of range.
    """
    for share in shares:
        if not 0 < share < 1:
            raise ParameterError(f"a level is above 0 and below 1, got {share}")
    ground = Ground.of(mechanism.lexicon, pairs=2, seed=seed, progress=progress)
    known: dict[float, float] = {}

    def look(epsilons: FloatArray, outputs: Outputs) -> None:
        count = outputs.of(mechanism)
        if mechanism.exact_law and not has_columns(mechanism):
            known.update(
                zip(epsilons.tolist(), _staying(mechanism, epsilons, count, seed), strict=True)
            )
            return
        for row in amounts(mechanism, epsilons, ground, count, seed, progress):
            if row.quantity == "word":
                known[row.epsilon] = row.value

    def curve() -> TradeCurve:
        epsilons = np.array(sorted(known))
        values = np.array([[known[epsilon]] * 3 for epsilon in epsilons.tolist()])
        return TradeCurve(mechanism.short, mechanism.short, epsilons, {"word": values})

    look(np.asarray(first_epsilons(mechanism) if grid is None else grid, dtype=float), coarse)
    least, most = min(known.values()), max(known.values())
    wanted = {share: _wanted(share, least, most) for share in shares}
    for _ in range(_ROUNDS):
        cuts = [_cut(curve(), share) for share in wanted.values()]
        fresh = np.unique(np.concatenate(cuts))
        if not fresh.size:
            break
        look(fresh, fine)
    seen = curve()
    return tuple(_level(seen, share, wanted[share]) for share in shares)


def first_epsilons(mechanism: Mechanism) -> tuple[float, ...]:
    """The ε that are looked at first: a coarse grid over all that are admissible."""
    grid = scan(mechanism).tolist()
    return tuple(sorted({*grid[::_EVERY], grid[-1]}))


def _staying(mechanism: Mechanism, epsilons: FloatArray, count: int, seed: int) -> list[float]:
    """Mean Nw of some words at each ε: how often one who repeats the output is right."""
    rng = generator(seed, "levels", mechanism.key)
    words = sample(mechanism.lexicon, min(count, len(mechanism.lexicon)), rng)
    means: list[float] = summarise(measure(mechanism, words, epsilons), "nw").mean.tolist()
    return means


def _wanted(share: float, least: float, most: float) -> float:
    if _NEARLY * share <= most < share:
        return 0.99 * most
    return 1.01 * least if share <= least <= share / _NEARLY else share


def _cut(curve: TradeCurve, share: float) -> FloatArray:
    """The ends of the bracket around a share, and what cuts it; nothing where there is none."""
    values, epsilons = curve.values("word"), curve.epsilons
    over = np.flatnonzero(values >= share)
    if not (over.size and over[0]):
        return np.empty(0)
    low, high = epsilons[over[0] - 1], epsilons[over[0]]
    return np.geomspace(low, high, _CUTS + 1) if high > _CLOSE * low else np.empty(0)


def _level(curve: TradeCurve, share: float, wanted: float) -> Level:
    values = curve.values("word")
    epsilon = curve.epsilon_at("word", wanted)
    if epsilon is None:
        if values[0] >= share:
            return Level(share, None, f"gives away {values[0]:.3g} of the words or more at any ε")
        return Level(share, None, f"gives away {values.max():.3g} of the words or less at any ε")
    stop = int(np.flatnonzero(values >= wanted)[0])
    if stop and values[stop] > _JUMP * values[stop - 1]:
        first, last = values[[stop - 1, stop]]
        return Level(share, None, f"jumps from {first:.3g} to {last:.3g} near ε = {epsilon:.3g}")
    why = ""
    if wanted != share:
        end, value = ("most", values.max()) if wanted < share else ("least", values[0])
        why = f"gives away {value:.3g} of the words at {end}"
    return Level(share, epsilon, why)
