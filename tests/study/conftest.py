"""Fixtures of the tests of studies: a small vocabulary, a tiny study."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpcore.lexicon.progress import Progress, silent
from dpcore.study import recording
from dpcore.study.plan import Choice, Panel, Study, grid, series, words_plan
from dpcore.study.recording import Options
from dpcore.study.vocabularies import CountedLexicon
from tests.mechanisms import lexicons

TINY = Study(
    "A tiny study",
    "",
    words_plan(
        "tiny",
        "none",
        (
            series("madlib", grid(0.5, 50, 5)),
            series(
                "madlib", (5.0,), (), "madlib, protocol",
                method="protocol", words=4, curve="madlib",
            ),
            series(
                "madlib", (5.0,), (), "madlib, words",
                named=("w3", "absent", "w7"), curve="madlib",
            ),
            series("truncated-gumbel", (1e-3, 1e3, 1e6)),
            series("trlaplace", (0.5, 1.0), (("clip_norm", 1.0),), words=3),
        ),
        runs=50,
    ),
    choice=Choice(12),
    panels=(
        Panel("Nw", "nw", ("madlib",)),
        Panel("Sw", "sw", ("truncated-gumbel",)),
        Panel("Sw against Nw", "trade", ("madlib", "truncated-gumbel")),
    ),
)  # fmt: skip


@pytest.fixture(scope="session")
def tiny() -> Study:
    return TINY


@pytest.fixture(scope="session")
def vocabulary() -> CountedLexicon:
    """300 words in 12 dimensions, the first ones frequent."""
    counts = np.ceil(3000.0 / np.arange(1, 301))
    counts.setflags(write=False)
    return CountedLexicon(lexicons.cloud(300, 12), counts, int(counts.sum()) + 5, 5, {"a": "0"})


@pytest.fixture(scope="session")
def record_tiny(tiny: Study, vocabulary: CountedLexicon) -> Callable[..., Any]:
    """Record the tiny study, or a change of it, on the small vocabulary."""

    def record(
        options: Options | None = None,
        progress: Progress = silent,
        study: Study = tiny,
        **more: Any,
    ) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recording, "load_vocabulary", lambda *_: vocabulary)
            return recording.record(study, None, options, progress, **more)

    return record
