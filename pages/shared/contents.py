"""The pages in the order of the menu, each with the question that it answers."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared.language import later


@dataclass(frozen=True)
class Content:
    """One page.

    Attributes:
        title: in the menu, in links and in the README.
        address: of the page.
        question: that it answers.
        listed: whether the menu has it; another page leads to it if not.
        folded: whether the sidebar is folded away at first, because the picture needs the width.
    """

    title: str
    address: str
    question: str
    listed: bool = True
    folded: bool = False

    @property
    def file(self) -> str:
        """Its script."""
        return f"pages/{self.address}/page.py"


CONTENTS = (
    Content(
        later("Start"),
        "start",
        later("What is this, and what does it make of a sentence of mine?"),
        folded=True,
    ),
    Content(
        later("Rewrite"),
        "rewrite",
        later(
            "What becomes of my sentence, under each mechanism and ε, side by side? What does "
            "each promise?"
        ),
    ),
    Content(
        later("Trade-off"),
        "tradeoff",
        later(
            "What does it cost to hide a word? All mechanisms at equal leakage, and what each "
            "leaves"
        ),
        folded=True,
    ),
    Content(
        later("Words"),
        "words",
        later("What does the same ε mean for a word in a crowd, and for a lonely one?"),
        folded=True,
    ),
    Content(
        later("Attacker"),
        "attacker",
        later("What does somebody who sees an output know now, in odds? Who is protected least?"),
    ),
    Content(
        later("Release"),
        "release",
        later(
            "Which mechanism and ε meet my goal on my file, at what cost? The private copy and "
            "its label"
        ),
        folded=True,
    ),
    Content(
        later("Papers"),
        "papers",
        later(
            "Is a published claim true? Which step of its proof fails, and what holds in its place?"
        ),
        folded=True,
    ),
    Content(
        later("Robustness"),
        "robustness",
        later("What does a classifier provably withstand? What do networks make of private text?"),
    ),
    Content(
        later("Lesson"),
        "lesson",
        later(
            "What is all this about? Eight steps in everyday words, each with a guess; a "
            "worksheet to print"
        ),
    ),
    Content(
        later("Deniability"),
        "deniability",
        later(
            "How likely does a word stay (Nw), how many others does it become (Sw)? Which ε "
            "meets a goal?"
        ),
        listed=False,
    ),
)
"""The first one is the page that opens at the address `/`."""

MOVED = {"neighbourhoods": "words", "audit": "papers", "utility": "release"}
"""Addresses that pages had before -> their present ones: old links lead there."""
