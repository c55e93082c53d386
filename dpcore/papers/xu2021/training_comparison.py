"""Xu et al. 2021, Tables 2 and 3 (adversarial training), against measurement."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from dpcore.papers.row import percent, rounded, signed
from dpcore.papers.xu2021 import printed as paper
from dpcore.papers.xu2021.comparison import row
from dpcore.papers.xu2021.plans import seeds_of
from dpcore.papers.xu2021.training import AUGMENTED, NORMAL, PAPER, ROBUST, STRONGER

if TYPE_CHECKING:
    from dpcore.papers.row import Row
    from dpcore.papers.xu2021.printed import Column
    from dpcore.study.reading import Figures

_TABLES = {"madlib": "Table 3", "truncated-gumbel": "Table 2"}
_NAMES = {"madlib": "multivariate Laplace", "truncated-gumbel": "truncated Gumbel"}
_TITLES = {"imdb": "IMDb", "snli": "SNLI"}
_ADVERSARIAL = "adversarial accuracy"
_NOTHING = 0.02
"""A network whose clean accuracy is no more than this above guessing has learned nothing."""


def training_rows(figures: Figures) -> tuple[Row, ...]:
    """Rows of one corpus, both mechanisms."""
    columns = [
        (curve, epsilon, column)
        for curve in _TABLES
        for epsilon, column in _printed(figures, curve).items()
    ]
    return (
        *_clean(figures),
        _certified(figures),
        _within(figures),
        *(_adversarial(figures, *column) for column in columns),
        *(_half(figures, curve) for curve in _TABLES),
        *(_augmented(figures, curve) for curve in _TABLES),
        *(_lists(figures, curve) for curve in _TABLES),
        _edge(figures),
    )


def _key(figures: Figures) -> str:
    return figures.name.rsplit("-", 1)[1]


def _title(figures: Figures) -> str:
    return _TITLES[_key(figures)]


def _epsilons(figures: Figures, curve: str) -> list[float]:
    """Every recorded ε of a curve, ascending."""
    arms = {arm["mechanism"]: arm["epsilons"] for arm in figures.entry.plan["arms"]}
    return sorted(arms[curve])


def _printed(figures: Figures, curve: str) -> dict[float, Column]:
    """What the paper prints, by recorded ε; an ε without a column is left out."""
    columns = paper.columns(_key(figures), curve).items()
    return {
        epsilon: column
        for epsilon in _epsilons(figures, curve)
        for head, column in columns
        if math.isclose(head, epsilon, rel_tol=1e-9)
    }


def _number(
    figures: Figures, quantity: str, curve: str, epsilon: float, end: str = "value", **where: str
) -> float:
    """A number of a curve at one ε, or an end of its interval over texts: the mean over seeds."""
    rows = figures.rows(quantity, label=curve, **where)
    near = rows[abs(rows["epsilon"] / epsilon - 1) < 1e-9]
    return float(near[end].mean())


def _head(curve: str, epsilon: float) -> str:
    """An ε as the head of a column of the paper."""
    if curve == "madlib":
        return f"ε = {epsilon:g}"
    return f"ln ε = {math.log(epsilon):.4g}"


def _heads(curve: str, epsilons: list[float]) -> str:
    """The same of several ε."""
    first, *more = (_head(curve, epsilon) for epsilon in epsilons)
    return ", ".join((first, *(head.split()[-1] for head in more)))


def _smaller(figures: Figures) -> str:
    """What is smaller here than in the paper."""
    words = figures.option("most")
    cut = f" of at most {words} words" if words else ""
    return (
        f"Here {figures.option('train'):,} training texts{cut} ({paper.SIZES[_key(figures)]} in "
        f"the paper), {figures.option('attacked')} attacked ones, "
        f"{seeds_of(len(figures.entry.plan['seeds']))}."
    )


def _attacker(figures: Figures) -> str:
    """What the attacker may do here, and what is not known of the paper's."""
    return (
        f"The attacker has what {figures.option('draws')} draws of each word gave, of either "
        "mechanism: a word that none of them moves stays. High accuracy at a large ε shows a "
        "mechanism that does nothing, and not a robust network. How long the paper's attack goes "
        "on is not said."
    )


def _clean(figures: Figures) -> list[Row]:
    majority = figures.without("majority").mean
    rows = []
    for name, said in ((NORMAL, paper.CLEAN_NORMAL), (ROBUST, paper.CLEAN_IBP)):
        theirs = said[_key(figures)]
        share = figures.without("accuracy", learner=name, tested_on="clean").mean
        rows.append(
            row(
                figure=f"Tables 2 and 3 ({_title(figures)})",
                quantity=f"clean accuracy of {name} training",
                said=f"{theirs:.2f} %",
                ours=percent(share),
                difference=signed(100 * share - theirs),
                reason=f"{_smaller(figures)} Guessing gives {majority:.1%}.",
            )
        )
    return rows


def _certified(figures: Figures) -> Row:
    shares = (figures.without("certified", learner=name).mean for name in (NORMAL, ROBUST))
    return row(
        figure="Section 6.2",
        quantity="certified accuracy within the allowed substitutions: normal and certified "
        "training",
        said="not given",
        ours=" and ".join(percent(share) for share in shares),
        reason="Interval bounds prove next to nothing of a network that was not trained for them. "
        "The lists are those of the networks' authors, without their language model, which forbids "
        "more substitutions and so certifies more.",
    )


def _within(figures: Figures) -> Row:
    left, broken = (
        {name: figures.without(quantity, learner=name).mean for name in (NORMAL, ROBUST)}
        for quantity in ("within the lists", "certified and broken")
    )
    shares = ", ".join(f"{name} {percent(share)}" for name, share in left.items())
    return row(
        figure="Section 6.3",
        quantity="accuracy after an attack that keeps to the allowed substitutions",
        said="not given",
        ours=f"{shares}; certified texts that it broke: {sum(broken.values()):.3g}",
        reason="A certified text that is broken would refute the bounds. Against the substitutions "
        "that it was trained for, certified training does what it is for.",
    )


def _adversarial(figures: Figures, curve: str, epsilon: float, said: Column) -> Row:
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
        figure=f"{_TABLES[curve]} ({_title(figures)})",
        quantity="adversarial accuracy of certified and augmented training, "
        f"{_head(curve, epsilon)}",
        said=f"{said[0]:.2f} % and {said[1]:.2f} %",
        ours=f"{percent(robust)} and {percent(augmented)} (normal: "
        f"{percent(left[NORMAL, PAPER])}); after the stronger attack "
        f"{percent(left[ROBUST, STRONGER])} and {percent(left[AUGMENTED, STRONGER])}",
        difference=f"{signed(100 * robust - said[0])} and {signed(100 * augmented - said[1])}",
        reason=f"{_ahead(figures, curve, epsilon, said)} A word stays with probability "
        f"{_number(figures, 'nw', curve, epsilon):.2f}; with every word rewritten once the two "
        f"read {plain} right. {_attacker(figures)}",
    )


def _ahead(figures: Figures, curve: str, epsilon: float, said: Column) -> str:
    """Which training keeps more, if the two intervals say so."""
    clean = _number(figures, "accuracy", curve, epsilon, learner=AUGMENTED, tested_on="clean")
    guessing = figures.without("majority").mean
    if clean <= guessing + _NOTHING:
        return (
            f"The augmented network learned nothing: on clean text {percent(clean)} are right, by "
            f"guessing {percent(guessing)}. Who always says the same is not fooled."
        )
    (robust_low, robust_high), (augmented_low, augmented_high) = (
        [
            _number(figures, _ADVERSARIAL, curve, epsilon, end, learner=name, variant=PAPER)
            for end in ("low", "high")
        ]
        for name in (ROBUST, AUGMENTED)
    )
    if robust_low <= augmented_high and augmented_low <= robust_high:
        return f"{figures.option('attacked')} attacked texts do not tell the two apart."
    robust_ahead = robust_low > augmented_high
    name = "certified" if robust_ahead else "augmented"
    same = (said[0] > said[1]) == robust_ahead
    return f"The {name} network keeps more, {'as' if same else 'other than'} in the paper."


def _half(figures: Figures, curve: str) -> Row:
    """Where the mechanism's attack stops to hurt: a scale that can be compared."""
    key, logarithms = _key(figures), curve != "madlib"
    said = _printed(figures, curve)
    clean = figures.without("accuracy", learner=ROBUST, tested_on="clean").mean
    left = {
        e: _number(figures, _ADVERSARIAL, curve, e, learner=ROBUST, variant=PAPER) for e in said
    }
    robust = {epsilon: column[0] for epsilon, column in said.items()}
    gap = paper.VOCABULARY[key][1]
    own = figures.lexicon(figures.entry.plan["lexicons"][0])["separation"]
    return row(
        figure=f"{_TABLES[curve]} ({_title(figures)})",
        quantity=f"{'ln ε' if logarithms else 'ε'} at which certified training keeps half of its "
        "clean accuracy",
        said=_reached(robust, paper.CLEAN_IBP[key] / 2, logarithms=logarithms),
        ours=f"{_reached(left, clean / 2, logarithms=logarithms)} (clean {percent(clean)})",
        reason=f"{_attacker(figures)} Also, ε is per unit of distance: the closest words are "
        f"{gap:g} apart in the paper and {own:.3g} here, {own / gap:.2g} times "
        "as far, so equal ε is less noise here. How much of the difference is of which kind is "
        f"not known. {_few(figures, curve)}",
    )


def _reached(values: dict[float, float], level: float, *, logarithms: bool) -> str:
    """Where a curve first reaches a level, by interpolation between two columns."""
    points = [(math.log(e) if logarithms else e, y) for e, y in sorted(values.items())]
    if points[0][1] >= level:
        return f"below {points[0][0]:.3g}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if y1 >= level:
            return f"about {x0 + (x1 - x0) * (level - y0) / (y1 - y0):.3g}"
    return f"above {points[-1][0]:.3g}"


def _few(figures: Figures, curve: str) -> str:
    """That the attacked texts are not all test texts, seen where no word moves any more."""
    largest = _epsilons(figures, curve)[-1]
    left = _number(figures, _ADVERSARIAL, curve, largest, learner=NORMAL, variant=PAPER)
    clean = figures.without("accuracy", learner=NORMAL, tested_on="clean").mean
    return (
        f"At {_head(curve, largest)} normal training reads {percent(left)} of the attacked "
        f"texts right, and {percent(clean)} of all test texts before any attack: "
        f"{figures.option('attacked')} texts are few."
    )


def _augmented(figures: Figures, curve: str) -> Row:
    said = _printed(figures, curve)
    shares = (
        _number(figures, "accuracy", curve, e, learner=AUGMENTED, tested_on="clean") for e in said
    )
    normal = figures.without("accuracy", learner=NORMAL, tested_on="clean").mean
    copies, epochs = figures.option("copies"), figures.option("epochs")
    return row(
        figure=f"{_TABLES[curve]} ({_title(figures)})",
        quantity=f"clean accuracy of augmented training, {_heads(curve, list(said))}",
        said=", ".join(f"{column[2]:.2f}" for column in said.values()) + " %",
        ours=", ".join(percent(share) for share in shares),
        reason=f"Normal training reaches {percent(normal)} here. At a small ε {copies} of "
        f"{copies + 1} "
        "training texts are nearly random words under a true label, and the network learns from "
        f"the one that is left; it sees that {epochs['augmented']} times here, and normal training "
        f"up to {epochs['normal']} times, so less is learned than in the paper. "
        f"{_smaller(figures)}",
    )


def _lists(figures: Figures, curve: str) -> Row:
    epsilons = _epsilons(figures, curve)
    shares = [_number(figures, "substitutes in the lists", curve, e) for e in epsilons]
    return row(
        figure=f"Section 6.6 ({_NAMES[curve]}, {_title(figures)})",
        quantity="changed words whose substitute certified training allows, "
        f"{_heads(curve, epsilons)}",
        said="“the semantic meaning is not always preserved”: a possible reason, not measured",
        ours=", ".join(percent(share) for share in shares),
        reason=f"Measured: at most {max(shares):.0%} of the changes are among the substitutions "
        "that certified training was certified for; about the others the certificate says nothing.",
    )


def _edge(figures: Figures) -> Row:
    key, curve = _key(figures), "truncated-gumbel"
    first, bound = paper.FIRST[key], paper.BOUND[key]
    words, gap = paper.VOCABULARY[key]
    own = figures.lexicon(figures.entry.plan["lexicons"][0])
    theirs, ours = (
        (5 + 2 * math.log(n)) / smallest
        for n, smallest in ((words, gap), (own["words"], own["separation"]))
    )
    lowest = _epsilons(figures, curve)[0]
    left = _number(figures, _ADVERSARIAL, curve, lowest, learner=ROBUST, variant=PAPER)
    return row(
        figure=f"Table 2 and Appendix A ({_title(figures)})",
        quantity=f"first column, ln ε = {first:g}",
        said=f"ε = {math.exp(first):.2f}, “slightly larger” than the lower bound {bound:g}"
        + rounded(math.exp(first), bound),
        ours=f"with the paper's vocabulary ({words:,} words, Δ₀ = {gap:g}) the noise exists from "
        f"ε = {theirs:.2f} on; with ours ({own['words']:,} words, Δ₀ = {own['separation']:.4g}) "
        f"from {ours:.2f} on. At ln ε = {math.log(lowest):.3g}, our edge, a word stays with "
        f"probability {_number(figures, 'nw', curve, lowest):.2f} and certified training keeps "
        f"{percent(left)}",
        reason="The paper's bound makes α positive; b needs ln(αΔ₀) > 0 too, that is "
        f"ε > (5 + 2 ln n)/Δ₀. Below {theirs:.2f} Algorithm 2 has no positive b, so the noise of "
        "the first column is not defined. With our vocabulary the same ε is inside.",
    )
