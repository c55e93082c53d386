"""Diameter Δ and separation Δ₀ of a vocabulary: exact, or rigorous bounds that say so."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import LexiconError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Extent:
    """How far apart and how close together the words of a lexicon are, in its metric.

    Attributes:
        diameter: Δ, the largest distance between two words; an upper bound if not exact.
        separation: Δ₀, the smallest distance above 0; a lower bound if not exact.
        exact: whether both are the true values, up to `metric.distance_error`.
        diameter_low: a lower bound on Δ: a distance that occurs. Equal to `diameter` if exact.
        separation_high: an upper bound on Δ₀: a distance that occurs.

    A mechanism that is calibrated with an upper bound on Δ and a lower bound on Δ₀ keeps its
    guarantee.
    """

    diameter: float
    separation: float
    exact: bool
    diameter_low: float
    separation_high: float

    def __post_init__(self) -> None:
        """Check the order of the bounds.

        Raises:
            LexiconError: they contradict each other.
        """
        ordered = 0 < self.separation <= self.separation_high <= self.diameter_low <= self.diameter
        if not (ordered and math.isfinite(self.diameter)):
            raise LexiconError(f"an extent's bounds contradict each other: {asdict(self)}")
        tight = (self.diameter_low, self.separation_high) == (self.diameter, self.separation)
        if self.exact and not tight:
            raise LexiconError(f"an exact extent cannot have loose bounds: {asdict(self)}")

    def as_json(self) -> dict[str, Any]:
        """The fields, for a JSON file."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Extent:
        """Read what `as_json` gave.

        Raises:
            LexiconError: a field is missing or wrong.
        """
        try:
            bounds = ("diameter", "separation", "diameter_low", "separation_high")
            numbers = {name: float(fields[name]) for name in bounds}
            return cls(exact=bool(fields["exact"]), **numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise LexiconError(f"not an extent: {error}") from None
