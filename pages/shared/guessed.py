"""Content words that someone guesses who knows how common they are, as words on every page.

The shares are those of `dpcore.papers.ours.tradeoff.LEAK`. Who guesses, what counts as a guess and
how the number is rounded is said here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.tradeoff import recorded_before, recorded_curve
from pages.shared.language import later, numeral, say

ABOUT = later("Guessed by frequency")
_PERCENT = later("% guessed by frequency")
_SOME = later("% by frequency, if known")
HELP = later(
    "Guessed by frequency: by someone who knows the method, its ε and how common words are, and "
    "who sees one word at a time. Content words are all but function words such as “the” and "
    "“of”. A near word is one of the nine nearest. Before anything is released, {word} and {near} "
    "of 100 are guessed."
)
_NEARLY_ALL = 0.99


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
        sign = "≥\u00a0" if self.at_least else ""
        return sign + say("{word}, near {near}", word=_span(self.word), near=_span(self.near))


def guessed(members: Sequence[Mechanism], epsilon: float) -> Guessed | None:
    """Return what is guessed of some mechanisms at ε; None where it is known for none of them."""
    known = []
    for mechanism in members:
        curve = recorded_curve(mechanism)
        at = None if curve is None else curve.at_epsilon(GUESSED, epsilon)
        if curve is not None and at is not None:
            known.append((at, curve.at_epsilon(NEARLY, epsilon) or at, GUESSED in curve.at_least))
    if not known:
        return None
    words, nears, weaker = zip(*known, strict=True)
    every = len(known) == len(members)
    return Guessed((min(words), max(words)), (min(nears), max(nears)), any(weaker), every)


def explained() -> str:
    """Say who guesses what, with the shares that are guessed before anything is released."""
    before = recorded_before()
    word, near = (of_hundred(before[quantity]) for quantity in (GUESSED, NEARLY))
    return say(HELP, word=word, near=near)


def of_hundred(share: float) -> str:
    """Format an estimate of a share of words as a number of 100, without the 100."""
    return say("nearly all") if share > _NEARLY_ALL else numeral(f"{100 * share:.2g}")


def _span(ends: tuple[float, float]) -> str:
    low, high = map(of_hundred, ends)
    return low if low == high else f"{low}–{high}"
