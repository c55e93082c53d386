"""Command lines of the engine that print what a page shows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


def command_line(*words: str) -> str:
    """A command of the engine, each word quoted where a shell would take it apart."""
    return shlex.join(("python", "-m", "dpcore", *words))


def mechanism_words(mechanism: Mechanism, epsilon: float) -> list[str]:
    """The options that name a mechanism with those settings that are not the usual ones, and ε."""
    words = ["--mechanism", mechanism.key, "--epsilon", repr(epsilon)]
    declared = mechanism.parameters()
    for name, value in mechanism.settings().items():
        if value != declared[name]["default"]:
            words += ["--set", f"{name}={value}"]
    return words
