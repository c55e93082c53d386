"""Appendix C of Xu et al. 2021 compared with the truth: the chance that a word stays, from δ(w).

The appendix compares dense and sparse words; δ(w) is the distance to the nearest other word.

* Laplace: p = 1 − exp(−ε·δ/4). It is P(‖n‖ < δ/2) for a *number* n ~ Lap(2/ε). The noise of the
  mechanism (the paper's Section 3, density ∝ exp(−ε‖κ‖)) is a vector of d coordinates whose norm
  has the law Gamma(d, 1/ε); and ‖κ‖ < δ/2 is enough for the word to stay, but not needed. So
  P(Gamma(d, 1/ε) < δ/2) is a lower bound; the half-space beyond the nearest word gives an upper
  one.
* Gumbel: p ≥ Pr(g₁ − g₂ < δ)·P(K ≥ 2) = P(K ≥ 2)/(1 + e^{−δ/b}) ≥ P(K ≥ 2)·exp(−e^{−δ/b}), at
  least P(K ≥ 2)/e, "36.7 %". The word must beat all K − 1 others, not only the nearest, so that the
  first step is the wrong way round: p ≤ P(K = 1) + P(K ≥ 2)·Pr(g₁ − g₂ < δ).

A bound that holds for the Gumbel mechanism (ours). All others are at least δ away, so given K = k

    p ≥ P(g₁ < δ + min_{2≤j≤k} g_j) ≥ Γ(k)·Γ(1 + q)/Γ(k + q),    q = e^{−δ/b}.

With x_j = e^{−g_j/b} the event is x₁ > q·max x_j. For plain Gumbel noise the x are independent
exponential variables, and the probability is the integral of (1 − y^{1/q})^{k−1} over 0 < y < 1,
the ratio of Gamma functions. The bound ±Δ conditions x to an interval. Its upper end: h(s) = 1 −
(1 − s)^{1/q} is concave with h(0) = 0, so that with m = P(x below the end) h(m·s)/m ≥ h(s), and
the integral can only grow. Its lower end: the excesses above it are exponential again, and x₁ >
q·max x_j follows from the same for the excesses. As δ → 0 the bound becomes E[1/K], about 1/ln n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.deniability import RUNS, Method, measure
from dpcore.measure.density import neighbourhood, ordinary_words
from dpcore.measure.maps.fit import DEFAULT_PAIR
from dpcore.measure.words import Selection
from dpcore.mechanisms.gumbel.algorithm import scale
from dpcore.mechanisms.gumbel.law import law_from_distances
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.samplers import Radial, poisson_weights, radius_cdf
from dpcore.plots.style import number, probability_text
from dpcore.written import Filled

COLUMNS = (
    "mechanism",
    "word",
    "epsilon",
    "nearest",
    "formula",
    "low",
    "truth",
    "nw_low",
    "nw_high",
    "high",
    "standard_error",
    "method",
)
"""One row for each mechanism, word and ε: `nearest` is δ(w), `formula` the appendix's value
(Laplace) or lower bound (Gumbel), `low` and `high` are bounds that hold, `nw_low` and `nw_high` an
interval for the truth, of level 95 % and within these bounds, and `standard_error` is that of
`truth`, 0 where it is exact."""

_NODES = 200  # of the quadrature over the norm of the noise
_LOOKED_AT = 100  # words among which a dense and a sparse one are searched for
_TAIL = 1e-17  # of the norm's law, left out at each end


def laplace_formula(epsilon: FloatArray, nearest: float) -> FloatArray:
    """Compute 1 − exp(−ε·δ/4), elementwise (Appendix C, p_Lap)."""
    return np.asarray(-np.expm1(-epsilon * (nearest / 4.0)))


def laplace_floor(epsilon: FloatArray, nearest: float, dimension: int) -> FloatArray:
    """Compute P(‖κ‖ < δ/2), noise of density ∝ exp(−ε‖κ‖): a word stays at least that often."""
    return radius_cdf(Radial.L2LAPLACE, epsilon * (nearest / 2.0), dimension)


def laplace_ceiling(epsilon: FloatArray, nearest: float, dimension: int) -> FloatArray:
    """Compute 1 − P(κ₁ > δ/2): an upper bound, since beyond δ/2 the nearest word is nearer."""
    half = epsilon * (nearest / 2.0)
    if dimension == 1:
        return np.asarray(1.0 - 0.5 * np.exp(-half))
    from scipy.special import betainc, gammainccinv, gammaincinv, gammaln

    # ½·E[P(cos² θ > (half/r)²)] over the norm r, where cos² θ ~ Beta(1/2, (d − 1)/2). With r =
    # start + s² the integrand is smooth at r = half, where it begins.
    d = float(dimension)
    low, high = gammaincinv(d, _TAIL), gammainccinv(d, _TAIL)
    start = np.minimum(np.maximum(half, low), high)[..., None]
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    width = np.sqrt(high - start)
    s = 0.5 * width * (x + 1.0)
    r = start + s * s
    beyond = betainc((d - 1.0) / 2.0, 0.5, np.maximum(1.0 - np.square(half[..., None] / r), 0.0))
    density = np.exp((d - 1.0) * np.log(r) - r - gammaln(d))
    return np.asarray(1.0 - 0.5 * (beyond * density * width * s) @ weights)


def gumbel_formula(scale: FloatArray, nearest: float, n: int) -> FloatArray:
    """Compute P(K ≥ 2)/(1 + e^{−δ/b}), which Appendix C gives as a lower bound of p_Gum."""
    return _more_than_one(n) / (1.0 + np.exp(-nearest / scale))


def gumbel_limit(n: int) -> float:
    """Compute P(K ≥ 2)/e, the "36.7 %" that Appendix C gives for every word and ε.

    P(K = 1) is ln n/n for n > 2; the paper prints it with an extra factor e in the denominator,
    which changes nothing as n grows.
    """
    return _more_than_one(n) / math.e


def gumbel_floor(scale: FloatArray, nearest: float, n: int) -> FloatArray:
    """Compute Σ_k P(K = k)·Γ(k)Γ(1 + q)/Γ(k + q), q = e^{−δ/b}: a lower bound of staying."""
    from scipy.special import gammaln

    weights = poisson_weights(n)
    seen = np.flatnonzero(weights > 0)
    k = seen + 1.0
    q = np.exp(-nearest / scale)[..., None]
    share = np.exp(gammaln(k) + gammaln(1.0 + q) - gammaln(k + q))
    return np.asarray(share @ weights[seen])


def certain_share(n: int) -> float:
    """Compute E[1/K]: how often any word stays at least, for all distances and ε."""
    return float(poisson_weights(n) @ (1.0 / np.arange(1, n + 1)))


def gumbel_ceiling(scale: FloatArray, nearest: float, n: int, bound: float) -> FloatArray:
    """Compute P(K = 1) + P(K ≥ 2)·Pr(g₁ − g₂ < δ): a word stays at most that often.

    Args:
        scale: b, any shape.
        nearest: δ(w), at most `bound`.
        n: words of the vocabulary.
        bound: Δ, at which the noise is truncated.
    """
    two, always = np.array([0.0, nearest]), np.array([0.0, 1.0])
    # A vocabulary of the two words, both always candidates: the exact chance against the nearest.
    beats = [law_from_distances(two, always, float(b), bound)[0] for b in np.ravel(scale)]
    more = _more_than_one(n)
    return (1.0 - more) + more * np.reshape(beats, np.shape(scale))


def _more_than_one(n: int) -> float:
    """Return P(K ≥ 2)."""
    return 1.0 - float(poisson_weights(n)[0])


def _laplace(lexicon: Lexicon, epsilons: FloatArray, nearest: float) -> tuple[FloatArray, ...]:
    return (
        laplace_formula(epsilons, nearest),
        laplace_floor(epsilons, nearest, lexicon.dimension),
        laplace_ceiling(epsilons, nearest, lexicon.dimension),
    )


def _gumbel(lexicon: Lexicon, epsilons: FloatArray, nearest: float) -> tuple[FloatArray, ...]:
    n, extent = len(lexicon), lexicon.with_metric(Metric.EUCLIDEAN).extent
    scales = np.array([scale(float(e), n, extent.separation, extent.diameter) for e in epsilons])
    return (
        gumbel_formula(scales, nearest, n),
        gumbel_floor(scales, nearest, n),
        gumbel_ceiling(scales, nearest, n, extent.diameter),
    )


_BOUNDS = {"madlib": _laplace, "truncated-gumbel": _gumbel}
"""By mechanism: formula, lower and upper bound of how often a word stays, shape (E,) each."""


def appendix_rows(
    mechanism: Mechanism,
    selection: Selection,
    epsilons: FloatArray | Sequence[float],
    *,
    runs: int = RUNS,
    seed: int | None = 0,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Return the appendix's formula, the bounds that hold and the truth, as columns `COLUMNS`.

    Args:
        mechanism: `madlib` (the multivariate Laplace mechanism) or `truncated-gumbel`.
        selection: the words.
        epsilons: shape (E,).
        runs: number of noise directions behind the truth of the Laplace mechanism.
        seed: seed of these directions.
        progress: called after every word.

    Raises:
        ParameterError: another mechanism, or a bad number of runs.
        EpsilonError: an ε is not admissible.
    """
    if mechanism.short not in _BOUNDS:
        raise ParameterError(
            "the appendix has a formula for madlib (multivariate Laplace) and truncated-gumbel, "
            f"got {mechanism.short}"
        )
    measured = measure(
        mechanism, selection, epsilons, method=Method.AUTO, runs=runs, seed=seed, progress=progress
    )
    lexicon, values = mechanism.lexicon, measured.epsilons
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(selection.names):
        nearest = neighbourhood(lexicon, int(selection.words[i]), 1).nearest
        formula, low, high = _BOUNDS[mechanism.short](lexicon, values, nearest)
        columns = zip(
            values.tolist(),
            formula.tolist(),
            low.tolist(),
            measured.figures.nw[i].tolist(),
            # Within the proved bounds, which the interval of an estimate may exceed.
            np.clip(measured.figures.nw_low[i], low, high).tolist(),
            np.clip(measured.figures.nw_high[i], low, high).tolist(),
            high.tolist(),
            measured.figures.nw_error[i].tolist(),
            strict=True,
        )
        rows += [
            {
                "mechanism": mechanism.key,
                "word": name,
                "epsilon": epsilon,
                "nearest": nearest,
                "formula": claim,
                "low": under,
                "truth": truth,
                "nw_low": least,
                "nw_high": most,
                "high": over,
                "standard_error": error,
                "method": str(measured.method),
            }
            for epsilon, claim, under, truth, least, most, over, error in columns
        ]
    return rows


def everyday_extremes(lexicon: Lexicon) -> tuple[str, str]:
    """Return a dense and a sparse everyday word: `DEFAULT_PAIR` where the lexicon holds it.

    Otherwise the two with the smallest and the largest δ among the most frequent longer alphabetic
    words (only some words are searched, which is quicker than the table of all neighbours).
    """
    if all(word in lexicon for word in DEFAULT_PAIR):
        return DEFAULT_PAIR
    longer = [i for i in ordinary_words(lexicon).tolist() if len(lexicon.words[i]) > 3]
    looked = longer[:_LOOKED_AT] if len(longer) > 1 else list(range(min(len(lexicon), _LOOKED_AT)))
    gaps = distances(lexicon.vectors, lexicon.vectors[looked])
    gaps[np.arange(len(looked)), looked] = np.inf
    nearest = gaps.min(axis=1)
    return lexicon.words[looked[nearest.argmin()]], lexicon.words[looked[nearest.argmax()]]


# Failures of Appendix C of Xu et al. 2021 in sentences, with the numbers of `appendix_rows`.


Row = dict[str, Any]


def laplace_sentences(rows: Sequence[Row], epsilon: float, dimension: int) -> list[str]:
    """Explain why the Laplace formula fails, by how much at one ε, and where it claims one half.

    Args:
        rows: of the mechanism madlib.
        epsilon: one of the rows.
        dimension: d of the vectors.
    """
    sentences: list[str] = []
    if dimension > 1:
        sentences.append(
            Filled(
                "Appendix C: a word stays with probability 1 − exp(−εδ/4). That is the chance that "
                "one number of law Lap(2/ε) is shorter than δ/2. The noise is a vector of "
                "{dimension} coordinates, {dimension}/ε long on average; and to be shorter than "
                "δ/2 is enough to stay, but not needed. The formula is exact in one dimension, at "
                "half the ε that it names, for a word with neighbours at distance δ on both sides.",
                dimension=dimension,
            )
        )
    else:
        sentences.append(
            Filled(
                "Appendix C: a word stays with probability 1 − exp(−εδ/4). In one dimension, with "
                "neighbours at distance δ on both sides, that is exact at half the ε that it names."
            )
        )
    for row in _at(rows, epsilon):
        ratio = row["formula"] / row["nw_high"] if row["nw_high"] > 0 else math.inf
        about = row["formula"] / row["truth"] if row["truth"] > 0 else math.inf
        times = ""
        if row["nw_low"] < row["nw_high"]:
            if ratio >= 2:
                times = Filled(", at least {ratio} times as much as the truth", ratio=number(ratio))
        elif 2 <= about < 1e6:
            times = Filled(", {ratio} times as much as the truth", ratio=number(about))
        sentences.append(
            Filled(
                "At ε = {epsilon}, “{word}” (δ = {nearest:.3g}): the formula gives "
                "{formula:.3g}{times}; it stays with probability {truth}.",
                epsilon=number(epsilon),
                word=row["word"],
                nearest=row["nearest"],
                formula=row["formula"],
                times=times,
                truth=probability_text(row["truth"], row["nw_low"], row["nw_high"]),
            )
        )
    for word, points in _by_word(rows):
        half = 4.0 * math.log(2.0) / points[0]["nearest"] if points[0]["nearest"] > 0 else math.inf
        sentences.append(
            Filled(
                "Half the time: by the formula “{word}” stays that often at ε = {half:.3g}, in "
                "fact {reached}.",
                word=word,
                half=half,
                reached=_half(points),
            )
        )
    return sentences


def _half(points: list[Row]) -> str:
    """Say between which measured ε a word begins to stay half the time."""
    reached = next((i for i, row in enumerate(points) if row["truth"] >= 0.5), None)
    if reached is None:
        return Filled("at no ε measured")
    if reached == 0:
        return Filled("already at ε = {epsilon}", epsilon=number(points[0]["epsilon"]))
    return Filled(
        "between {low} and {high}",
        low=number(points[reached - 1]["epsilon"]),
        high=number(points[reached]["epsilon"]),
    )


def gumbel_sentences(rows: Sequence[Row], epsilon: float, n: int) -> list[str]:
    """Explain why the Gumbel inequality and its floor fail, and where these words contradict them.

    Args:
        rows: of the mechanism truncated-gumbel.
        epsilon: one of the rows.
        n: words of the vocabulary.
    """
    sentences: list[str] = [
        Filled(
            "Appendix C: a word stays with probability at least P(K ≥ 2)/(1 + e^(−δ/b)), the "
            "chance of beating its nearest neighbour. But it has to beat all K − 1 others, so the "
            "inequality points the wrong way: P(K = 1) + P(K ≥ 2)·Pr(g₁ − g₂ < δ) is an upper "
            "bound."
        )
    ]
    for row in _at(rows, epsilon):
        verdict = (
            Filled("it contradicts the formula")
            if row["truth"] < row["formula"]
            else Filled("no contradiction")
        )
        sentences.append(
            Filled(
                "At ln ε = {epsilon:.3g}, “{word}” (δ = {nearest:.3g}): at least {formula:.3g} by "
                "the formula; in fact {truth:.3g} ({verdict}); proved: {low:.3g} to {high:.3g}.",
                epsilon=math.log(epsilon),
                word=row["word"],
                nearest=row["nearest"],
                formula=row["formula"],
                truth=row["truth"],
                verdict=verdict,
                low=row["low"],
                high=row["high"],
            )
        )
    floor = gumbel_limit(n)
    lowest = min(rows, key=lambda row: float(row["truth"]))
    seen = Filled(
        "“{word}” stays with {truth:.3g} at ln ε = {epsilon:.3g}",
        word=lowest["word"],
        truth=lowest["truth"],
        epsilon=math.log(lowest["epsilon"]),
    )
    kept = (
        Filled("is no floor: {seen}", seen=seen)
        if lowest["truth"] < floor
        else Filled("is not undercut here: {seen}", seen=seen)
    )
    sentences.append(
        Filled(
            "The appendix's {floor:.1%} for the densest words {kept}. What is certain for every "
            "word and ε is the mean of 1/K, {certain:.1%} for {words:,} words; it falls to 0 as "
            "1/ln n.",
            floor=floor,
            kept=kept,
            certain=certain_share(n),
            words=n,
        )
    )
    return sentences


def _at(rows: Iterable[Row], epsilon: float) -> list[Row]:
    return [row for row in rows if row["epsilon"] == epsilon]


def _by_word(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each word, ε ascending."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: float(row["epsilon"])):
        groups.setdefault(str(row["word"]), []).append(row)
    return list(groups.items())
