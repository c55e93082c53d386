"""What the views below the grid are about: one state of all controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.redact.redaction import Redaction
    from pages.shared.bench import Bench
    from pages.shared.sidebar import Choices


@dataclass(frozen=True)
class Scene:
    """One state of the Rewrite page.

    Attributes:
        bench: the sentence and what was computed for it.
        mechanisms: those that are shown.
        epsilons: ε by registry key.
        chosen: the mechanism of the chosen word.
        place: of the chosen word.
        seed: of the draw.
        number: of the draw.
        choices: of the sidebar.
        text: as it was typed.
        redactions: of the redactors that stand beside the mechanisms.
    """

    bench: Bench
    mechanisms: tuple[Mechanism, ...]
    epsilons: dict[str, float]
    chosen: Mechanism
    place: int
    seed: int
    number: int
    choices: Choices
    text: str
    redactions: tuple[Redaction, ...] = ()

    @property
    def epsilon(self) -> float:
        """ε of the chosen mechanism."""
        return self.epsilons[self.chosen.key]

    @property
    def defined(self) -> bool:
        """Whether the chosen mechanism is defined at its ε."""
        return self.epsilon in self.chosen.admissible
