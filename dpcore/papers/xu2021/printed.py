"""What Xu et al. 2021 print: their vocabularies, their ε, and Tables 2 and 3 in percent."""

from __future__ import annotations

import math

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

_ROWS = {
    ("imdb", "truncated-gumbel"): (
        (35.30, 34.60, 47.40, 58.60, 70.90, 79.90, 80.80, 80.90, 80.90, 81.00),
        (32.00, 34.90, 43.30, 60.20, 71.80, 86.20, 88.80, 89.30, 89.70, 89.70),
        (89.80, 89.60, 88.10, 90.00, 88.30, 89.20, 89.00, 89.40, 89.80, 89.70),
    ),
    ("snli", "truncated-gumbel"): (
        (12.5, 11.49, 12.98, 14.95, 24.01, 58.78, 74.51, 78.18, 78.88, 79.12),
        (21.05, 17.34, 16.57, 17.05, 23.96, 58.58, 76.54, 80.62, 81.41, 81.90),
        (78.89, 79.92, 81.32, 81.74, 81.77, 82.20, 82.18, 81.86, 81.65, 81.96),
    ),
    ("imdb", "madlib"): (
        (0.30, 0.50, 1.20, 4.90, 38.60, 68.30, 78.50, 80.30, 80.90, 81.00),
        (10.80, 8.50, 10.20, 6.90, 9.50, 17.70, 32.10, 53.00, 80.50, 88.30),
        (88.22, 88.20, 87.34, 87.38, 88.60, 88.74, 88.12, 88.46, 88.00, 87.76),
    ),
    ("snli", "madlib"): (
        (1.84, 1.90, 2.21, 3.70, 9.22, 24.19, 46.62, 64.92, 78.73, 79.16),
        (2.44, 2.61, 3.01, 4.20, 9.14, 24.08, 46.94, 66.54, 81.44, 81.94),
        (76.68, 77.28, 77.07, 78.08, 81.38, 81.79, 81.75, 81.91, 82.17, 82.00),
    ),
}
"""Adversarial accuracy of certified and of augmented training, and clean accuracy of the latter."""

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
    return dict(zip(heads, zip(*_ROWS[key, curve], strict=True), strict=True))
