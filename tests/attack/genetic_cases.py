"""Small linear classifiers, documents and substitutions for the genetic attack."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpcore.learn.corpus import Bags
from dpcore.learn.linear.training import LinearModel
from dpcore.learn.substitutions import Substitutions

WORDS = 30


def case(
    generator: np.random.Generator, documents: int = 12, classes: int = 2, choices: int = 3
) -> tuple[LinearModel, Bags, Substitutions]:
    """A classifier, documents of up to seven words, some of them unknown, and substitutions."""
    vectors = generator.standard_normal((WORDS, 4)).astype(np.float32)
    linear = LinearModel(
        generator.standard_normal((classes, 4)), 0.2 * generator.standard_normal(classes), vectors
    )
    table = Substitutions(
        np.arange(WORDS - 2),
        np.column_stack(
            (np.arange(WORDS - 2), generator.integers(WORDS, size=(WORDS - 2, choices)))
        ),
        np.ones(WORDS - 2),
    )
    texts = [generator.integers(-1, WORDS, generator.integers(1, 8)) for _ in range(documents)]
    return linear, bags(texts), table


def bags(texts: Sequence[ArrayLike]) -> Bags:
    offsets = np.concatenate(([0], np.cumsum([np.size(t) for t in texts])))
    return Bags(np.concatenate([np.asarray(t) for t in texts]).astype(np.int64), offsets, WORDS)
