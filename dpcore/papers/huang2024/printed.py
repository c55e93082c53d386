"""What Huang et al. 2024 print: their parameters, and Tables 2 and 3 (GloVe vectors)."""

from __future__ import annotations

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

TABLES = {
    "yelp": {
        "loss": {
            "gaussian-classical": (34.67, 21.62, 10.61, 5.98, 4.74, 3.14, 3.13, 2.97),
            "laplace": (36.00, 34.64, 14.86, 7.38, 5.02, 3.30, 3.66, 3.17),
            "trlaplace": (2.98, 2.99, 3.02, 2.94, 2.93, 3.03, 3.00, 2.98),
        },
        "rouge1_recall": {
            "gaussian-classical": (15.97, 48.89, 76.48, 84.97, 86.63, 89.13, 89.27, 89.80),
            "laplace": (12.60, 14.68, 66.62, 82.08, 86.43, 89.04, 88.15, 89.23),
            "trlaplace": (89.45, 89.47, 89.34, 89.54, 89.68, 89.40, 89.37, 89.60),
        },
        "bleu": {
            "gaussian-classical": (8.976, 8.850, 8.926, 8.930, 8.933, 8.936, 8.933, 8.944),
            "laplace": (8.607, 8.916, 8.913, 8.928, 8.931, 8.932, 8.933, 8.934),
            "trlaplace": (8.931, 8.935, 8.936, 8.936, 8.934, 8.931, 8.934, 8.938),
        },
        "bert_style": {
            "gaussian-classical": (0.874, 0.895, 0.943, 0.964, 0.969, 0.975, 0.975, 0.975),
            "laplace": (0.855, 0.874, 0.927, 0.952, 0.964, 0.969, 0.969, 0.968),
            "trlaplace": (0.971, 0.973, 0.971, 0.972, 0.975, 0.971, 0.976, 0.976),
        },
        "nw": {
            "gaussian-classical": (0.144, 0.381, 0.608, 0.694, 0.708, 0.725, 0.708, 0.739),
            "laplace": (0.052, 0.138, 0.525, 0.646, 0.691, 0.721, 0.704, 0.699),
            "trlaplace": (0.705, 0.721, 0.722, 0.725, 0.724, 0.700, 0.712, 0.740),
        },
    },
    "yahoo": {
        "loss": {
            "gaussian-classical": (51.25, 26.66, 9.92, 5.97, 4.28, 3.01, 3.03, 2.98),
            "laplace": (51.43, 37.86, 15.35, 7.31, 4.93, 3.24, 3.05, 3.13),
            "trlaplace": (2.89, 2.86, 2.84, 3.04, 2.85, 2.97, 2.92, 2.81),
        },
        "rouge1_recall": {
            "gaussian-classical": (14.01, 59.52, 83.61, 89.06, 90.97, 92.27, 92.16, 92.19),
            "laplace": (13.02, 43.30, 75.77, 86.98, 90.02, 92.09, 92.28, 92.26),
            "trlaplace": (92.44, 92.43, 92.41, 92.25, 92.41, 92.35, 92.24, 92.45),
        },
        "nw": {
            "gaussian-classical": (0.072, 0.511, 0.595, 0.628, 0.637, 0.680, 0.664, 0.672),
            "laplace": (0.066, 0.334, 0.566, 0.642, 0.660, 0.658, 0.675, 0.655),
            "trlaplace": (0.706, 0.682, 0.666, 0.662, 0.674, 0.670, 0.702, 0.680),
        },
    },
}
"""Tables 2 (ε < 1) and 3 (ε ≥ 1), rows Loss, Rouge1 (recall, in percent), BLEU, BERT-S and N_w at
`EPSILONS`. Figures 2 (Yelp) and 5 (Yahoo) draw N_w."""
NOISELESS = {
    "yelp": {
        "loss": 3.07, "rouge1_recall": 89.40, "nw": 0.706, "bleu": 8.934, "bert_style": 0.973,
    },
    "yahoo": {"loss": 2.95, "rouge1_recall": 92.37, "nw": 0.703},
}  # fmt: skip
"""The same tables, ε = ∞: without any noise."""
_PERCENT = "rouge1_recall"


def printed(corpus: str, quantity: str, curve: str) -> dict[float, float]:
    """What the tables say of a curve, by ε; ROUGE-1 as a share. Empty if they say nothing.

    Args:
        corpus: "yelp" or "yahoo".
        quantity: a key of `TABLES[corpus]`.
        curve: name of the mechanism.
    """
    values = TABLES[corpus][quantity].get(curve, ())
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
