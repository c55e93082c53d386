"""What the comparison of Xu et al. 2021, Tables 2 and 3, reads from a record."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from dpcore.papers.xu2021.reported import printed
from dpcore.study.utility_summary import chosen

if TYPE_CHECKING:
    from dpcore.study.experiment_results import RecordedExperiment


def corpus_of(recorded: RecordedExperiment) -> str:
    """Its key: imdb or snli."""
    return recorded.entry.name.rsplit("-", 1)[1]


def title_of(recorded: RecordedExperiment) -> str:
    """The corpus, for people."""
    return {"imdb": "IMDb", "snli": "SNLI"}[corpus_of(recorded)]


def paper_columns(
    recorded: RecordedExperiment, curve: str
) -> dict[float, tuple[float, float, float]]:
    """What the paper prints, by recorded ε; an ε without a column is left out."""
    found = {e: printed(corpus_of(recorded), curve, e) for e in recorded_epsilons(recorded, curve)}
    return {epsilon: column for epsilon, column in found.items() if column is not None}


def recorded_epsilons(recorded: RecordedExperiment, curve: str) -> list[float]:
    """Every recorded ε of a curve, ascending."""
    arms = {arm["mechanism"]: arm["epsilons"] for arm in recorded.entry.plan["arms"]}
    return sorted(arms[curve])


def number_at(
    recorded: RecordedExperiment,
    quantity: str,
    curve: str,
    epsilon: float,
    column: str = "value",
    **where: str,
) -> float:
    """A number of a curve at one ε, the mean over seeds."""
    rows = chosen(recorded.table, quantity, label=curve, **where)
    near = rows[abs(rows["epsilon"] / epsilon - 1) < 1e-9]
    return float(near[column].mean())


def column_name(curve: str, epsilon: float) -> str:
    """An ε as the head of a column of the paper."""
    if curve == "madlib":
        return f"ε = {epsilon:g}"
    return f"ln ε = {math.log(epsilon):.4g}"


def column_names(curve: str, epsilons: list[float]) -> str:
    """The same of several ε."""
    name, first = column_name(curve, epsilons[0]).rsplit(" ", 1)
    return ", ".join(
        (f"{name} {first}", *(column_name(curve, e).split()[-1] for e in epsilons[1:]))
    )


def percent(share: float) -> str:
    """A share in percent."""
    return f"{share:.1%}"


def reached(values: dict[float, float], level: float, *, logarithms: bool) -> str:
    """Where a curve first reaches a level, by interpolation between two columns."""
    points = [(math.log(e) if logarithms else e, y) for e, y in sorted(values.items())]
    if points[0][1] >= level:
        return f"below {points[0][0]:.3g}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if y1 >= level:
            return f"about {x0 + (x1 - x0) * (level - y0) / (y1 - y0):.3g}"
    return f"above {points[-1][0]:.3g}"
