"""Small text networks, lexicons and substitutions for tests."""

from typing import Any

import numpy as np

from dpcore.learn.corpus import Bags
from dpcore.learn.substitutions import Substitutions
from dpcore.learn.text_network.classifier import NetworkClassifier
from dpcore.learn.text_network.network import Kind, Shape
from dpcore.lexicon.lexicon import Lexicon

WORDS = 12


def small_lexicon(seed: int = 0) -> Lexicon:
    vectors = np.random.default_rng(seed).normal(size=(WORDS, 5)).astype(np.float32)
    vectors.setflags(write=False)
    return Lexicon("small", tuple(f"w{i}" for i in range(WORDS)), vectors)


def small_substitutions(seed: int = 0) -> Substitutions:
    """Words 0 to 8 may become up to two others; the rest stays."""
    rng = np.random.default_rng(seed)
    words = np.arange(9)
    others = [rng.choice(np.delete(np.arange(WORDS), w), 2, replace=False) for w in words]
    choices = np.column_stack((words, np.array(others)))
    choices[0, 2] = 0
    return Substitutions(words, choices, np.ones(9))


def bag(*texts: list[int]) -> Bags:
    words = np.array([word for text in texts for word in text], dtype=np.int64)
    offsets = np.cumsum([0, *(len(text) for text in texts)])
    return Bags(words, offsets, WORDS)


def random_texts(rng: np.random.Generator, count: int, most: int = 4) -> list[list[int]]:
    """Texts of 0 to `most` places, some of them unknown words."""
    return [rng.integers(-1, WORDS, size=rng.integers(0, most + 1)).tolist() for _ in range(count)]


def small_network(
    kind: Kind, seed: int = 0, *, double: bool = True, **more: Any
) -> NetworkClassifier:
    shape = Shape(kind, 5, 3, hidden=6, **{"layers": 2, "dropout": 0.0} | more)
    tensors = shape.start(np.random.default_rng(seed))
    tensors = {name: x.detach().double() if double else x.detach() for name, x in tensors.items()}
    # Wide weights, so that substitutions move the scores.
    tensors = {name: 3 * x if name.endswith("weight") else x for name, x in tensors.items()}
    return NetworkClassifier(shape, tensors, small_lexicon().vectors)
