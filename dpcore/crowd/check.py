"""Check of private texts against the law that their record states.

Under the true law the estimate of how often some words occur has a mean of at least 0, whatever the
texts are. Under a wrong one it need not: texts with less noise than is stated, or whose outputs are
of a smaller vocabulary, give estimates below 0, and a single one far below 0 refutes the record.
Asked are blocks of the lexicon in its public order. Where every output has a least probability
(randomised response), so has each word by itself. More noise than is stated looks like texts of
rare words: it is not found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import BoolArray, IntArray
from dpcore.crowd.estimates import TEXTS, OutputCounts, half_widths, sums_of
from dpcore.crowd.queries import Queries
from dpcore.crowd.undo import undo
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.mechanism import Mechanism

_BLOCKS = 100  # of the lexicon
CHANCE = 1e-4
"""Chance that texts of the stated law are refuted."""


@dataclass(frozen=True)
class Check:
    """Result of a check.

    Attributes:
        refuted: True if the outputs cannot be of the stated law, up to `CHANCE`.
        words: number of outputs.
        estimate: the lowest estimate of all blocks of words.
        high: upper end of its interval; below 0 it refutes the law.
        absent: number of words that came out less often than any text allows.
    """

    refuted: bool
    words: int
    estimate: float
    high: float
    absent: int

    @property
    def sentence(self) -> str:
        """The result, with its conditions."""
        if self.absent:
            return (
                f"The outputs are not of the stated law: {self.absent:,} words came out less often "
                "than under any texts. The record is of another copy, or the texts were changed."
            )
        if self.refuted:
            return (
                f"The outputs are not of the stated law: some words would have occurred "
                f"{self.estimate:,.0f} times (at most {self.high:,.0f}). The record is of another "
                "copy, or less noise was added than it states."
            )
        return (
            f"Nothing in {self.words:,} outputs speaks against the stated law. More noise than is "
            "stated would not be found."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "refuted": self.refuted, "words": self.words, "estimate": self.estimate,
            "high": self.high, "absent": self.absent, "statement": self.sentence,
        }  # fmt: skip


def check_law(
    mechanism: Mechanism,
    epsilon: float,
    observed: OutputCounts,
    *,
    used: BoolArray | None = None,
    progress: Progress = silent,
) -> Check:
    """Test outputs against the law of a mechanism.

    Args:
        mechanism: that is stated to have made them.
        epsilon: ε that is stated.
        observed: outputs, in one group or several.
        used: as for `dpcore.crowd.undo.undo`.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: the noise cannot be undone.
        EpsilonError: ε is not admissible.
    """
    outputs = observed.outputs.sum(axis=0)
    every = OutputCounts(("all",), observed.texts.sum(keepdims=True), outputs[None])
    n, total = outputs.size, int(outputs.sum())
    blocks = [block for block in np.array_split(np.arange(n), min(_BLOCKS, n)) if block.size]
    queries = Queries(
        tuple(f"words {block[0] + 1} to {block[-1] + 1}" for block in blocks),
        n,
        tuple(blocks),
        tuple(np.ones(block.size) for block in blocks),
    )
    estimators = undo(mechanism, epsilon, queries, total, used=used, progress=progress)
    sums = sums_of(estimators, every, TEXTS)
    half = half_widths(sums, every, TEXTS, 1.0 - CHANCE / len(blocks)) + sums.bias
    lowest = int(np.argmin(sums.estimate + half))
    high = float((sums.estimate + half)[0, lowest])
    absent = _absent(mechanism, epsilon, outputs, total, used)
    return Check(high < 0 or absent > 0, total, float(sums.estimate[0, lowest]), high, absent)


def _absent(
    mechanism: Mechanism, epsilon: float, outputs: IntArray, total: int, used: BoolArray | None
) -> int:
    """Count words that came out less often than their least probability allows, by Chernoff."""
    law = mechanism.sparse_law(epsilon)
    if law is None:
        return 0
    # Outputs that are not used went uncounted, so that the rest is conditional on being used.
    in_use = np.ones(outputs.size, dtype=bool) if used is None else used
    mean = total * float(law.base[in_use].min())
    if not mean > 0:
        return 0
    # P(X ≤ k) ≤ e^(−m + k + k·ln(m/k)) for a sum X of independent trials of mean m ≥ k.
    few = outputs[in_use & (outputs < mean)].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = -mean + few + np.where(few > 0, few * np.log(mean / few), 0.0)
    return int((exponent < math.log(CHANCE / outputs.size)).sum())
