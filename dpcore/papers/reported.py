"""Numbers that papers print, to be drawn and compared beside what is measured here."""

from __future__ import annotations

HUANG_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
"""Huang et al. 2024, Section 6.1."""

_HUANG = {
    "huang2024-figure-2-yelp": {
        "gaussian-classical": (0.144, 0.381, 0.608, 0.694, 0.708, 0.725, 0.708, 0.739),
        "laplace": (0.052, 0.138, 0.525, 0.646, 0.691, 0.721, 0.704, 0.699),
        "trlaplace": (0.705, 0.721, 0.722, 0.725, 0.724, 0.700, 0.712, 0.740),
    },
    "huang2024-figure-5-yahoo": {
        "gaussian-classical": (0.072, 0.511, 0.595, 0.628, 0.637, 0.680, 0.664, 0.672),
        "laplace": (0.066, 0.334, 0.566, 0.642, 0.660, 0.658, 0.675, 0.655),
        "trlaplace": (0.706, 0.682, 0.666, 0.662, 0.674, 0.670, 0.702, 0.680),
    },
}
"""Huang et al. 2024, Tables 2 (ε < 1) and 3 (ε ≥ 1), GloVe, rows N_w: by study and curve, at
`HUANG_EPSILONS`. Figures 2 and 5 draw these numbers."""

NOISELESS = {"huang2024-figure-2-yelp": 0.706, "huang2024-figure-5-yahoo": 0.703}
"""The same tables, ε = ∞: without any noise."""

LARGEST_SW = {"xu2021-figure-1-imdb": 20.0, "xu2021-figure-1-snli": 17.5}
"""Xu et al. 2021, Section 6.5: "the maximum amount of distinct substitutions one word can have is
around 20 on IMDB and 17.5 on SNLI"."""

PUBLISHED_BOUND = {"xu2021-figure-1-imdb": 106.73, "xu2021-figure-1-snli": 91.604}
"""Xu et al. 2021, Appendix A: lower bounds on ε."""


def reported_nw(study: str, curve: str) -> dict[float, float]:
    """Nw that a paper prints for a curve, by ε; empty if it prints none."""
    found = _HUANG.get(study, {}).get(curve)
    return dict(zip(HUANG_EPSILONS, found, strict=True)) if found else {}


YELP_TABLES = {
    "rouge1": {
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
}
"""Huang et al. 2024, Tables 2 and 3, GloVe, Yelp, at `HUANG_EPSILONS`: rows Rouge1 (recall, in
percent), BLEU and BERT-S."""

YELP_NOISELESS = {"rouge1": 89.40, "bleu": 8.934, "bert_style": 0.973}
"""The same tables, ε = ∞."""

RANDOM_BASELINE = {"sst2": 0.5607, "agnews": 0.2462}
"""Huang et al. 2024, Section 6.3: accuracy without privacy, with random embeddings."""

CARVALHO_AT_TWO = {"tem": 0.75, "madlib": 0.52}
"""Carvalho et al. 2021, Section 5: average test accuracy at ε = 2, where both have AUC 0.50."""
