"""Every mechanism of the registry with its default settings, on the bundled lexicon."""

from __future__ import annotations

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.study.parts import Panel, Series, Study, grid, powers
from dpcore.study.vocabularies import BUNDLED


def _panels() -> tuple[Panel, ...]:
    groups = {
        "Metric privacy": (EpsilonMeaning.METRIC,),
        "Metric privacy, in ln ε": (EpsilonMeaning.METRIC_LOG,),
        "Local privacy": (EpsilonMeaning.LOCAL, EpsilonMeaning.LOCAL_APPROXIMATE),
    }
    found = []
    for title, meanings in groups.items():
        kinds = [kind for kind in MECHANISMS.values() if kind.meaning in meanings]
        curves = tuple(dict.fromkeys(kind.short for kind in kinds))
        found += [
            Panel(f"{title}: {label}", q, curves) for q, label in (("nw", "Nw"), ("sw", "Sw"))
        ]
    return tuple(found)


def _series() -> tuple[Series, ...]:
    """Every mechanism with its default settings; those that only the protocol measures coarsely."""
    grids = {
        "tem": grid(0.1, 20, 40),
        "truncated-gumbel": powers(*(x / 4 for x in range(8, 81))),
        "trlaplace": grid(0.05, 8.5, 6),
        "trlaplace-corrected": grid(5, 2_000, 10),
    }
    local = ("laplace", "l2-laplace", "gaussian", "gaussian-classical")
    names = dict.fromkeys(kind.short for kind in MECHANISMS.values())
    return tuple(
        Series(
            name,
            name,
            grids.get(name, grid(1, 5_000, 40) if name in local else grid(0.5, 500, 40)),
            words=16 if name.startswith("trlaplace") else None,
        )
        for name in names
    )


STUDIES = (
    Study(
        name="bundled-every-mechanism",
        title="Every mechanism on the bundled lexicon",
        source="",
        vocabulary=BUNDLED,
        words=200,
        series=_series(),
        panels=_panels(),
    ),
)
