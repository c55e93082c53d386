"""What Huang et al. 2024 print: their parameters, and Tables 2 and 3 (GloVe vectors)."""

from __future__ import annotations

from dpcore.papers.written import written

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
"""Section 6.1."""
DIMENSION = 300
TOTALS = ((300, 5.0), (500, 10.0), (1700, 20.0))
"""Section 6.1: d′, and the largest ε at which the paper takes it."""
DELTA = 0.25**DIMENSION
"""Section 6.1: δ = 4^−d."""
NORM = 1.0
"""C is not given in the paper. 1 is below the norm of every GloVe vector, so that all are clipped
and, on the clipped vocabulary, the result does not depend on C."""
WORDS = 10_000
"""Size of the vocabulary (Section 6.1)."""
SIZES = {"sst2": "54,576 and 13,645 phrases", "agnews": "16,000 and 4,000"}
"""Section 6.1: training and test."""
RANDOM_BASELINE = {"sst2": 0.5607, "agnews": 0.2462}
"""Section 6.3: accuracy without privacy, with random embeddings."""
MECHANISMS = {
    "gaussian-classical": "Gaussian (Theorem 2)",
    "laplace": "Laplace (Theorem 1)",
    "trlaplace": "TrLaplace (Theorem 3)",
}
"""The mechanisms of the paper, and what their rows are called."""

_PRINTED = written("huang2024/printed.toml")
TABLES: dict[str, dict[str, dict[str, list[float]]]] = _PRINTED["tables"]
"""Tables 2 and 3: corpus, quantity and mechanism to the values at `EPSILONS`."""
NOISELESS: dict[str, dict[str, float]] = _PRINTED["noiseless"]
"""The same tables, ε = ∞: without any noise."""
_PERCENT = "rouge1_recall"


def printed(corpus: str, quantity: str, curve: str) -> dict[float, float]:
    """What the tables say of a curve, by ε; ROUGE-1 as a share. Empty if they say nothing.

    Args:
        corpus: "yelp" or "yahoo".
        quantity: a key of `TABLES[corpus]`.
        curve: name of the mechanism.
    """
    values = TABLES[corpus][quantity].get(curve, [])
    unit = 100.0 if quantity == _PERCENT else 1.0
    return {e: value / unit for e, value in zip(EPSILONS, values, strict=False)}


def noiseless(corpus: str, quantity: str) -> float:
    """The same at ε = ∞."""
    return NOISELESS[corpus][quantity] / (100.0 if quantity == _PERCENT else 1.0)


def figure_nw(study: str, curve: str) -> dict[float, float]:
    """N_w that Figure 2 or 5 draws for a curve of a study, by ε; empty of any other study."""
    name, _, corpus = study.rpartition("-")
    drawn = name.startswith("huang2024-figure-") and corpus in TABLES
    return printed(corpus, "nw", curve) if drawn else {}
