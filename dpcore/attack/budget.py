"""Sum of a guarantee over the words of a text, and over repeated releases.

Independent noise on every word makes losses add up (basic composition; Dwork and Roth 2014,
Theorem 3.16, and the same sum for metric privacy). Two texts of ℓ words, released r times, are
told apart by at most r·Σ ε·d(w_i, v_i) under metric privacy and r·ℓ·ε between any two words, with
r·ℓ·δ where there is a δ. A word that occurs twice is protected half as well: anyone who knows that
the two positions hold one word sees two releases of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.attack.output.posterior import promised_losses
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee
from dpcore.limits import MAX_ATTACK_RELEASES, MAX_TEXT_TOKENS
from dpcore.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class WordBudget:
    """Guarantee for one distinct word of a text.

    Attributes:
        word: index.
        places: number of positions with this word.
        releases: places · r, the number of independent outputs of it that are seen.
        nearest: the other word with the smallest guaranteed loss against it.
        nearest_loss: that loss, over all releases: the smaller, the better the word hides behind
            its nearest word.
        other: the word of the other text at its first position, or the word with the largest loss.
        other_loss: the loss against the words of the other text, or against `other`, over all
            releases.
    """

    word: int
    places: int
    releases: int
    nearest: int
    nearest_loss: float
    other: int
    other_loss: float


@dataclass(frozen=True)
class Budget:
    """Guarantee for a whole text.

    Attributes:
        words: one entry for each distinct word, in the order of the text.
        tokens: ℓ, protected positions.
        releases: r.
        nearest_loss: the sum of all `nearest_loss`: against the text in which every word is
            replaced by its nearest.
        other_loss: the sum of all `other_loss`: against the other text, or the farthest one.
        log_delta: ln of the sum of the δ; None without one.
        statement: the guarantee for all positions and releases, in one sentence.
        status: proved, certified, conditional or refuted.
    """

    words: tuple[WordBudget, ...]
    tokens: int
    releases: int
    nearest_loss: float
    other_loss: float
    log_delta: float | None
    statement: str
    status: str

    @property
    def nearest_success(self) -> float:
        """Largest probability of a right guess between the text and its nearest one, δ aside."""
        return 1.0 / (1.0 + math.exp(-self.nearest_loss))

    def rows(self, mechanism: Mechanism) -> list[dict[str, Any]]:
        """Return one plain row for each word."""
        names = mechanism.lexicon.words
        return [
            {
                "word": names[entry.word],
                "places": entry.places,
                "releases": entry.releases,
                "nearest": names[entry.nearest],
                "nearest_loss": entry.nearest_loss,
                "other": names[entry.other],
                "other_loss": entry.other_loss,
            }
            for entry in self.words
        ]


def budget(
    mechanism: Mechanism,
    words: Sequence[int],
    epsilon: float,
    *,
    others: Sequence[int] | None = None,
    releases: int = 1,
) -> Budget:
    """Sum the losses that the guarantee allows.

    Args:
        mechanism: with fresh independent noise for every position and release.
        words: words of the text, position by position; each one of the vocabulary.
        epsilon: ε of every word.
        others: words of another text to be told apart from, position by position; if not given,
            each word is compared with the one that has the largest guaranteed loss.
        releases: r, releases of the whole text.

    Raises:
        ParameterError: the text is empty or too long, the other text differs in length, or r is
            out of range.
        EpsilonError: ε is not admissible.
    """
    guarantee = mechanism.guarantee(epsilon)
    entries = mechanism.check_words(list(words))
    if not 1 <= entries.size <= MAX_TEXT_TOKENS:
        raise ParameterError(f"a text has 1 to {MAX_TEXT_TOKENS} words, got {entries.size}")
    if not 1 <= releases <= MAX_ATTACK_RELEASES:
        raise ParameterError(f"releases must be 1 to {MAX_ATTACK_RELEASES}, got {releases}")
    if others is not None and len(others) != entries.size:
        raise ParameterError(
            f"the other text must have {entries.size} words as well, got {len(others)}"
        )
    second = None if others is None else mechanism.check_words(list(others))
    budgets = []
    for word in dict.fromkeys(entries.tolist()):
        places = np.flatnonzero(entries == word)
        allowed = promised_losses(mechanism.lexicon, guarantee, word)
        away = np.where(np.arange(allowed.size) == word, math.inf, allowed)  # without the word
        nearest = int(away.argmin())
        count = int(places.size) * releases
        if second is None:
            other = int(allowed.argmax())
            total = count * float(allowed[other])
        else:
            other = int(second[places[0]])
            total = releases * float(allowed[second[places]].sum())
        budgets.append(
            WordBudget(
                word, int(places.size), count, nearest, count * float(away[nearest]), other, total
            )
        )
    return Budget(
        words=tuple(budgets),
        tokens=int(entries.size),
        releases=releases,
        nearest_loss=math.fsum(entry.nearest_loss for entry in budgets),
        other_loss=math.fsum(entry.other_loss for entry in budgets),
        log_delta=_log_delta(guarantee, int(entries.size) * releases),
        statement=guarantee.for_tokens(int(entries.size) * releases),
        status=str(guarantee.status),
    )


def _log_delta(guarantee: Guarantee, count: int) -> float | None:
    if not isinstance(guarantee, ApproximateLocalPrivacy):
        return None
    return guarantee.log_delta + math.log(count)
