"""What Huang et al. 2024 print of their auto-encoder: Tables 2 and 3, GloVe vectors.

Rows Loss, Rouge1 (recall, in percent) and N_w, at `dpcore.papers.reported.HUANG_EPSILONS`.
"""

from __future__ import annotations

from dpcore.papers.reported import HUANG_EPSILONS, YELP_TABLES, reported_nw

_FIGURES = {"yelp": "huang2024-figure-2-yelp", "yahoo": "huang2024-figure-5-yahoo"}
_ROUGE = {
    "yelp": YELP_TABLES["rouge1"],
    "yahoo": {
        "gaussian-classical": (14.01, 59.52, 83.61, 89.06, 90.97, 92.27, 92.16, 92.19),
        "laplace": (13.02, 43.30, 75.77, 86.98, 90.02, 92.09, 92.28, 92.26),
        "trlaplace": (92.44, 92.43, 92.41, 92.25, 92.41, 92.35, 92.24, 92.45),
    },
}
_LOSS = {
    "yelp": {
        "gaussian-classical": (34.67, 21.62, 10.61, 5.98, 4.74, 3.14, 3.13, 2.97),
        "laplace": (36.00, 34.64, 14.86, 7.38, 5.02, 3.30, 3.66, 3.17),
        "trlaplace": (2.98, 2.99, 3.02, 2.94, 2.93, 3.03, 3.00, 2.98),
    },
    "yahoo": {
        "gaussian-classical": (51.25, 26.66, 9.92, 5.97, 4.28, 3.01, 3.03, 2.98),
        "laplace": (51.43, 37.86, 15.35, 7.31, 4.93, 3.24, 3.05, 3.13),
        "trlaplace": (2.89, 2.86, 2.84, 3.04, 2.85, 2.97, 2.92, 2.81),
    },
}
NOISELESS = {
    "yelp": {"loss": 3.07, "rouge1_recall": 0.8940, "nw": 0.706},
    "yahoo": {"loss": 2.95, "rouge1_recall": 0.9237, "nw": 0.703},
}
"""The same tables, ε = ∞; ROUGE-1 as a share."""
PAPER_WORDS = 10_000
"""Size of the vocabulary (Section 6.1)."""


def printed(corpus: str, quantity: str, curve: str) -> dict[float, float]:
    """What the tables say of a curve, by ε; ROUGE-1 as a share.

    Args:
        corpus: "yelp" or "yahoo".
        quantity: "loss", "rouge1_recall" or "nw".
        curve: name of the mechanism.
    """
    if quantity == "nw":
        return reported_nw(_FIGURES[corpus], curve)
    values = _LOSS[corpus][curve] if quantity == "loss" else _ROUGE[corpus][curve]
    unit = 1.0 if quantity == "loss" else 100.0
    return {e: value / unit for e, value in zip(HUANG_EPSILONS, values, strict=True)}
