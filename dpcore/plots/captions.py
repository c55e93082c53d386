"""Sentences under figures and sliders, written from the numbers that the figures show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.attack.odds import favoured, odds_text
from dpcore.plots.layout import factor_text, number, probability_text

if TYPE_CHECKING:
    import pandas as pd


def epsilon_reading(meaning: EpsilonMeaning, epsilon: float, nearest: float | None) -> str:
    """What a value of ε claims to bound, in numbers: by what one output may multiply odds.

    Args:
        meaning: of ε.
        epsilon: its value.
        nearest: typical distance of a word of the text to its nearest neighbour; None if unknown.
    """
    if meaning in (EpsilonMeaning.LOCAL, EpsilonMeaning.LOCAL_APPROXIMATE):
        return (
            f"ε = {number(epsilon)}: one output may multiply the odds between any two words by "
            f"e^{number(epsilon)} = {factor_text(epsilon)} at most."
        )
    if nearest is None:
        return f"ε = {number(epsilon)} per unit of distance."
    near = float(f"{nearest:.4g}")  # so that the reader's calculator comes to the same
    return (
        f"ε = {number(epsilon)}: one output may multiply the odds by e^({number(epsilon)} × "
        f"{near:g}) = {factor_text(epsilon * near)} at most, against a nearest word {near:g} away."
    )


def strip_caption(table: pd.DataFrame) -> str:
    """What the ε-strip shows: from which ε on the word stays, for each mechanism.

    Args:
        table: the columns of `dpcore.plots.strip`, one word.
    """
    word = str(table["word"].iloc[0])
    said = []
    for _, rows in table.groupby("mechanism", sort=False):
        title = str(rows["title"].iloc[0])
        last = rows.iloc[-1]
        others = rows.loc[rows["output"] != word, "output"].nunique()
        if last["output"] == word:
            start = float(last["from_epsilon"])
            said.append(f"{title}: stays from ε = {start:.3g} on, {_others(others)} below")
        else:
            said.append(f"{title}: never stays in this range, {_others(others)}")
    return "\n".join([f"What this draw makes of “{word}”:", *said])


def _others(count: int) -> str:
    if count == 0:
        return "no other word"
    return "1 other word" if count == 1 else f"{count} other words"


def law_caption(table: pd.DataFrame, stay: tuple[float, float, float], method: str) -> str:
    """What the bars of the likely outputs show.

    Args:
        table: the columns of `dpcore.plots.law`, one word and mechanism.
        stay: probability that the word stays, with the ends of its interval.
        method: how the probabilities were found.
    """
    word = str(table["word"].iloc[0])
    best = table.iloc[0]
    shown = float(table["probability"].sum())
    how = "exact" if bool(table["exact"].all()) else "estimated"
    stays = probability_text(*stay)
    first = (
        f"“{word}” stays with probability {stays}"
        if best["output"] == word
        else f"“{word}” most likely becomes “{best['output']}” "
        f"({float(best['probability']):.3g}, {float(best['distance']):.3g} away); "
        f"it stays with probability {stays}"
    )
    rest = f"the {len(table)} words shown hold {shown:.1%} of the probability"
    error = (
        "" if how == "exact" else f", ± {2 * float(table['error'].max()):.2g} (two standard errors)"
    )
    return f"{first}; {rest}. {how.capitalize()}: {method}{error}."


def odds_sentence(row: pd.Series) -> str:
    """One row of the odds table as a sentence.

    Args:
        row: the columns of `dpcore.plots.attack.odds`.
    """
    output = row["output"]
    bound = factor_text(float(row["log_bound"]))
    promised = f"promised: by {bound} at most"
    if row["status"] == "refuted":
        promised = f"claimed, but refuted: by {bound} at most"
    odds = favoured(row)
    factor = odds_text(odds.ratio, odds.low, odds.high)
    if factor.startswith("too rare"):
        return f"{row['title']}: “{output}” is {factor} the odds; {promised}."
    return (
        f"{row['title']}: seeing “{output}” multiplies the odds of “{odds.word}” against "
        f"“{odds.against}” by {factor}; {promised}."
    )


def tally_caption(word: str, kept: int, different: int, draws: int, title: str) -> str:
    """What the tally of many draws shows.

    Args:
        word: the input.
        kept: draws in which it stayed.
        different: number of different outputs.
        draws: how many draws.
        title: of the mechanism.
    """
    outputs = "1 different word" if different == 1 else f"{different} different words"
    return f"{title}: in {draws} draws “{word}” stayed {kept} times and became {outputs}."
