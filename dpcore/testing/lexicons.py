"""Small lexicons with made-up words, on which everything can be computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.lexicon.lexicon import Lexicon

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def lexicon(vectors: ArrayLike, name: str = "test") -> Lexicon:
    """A lexicon with made-up words."""
    rows = np.asarray(vectors, dtype=np.float32)
    return Lexicon(name, tuple(f"w{i}" for i in range(len(rows))), rows)


def cloud(n: int, d: int, seed: int = 0) -> Lexicon:
    """Gaussian vectors of unequal lengths, as embeddings have them."""
    rng = np.random.default_rng([seed, n, d])
    return lexicon(rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, (n, 1)))


def line(*points: float) -> Lexicon:
    """Words on a line: d = 1."""
    return lexicon(np.array(points)[:, None])
