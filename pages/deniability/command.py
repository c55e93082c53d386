"""The command lines that print the numbers that the page shows at the chosen ε."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.measure.words import Stratum
from pages.deniability.choosing import SAMPLE, TEXT

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.deniability.choosing import Words


@dataclass(frozen=True)
class How:
    """How the words are measured: name of the lexicon, R, seed."""

    lexicon: str
    runs: int
    seed: int


def command(
    mechanism: Mechanism, epsilon: float, words: Words, names: tuple[str, ...], how: How
) -> str:
    """The command line that measures the same words under one mechanism.

    Args:
        mechanism: with its settings.
        epsilon: the chosen ε.
        words: how the words were chosen.
        names: the words as the lexicon spells them.
        how: lexicon, R and seed.
    """
    parts = ["python -m dpcore deniability"]
    if words.source == SAMPLE:
        parts.append(f"--sample {words.count}")
        if words.by != Stratum.FREQUENCY:
            parts.append(f"--stratify {words.by}")
    elif words.source == TEXT:
        parts.append(f"--corpus FILE.txt --at-most {words.count}")
    else:
        parts.append(f"--words {shlex.quote(','.join(names))}")
    parts.append(f"--mechanism {mechanism.key} --epsilon {epsilon!r}")
    defaults = mechanism.parameters()
    parts += [
        f"--set {shlex.quote(f'{name}={value}')}"
        for name, value in mechanism.settings().items()
        if value != defaults[name]["default"]
    ]
    parts.append(f"--runs {how.runs} --seed {how.seed} --lexicon {shlex.quote(how.lexicon)}")
    return " ".join(parts)
