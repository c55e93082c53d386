"""Study of the registry's mechanisms with their default settings, on the bundled lexicon.

Each mechanism is listed with its ε rather than read from the registry: the useful ε depend on the
mechanism, and the list is that of the record. A mechanism added to the registry since then works
everywhere else; it is listed here when the study is recorded again.
"""

from __future__ import annotations

from dpcore.study.plan import Choice, Panel, Study, grid, powers, series, words_plan
from dpcore.study.vocabularies import BUNDLED

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

STUDY = Study(
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
