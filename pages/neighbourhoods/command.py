"""The command lines that print the numbers of the Neighbourhoods page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pages.neighbourhoods.bench import NEIGHBOURS, RUNS, SEED

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism

_PYTHON = "python -m dpcore"


def word_commands(names: tuple[str, str], lexicon: str, radius: float) -> list[str]:
    """Neighbours of each word, and how dense it is around both."""
    where = f"--lexicon {shlex.quote(lexicon)}"
    lines = [
        f"{_PYTHON} neighbours --word {shlex.quote(name)} --k {NEIGHBOURS} "
        f"--radius {radius!r} {where}"
        for name in names
    ]
    both = " ".join(f"--word {shlex.quote(name)}" for name in names)
    return [*lines, f"{_PYTHON} density {both} --hubness {where}"]


def mechanism_commands(
    mechanism: Mechanism, epsilon: float, names: tuple[str, str], lexicon: str
) -> list[str]:
    """Nw, Sw and effective number of both words; distance of the output and attacker."""
    defaults = mechanism.parameters()
    parts = [f"--words={shlex.quote(','.join(names))}"]
    parts.append(f"--mechanism {mechanism.key} --epsilon {epsilon!r}")
    parts += [
        f"--set {shlex.quote(f'{name}={value}')}"
        for name, value in mechanism.settings().items()
        if value != defaults[name]["default"]
    ]
    parts.append(f"--runs {RUNS} --seed {SEED} --lexicon {shlex.quote(lexicon)}")
    tail = " ".join(parts)
    return [f"{_PYTHON} deniability {tail}", f"{_PYTHON} attack {tail}"]
