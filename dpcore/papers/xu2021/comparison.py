"""Xu et al. 2021 against measurement: Figures 1 and 2, and the domain of Algorithm 2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.measure.counting import expected_distinct
from dpcore.mechanisms.gumbel.algorithm import lowest_epsilon, published_condition
from dpcore.noise.poisson import poisson_weights
from dpcore.papers.reported import LARGEST_SW, PUBLISHED_BOUND
from dpcore.papers.row import Row, rounded, signed
from dpcore.papers.xu2021.deniability import XU_FIRST
from dpcore.plots.layout import probability_text
from dpcore.study.reading import beside, counted, crossing, interval, line, value

if TYPE_CHECKING:
    from dpcore.measure.counting import FloatArray
    from dpcore.study.results import Recorded

_PAPER = "Xu et al. 2021"
_LAPLACE, _GUMBEL = "madlib", "truncated-gumbel"
_RUNS = 1_000


def wide_noise_law(n: int) -> FloatArray:
    """Law over the neighbours by rank as the noise of Algorithm 2 grows: P(u_i) = Σ_{k≥i} π_k/k.

    Shape (n,); the first is the word itself. All K candidates are then equally likely.
    """
    weights = poisson_weights(n) / np.arange(1, n + 1)
    return np.asarray(np.cumsum(weights[::-1])[::-1])


def xu_rows(recorded: Recorded) -> tuple[Row, ...]:
    """All rows of one vocabulary."""
    return (*_vocabulary(recorded), *_laplace(recorded), *_gumbel(recorded), *_trade(recorded))


def _vocabulary(recorded: Recorded) -> list[Row]:
    """n and Δ₀, and what follows from them for the domain of ε."""
    words = recorded.entry.vocabulary
    n, paper_n = int(words["words"]), int(words["paper_words"])
    near, paper_near = float(words["separation"]), float(words["paper_separation"])
    said = PUBLISHED_BOUND[recorded.entry.name]
    edge, paper_edge = lowest_epsilon(n, near), lowest_epsilon(paper_n, paper_near)
    first = XU_FIRST[str(words["key"])]
    epsilon = math.exp(first)
    here = "here it is undefined too"
    if epsilon > edge:
        nw = value(recorded, _GUMBEL, "nw", epsilon)[0]
        here = f"here the column is inside the domain: Nw {nw:.3g}"
    return [
        Row(
            _PAPER,
            "Appendix A",
            "number of words n",
            f"{paper_n:,}",
            f"{n:,}",
            f"{n - paper_n:+,}".replace("-", "−"),
            "The vectors at hand are of 33,860 frequent words of GloVe 840B; rarer words of the "
            "corpus have none. "
            + (
                "The training texts of SNLI are not at hand; dev and test are a thirtieth of them."
                if words["key"] == "snli"
                else "Tokens are cut and looked up as this laboratory does it."
            ),
        ),
        Row(
            _PAPER,
            "Appendix A",
            "smallest distance Δ₀",
            f"{paper_near:g}",
            f"{near:.4f}",
            signed(near - paper_near),
            "The closest pair of words alone decides it; the paper's larger vocabulary holds "
            "a closer one.",
        ),
        Row(
            _PAPER,
            "Appendix A, Algorithm 2",
            "smallest ε",
            f"ε > {said:g} (ln ε > {math.log(said):.3g})",
            f"ε > {edge:.4g} (ln ε > {math.log(edge):.3g}); by the paper's own condition "
            f"{published_condition(n, near):.4g}",
            signed(edge - said),
            "The paper's condition makes α > 0 only. The scale b of Algorithm 2 is positive from "
            "(5 + 2 ln n)/Δ₀ on; in the gap between the two the formula gives a negative scale. "
            "With the paper's n and Δ₀ that is "
            f"ε > {paper_edge:.2f}.",
        ),
        Row(
            _PAPER,
            "Table 2",
            f"first column, ln ε = {first:g}",
            f'"slightly larger than" the lower bound {said:g}: ε = {epsilon:.2f}'
            + rounded(epsilon, said),
            f"with the paper's n and Δ₀: undefined (ε ≤ {paper_edge:.2f}); {here}",
            "",
            "The column lies below the edge described above, so Algorithm 2 gives no noise "
            "there. The paper does not say what was run.",
        ),
    ]


def _laplace(recorded: Recorded) -> list[Row]:
    """Figure 1, multivariate Laplace."""
    sw, nw = line(recorded, _LAPLACE, "sw"), line(recorded, _LAPLACE, "nw")
    top = sw.iloc[int(sw["mean"].argmax())]
    first, last = sw.iloc[0], sw.iloc[-1]
    half = crossing(recorded, _LAPLACE, "nw", 0.5)
    most = crossing(recorded, _LAPLACE, "nw", 0.99)
    return [
        Row(
            _PAPER,
            "Figure 1, Laplace",
            "largest mean Sw",
            "Sw begins at 1,000 (all runs differ)",
            f"{top['mean']:.1f} at ε = {top['epsilon']:.3g}; {first['mean']:.1f} at "
            f"ε = {first['epsilon']:g}",
            signed(float(top["mean"]) - _RUNS),
            "As ε falls the output stops depending on the word, but it is not uniform: words at "
            "the hull of the vocabulary come out again and again, so 1,000 runs do not give 1,000 "
            "different words. With fewer words to choose from there are more repetitions.",
        ),
        Row(
            _PAPER,
            "Figure 1, Laplace",
            "smallest mean Sw",
            "Sw falls to 0",
            f"{last['mean']:.3g} at ε = {last['epsilon']:g}",
            signed(float(last["mean"])),
            "Here the word itself counts as an output, as in the definition of Sw in Section 6.5, "
            "so Sw is at least 1; the figure seems to count other words alone.",
        ),
        Row(
            _PAPER,
            "Figure 1, Laplace",
            "Nw over ε",
            "the opposite trend of Sw: from 0 to all runs",
            f"{nw['mean'].iloc[0]:.2g} at ε = {nw['epsilon'].iloc[0]:g} to "
            f"{nw['mean'].iloc[-1]:.4g} at ε = {nw['epsilon'].iloc[-1]:g}; one half at "
            f"ε = {_said(half)}, 0.99 at ε = {_said(most)}",
            "",
            "Agrees in kind. Where the curve rises depends on the distances between neighbours; "
            "the ε axis of the figure is not in the text of the paper. Its Table 3 goes to "
            "ε = 200, far above the rise measured here.",
        ),
    ]


def _gumbel(recorded: Recorded) -> list[Row]:
    """Figure 1, truncated Gumbel."""
    words = recorded.entry.vocabulary
    n, paper_n = int(words["words"]), int(words["paper_words"])
    sw, nw = line(recorded, _GUMBEL, "sw"), line(recorded, _GUMBEL, "nw")
    top, low = sw.iloc[int(sw["mean"].argmax())], nw.iloc[int(nw["mean"].argmin())]
    said = LARGEST_SW[recorded.entry.name]
    limit, paper_limit = (
        float(expected_distinct(wide_noise_law(size), _RUNS)) for size in (n, paper_n)
    )
    stay = float(wide_noise_law(n)[0])
    one = counted(recorded, _GUMBEL, "sw").iloc[0]
    edge, start = nw.iloc[0], crossing(recorded, _GUMBEL, "nw", 0.9)
    first, most = (crossing(recorded, _LAPLACE, "nw", level) for level in (0.5, 0.9))
    half = crossing(recorded, _GUMBEL, "nw", 0.5)
    return [
        Row(
            _PAPER,
            "Figure 1, Gumbel; Section 6.5",
            "largest Sw",
            f"around {said:g}",
            f"{top['mean']:.2f} ± {top['standard_deviation']:.2f} (mean ± deviation over words, at "
            f"ln ε = {math.log(top['epsilon']):.3g})",
            signed(float(top["mean"]) - said),
            f"If all K candidates were equally likely E[Sw] would be {limit:.2f} for n = {n:,} and "
            f"{paper_limit:.2f} for the paper's n = {paper_n:,}. The noise ends at ± Δ, so near "
            "candidates keep an advantage at every ε of the domain and Sw stays below. One word's "
            f"count in 1,000 runs scatters by {one['standard_deviation']:.2f} (95 % of the words "
            f"up to {one['q95']:.0f}), so the most of any word lies a few above the mean.",
        ),
        Row(
            _PAPER,
            "Figure 1, Gumbel",
            "Nw at the smallest ε",
            "ε → 0 is said to give absolute privacy; Nw rises with ln ε",
            f"{edge['mean']:.3g} just above the domain's end (ln ε = "
            f"{math.log(edge['epsilon']):.3g}), smallest {low['mean']:.3g} at ln ε = "
            f"{math.log(low['epsilon']):.3g}",
            "",
            f"Not 0: the word is always among the K candidates. With equally likely candidates it "
            f"stays with probability Σ π_k/k = {stay:.3f}; that the noise ends at ± Δ raises it. "
            "Nw first falls a little and then rises.",
        ),
        Row(
            _PAPER,
            "Section 6.5",
            "how slowly ε acts",
            '"minor increase or decrease in ε does not influence" the outputs',
            f"Nw from 0.5 to 0.9: Gumbel ln ε from {_log(half)} to {_log(start)}; Laplace ε from "
            f"{_said(first)} to {_said(most)}",
            "",
            "Agrees: the scale b falls with the logarithm of ε. The price is the size of the "
            "promise: e^(ε·distance) with ε in the thousands or millions promises nothing "
            "that can be told from none.",
        ),
        Row(
            _PAPER,
            "Theorem 1",
            "the promise at these ε",
            "εd-private",
            "refuted as stated near the lower end of its domain",
            "",
            "The proof uses the untruncated distribution function together with the truncation; "
            "bounded noise makes some outputs almost impossible from one word and not from "
            "another. So Nw and Sw here describe outputs, not a proved guarantee.",
        ),
    ]


def _trade(recorded: Recorded) -> list[Row]:
    """Figure 2."""
    place = "2a" if recorded.entry.vocabulary["key"] == "imdb" else "2b"
    rows = []
    for level in (0.5, 0.9):
        found = [beside(recorded, curve, "sw", "nw", level) for curve in (_LAPLACE, _GUMBEL)]
        laplace, gumbel = (math.nan if one is None else one for one in found)
        rows.append(
            Row(
                _PAPER,
                f"Figure {place}",
                f"Sw at Nw = {level:g}",
                "at equal Nw, Laplace has a much broader range of substitutes",
                f"Laplace {laplace:.3g}, Gumbel {gumbel:.3g}: {laplace / gumbel:.3g} times as many",
                "",
                "Agrees. Fewer substitutes are nearer ones, which helps meaning; they are also "
                "fewer words to hide among, which the paper does not weigh.",
            )
        )
    nw = value(recorded, _LAPLACE, "nw", 20.0)
    counted = recorded.rows("nw")
    counted = counted[(counted["series"] == f"{_LAPLACE}, protocol") & (counted["epsilon"] == 20.0)]
    one = counted.iloc[0]
    rows.append(
        Row(
            _PAPER,
            "Section 6.5, protocol",
            "mean Nw of Laplace at ε = 20, counted in 1,000 runs",
            "the paper counts 1,000 runs of each word",
            f"counted {probability_text(*interval(one))} on {one['words']} words; by "
            f"Rao–Blackwell {probability_text(*nw)} on {recorded.entry.words}",
            signed(float(one["mean"]) - nw[0]),
            "Two ways, one quantity; beside the noise of each, the choice of words moves the mean "
            f"by about ± {2 * one['standard_deviation'] / math.sqrt(one['words']):.1g}.",
        )
    )
    return rows


def _said(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"{epsilon:.3g}"


def _log(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"{math.log(epsilon):.3g}"
