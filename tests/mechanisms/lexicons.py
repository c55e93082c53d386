"""Small lexicons: random ones, and crafted ones where a shortcut would show."""

import numpy as np

from dpcore.lexicon.lexicon import Lexicon
from dpcore.testing.chance import cloud, lexicon, line

__all__ = ["cloud", "crafted", "lexicon", "line"]


def _lattice() -> np.ndarray:
    return np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)


def _near_duplicates() -> np.ndarray:
    rng = np.random.default_rng(5)
    base = rng.standard_normal((60, 8)).astype(np.float32)
    return np.concatenate((base, base + np.float32(1e-7) * rng.choice([-3, 3], (60, 8))))


def _norms() -> np.ndarray:
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((90, 5))
    return rows * np.repeat([1e-6, 1.0, 1e6], 30)[:, None]


def crafted() -> dict[str, Lexicon]:
    """Vocabularies with equal distances, equal directions, and extreme lengths."""
    rng = np.random.default_rng(7)
    return {
        "lattice": lexicon(_lattice()),
        "one-hot": lexicon(np.eye(40)),
        "collinear": lexicon(np.outer(np.arange(-20.0, 21.0), [1.0, 2.0, -1.0])),
        "near duplicates": lexicon(_near_duplicates()),
        "huge and tiny": lexicon(_norms()),
        "all huge": lexicon(1e20 * rng.standard_normal((70, 4))),
        "all tiny": lexicon(1e-25 * rng.standard_normal((70, 4))),
        "far from zero": lexicon(100.0 + rng.standard_normal((200, 10))),
        "tiny near duplicates": lexicon(1e-25 * _near_duplicates().astype(np.float64)),
        "two words": lexicon([[0.0, 0.0], [1.0, 0.0]]),
    }
