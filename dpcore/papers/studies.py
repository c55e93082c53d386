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
from dpcore.study.plan import Choice, Panel, Study, grid, powers, series, words_plan
from dpcore.study.vocabularies import BUNDLED

# Each mechanism is listed with its ε rather than read from the registry: the useful ε depend on the
# mechanism, and the list is that of the record. A mechanism added to the registry since then works
# everywhere else; it is listed here when the study is recorded again.


_METRIC, _LOCAL = grid(0.5, 500, 40), grid(1, 5_000, 40)
_GROUPS = {
    "Metric privacy": {
        "madlib": _METRIC,
        "mahalanobis": _METRIC,
        "vickrey": _METRIC,
        "random-projection": _METRIC,
        "tem": grid(0.1, 20, 40),
        "tem-calibrated": grid(0.1, 20, 40),
        "truncated-gumbel-repaired": grid(5, 50, 20),
    },
    "Metric privacy, in ln ε": {"truncated-gumbel": powers(*(x / 4 for x in range(8, 81)))},
    "Local privacy": {
        "laplace": _LOCAL,
        "l2-laplace": _LOCAL,
        "gaussian": _LOCAL,
        "gaussian-classical": _LOCAL,
        "adept": grid(0.1, 500, 40),
        "adept-l1": _LOCAL,
        "trlaplace": grid(0.05, 8.5, 6),
        "trlaplace-corrected": grid(5, 2_000, 10),
    },
}
"""ε of each mechanism, by the meaning of its ε; coarse where only the protocol measures."""

MECHANISMS_SIDE_BY_SIDE = Study(
    "The mechanisms side by side on the bundled lexicon",
    "",
    words_plan(
        "bundled-mechanisms",
        BUNDLED,
        tuple(
            series(name, epsilons, words=12 if name.startswith("trlaplace") else None)
            for group in _GROUPS.values()
            for name, epsilons in group.items()
        ),
    ),
    choice=Choice(100),
    panels=tuple(
        Panel(f"{title}: {label}", quantity, tuple(group))
        for title, group in _GROUPS.items()
        for quantity, label in (("nw", "Nw"), ("sw", "Sw"))
    ),
)
"""The registry's mechanisms with their default settings, on the bundled lexicon."""


def _by_name(*studies: Study) -> dict[str, Study]:
    return {study.name: study for study in studies}


STUDIES = _by_name(*xu2021.FIGURES, *huang2024.FIGURES, MECHANISMS_SIDE_BY_SIDE)
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
