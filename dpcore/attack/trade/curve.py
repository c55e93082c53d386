"""Measured trade-off as a curve: ε at a leakage, and every other quantity there."""

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
_NEVER, _ALWAYS = 1e-12, 1.0 - 1e-12  # shares are clipped to these, so that log odds are finite


@dataclass(frozen=True, eq=False)
class TradeCurve:
    """Leakages and utilities of one mechanism along ε.

    Attributes:
        label: of the curve.
        mechanism: short name or registry key.
        epsilons: measured ε, ascending, shape (m,).
        amounts: by quantity, the value and the ends of its interval, shape (m, 3).
        at_least: leakages that are lower bounds: the attacker is not known to be the best one.
    """

    label: str
    mechanism: str
    epsilons: FloatArray
    amounts: dict[str, FloatArray]
    at_least: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rows: pd.DataFrame, best: str) -> TradeCurve:
        """Make the curve of one mechanism.

        Args:
            rows: of one label, each quantity once at each ε: columns label, mechanism, epsilon,
                quantity, value, low, high, and variant, the attacker.
            best: name of the best attacker.
        """
        ordered = rows.sort_values("epsilon", kind="stable")
        epsilons = np.unique(ordered["epsilon"].to_numpy(dtype=np.float64))
        quantities = ordered["quantity"].to_numpy(dtype=object)
        readings = ordered[["value", "low", "high"]].to_numpy(dtype=np.float64)
        amounts: dict[str, FloatArray] = {}
        for quantity in dict.fromkeys(quantities):
            some = readings[quantities == quantity]
            # A quantity that was measured at some ε only has no curve.
            if len(some) == len(epsilons):
                amounts[str(quantity)] = some
        weaker = ordered[~ordered["variant"].isin(["", best])]["quantity"]
        first = ordered.iloc[0]
        return cls(
            str(first["label"]), str(first["mechanism"]), epsilons, amounts, frozenset(weaker)
        )

    def __contains__(self, quantity: str) -> bool:
        """Return True if a quantity was measured at every ε."""
        return quantity in self.amounts

    def values(self, quantity: str) -> FloatArray:
        """Return the quantity at each ε, shape (m,)."""
        return self.amounts[quantity][:, VALUE]

    def epsilon_at(self, quantity: str, share: float) -> float | None:
        """Return ε at which a leakage has this value; None if the curve does not reach it.

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
        """Return a quantity at ε; None outside the measured ε.

        Between two of them, its log odds are linear in ln ε: the inverse of `epsilon_at`.
        """
        reading = self.interval_at_epsilon(quantity, epsilon)
        return None if reading is None else reading[VALUE]

    def intervals(self, quantity: str) -> FloatArray:
        """Return value, low and high at each ε, shape (K, 3); an unknown end is the value."""
        amounts = self.amounts[quantity]
        return np.asarray(np.where(np.isnan(amounts), amounts[:, [VALUE]], amounts))

    def interval_at_epsilon(
        self, quantity: str, epsilon: float
    ) -> tuple[float, float, float] | None:
        """Return the same with the ends of its interval; both are the value where it is exact."""
        if not self.epsilons[0] <= epsilon <= self.epsilons[-1]:
            return None
        ends = self.intervals(quantity)
        x, logs = math.log(epsilon), self._log_epsilons
        odds = np.array([np.interp(x, logs, _log_odds(line)) for line in ends.T])
        value, low, high = (1.0 / (1.0 + np.exp(-odds))).tolist()
        return value, low, high

    def measured_around(
        self, quantity: str, epsilon: float
    ) -> tuple[tuple[float, float, float], tuple[float, ...]] | None:
        """Return a quantity that grows with ε, with ends that hold between measurements too.

        Returns:
            Value, low and high, and the measured ε: this one alone, or the two around it, from
            which the ends are then taken. None outside the measured ε.
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
        # It grows with ε, so between two measurements it lies between their ends.
        return (reading[VALUE], first[LOW], last[HIGH]), (below, above)

    def at(self, quantity: str, leakage: str, share: float) -> float | None:
        """Return another quantity where a leakage has this value, by linear interpolation.

        Args:
            quantity: the quantity to return.
            leakage: the given leakage.
            share: its value.
        """
        reading = self.interval_at(quantity, leakage, share)
        return None if reading is None else reading[VALUE]

    def interval_at(
        self, quantity: str, leakage: str, share: float
    ) -> tuple[float, float, float] | None:
        """Return the same with the ends of its interval, on straight lines between measurements."""
        place = self._place(leakage, share)
        if place is None:
            return None
        start, stop = place
        ends, across = self.amounts[quantity][[start, stop]], self.values(leakage)[[start, stop]]
        part = 0.0 if start == stop else (share - across[0]) / (across[1] - across[0])
        value, low, high = (ends[0] + part * (ends[1] - ends[0])).tolist()
        return value, low, high

    def keeps_below(self, leakage: str, bound: float) -> float | None:
        """Return the largest ε up to which a leakage's whole interval is at most a bound.

        Between two measured ε, the log odds of the interval's upper end are linear in ln ε. The
        result is the last measured ε if the leakage never exceeds the bound; None if it is more at
        the first.

        Args:
            leakage: which leakage.
            bound: a share, itself allowed.
        """
        # Without an interval (NaN) the value is exact and replaces its end.
        return self._until(np.fmax(*self.amounts[leakage][:, [VALUE, HIGH]].T), bound)

    def reaches(self, quantity: str, bound: float) -> float | None:
        """Return the smallest ε from which on a quantity's whole interval is at least a bound.

        The mirror image of `keeps_below`. None if it is less at the last measured ε.

        Args:
            quantity: which quantity.
            bound: a share, itself allowed.
        """
        low = np.fmin(*self.amounts[quantity][:, [VALUE, LOW]].T)
        # Mirrored in ε and in the share, "at least" becomes "at most".
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
        """Return the first two measurements around the share; the same twice if it has it."""
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
