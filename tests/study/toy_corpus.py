"""A small labelled corpus over made-up words, as a parquet file, and its lexicon."""

from pathlib import Path

import numpy as np
import pandas as pd

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import lexicons

WORDS, TEXTS, LENGTH = 80, 120, 10


def lexicon() -> Lexicon:
    """80 words; the two halves, which the two classes prefer, lie apart."""
    vectors = lexicons.cloud(WORDS, 6).vectors.copy()
    vectors[WORDS // 2 :, 0] += 3.0
    return Lexicon("toy", tuple(f"w{i}" for i in range(WORDS)), vectors)


def write(path: Path) -> Path:
    """Train and test splits of 120 texts each; one word of each is unknown."""
    rng = np.random.default_rng(4)
    rows = []
    for split in ("train", "test"):
        for i in range(TEXTS):
            label = i % 2
            topical = rng.random(LENGTH) < 0.7
            half = rng.integers(WORDS // 2, size=LENGTH) + label * (WORDS // 2)
            words = np.where(topical, half, rng.integers(WORDS, size=LENGTH))
            text = " ".join(f"w{w}" for w in words)
            rows.append((f"{text}, unheard {split}{i}.", label, split))
    pd.DataFrame(rows, columns=["text", "label", "split"]).to_parquet(path)
    return path
