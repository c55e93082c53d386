"""The words that the optimal mechanism keeps against the bound."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.outwards import at_least, at_most

ATTAINED = 1e-4  # relative: bound and mechanism this close are called one


@dataclass(frozen=True)
class Standing:
    """Words that stay against the most that the bound allows, all words being equally likely.

    Attributes:
        epsilon: ε whose weights are in use, and that the bound is for.
        kept: share of words that stay, rounded down.
        bound: no mechanism that keeps ε keeps more, rounded up.
    """

    epsilon: float
    kept: float
    bound: float

    @property
    def reached(self) -> float:
        """The kept words as a share of the bound."""
        return self.kept / self.bound

    @property
    def attained(self) -> bool:
        """True if the two agree to four digits, as they do at and above the critical ε."""
        return self.bound - self.kept <= ATTAINED * self.bound

    @property
    def sentence(self) -> str:
        """Both shares in words, with the conditions."""
        at = f"ε = {self.epsilon:.6g}"
        both = (
            f"With the weights for {at} a share of {at_least(self.kept, places=6)} stays of "
            f"words that are all equally likely, and no mechanism that keeps {at} keeps more than "
            f"{at_most(self.bound, places=6)}"
        )
        if self.attained:
            return (
                f"{both}, nor lets a stranger guess more of such words. The two agree, as they do "
                "at and above the critical ε of the lexicon: here it is optimal."
            )
        return (
            f"{both}. That is {at_least(100.0 * self.reached, places=1)} % of the bound: below "
            "the critical ε of the lexicon another mechanism may keep more."
        )
