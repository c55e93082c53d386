"""Search for the ε at which an attacker guesses a given share of the words.

Levels of leakage are compared because equal ε is not equal privacy: its meaning differs between
mechanisms. A coarse grid over all admissible ε (`measure.targets.scan`) gives a bracket around each
level, which false position then narrows: between the ends of a bracket the log odds of the share
are taken to be linear in ln ε (`TradeCurve`). The true share at an ε found in this way must be
measured again, with other noise.

The share is that of `leak` for a stranger. If all words are equally likely it is that of
`tradeoff`: Bayes' if columns of the law are closed forms, otherwise that of an attacker who repeats
the output, a lower bound. If then a law is computed word by word, that share is the mean Nw of some
words (`measure.deniability`), which is more precise than counting their outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.leak import DRAWN, EQUAL, leak, stranger_of, way_of
from dpcore.attack.output.prior import Prior
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import Ground
from dpcore.attack.trade.tradeoff import amounts, has_columns
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import measure, summarise
from dpcore.measure.targets import scan
from dpcore.measure.words import sample
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator

_EVERY = 2  # step in the grid of `scan`: three ε a decade are close enough for a bracket
_STEPS = 4  # of false position
_MET, _SAME = 0.01, 0.005  # relative: a share that meets the level, and two ε that count as one
_NEARLY = 0.95
"""Share of a level from which on a mechanism that does not quite reach it (or does not quite get
below it) is searched for a hundredth less than its most (or more than its least) instead."""
_HALVED = 1.1  # ratio of two ε between which a bracket near the most or the least is not halved
_JUMP, _NARROW = 4.0, 1.5
"""The share jumps over the level if its ratio between the ends of a bracket exceeds the first, and
the ratio of their ε is at most the second."""


@dataclass(frozen=True)
class Outputs:
    """Number of outputs to measure, by the cost of a share.

    Attributes:
        columns: if a column of the law is a closed form.
        laws: if a law is computed word by word: laws, or outputs drawn from them.
        draws: if outputs are drawn by adding noise.
    """

    columns: int
    laws: int
    draws: int

    def of(self, mechanism: Mechanism) -> int:
        """Return the number for this mechanism."""
        if has_columns(mechanism):
            return self.columns
        return self.laws if mechanism.exact_law else self.draws

    def guessed_from(self, mechanism: Mechanism, prior: Prior) -> int:
        """Return the number of outputs from which `leak` counts or averages a share."""
        # Where attackers are tried, a share of .05 needs thousands; a column that takes an integral
        # is not drawn, but weighed.
        return self.columns if way_of(mechanism, prior) == DRAWN else self.draws


SEARCH = Outputs(200, 200, 5_000)


@dataclass(frozen=True)
class Level:
    """ε at which a mechanism meets a level.

    Attributes:
        share: the level, a share of the words.
        epsilon: ε; None if the mechanism does not meet the level.
        why: why not, or what was measured instead; empty if the level was met normally.
    """

    share: float
    epsilon: float | None
    why: str = ""


def epsilons_at(
    mechanism: Mechanism,
    shares: Sequence[float],
    grid: Sequence[float] | None = None,
    *,
    stranger: str = EQUAL,
    outputs: Outputs = SEARCH,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Level, ...]:
    """Find the ε at which an attacker guesses each of several shares of the words.

    If the share does not rise with ε there may be several; one is found.

    Args:
        mechanism: any mechanism.
        shares: shares of the words, each above 0 and below 1.
        grid: ε between which brackets are searched, ascending; `first_epsilons` if None.
        stranger: who guesses, as `dpcore.attack.leak.leak` reads it.
        outputs: number of outputs at each ε.
        seed: seed of all draws.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: a share is out of range.
    """
    for share in shares:
        if not 0 < share < 1:
            raise ParameterError(f"a level is above 0 and below 1, got {share}")
    search = _Search(mechanism, outputs, stranger, seed, progress)
    first = first_epsilons(mechanism) if grid is None else tuple(grid)
    if search.one_by_one:
        search.look([first[0], first[-1]])
    else:
        search.look(first)
    least, most = min(search.known.values()), max(search.known.values())
    wanted = {share: _wanted(share, least, most) for share in shares}
    for share in wanted.values():
        search.bracket(first, share)
    for _ in range(_STEPS):
        search.look(search.next(level, level != share) for share, level in wanted.items())
    return tuple(search.level(share, wanted[share]) for share in shares)


def first_epsilons(mechanism: Mechanism) -> tuple[float, ...]:
    """Return a coarse grid over all admissible ε."""
    grid = scan(mechanism).tolist()
    return tuple(sorted({*grid[::_EVERY], grid[-1]}))


def _wanted(share: float, least: float, most: float) -> float:
    if _NEARLY * share <= most < share:
        return 0.99 * most
    return 1.01 * least if share <= least <= share / _NEARLY else share


class _Search:
    """Search over the measured shares of one mechanism."""

    def __init__(
        self, mechanism: Mechanism, outputs: Outputs, stranger: str, seed: int, progress: Progress
    ) -> None:
        """Prepare the lexicon; no share is measured yet."""
        self.known: dict[float, float] = {}
        # A law costs the same at each ε; noise is drawn, and all columns are read, once for all.
        self.one_by_one = mechanism.exact_law and stranger == EQUAL
        self._by_laws = mechanism.exact_law and not has_columns(mechanism)
        self._mechanism, self._outputs, self._seed = mechanism, outputs.of(mechanism), seed
        if stranger != EQUAL:
            _, prior = stranger_of(mechanism.lexicon, stranger)
            self._outputs = outputs.guessed_from(mechanism, prior)
        self._stranger, self._progress = stranger, progress
        self._ground = Ground.of(mechanism.lexicon, pairs=2, seed=seed, progress=progress)

    def look(self, epsilons: Iterable[float | None]) -> None:
        """Measure the share at some ε, except None and ε that are already known."""
        fresh = sorted({e for e in epsilons if e is not None} - self.known.keys())
        for part in [[e] for e in fresh] if self.one_by_one else [fresh] * bool(fresh):
            self._look(np.array(part))

    def _look(self, epsilons: FloatArray) -> None:
        mechanism, count, seed = self._mechanism, self._outputs, self._seed
        if self._stranger != EQUAL:
            for each in leak(mechanism, epsilons, self._stranger, draws=count, seed=seed):
                self.known[each.epsilon] = each.after
            return
        if self._by_laws:
            rng = generator(seed, "levels", mechanism.key)
            words = sample(mechanism.lexicon, min(count, len(mechanism.lexicon)), rng)
            staying = summarise(measure(mechanism, words, epsilons), "nw").mean
            self.known.update(zip(epsilons.tolist(), staying.tolist(), strict=True))
            return
        for row in amounts(mechanism, epsilons, self._ground, count, seed, self._progress):
            if row.quantity == "word":
                self.known[row.epsilon] = row.value

    def bracket(self, grid: Sequence[float], share: float) -> None:
        """Halve a grid with known ends until a share lies between two neighbours."""
        low, high = 0, len(grid) - 1
        while high - low > 1:
            middle = (low + high) // 2
            self.look([grid[middle]])
            low, high = (middle, high) if self.known[grid[middle]] < share else (low, middle)

    def next(self, share: float, flat: bool) -> float | None:
        """Return the next ε to measure for a share; None if it is known well enough.

        Args:
            share: the share that is searched.
            flat: True near the most or the least, where the share hardly changes with ε: then a
                bracket is halved, because the straight line would stay at one of its ends.
        """
        curve = self._curve()
        epsilon = curve.epsilon_at("word", share)
        if epsilon is None:
            return None
        stop = int(np.searchsorted(curve.epsilons, epsilon))
        low, high = curve.epsilons[[max(stop - 1, 0), min(stop, len(self.known) - 1)]].tolist()
        if flat and high > _HALVED * low:
            return math.sqrt(low * high)
        for other, value in self.known.items():
            if abs(value / share - 1.0) <= _MET or abs(epsilon / other - 1.0) <= _SAME:
                return None
        return epsilon

    def level(self, share: float, wanted: float) -> Level:
        """Return the result for a share."""
        curve = self._curve()
        values, epsilon = curve.values("word"), curve.epsilon_at("word", wanted)
        if epsilon is None:
            if values[0] >= share:
                why = f"gives away {values[0]:.3g} of the words at the least ε"
            else:
                why = f"gives away {values[-1]:.3g} of the words at the largest ε"
            return Level(share, None, why)
        stop = int(np.flatnonzero(values >= wanted)[0])
        ends, around = values[[stop - 1, stop]], curve.epsilons[[stop - 1, stop]]
        if stop and ends[1] > _JUMP * ends[0] and around[1] <= _NARROW * around[0]:
            why = f"jumps from {ends[0]:.3g} to {ends[1]:.3g} of the words near ε = {epsilon:.3g}"
            return Level(share, None, why)
        why = ""
        if wanted != share:
            end = "most" if wanted < share else "least"
            why = f"gives away {values.max() if wanted < share else values.min():.3g} at {end}"
        return Level(share, epsilon, why)

    def _curve(self) -> TradeCurve:
        epsilons = np.array(sorted(self.known))
        values = np.array([[self.known[epsilon]] * 3 for epsilon in epsilons.tolist()])
        short = self._mechanism.short
        return TradeCurve(short, short, epsilons, {"word": values})
