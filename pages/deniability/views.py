"""The views below the curves: the words one by one, the papers' figures, their Appendix C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.deniability.moving import OPEN_VIEW
from pages.deniability.tables import word_table
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.groups import group_of
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.table import show_table
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.measure.words import Selection
    from pages.deniability.choosing import Words
    from pages.deniability.curves import Curve


@dataclass(frozen=True)
class How:
    """How the words are measured: name of the lexicon, R, seed."""

    lexicon: str
    runs: int
    seed: int


@dataclass(frozen=True)
class Scene:
    """What is shown.

    Attributes:
        curves: one a mechanism.
        pinned: up to two words that are looked at one by one.
        selection: the words that were to be measured.
        words: how they were chosen.
        lexicon: where they are from.
        how: how they were measured.
    """

    curves: tuple[Curve, ...]
    pinned: tuple[str, ...]
    selection: Selection
    words: Words
    lexicon: Lexicon
    how: How

    def epsilons(self) -> dict[str, float]:
        """ε of the dials by registry key; a group without a dial on the page has its start."""
        return {c.mechanism.key: epsilon_of(group_of(c.mechanism.meaning)) for c in self.curves}


def views(scene: Scene) -> None:
    """Draw the tabs; only the open one is computed."""
    kinds = {
        later("Word by word"): _words_view,
        later("The papers' figures"): _papers_view,
        later("Appendix C"): _appendix_view,
    }
    tabs(kinds, OPEN_VIEW, scene)


def _words_view(scene: Scene) -> None:
    table = word_table(list(scene.curves), scene.epsilons(), scene.pinned)
    show_table(table, say("Nw and Sw of every word at the chosen ε"))
    note(
        say(
            "At the ε of the dials. The effective number 1/Σp² is the count of equally likely "
            "outputs that would agree as often as two runs do."
        )
    )


def _papers_view(scene: Scene) -> None:  # noqa: ARG001 - as all views
    from pages.deniability.papers import papers_view

    papers_view()


def _appendix_view(scene: Scene) -> None:
    from pages.deniability.appendix import appendix_view

    appendix_view(scene.lexicon)
