"""Sentences of the odds card, written from the numbers of the attacker's table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plots.attack.words import chance_text, count_text, limit_text, share_text, times_text
from dpcore.plots.style import number

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("word", "prior", "posterior")
"""One row for each word, likeliest first, with its probability before and after."""


def others_sentence(table: pd.DataFrame, perplexity: float) -> str:
    """Name the next likeliest word; `perplexity` equally likely words leave the same doubt."""
    doubt = f"as uncertain as among {_count(perplexity)} (perplexity)"
    if perplexity < 1.05:
        doubt = "hardly any doubt is left"
    if len(table) == 1:
        return f"No other word is possible: {doubt}."
    second = table.iloc[1]
    chance = chance_text(float(second["posterior"]))
    return f"The next likeliest word is “{second['word']}”, {chance}. All in all {doubt}."


def change_text(prior: float, posterior: float) -> str:
    """Describe how much likelier or less likely a word has become."""
    if not prior > 0:
        return "was impossible"
    return times_text(math.log(posterior / prior) if posterior > 0 else -math.inf)


def success_sentence(
    value: float, low: float, high: float, outputs: int, blind: float, *, exact: bool
) -> str:
    """Describe how often the attacker's best guess is right, over all words and outputs.

    Args:
        value: the probability, or its estimate.
        low: lower end of its 95 % interval, where it is an estimate.
        high: upper end.
        outputs: how many were summed or drawn.
        blind: success of someone who sees no output.
        exact: True if all outputs were summed.
    """
    how = f"summed over all {outputs:,} outputs"
    if not exact:
        ends = f"{number(100 * low)} to {number(100 * high)} in 100"
        how = f"{outputs:,} outputs drawn, 95 % interval {ends}"
    return (
        f"The best guess is right in {share_text(value, 'cases', certain=blind >= 1)} ({how}). "
        "Anyone who sees nothing and names the likeliest word is right in "
        f"{share_text(blind, certain=True)}."
    )


def worst_sentence(word: str, other: str, log_ratio: float, claimed: float, *, broken: bool) -> str:
    """Describe the pair of words that an output tells apart by the largest share of the guarantee.

    Args:
        word: one of them.
        other: the other.
        log_ratio: ln of their likelihood ratio.
        claimed: the largest one that the guarantee allows.
        broken: True if the ratio is beyond the guarantee.
    """
    breaks = ", which it breaks" if broken else ""
    share = "" if claimed <= 0 else f", {abs(log_ratio) / claimed:.0%} of the exponent used"
    return (
        f"Of all words this output tells “{word}” from “{other}” best for what is promised: by a "
        f"factor of {count_text(abs(log_ratio))}; promised: {limit_text(claimed)}{breaks}{share}."
    )


def _count(perplexity: float) -> str:
    shown = f"{perplexity:.2g}" if perplexity < 10 else count_text(math.log(perplexity))
    return f"{shown} equally likely words"
