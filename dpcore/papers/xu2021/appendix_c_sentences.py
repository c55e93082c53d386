"""What fails in Appendix C of Xu et al. 2021, said with the numbers of `appendix_rows`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.papers.xu2021.appendix_c import certain_share, gumbel_limit
from dpcore.plots.layout import number, probability_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Row = dict[str, Any]


def laplace_sentences(rows: Sequence[Row], epsilon: float, dimension: int) -> list[str]:
    """The Laplace formula: why it fails, by how much at one ε, and where its promise is reached.

    Args:
        rows: of the mechanism madlib.
        epsilon: one of the rows.
        dimension: d of the vectors.
    """
    sentences = []
    if dimension > 1:
        sentences.append(
            "Appendix C: a word stays with probability 1 − exp(−εδ/4). That is the chance that one "
            f"number of law Lap(2/ε) is shorter than δ/2. The noise is a vector of {dimension} "
            f"coordinates, {dimension}/ε long on average; and to be shorter than δ/2 is enough to "
            "stay, but not needed. The formula is exact in one dimension, at half the ε that it "
            "names, for a word with neighbours at distance δ on both sides."
        )
    else:
        sentences.append(
            "Appendix C: a word stays with probability 1 − exp(−εδ/4). In one dimension, with "
            "neighbours at distance δ on both sides, that is exact at half the ε that it names."
        )
    for row in _at(rows, epsilon):
        ratio = row["formula"] / row["nw_high"] if row["nw_high"] > 0 else math.inf
        about = row["formula"] / row["truth"] if row["truth"] > 0 else math.inf
        if row["nw_low"] < row["nw_high"]:
            times = f", at least {number(ratio)} times as much as the truth" if ratio >= 2 else ""
        else:
            times = f", {number(about)} times as much as the truth" if 2 <= about < 1e6 else ""
        sentences.append(
            f"At ε = {number(epsilon)}, “{row['word']}” (δ = {row['nearest']:.3g}): the formula "
            f"gives {row['formula']:.3g}{times}; it stays with probability "
            f"{probability_text(row['truth'], row['nw_low'], row['nw_high'])}."
        )
    for word, points in _by_word(rows):
        half = 4.0 * math.log(2.0) / points[0]["nearest"] if points[0]["nearest"] > 0 else math.inf
        sentences.append(
            f"Half the time: by the formula “{word}” stays that often at ε = {half:.3g}, "
            f"in truth {_half(points)}."
        )
    return sentences


def _half(points: list[Row]) -> str:
    """Between which of the measured ε a word begins to stay half the time."""
    reached = next((i for i, row in enumerate(points) if row["truth"] >= 0.5), None)
    if reached is None:
        return "at no ε measured"
    if reached == 0:
        return f"already at ε = {number(points[0]['epsilon'])}"
    return (
        f"between {number(points[reached - 1]['epsilon'])} and {number(points[reached]['epsilon'])}"
    )


def gumbel_sentences(rows: Sequence[Row], epsilon: float, n: int) -> list[str]:
    """The Gumbel inequality and its floor: why they fail, and where these words contradict them.

    Args:
        rows: of the mechanism truncated-gumbel.
        epsilon: one of the rows.
        n: words of the vocabulary.
    """
    sentences = [
        "Appendix C: a word stays with probability at least P(K ≥ 2)/(1 + e^(−δ/b)), the chance of "
        "beating its nearest neighbour. But it has to beat all K − 1 others, so the inequality "
        "points the wrong way: P(K = 1) + P(K ≥ 2)·Pr(g₁ − g₂ < δ) is an upper bound."
    ]
    for row in _at(rows, epsilon):
        verdict = (
            "it contradicts the formula" if row["truth"] < row["formula"] else "no contradiction"
        )
        sentences.append(
            f"At ln ε = {math.log(epsilon):.3g}, “{row['word']}” (δ = {row['nearest']:.3g}): at "
            f"least {row['formula']:.3g} by the formula; in truth {row['truth']:.3g} ({verdict}); "
            f"proved: {row['low']:.3g} to {row['high']:.3g}."
        )
    floor = gumbel_limit(n)
    lowest = min(rows, key=lambda row: float(row["truth"]))
    seen = (
        f"“{lowest['word']}” stays with {lowest['truth']:.3g} at ln ε = "
        f"{math.log(lowest['epsilon']):.3g}"
    )
    kept = f"is no floor: {seen}" if lowest["truth"] < floor else f"is not undercut here: {seen}"
    sentences.append(
        f"The appendix's {floor:.1%} for the densest words {kept}. What is certain for every word "
        f"and ε is the mean of 1/K, {certain_share(n):.1%} for {n:,} words; it falls to 0 as "
        "1/ln n."
    )
    return sentences


def _at(rows: Iterable[Row], epsilon: float) -> list[Row]:
    return [row for row in rows if row["epsilon"] == epsilon]


def _by_word(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each word, ε ascending."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: float(row["epsilon"])):
        groups.setdefault(str(row["word"]), []).append(row)
    return list(groups.items())
