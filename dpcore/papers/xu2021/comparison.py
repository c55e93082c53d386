"""Xu et al. 2021, Figures 1 and 2 and the domain of Algorithm 2, compared with measurements."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.measure.counting import expected_distinct
from dpcore.mechanisms.gumbel.algorithm import lowest_epsilon, published_condition
from dpcore.noise.samplers import poisson_weights
from dpcore.papers import read_toml
from dpcore.papers.row import Row, comparison_row, rounded, signed
from dpcore.papers.xu2021 import comparison as paper
from dpcore.plots.style import probability_text
from dpcore.study.recorded import Figures, mean_interval
from dpcore.written import Filled

# Values printed in Xu et al. 2021: vocabularies, ε, and Tables 2 and 3 in percent.


EPSILONS = (1.0, 5.0, 9.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0)
"""ε of Table 3, multivariate Laplace."""
LOGARITHMS = (10.0, 14.0, 17.0, 23.0, 38.0, 50.0, 62.0, 74.0, 86.0)
"""ln ε of Table 2, truncated Gumbel, after its first column."""
FIRST = {"imdb": 4.67, "snli": 4.52}
"""First column of Table 2, "slightly larger than their respective lower bounds"."""
BOUND = {"imdb": 106.73, "snli": 91.604}
"""Appendix A: lower bounds on ε."""
VOCABULARY = {"imdb": (48_210, 0.2208), "snli": (11_673, 0.2263)}
"""Appendix A: words and Δ₀."""
LARGEST_SW = {"imdb": 20.0, "snli": 17.5}
"""Section 6.5: "the maximum amount of distinct substitutions one word can have is around 20 on
IMDB and 17.5 on SNLI"."""
SIZES = {"imdb": Filled("20,000 of 263 words on average"), "snli": "550,152"}
"""Table 1: training set."""
TRAINED_AND_TESTED = {
    "imdb": "20,000 texts of 263 words on average, and 1,000 tested on",
    "snli": "550,152 pairs, and 10,000 tested on",
}
"""Table 1."""
CLEAN_NORMAL = {"imdb": 89.50, "snli": 82.68}
"""Caption of Table 3."""
CLEAN_IBP = {"imdb": 81.00, "snli": 79.19}

Column = tuple[float, float, float]
"""Adversarial (certified, augmented) and clean (augmented) accuracy."""


def columns(key: str, curve: str) -> dict[float, Column]:
    """Return the columns of a table, by ε.

    Args:
        key: imdb or snli.
        curve: madlib (Table 3) or truncated-gumbel (Table 2).
    """
    heads: tuple[float, ...] = EPSILONS
    if curve != "madlib":
        heads = tuple(math.exp(x) for x in (FIRST[key], *LOGARITHMS))
    rows = read_toml("xu2021/printed.toml")[key][curve]
    columns = zip(rows["certified"], rows["augmented"], rows["clean"], strict=True)
    return dict(zip(heads, columns, strict=True))


row = partial(comparison_row, "xu2021")
"""Row about this paper."""
_LAPLACE, _GUMBEL = "madlib", "truncated-gumbel"
_RUNS = 1_000
_TEXTS = {
    "imdb": Filled("Tokens are cut and looked up as this laboratory does it."),
    "snli": Filled(
        "The training texts of SNLI are not at hand; dev and test are a thirtieth of them."
    ),
}


def stated_sw(study: str, curve: str, ends: tuple[float, float]) -> dict[float, float]:
    """Return the largest Sw that Section 6.5 states for truncated Gumbel, at both ends of ε.

    It is no curve: the figure's values are not printed. Empty for other studies and curves.
    """
    name, _, key = study.rpartition("-")
    stated = name == "xu2021-figure-1" and curve == _GUMBEL and key in LARGEST_SW
    return dict.fromkeys(ends, LARGEST_SW[key]) if stated else {}


def wide_noise_law(n: int) -> FloatArray:
    """Compute the law over neighbours by rank as Algorithm 2's noise grows: P(u_i) = Σ_{k≥i} π_k/k.

    All K candidates are then equally likely.

    Returns:
        Shape (n,); the first is the word itself.
    """
    weights = poisson_weights(n) / np.arange(1, n + 1)
    return np.asarray(np.cumsum(weights[::-1])[::-1])


def figure_rows(figures: Figures) -> tuple[Row, ...]:
    """Return all rows of one vocabulary."""
    return (
        *_vocabulary(figures),
        *_laplace(figures),
        *_gumbel(figures),
        *(_sw_at(figures, level) for level in (0.5, 0.9)),
        _protocol(figures),
    )


def _vocabulary(figures: Figures) -> tuple[Row, ...]:
    """Compare n and Δ₀, and the domain of ε that follows from them."""
    words = figures.entry.vocabulary
    key = str(words["key"])
    n, paper_n = int(words["words"]), int(words["paper_words"])
    near, paper_near = float(words["separation"]), float(words["paper_separation"])
    edge, paper_edge = lowest_epsilon(n, near), lowest_epsilon(paper_n, paper_near)
    bound, first = paper.BOUND[key], paper.FIRST[key]
    epsilon = math.exp(first)
    here = Filled("here it is undefined too")
    if epsilon > edge:
        nw = figures.mean("nw", _GUMBEL, epsilon)
        here = Filled("here the column is inside the domain: Nw {nw:.3g}", nw=nw)
    sizes = {"n": n, "paper_n": paper_n, "near": near, "paper_near": paper_near}
    domain = {"bound": bound, "edge": edge, "paper_edge": paper_edge}
    logs = {"log_bound": math.log(bound), "log_edge": math.log(edge)}
    published = published_condition(n, near)
    column = {"first": first, "epsilon": epsilon, "rounded": rounded(epsilon, bound), "here": here}
    return (
        row("words", figures, difference=signed(n - paper_n, "+,"), texts=_TEXTS[key], **sizes),
        row("smallest-distance", figures, difference=signed(near - paper_near), **sizes),
        row(
            "smallest-epsilon",
            figures,
            difference=signed(edge - bound),
            published=published,
            **domain,
            **logs,
        ),
        row("first-column", figures, **domain, **column),
    )


def _laplace(figures: Figures) -> tuple[Row, ...]:
    """Compare Figure 1, multivariate Laplace."""
    sw, nw = figures.curve("sw", _LAPLACE), figures.curve("nw", _LAPLACE)
    top, last = sw.iloc[int(sw["mean"].argmax())], sw.iloc[-1]
    half, most = (_epsilon(figures.crossing("nw", _LAPLACE, level)) for level in (0.5, 0.99))
    largest, smallest = signed(float(top["mean"]) - _RUNS), signed(float(last["mean"]))
    ends = {"nw_first": nw.iloc[0], "nw_last": nw.iloc[-1], "half": half, "most": most}
    return (
        row("laplace-largest-sw", figures, difference=largest, top=top, first=sw.iloc[0]),
        row("laplace-smallest-sw", figures, difference=smallest, last=last),
        row("laplace-nw", figures, **ends),
    )


def _gumbel(figures: Figures) -> tuple[Row, ...]:
    """Compare Figure 1, truncated Gumbel."""
    words = figures.entry.vocabulary
    n, paper_n = int(words["words"]), int(words["paper_words"])
    sw, nw = figures.curve("sw", _GUMBEL), figures.curve("nw", _GUMBEL)
    top, low = sw.iloc[int(sw["mean"].argmax())], nw.iloc[int(nw["mean"].argmin())]
    edge, largest = nw.iloc[0], paper.LARGEST_SW[str(words["key"])]
    limit, paper_limit = (
        float(expected_distinct(wide_noise_law(size), _RUNS)) for size in (n, paper_n)
    )
    log_top, log_edge, log_low = (math.log(point["epsilon"]) for point in (top, edge, low))
    laplace = [_epsilon(figures.crossing("nw", _LAPLACE, level)) for level in (0.5, 0.9)]
    gumbel = [_epsilon(figures.crossing("nw", _GUMBEL, level), math.log) for level in (0.5, 0.9)]
    return (
        row(
            "gumbel-largest-sw",
            figures,
            largest=largest,
            top=top,
            log_top=log_top,
            difference=signed(float(top["mean"]) - largest),
            limit=limit,
            paper_limit=paper_limit,
            n=n,
            paper_n=paper_n,
            counted=figures.protocol("sw", _GUMBEL).iloc[0],
        ),
        row(
            "gumbel-nw",
            figures,
            edge=edge,
            log_edge=log_edge,
            low=low,
            log_low=log_low,
            share=wide_noise_law(n)[0],
        ),
        row("gumbel-slowness", figures, gumbel=" to ".join(gumbel), laplace=" to ".join(laplace)),
        row("gumbel-promise", figures),
    )


def _protocol(figures: Figures) -> Row:
    """Compare the protocol of both figures with the better method."""
    best = figures.at("nw", _LAPLACE, 20.0)
    rows = figures.protocol("nw", _LAPLACE)
    counted = rows[rows["epsilon"] == 20.0].iloc[0]
    return row(
        "protocol",
        figures,
        counted=counted,
        by_runs=probability_text(*mean_interval(counted)),
        best=probability_text(*best),
        words=figures.entry.words,
        difference=signed(float(counted["mean"]) - best.mean),
        noise=2 * counted["standard_deviation"] / math.sqrt(counted["words"]),
    )


def _sw_at(figures: Figures, level: float) -> Row:
    """Compare Figure 2: Sw at the largest ε where Nw passes a level, at equal Nw for both."""
    place = "2a" if figures.entry.vocabulary["key"] == "imdb" else "2b"
    laplace, gumbel = (
        figures.interpolated("sw", curve, figures.crossing("nw", curve, level)) or math.nan
        for curve in (_LAPLACE, _GUMBEL)
    )
    both = {"laplace": laplace, "gumbel": gumbel, "ratio": laplace / gumbel}
    return row("sw-at-nw", figures, place=place, level=level, **both)


def _epsilon(epsilon: float | None, scale: Callable[[float], float] = float) -> str:
    return "none" if epsilon is None else f"{scale(epsilon):.3g}"
