"""What Xu et al. 2021 print: their vocabularies, their ε, and Tables 2 and 3 in percent."""

from __future__ import annotations

import math

from dpcore.papers.written import written

EPSILONS = (1.0, 5.0, 9.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0)
"""ε of Table 3, multivariate Laplace."""
LOGARITHMS = (10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0)
"""ln ε of Table 2, truncated Gumbel, behind its first column."""
FIRST = {"imdb": 4.67, "snli": 4.52}
"""The first column of Table 2, "slightly larger than their respective lower bounds"."""
BOUND = {"imdb": 106.73, "snli": 91.604}
"""Appendix A: lower bounds on ε."""
VOCABULARY = {"imdb": (48_210, 0.2208), "snli": (11_673, 0.2263)}
"""Appendix A: words and Δ₀."""
LARGEST_SW = {"imdb": 20.0, "snli": 17.5}
"""Section 6.5: "the maximum amount of distinct substitutions one word can have is around 20 on
IMDB and 17.5 on SNLI"."""
SIZES = {"imdb": "20,000 of 263 words on average", "snli": "550,152"}
"""Table 1: training set."""
TRAINED_AND_TESTED = {
    "imdb": "20,000 texts of 263 words on average, and 1,000 tested on",
    "snli": "550,152 pairs, and 10,000 tested on",
}
"""Table 1."""
CLEAN_NORMAL = {"imdb": 89.50, "snli": 82.68}
"""Caption of Table 3."""
CLEAN_IBP = {"imdb": 81.00, "snli": 79.19}

Column = tuple[float, float, float]
"""Adversarial (certified, augmented) and clean (augmented) accuracy."""


def columns(key: str, curve: str) -> dict[float, Column]:
    """The columns of a table, by ε.

    Args:
        key: imdb or snli.
        curve: madlib (Table 3) or truncated-gumbel (Table 2).
    """
    heads: tuple[float, ...] = EPSILONS
    if curve != "madlib":
        heads = tuple(math.exp(x) for x in (FIRST[key], *LOGARITHMS))
    rows = written("xu2021/printed.toml")[key][curve]
    columns = zip(rows["certified"], rows["augmented"], rows["clean"], strict=True)
    return dict(zip(heads, columns, strict=True))
