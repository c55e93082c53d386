"""Figures read from a record: a curve, its value at an ε, where it reaches or crosses a level.

One way for both kinds of table. A table of words (Nw and Sw) holds means over words, by the best
method that was recorded and by the papers' protocol; a table of trials holds one number a seed, of
which the mean and Student's interval are taken here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcore.errors import StudyError
from dpcore.study.utility_summary import baseline

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from dpcore.study.recorded import Entry, Recorded

PROTOCOL = "protocol"


class Reading(NamedTuple):
    """A mean and the ends of its interval, both NaN where there is one trial."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """The mean with its interval, or alone if it has none."""
        if not (np.isfinite(self.low) and np.isfinite(self.high)):
            return f"{self.mean:.3g}"
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, eq=False)
class Figures:
    """What can be read of a record.

    Attributes:
        recorded: the record.
        where: values of columns that all rows have which are read, such as lexicon="yelp".
    """

    recorded: Recorded
    where: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the study."""
        return self.recorded.entry.name

    @property
    def entry(self) -> Entry:
        """How the record was made."""
        return self.recorded.entry

    def only(self, **where: Any) -> Figures:
        """The figures of the rows with these values in other columns."""
        return Figures(self.recorded, {**self.where, **where})

    def rows(self, quantity: str, **where: Any) -> pd.DataFrame:
        """The rows of one quantity as they are recorded."""
        return self.recorded.rows(quantity, **{**self.where, **where})

    def curve(self, quantity: str, curve: str, **where: Any) -> pd.DataFrame:
        """A curve with the columns epsilon, mean, low, high and others, ε ascending.

        Of a table of words these are the rows by the best method that was recorded.

        Raises:
            StudyError: the record has no such curve.
        """
        # Papers estimate by a protocol; where a better method is recorded beside it, that counts.
        if self.entry.of_words:
            rows = self._of_words(quantity, curve)
            best = rows[rows["method"] != PROTOCOL]
            points = best if len(best) else rows
        else:
            points = self.recorded.curves(quantity, **{**self.where, **where})
            points = points[points["curve"] == curve]
        if not len(points):
            raise StudyError(f"{self.name} has no curve {curve!r} of {quantity}")
        return points.reset_index(drop=True)

    def protocol(self, quantity: str, curve: str) -> pd.DataFrame:
        """The same of a table of words by the papers' protocol, if another method is there too."""
        rows = self._of_words(quantity, curve)
        protocol = rows["method"] == PROTOCOL
        return (rows[protocol] if not protocol.all() else rows[:0]).reset_index(drop=True)

    def _of_words(self, quantity: str, curve: str) -> pd.DataFrame:
        rows = self.recorded.rows(quantity)
        rows = rows[rows["curve"] == curve].sort_values("epsilon", kind="stable")
        return rows.rename(columns={"mean_low": "low", "mean_high": "high"})

    def at(self, quantity: str, curve: str, epsilon: float, **where: Any) -> Reading:
        """Mean and interval of a curve at a recorded ε.

        Raises:
            StudyError: it is not recorded.
        """
        rows = self.curve(quantity, curve, **where)
        # Powers of e are computed anew by whoever asks: equal up to rounding, not to the last bit.
        rows = rows[np.isclose(rows["epsilon"], epsilon, rtol=1e-9, atol=0)]
        if not len(rows):
            raise StudyError(f"{self.name} has no {quantity} of {curve} at ε = {epsilon:g}")
        return reading_of(rows.iloc[0])

    def mean(self, quantity: str, curve: str, epsilon: float, **where: Any) -> float:
        """The mean alone."""
        return self.at(quantity, curve, epsilon, **where).mean

    def without(self, quantity: str, **where: Any) -> Reading:
        """Mean over seeds of the rows without a mechanism.

        Raises:
            StudyError: there are none.
        """
        mean = baseline(self.rows(quantity, **where), quantity)
        return Reading(mean.mean, mean.low, mean.high)

    def reaching(self, quantity: str, curve: str, level: float, **where: Any) -> float | None:
        """The smallest ε at which the mean reaches a level; None if it does not.

        Interpolated linearly in ln ε between two recorded ε.
        """
        x, y = self._points(quantity, curve, **where)
        above = np.flatnonzero(y >= level)
        if not above.size:
            return None
        # The first recorded ε above the level; before it lies the crossing, if anything lies there.
        i = int(above[0])
        return math.exp(x[0]) if i == 0 else _between(x, y, i - 1, level)

    def crossing(self, quantity: str, curve: str, level: float, **where: Any) -> float | None:
        """The largest ε at which the mean passes a level, up or down; None if it does not.

        Interpolated as in `reaching`.
        """
        x, y = self._points(quantity, curve, **where)
        above = y >= level
        places = np.flatnonzero(above[1:] != above[:-1])
        return _between(x, y, int(places[-1]), level) if places.size else None

    def interpolated(
        self, quantity: str, curve: str, epsilon: float | None, **where: Any
    ) -> float | None:
        """The mean at any ε within the grid, linear in ln ε; None for an ε that is None."""
        if epsilon is None:
            return None
        return float(np.interp(np.log(epsilon), *self._points(quantity, curve, **where)))

    def _points(
        self, quantity: str, curve: str, **where: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """ln ε and the mean there."""
        rows = self.curve(quantity, curve, **where)
        return np.log(rows["epsilon"].to_numpy()), rows["mean"].to_numpy()

    def option(self, name: str) -> Any:
        """An option of the plan that was run."""
        return dict(self.entry.plan["options"])[name]

    def lexicon(self, name: str) -> dict[str, Any]:
        """What the manifest says of a lexicon."""
        return next(facts for facts in self.entry.lexicons if facts["name"] == name)


def _between(x: NDArray[np.float64], y: NDArray[np.float64], i: int, level: float) -> float:
    """Where the straight line from point i to the next passes a level, as an ε."""
    share = (level - y[i]) / (y[i + 1] - y[i])
    return math.exp(float(x[i] + share * (x[i + 1] - x[i])))


def reading_of(row: pd.Series) -> Reading:
    """Mean of a row of a curve, and the ends of its interval."""
    return Reading(float(row["mean"]), float(row["low"]), float(row["high"]))
