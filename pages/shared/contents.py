"""Pages in the order of the menu, each with the question that it answers."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared.language import later

NAME = "Word Privacy Lab"


@dataclass(frozen=True)
class Content:
    """One page.

    Attributes:
        title: title in the menu, in links and in the README.
        address: address of the page.
        question: question that it answers.
        listed: True if the menu has it; otherwise another page links to it.
        folded: True if the sidebar is folded away at first, because the picture needs the width.
    """

    title: str
    address: str
    question: str
    listed: bool = True
    folded: bool = False

    @property
    def file(self) -> str:
        """Script of the page."""
        return f"pages/{self.address}/page.py"


CONTENTS = (
    Content(
        later("Start"),
        "start",
        later("What is this, and what does it do to my sentence?"),
        folded=True,
    ),
    Content(
        later("Rewrite"),
        "rewrite",
        later(
            "How does each mechanism rewrite my sentence at each ε, side by side? What does "
            "each guarantee?"
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
        later("Crowd"),
        "crowd",
        later("What do many private texts say together, when no one can read any of them?"),
        folded=True,
    ),
    Content(
        later("Words"),
        "words",
        later("What does the same ε mean for a word in a crowd, and for a lonely one?"),
        folded=True,
    ),
    Content(
        later("Curves"),
        "curves",
        later(
            "How likely does a word stay (Nw), how many others does it become (Sw)? The papers' "
            "figures, and any mechanism"
        ),
    ),
    Content(
        later("Attacker"),
        "attacker",
        later("What can someone infer from one output? Who is protected least?"),
        folded=True,
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
        later("Is a published claim true? Which step of its proof fails, and what holds instead?"),
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
            "What is all this about? Nine steps in everyday words, each with a guess; a "
            "printable worksheet"
        ),
        folded=True,
    ),
)
"""All pages; the first one opens at the address `/`."""

MOVED = {
    "neighbourhoods": "words", "audit": "papers", "utility": "release", "deniability": "curves",
}  # fmt: skip
"""Former addresses of pages -> their present ones, so that old links still work."""
