"""State of the page Words at every ε."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.mechanisms.mechanism import Mechanism
from pages.shared.dial import group_of
from pages.words.bench import PairBench


@dataclass(frozen=True)
class Scene:
    """Two words and the mechanisms under which they are shown.

    Attributes:
        bench: the pair and its measurements.
        mechanism: mechanism whose outputs are in the panes and on the map.
        compared: mechanisms of the tables and curves.
        lexicon: its name in the catalogue.
    """

    bench: PairBench
    mechanism: Mechanism
    compared: list[Mechanism]
    lexicon: str

    @property
    def members(self) -> list[Mechanism]:
        """Mechanisms that share the ε of the panes."""
        group = group_of(self.mechanism.meaning)
        others = [each for each in self.compared if each.meaning in group.meanings]
        return list(dict.fromkeys((self.mechanism, *others)))

    @property
    def together(self) -> list[Mechanism]:
        """All mechanisms."""
        return list(dict.fromkeys((*self.compared, self.mechanism)))
