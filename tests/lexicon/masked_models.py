"""Small networks for the tests of the reader."""

import numpy as np

from dpcore.lexicon.masked_model import SPECIAL, Reader


def random_reader(seed: int, *, n: int = 10, rank: int = 3, longest: int = 9) -> Reader:
    """A network of two layers, width 8 and two heads with random weights."""
    rng = np.random.default_rng(seed)
    d, k, m = 8, 2, 12
    shapes = {
        "embedding": (n + SPECIAL, rank), "bias": (n,), "lift": (rank, d), "lower": (d, rank),
        "positions": (longest, d), "norm": (2, d), "before_attention": (k, 2, d),
        "attention": (k, d, 3 * d), "attention_bias": (k, 3 * d), "join": (k, d, d),
        "join_bias": (k, d), "before_feed": (k, 2, d), "up": (k, d, m), "up_bias": (k, m),
        "down": (k, m, d), "down_bias": (k, d),
    }  # fmt: skip
    weights = {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }
    return Reader(weights, 2)


def neighbour_reader() -> Reader:
    """Two words; its answer is worked out by hand in the tests.

    Width 1 of attention cannot be normed, so width 2: the table puts word 0 at (1, −1) and word 1
    at (−1, 1). Attention has no queries, so every place hears the mean of all values.
    """
    n, d = 2, 2
    zero = np.zeros
    plain = np.stack((np.ones(d), zero(d)))
    attention = zero((1, d, 3 * d))
    attention[0, :, 2 * d :] = np.eye(d)
    weights = {
        "embedding": np.array([[1.0], [-1.0], [0.0], [0.0], [0.0]]),
        "bias": np.array([0.5, 0.0]),
        "lift": np.array([[1.0, -1.0]]),
        "lower": np.array([[1.0], [0.0]]),
        "positions": zero((6, d)),
        "norm": plain,
        "before_attention": plain[None],
        "attention": attention,
        "attention_bias": zero((1, 3 * d)),
        "join": np.eye(d)[None],
        "join_bias": zero((1, d)),
        "before_feed": plain[None],
        "up": zero((1, d, 1)),
        "up_bias": zero((1, 1)),
        "down": zero((1, 1, d)),
        "down_bias": zero((1, d)),
    }
    assert n == weights["bias"].size
    return Reader({name: array.astype(np.float32) for name, array in weights.items()}, 1)
