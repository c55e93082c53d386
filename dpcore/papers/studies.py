"""Recorded studies and experiments by name."""

from __future__ import annotations

from dpcore.errors import StudyError
from dpcore.papers.carvalho2021 import plans as carvalho2021
from dpcore.papers.habernal2021 import plans as habernal2021
from dpcore.papers.huang2024 import plans as huang2024
from dpcore.papers.lecuyer2019 import study as lecuyer2019
from dpcore.papers.ours import (
    authors,
    counted,
    deniability,
    equal_leakage,
    intervals,
    learning,
    reader,
    redactors,
    teaching,
    tradeoff,
    writers,
)
from dpcore.papers.ours.benchmark import record as benchmark
from dpcore.papers.xu2021 import plans as xu2021
from dpcore.study.plan import Study


def _by_name(*studies: Study) -> dict[str, Study]:
    return {study.name: study for study in studies}


STUDIES = _by_name(*xu2021.FIGURES, *huang2024.FIGURES, deniability.STUDY)
"""Studies of words by name, in display order."""
EXPERIMENTS = _by_name(
    teaching.STUDY,
    carvalho2021.STUDY,
    carvalho2021.WHOLE,
    *huang2024.TEXTS,
    *huang2024.NETWORKS,
    lecuyer2019.DIGITS,
    lecuyer2019.TEXTS,
    habernal2021.STUDY,
    *xu2021.TRAININGS,
    tradeoff.STUDY,
    tradeoff.LEAK,
    tradeoff.LEFT,
    counted.STUDY,
    redactors.STUDY,
    redactors.PERSONS,
    *equal_leakage.STUDIES,
    *learning.STUDIES,
    intervals.STUDY,
    *benchmark.STUDIES,
    *reader.STUDIES,
    authors.STUDY,
    authors.PERSONS,
    writers.STUDY,
)
"""Experiments by name, in display order."""


def study_of(name: str) -> Study:
    """Return the study or experiment of a name.

    Raises:
        StudyError: there is none; the message lists the known names.
    """
    known = STUDIES | EXPERIMENTS
    if name not in known:
        raise StudyError(f"no study {name[:60]!r}; there are: {', '.join(known)}")
    return known[name]
