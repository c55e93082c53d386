"""Xu et al. 2021, Tables 2 and 3 (adversarial training), compared with measurements."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from dpcore.papers.row import Row, percent, rounded, signed
from dpcore.papers.xu2021 import comparison as paper
from dpcore.papers.xu2021.comparison import Column, row
from dpcore.papers.xu2021.plans import AUGMENTED, NORMAL, PAPER, ROBUST, STRONGER, seeds_of
from dpcore.plots.robust.shares import PRINTED
from dpcore.study.recorded import Figures, Recorded
from dpcore.study.robust_curves import COLUMNS, TRAININGS, epsilon_on_axis, training_curves
from dpcore.written import Filled

if TYPE_CHECKING:
    import pandas as pd

_TABLES = {"madlib": "Table 3", "truncated-gumbel": "Table 2"}
_NAMES = {"madlib": "multivariate Laplace", "truncated-gumbel": "truncated Gumbel"}
_TITLES = {"imdb": "IMDb", "snli": "SNLI"}
_ADVERSARIAL = "adversarial accuracy"
_NOTHING = 0.02
"""Margin over guessing: a network with no larger clean accuracy has learned nothing."""


def training_rows(figures: Figures) -> tuple[Row, ...]:
    """Return rows of one corpus, both mechanisms."""
    return (
        *_clean(figures),
        _certified(figures),
        _within(figures),
        *(
            _adversarial(figures, curve, epsilon, column)
            for curve in _TABLES
            for epsilon, column in _printed(figures, curve).items()
        ),
        *(compare(figures, curve) for compare in (_half, _augmented, _lists) for curve in _TABLES),
        _edge(figures),
    )


def _key(figures: Figures) -> str:
    return figures.name.rsplit("-", 1)[1]


def _names(figures: Figures, curve: str = "truncated-gumbel") -> dict[str, str]:
    """Return the names of the corpus, the mechanism and its table."""
    return {"title": _TITLES[_key(figures)], "table": _TABLES[curve], "name": _NAMES[curve]}


def _epsilons(figures: Figures, curve: str) -> list[float]:
    """Return every recorded ε of a curve, ascending."""
    arms = {arm["mechanism"]: arm["epsilons"] for arm in figures.entry.plan["arms"]}
    return sorted(arms[curve])


def _printed(figures: Figures, curve: str) -> dict[float, Column]:
    """Return the printed columns, by recorded ε; an ε without a column is left out."""
    columns = paper.columns(_key(figures), curve).items()
    return {
        epsilon: column
        for epsilon in _epsilons(figures, curve)
        for head, column in columns
        if math.isclose(head, epsilon, rel_tol=1e-9)
    }


def against_paper(recorded: Recorded, mechanism: str, measured: str) -> pd.DataFrame:
    """Return the accuracy of each training against ε, with the printed columns of its table.

    Args:
        recorded: "xu2021-tables-2-3-…".
        mechanism: short name.
        measured: key of `dpcore.study.robust_curves.MEASURED`; the tables print adversarial
            ("paper") and clean ("clean") accuracy.

    Returns:
        As `dpcore.study.robust_curves.training_curves`; a printed curve has the name of ours with
        `dpcore.plots.robust.shares.PRINTED`, and no interval.
    """
    import pandas as pd

    table = training_curves(recorded, mechanism, measured)
    places = {"paper": {"ibp": 0, "augmented": 1}, "clean": {"augmented": 2}}.get(measured, {})
    printed = _printed(Figures(recorded), mechanism)
    rows = [
        (TRAININGS[learner] + PRINTED, "", epsilon_on_axis(mechanism, epsilon), column[i] / 100)
        for learner, i in places.items()
        for epsilon, column in printed.items()
    ]
    more = pd.DataFrame(rows, columns=list(COLUMNS[:4])).reindex(columns=list(COLUMNS))
    return pd.concat((table, more.astype(table.dtypes)), ignore_index=True) if rows else table


def _number(
    figures: Figures, quantity: str, curve: str, epsilon: float, end: str = "value", **where: str
) -> float:
    """Return the mean over seeds of a number at one ε, or of an end of its interval over texts."""
    rows = figures.rows(quantity, label=curve, **where)
    near = rows[abs(rows["epsilon"] / epsilon - 1) < 1e-9]
    return float(near[end].mean())


def _clean_accuracy(figures: Figures, learner: str) -> float:
    """Return the clean accuracy of a network trained independently of the mechanism."""
    return figures.without("accuracy", learner=learner, tested_on="clean").mean


def _head(curve: str, epsilon: float) -> str:
    """Format an ε like the head of a column of the paper."""
    if curve == "madlib":
        return f"ε = {epsilon:g}"
    return f"ln ε = {math.log(epsilon):.4g}"


def _heads(curve: str, epsilons: list[float]) -> str:
    """Format several ε like heads of columns."""
    first, *more = (_head(curve, epsilon) for epsilon in epsilons)
    return ", ".join((first, *(head.split()[-1] for head in more)))


def _sizes(figures: Figures) -> dict[str, str]:
    """Return the sizes that are smaller here than in the paper."""
    words = figures.option("most")
    return {
        "cut": Filled(" of at most {words} words", words=words) if words else "",
        "size": paper.SIZES[_key(figures)],
        "seeds": seeds_of(len(figures.entry.plan["seeds"])),
    }


def _clean(figures: Figures) -> list[Row]:
    majority = figures.without("majority").mean
    rows = []
    for name, accuracies in ((NORMAL, paper.CLEAN_NORMAL), (ROBUST, paper.CLEAN_IBP)):
        theirs, share = accuracies[_key(figures)], _clean_accuracy(figures, name)
        numbers = {"theirs": theirs, "share": share, "majority": majority, **_sizes(figures)}
        difference = signed(100 * share - theirs)
        names = _names(figures) | {"name": name}
        rows.append(row("clean", figures, difference=difference, **numbers, **names))
    return rows


def _certified(figures: Figures) -> Row:
    shares = (figures.without("certified", learner=name).mean for name in (NORMAL, ROBUST))
    return row("certified", figures, ours=" and ".join(percent(share) for share in shares))


def _within(figures: Figures) -> Row:
    left, broken = (
        {name: figures.without(quantity, learner=name).mean for name in (NORMAL, ROBUST)}
        for quantity in ("within the lists", "certified and broken")
    )
    shares = ", ".join(f"{name} {percent(share)}" for name, share in left.items())
    return row("within", figures, shares=shares, broken=sum(broken.values()))


def _adversarial(figures: Figures, curve: str, epsilon: float, column: Column) -> Row:
    left = {
        (name, how): _number(figures, _ADVERSARIAL, curve, epsilon, learner=name, variant=how)
        for name in (ROBUST, AUGMENTED, NORMAL)
        for how in (PAPER, STRONGER)
    }
    robust, augmented = left[ROBUST, PAPER], left[AUGMENTED, PAPER]
    plain = " and ".join(
        percent(_number(figures, "accuracy", curve, epsilon, learner=name, tested_on="private"))
        for name in (ROBUST, AUGMENTED)
    )
    return row(
        "adversarial",
        figures,
        head=_head(curve, epsilon),
        column=column,
        robust=robust,
        augmented=augmented,
        normal=left[NORMAL, PAPER],
        robust_more=left[ROBUST, STRONGER],
        augmented_more=left[AUGMENTED, STRONGER],
        difference=f"{signed(100 * robust - column[0])} and {signed(100 * augmented - column[1])}",
        ahead=_ahead(figures, curve, epsilon, column),
        nw=_number(figures, "nw", curve, epsilon),
        plain=plain,
        **_names(figures, curve),
    )


def _ahead(figures: Figures, curve: str, epsilon: float, column: Column) -> str:
    """Say which training keeps more, if the two intervals are disjoint."""
    clean = _number(figures, "accuracy", curve, epsilon, learner=AUGMENTED, tested_on="clean")
    guessing = figures.without("majority").mean
    if clean <= guessing + _NOTHING:
        return Filled(
            "The augmented network learned nothing: on clean text {clean:.1%} are right, by "
            "guessing {guessing:.1%}. Who always says the same is not fooled.",
            clean=clean,
            guessing=guessing,
        )
    (robust_low, robust_high), (augmented_low, augmented_high) = (
        [
            _number(figures, _ADVERSARIAL, curve, epsilon, end, learner=name, variant=PAPER)
            for end in ("low", "high")
        ]
        for name in (ROBUST, AUGMENTED)
    )
    if robust_low <= augmented_high and augmented_low <= robust_high:
        return Filled(
            "{texts} attacked texts do not tell the two apart.", texts=figures.option("attacked")
        )
    robust_ahead = robust_low > augmented_high
    if (column[0] > column[1]) == robust_ahead:
        if robust_ahead:
            return Filled("The certified network keeps more, as in the paper.")
        return Filled("The augmented network keeps more, as in the paper.")
    if robust_ahead:
        return Filled("The certified network keeps more, other than in the paper.")
    return Filled("The augmented network keeps more, other than in the paper.")


def _half(figures: Figures, curve: str) -> Row:
    """Compare the scale at which the mechanism's attack stops hurting."""
    key, logarithms = _key(figures), curve != "madlib"
    printed = _printed(figures, curve)
    clean = _clean_accuracy(figures, ROBUST)
    left = {
        e: _number(figures, _ADVERSARIAL, curve, e, learner=ROBUST, variant=PAPER) for e in printed
    }
    robust = {epsilon: column[0] for epsilon, column in printed.items()}
    gap = paper.VOCABULARY[key][1]
    near = figures.lexicon(figures.entry.plan["lexicons"][0])["separation"]
    # At the largest ε no word is replaced: the loss there is due to the choice of attacked texts.
    largest = _epsilons(figures, curve)[-1]
    return row(
        "half",
        figures,
        scale="ln ε" if logarithms else "ε",
        in_paper=_reached(robust, paper.CLEAN_IBP[key] / 2, logarithms=logarithms),
        reached=_reached(left, clean / 2, logarithms=logarithms),
        clean=clean,
        gap=gap,
        near=near,
        ratio=near / gap,
        head=_head(curve, largest),
        left=_number(figures, _ADVERSARIAL, curve, largest, learner=NORMAL, variant=PAPER),
        normal=_clean_accuracy(figures, NORMAL),
        **_names(figures, curve),
    )


def _reached(values: dict[float, float], level: float, *, logarithms: bool) -> str:
    """Find the scale at which a curve first reaches a level, interpolating between two columns."""
    points = [(math.log(e) if logarithms else e, y) for e, y in sorted(values.items())]
    if points[0][1] >= level:
        return f"below {points[0][0]:.3g}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if y1 >= level:
            return f"about {x0 + (x1 - x0) * (level - y0) / (y1 - y0):.3g}"
    return f"above {points[-1][0]:.3g}"


def _augmented(figures: Figures, curve: str) -> Row:
    printed = _printed(figures, curve)
    shares = (
        _number(figures, "accuracy", curve, e, learner=AUGMENTED, tested_on="clean")
        for e in printed
    )
    return row(
        "augmented",
        figures,
        heads=_heads(curve, list(printed)),
        in_paper=", ".join(f"{column[2]:.2f}" for column in printed.values()) + " %",
        ours=", ".join(percent(share) for share in shares),
        normal=_clean_accuracy(figures, NORMAL),
        all_copies=figures.option("copies") + 1,
        **_sizes(figures),
        **_names(figures, curve),
    )


def _lists(figures: Figures, curve: str) -> Row:
    epsilons = _epsilons(figures, curve)
    shares = [_number(figures, "substitutes in the lists", curve, e) for e in epsilons]
    ours = ", ".join(percent(share) for share in shares)
    numbers = {"heads": _heads(curve, epsilons), "most": max(shares)}
    return row("lists", figures, ours=ours, **numbers, **_names(figures, curve))


def _edge(figures: Figures) -> Row:
    key, curve = _key(figures), "truncated-gumbel"
    first, bound = paper.FIRST[key], paper.BOUND[key]
    words, gap = paper.VOCABULARY[key]
    facts = figures.lexicon(figures.entry.plan["lexicons"][0])
    theirs, ours = (
        (5 + 2 * math.log(n)) / smallest
        for n, smallest in ((words, gap), (facts["words"], facts["separation"]))
    )
    lowest = _epsilons(figures, curve)[0]
    numbers: dict[str, Any] = {"first": first, "bound": bound, "words": words, "gap": gap}
    return row(
        "edge",
        figures,
        epsilon=math.exp(first),
        rounded=rounded(math.exp(first), bound),
        theirs=theirs,
        facts=facts,
        lowest_ours=ours,
        log_lowest=math.log(lowest),
        nw=_number(figures, "nw", curve, lowest),
        left=_number(figures, _ADVERSARIAL, curve, lowest, learner=ROBUST, variant=PAPER),
        **numbers,
        **_names(figures),
    )
