"""What two panes show, one a word, in words: the same at every ε of the slider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.plots.attack.words import chance_at_most, chance_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LONGEST = 24  # letters of a word in a sentence
_NEVER = 1e-6
_SEEN = 0.1  # of the upper end: an estimate below it says no more than that end
_ALIKE = 0.9  # distances to the nearest word of which one is at least this part of the other


@dataclass(frozen=True)
class Change:
    """How often one word becomes another at one ε.

    Attributes:
        value: the probability.
        low: lower end of its interval; `value` if it is exact.
        high: upper end.
    """

    value: float
    low: float
    high: float


def pane_caption(
    names: Sequence[str],
    gaps: Sequence[float],
    changes: Sequence[Change],
    reading: str,
) -> str:
    """Which of two words hides better at one ε, in at most 25 words.

    Args:
        names: of the two words.
        gaps: distance of each to its nearest word.
        changes: how often each becomes another word.
        reading: the ε in words: "ε = 3".
    """
    first, second = (f"“{shortened(name)}”" for name in names)
    if all(change.high < _NEVER for change in changes):
        return f"At {reading} both words stay in practically every draw: neither is hidden."
    often = [_often(change) for change in changes]
    verdict = _verdict(names, gaps, changes)
    if often[0] == often[1]:
        return (
            f"At {reading} {first} and {second} each become another word in {often[0]} draws: "
            f"{verdict}."
        )
    if often[0].endswith(" of 100") and often[1].endswith(" of 100"):
        often[1] = often[1].removesuffix(" of 100")
    else:
        often[1] += " draws"
    return (
        f"At {reading} {first} becomes another word in {often[0]} draws, {second} in {often[1]}: "
        f"{verdict}."
    )


def _verdict(names: Sequence[str], gaps: Sequence[float], changes: Sequence[Change]) -> str:
    first, second = changes
    if _exact(first) and _often(first) == _often(second):
        return "both hide alike"
    if first.low <= second.high and second.low <= first.high:
        return "the estimates do not tell them apart"
    more = 0 if first.value > second.value else 1
    if min(gaps) > _ALIKE * max(gaps):
        return f"“{shortened(names[more])}” hides better"
    if gaps[more] < gaps[1 - more]:
        return f"the crowd hides “{shortened(names[more])}” better"
    return f"“{shortened(names[more])}”, the lonelier word, hides better"


def _exact(change: Change) -> bool:
    return change.low == change.high


def _often(change: Change) -> str:
    """As a count of draws: "30 of 100", "1 of 4,000", "nearly all", "at most 1 of 90"."""
    if change.value < _SEEN * change.high:  # of too few observations for a number
        return f"at most {_count(change.high, chance_at_most)}"
    return _count(change.value)


def _count(probability: float, written: Callable[[float], str] = chance_text) -> str:
    if probability < _NEVER:
        return "practically no"
    much = written(probability)
    return much.replace(" in ", " of ") if much[0].isdigit() else "nearly all"


def shortened(word: str) -> str:
    """A word as a sentence can hold it."""
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"
