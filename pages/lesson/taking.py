"""What of a step can be taken along: its numbers, and a cell that computes its answer."""

from __future__ import annotations

from functools import partial

from pages.lesson.guessing import guesses
from pages.lesson.turning import turn_table
from pages.shared.language import later
from pages.shared.taking import Takeaway

_CITED = {
    "draw": ("feyisetan2020madlib",),
    "odds": ("feyisetan2020madlib", "carvalho2021tem"),
    "crowd": ("feyisetan2020madlib", "xu2021gumbel"),
    "price": ("carvalho2021tem",),
    "claim": ("krishna2021adept", "habernal2021detail"),
    "proof": ("lecuyer2019pixeldp",),
    "choose": ("carvalho2021tem",),
}


def takeaway(key: str) -> Takeaway:
    """What there is to take along of a step."""
    table = partial(turn_table, key, guessed=key in guesses())
    return Takeaway(
        answer_cell(key), _CITED.get(key, ()), tables={later("Numbers of this step"): table}
    )


def answer_cell(key: str) -> str:
    """Python that computes the answer of a step, and what can be turned in it."""
    return f"""\
from dpcore.lexicon.catalogue import load
from dpcore.papers.lesson import exercise
from dpcore.papers.lesson_turns import turn
from pages.shared.language import say

words = load()
task = exercise("{key}", words)
print(task.question)
print(task.truth)
for frame in turn("{key}", words).frames:
    print(frame.name, *(f"{{bar.name}}: {{bar.text}}" for bar in frame.bars), sep=" | ")
"""
