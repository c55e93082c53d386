"""Content words that can be counted in private texts, under every mechanism with a law to undo.

What is left of a private text for a reader (`dpcore.papers.ours.tradeoff`) is one utility; what is
left of many texts for statistics is another. A word is counted here if the interval of its number
(`dpcore.crowd`) is at most ten percent to each side.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.arrays import BoolArray
from dpcore.attack.output.operators import response_of
from dpcore.attack.output.prior import content_words
from dpcore.attack.trade.ground import COUNTED
from dpcore.crowd.estimates import LEVEL
from dpcore.crowd.expected import noise_of
from dpcore.crowd.planner import WORDS_PER_TEXT
from dpcore.crowd.queries import of_indices
from dpcore.crowd.undo import frequencies
from dpcore.learn.intervals import normal_quantile
from dpcore.measure.probability_intervals import Tally
from dpcore.papers.ours.tradeoff import ARMS, COUNTING
from dpcore.study.plan import Cell, Plan, Row, Study, row
from dpcore.study.runner import Sources

_UNDONE = ("optimal", "tem", "tem-calibrated", "k-ary", "neighbour-response", "santext", "custext")
# Refused are mechanisms without an exact law, and a refuted guarantee; the laws of the others are
# read column by column, which takes longer: not measured.
TOLERANCE = 0.1
"""Relative half width of an interval of level 95 % up to which a word is counted."""

STUDY = Study(
    "Content words that can be counted, on the bundled lexicon",
    "",
    Plan(
        COUNTING,
        "dpcore.papers.ours.counted:measure_counted",
        tuple(arm for arm in ARMS if arm.mechanism in _UNDONE),
        ("bundled",),
        options=(("words", 50), ("texts", tuple(COUNTED)), ("words_per_text", WORDS_PER_TEXT)),
        together=True,
    ),
    "50 content words, equally spaced among all as they occur in text; of each the error of its "
    f"number in 10,000 to 1,000,000 private texts of {WORDS_PER_TEXT} words.",
    rewrites=False,
)


def measure_counted(cell: Cell, sources: Sources) -> list[Row]:
    """Measure the share of content words that can be counted at each ε, for numbers of texts.

    The noise is that of `dpcore.crowd.expected`, for texts as common as the language. Words are a
    systematic sample of content words by frequency. Errors fall with the frequency, so the interval
    comes from the differences of successive words (Wolter 1985, *Introduction to Variance
    Estimation*, section 7.2). For a response over few words they need not: there it is binomial
    (Clopper and Pearson), and too wide if anything.

    Options: `words`, the size of the sample; `texts`, each number of them; `words_per_text`.
    """
    mechanism, size = sources.mechanism(cell), int(cell.option("words"))
    lexicon = mechanism.lexicon
    prior, frequency = content_words(lexicon).probability, frequencies(lexicon)
    ordered = np.argsort(-prior, kind="stable")
    middles = (np.arange(size) + 0.5) / size
    places = np.searchsorted(np.cumsum(prior[ordered]), middles)
    words, repeated = np.unique(ordered[places], return_inverse=True)
    numbers = cell.option("texts")
    # Each word is asked for once for each number of texts, all in one solution.
    asked = of_indices(lexicon, np.tile(words, len(numbers)))
    shares = np.tile(frequency[words], len(numbers))
    totals = np.repeat(np.array(numbers) * float(cell.option("words_per_text")), words.size)
    rows = []
    for epsilon in cell.epsilons:
        # A response over few words: if a word can be told from them depends on them as well, and of
        # words that are none of the sample nothing follows from how common they are.
        law = mechanism.sparse_law(epsilon)
        scattered = law is not None and response_of(mechanism, epsilon) is None
        noise = noise_of(mechanism, epsilon, asked, frequency, totals)
        errors = noise.error(shares, totals, LEVEL).reshape(len(numbers), words.size)
        for texts, of_words in zip(numbers, errors[:, repeated], strict=True):
            known = of_words <= TOLERANCE
            low, high = _binomial(known) if scattered else _systematic(known)
            rows.append(
                row(
                    COUNTED[texts], float(known.mean()), epsilon=epsilon, low=low, high=high,
                    count=size,
                )
            )  # fmt: skip
    return rows


def _systematic(known: BoolArray) -> tuple[float, float]:
    share, size = float(known.mean()), known.size
    differences = np.diff(known.astype(np.float64))
    half = normal_quantile(LEVEL) * math.sqrt(float((differences**2).sum()) / 2) / size
    # Where no two successive words differ, the share may still be off by half a step.
    half = max(half, 0.5 / size)
    return max(share - half, 0.0), min(share + half, 1.0)


def _binomial(known: BoolArray) -> tuple[float, float]:
    low, high = Tally.counted(np.array([known.sum()]), known.size).interval()
    return float(low[0]), float(high[0])
