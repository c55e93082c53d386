"""Sentences under sliders and tallies, which have no figure of their own."""

from __future__ import annotations

from dpcore.guarantee import EpsilonMeaning
from dpcore.plots.layout import factor_text, number


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


def tally_caption(word: str, kept: int, different: int, draws: int, title: str) -> str:
    """What many draws show: in how many the word stayed, and how many different outputs came."""
    outputs = "1 different word" if different == 1 else f"{different} different words"
    return f"{title}: in {draws} draws “{word}” stayed {kept} times and became {outputs}."
