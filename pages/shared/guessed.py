"""Content words that someone guesses who knows how common they are, as words on every page.

The shares are those of `dpcore.papers.ours.tradeoff.LEAK`. Who guesses, what counts as a guess and
how the number is rounded is said here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_least
from dpcore.papers.ours.tradeoff import recorded_before, recorded_curve
from pages.shared.language import later, numeral, say

ABOUT = later("Guessed by frequency")
_PERCENT = later("% guessed by frequency")
_SOME = later("% guessed, if measured")
HELP = later(
    "Guessed by frequency: by someone who knows the method, its ε and how common words are, "
    "and who sees one word at a time. Content words are all except function words such as "
    "“the” and “of”. A near word is one of the nine nearest. Before any release, {word} and "
    "{near} of 100 are guessed."
)
_NEARLY_ALL = 0.99
_SIGN = "≥\u00a0"


@dataclass(frozen=True)
class Guessed:
    """Shares of content words guessed at one ε, of mechanisms that are shown together.

    Attributes:
        word: least and largest share guessed.
        near: least and largest share of which the word or one of the nine nearest is guessed.
        at_least: True if a better attacker may guess more.
        every: True if the shares are known for every mechanism.
    """

    word: tuple[float, float]
    near: tuple[float, float]
    at_least: bool
    every: bool

    @property
    def about(self) -> str:
        """Title of the reading: how the words are guessed."""
        return say(_PERCENT if self.every else _SOME)

    @property
    def words(self) -> str:
        """Both shares: "31, near 80", with ≥ where a better attacker may guess more."""
        word, near = (_span(ends, self.at_least) for ends in (self.word, self.near))
        return say("{word}, near {near}", word=word, near=near)


def guessed(members: Sequence[Mechanism], epsilon: float) -> Guessed | None:
    """Return what is guessed of some mechanisms at ε; None where it is known for none of them."""
    shares = []
    for mechanism in members:
        curve = recorded_curve(mechanism)
        if curve is None:
            continue
        word, near = (curve.at_epsilon(quantity, epsilon) for quantity in (GUESSED, NEARLY))
        if word is not None and near is not None:
            shares.append((word, near, GUESSED in curve.at_least))
    if not shares:
        return None
    words, nears, weaker = zip(*shares, strict=True)
    every = len(shares) == len(members)
    return Guessed((min(words), max(words)), (min(nears), max(nears)), any(weaker), every)


def explained() -> str:
    """Say who guesses what, with the shares that are guessed before anything is released."""
    before = recorded_before()
    word, near = (of_hundred(before[quantity]) for quantity in (GUESSED, NEARLY))
    return say(HELP, word=word, near=near)


def of_hundred(share: float, lower_bound: bool = False) -> str:
    """Format a share of words as a number of 100, without the 100: "20", or "≥ 20" for a bound.

    An estimate is rounded to the nearest number, a lower bound down.
    """
    if lower_bound:
        return f"{_SIGN}{numeral(at_least(share, 2, times=100))}"
    return say("nearly all") if share > _NEARLY_ALL else numeral(f"{100 * share:.2g}")


def _span(ends: tuple[float, float], lower_bounds: bool) -> str:
    low, high = (of_hundred(end, lower_bounds) for end in ends)
    return low if low == high else f"{low}–{high.removeprefix(_SIGN)}"
