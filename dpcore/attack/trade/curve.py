"""A measured trade-off as a curve: ε at a leakage, and every other quantity there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import FloatArray

if TYPE_CHECKING:
    import pandas as pd

VALUE, LOW, HIGH = range(3)
_NEVER, _ALWAYS = 1e-12, 1.0 - 1e-12  # shares whose log odds are still numbers


@dataclass(frozen=True, eq=False)
class TradeCurve:
    """What one mechanism gives away and leaves, along ε.

    Attributes:
        label: of the curve.
        mechanism: short name or registry key.
        epsilons: at which it was measured, ascending, shape (m,).
        amounts: by quantity, the value and the ends of its interval, shape (m, 3).
        at_least: leakages of which the attacker is not known to be the best one: lower bounds.
    """

    label: str
    mechanism: str
    epsilons: FloatArray
    amounts: dict[str, FloatArray]
    at_least: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rows: pd.DataFrame, best: str) -> TradeCurve:
        """The curve of one mechanism.

        Args:
            rows: of one label, one quantity at one ε each: columns label, mechanism, epsilon,
                quantity, value, low, high, and variant, who attacks.
            best: the name of the best attacker.
        """
        ordered = rows.sort_values("epsilon", kind="stable")
        epsilons = np.unique(ordered["epsilon"].to_numpy(dtype=np.float64))
        quantities = ordered["quantity"].to_numpy(dtype=object)
        readings = ordered[["value", "low", "high"]].to_numpy(dtype=np.float64)
        amounts: dict[str, FloatArray] = {}
        for quantity in dict.fromkeys(quantities):
            some = readings[quantities == quantity]
            if len(some) == len(epsilons):
                amounts[str(quantity)] = some
        weaker = ordered[~ordered["variant"].isin(["", best])]["quantity"]
        first = ordered.iloc[0]
        return cls(
            str(first["label"]), str(first["mechanism"]), epsilons, amounts, frozenset(weaker)
        )

    def __contains__(self, quantity: str) -> bool:
        """Whether a quantity was measured at every ε."""
        return quantity in self.amounts

    def values(self, quantity: str) -> FloatArray:
        """The quantity at each ε, shape (m,)."""
        return self.amounts[quantity][:, VALUE]

    def epsilon_at(self, quantity: str, share: float) -> float | None:
        """ε at which a leakage has this value; None where the curve does not reach it.

        Between two measured ε, the log odds of the leakage are linear in ln ε.
        """
        place = self._place(quantity, share)
        if place is None:
            return None
        start, stop = place
        logs = self._log_epsilons
        if start == stop:
            return float(self.epsilons[start])
        odds = _log_odds(self.values(quantity)[[start, stop]])
        part = (float(_log_odds(np.array(share))) - odds[0]) / (odds[1] - odds[0])
        return math.exp(float(logs[start] + part * (logs[stop] - logs[start])))

    def at_epsilon(self, quantity: str, epsilon: float) -> float | None:
        """A quantity at ε; None outside the ε that were measured.

        Between two of them, its log odds are linear in ln ε: `epsilon_at` the other way round.
        """
        reading = self.interval_at_epsilon(quantity, epsilon)
        return None if reading is None else reading[VALUE]

    def interval_at_epsilon(
        self, quantity: str, epsilon: float
    ) -> tuple[float, float, float] | None:
        """The same with the ends of its interval; both are the value where that is exact."""
        if not self.epsilons[0] <= epsilon <= self.epsilons[-1]:
            return None
        amounts = self.amounts[quantity]
        ends = np.where(np.isnan(amounts), amounts[:, [VALUE]], amounts)
        x, logs = math.log(epsilon), self._log_epsilons
        odds = np.array([np.interp(x, logs, _log_odds(line)) for line in ends.T])
        value, low, high = (1.0 / (1.0 + np.exp(-odds))).tolist()
        return value, low, high

    def measured_around(
        self, quantity: str, epsilon: float
    ) -> tuple[tuple[float, float, float], tuple[float, ...]] | None:
        """A quantity that grows with ε, with ends that hold between two measurements too.

        Returns:
            Value, low and high, and the ε that were measured: this one alone, or the two around it,
            of which then are the ends. None outside the ε that were measured.
        """
        reading = self.interval_at_epsilon(quantity, epsilon)
        if reading is None:
            return None
        stop = int(np.searchsorted(self.epsilons, epsilon))
        if self.epsilons[stop] == epsilon:
            return reading, (epsilon,)
        below, above = self.epsilons[[stop - 1, stop]].tolist()
        first, last = (self.interval_at_epsilon(quantity, e) for e in (below, above))
        if first is None or last is None:
            return None
        return (reading[VALUE], first[LOW], last[HIGH]), (below, above)

    def at(self, quantity: str, leakage: str, share: float) -> float | None:
        """Another quantity where a leakage has this value, as a straight line is drawn.

        Args:
            quantity: what is asked for.
            leakage: which leakage.
            share: its value.
        """
        reading = self.interval_at(quantity, leakage, share)
        return None if reading is None else reading[VALUE]

    def interval_at(
        self, quantity: str, leakage: str, share: float
    ) -> tuple[float, float, float] | None:
        """The same with the ends of its interval, on straight lines between those measured."""
        place = self._place(leakage, share)
        if place is None:
            return None
        start, stop = place
        ends, across = self.amounts[quantity][[start, stop]], self.values(leakage)[[start, stop]]
        part = 0.0 if start == stop else (share - across[0]) / (across[1] - across[0])
        value, low, high = (ends[0] + part * (ends[1] - ends[0])).tolist()
        return value, low, high

    def keeps_below(self, leakage: str, bound: float) -> float | None:
        """The largest ε up to which a leakage is at most a bound, with all of its interval.

        Between two measured ε, the log odds of the interval's upper end are linear in ln ε. The
        last measured ε if the leakage never gets there; None if it is more at the first.

        Args:
            leakage: which leakage.
            bound: a share, allowed itself.
        """
        # Where an end is not a number the value stands for it: it is exact there.
        return self._until(np.fmax(*self.amounts[leakage][:, [VALUE, HIGH]].T), bound)

    def reaches(self, quantity: str, bound: float) -> float | None:
        """The smallest ε from which on a quantity is at least a bound, with all of its interval.

        Read as `keeps_below`, from the other side. None if it is less at the last measured ε.

        Args:
            quantity: which quantity.
            bound: a share, allowed itself.
        """
        low = np.fmin(*self.amounts[quantity][:, [VALUE, LOW]].T)
        # From the other end, what falls short is at most: the question is the same.
        mirrored = replace(self, epsilons=1.0 / self.epsilons[::-1])
        epsilon = mirrored._until(1.0 - low[::-1], 1.0 - bound)
        return None if epsilon is None else 1.0 / epsilon

    def _until(self, values: FloatArray, bound: float) -> float | None:
        over = np.flatnonzero(values > bound)
        if not over.size:
            return float(self.epsilons[-1])
        stop = int(over[0])
        if not stop:
            return None
        first, last = _log_odds(values[[stop - 1, stop]])
        part = (float(_log_odds(np.array(bound))) - first) / (last - first)
        start, end = self._log_epsilons[[stop - 1, stop]]
        return math.exp(float(start + min(max(part, 0.0), 1.0) * (end - start)))

    @cached_property
    def _log_epsilons(self) -> FloatArray:
        logs: FloatArray = np.log(self.epsilons)
        return logs

    def _place(self, quantity: str, share: float) -> tuple[int, int] | None:
        """The first two measurements with the share between them; twice one that has it."""
        values = self.values(quantity)
        reached = np.flatnonzero(values >= share)
        if not reached.size:
            return None
        stop = int(reached[0])
        if values[stop] == share:
            return stop, stop
        return (stop - 1, stop) if stop else None


def _log_odds(share: FloatArray) -> FloatArray:
    inside = np.clip(share, _NEVER, _ALWAYS)
    odds: FloatArray = np.log(inside) - np.log1p(-inside)
    return odds
