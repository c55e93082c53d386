"""What the tests of studies share: a small vocabulary, a tiny study."""

import numpy as np
import pytest

from dpcore.study.parts import Panel, Series, Study, grid
from dpcore.study.vocabularies import CountedLexicon
from tests.mechanisms import lexicons

TINY = Study(
    name="tiny",
    title="A tiny study",
    source="",
    vocabulary="none",
    words=12,
    series=(
        Series("madlib", "madlib", grid(0.5, 50, 5)),
        Series("madlib, protocol", "madlib", (5.0,), method="protocol", words=4, curve="madlib"),
        Series("madlib, words", "madlib", (5.0,), named=("w3", "absent", "w7"), curve="madlib"),
        Series("truncated-gumbel", "truncated-gumbel", (1e-3, 1e3, 1e6)),
        Series("trlaplace", "trlaplace", (0.5, 1.0), (("clip_norm", 1.0),), words=3),
    ),
    panels=(
        Panel("Nw", "nw", ("madlib",)),
        Panel("Sw", "sw", ("truncated-gumbel",)),
        Panel("Sw against Nw", "trade", ("madlib", "truncated-gumbel")),
    ),
    runs=50,
)


@pytest.fixture(scope="session")
def tiny() -> Study:
    return TINY


@pytest.fixture(scope="session")
def vocabulary() -> CountedLexicon:
    """300 words in 12 dimensions, the first ones frequent."""
    counts = np.ceil(3000.0 / np.arange(1, 301))
    counts.setflags(write=False)
    return CountedLexicon(lexicons.cloud(300, 12), counts, int(counts.sum()) + 5, 5, {"a": "0"})
