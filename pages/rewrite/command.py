"""The command line that prints what the page shows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pages.rewrite.scene import Scene


def command(scene: Scene) -> str:
    """The command line that prints the same rewritten sentence as the row of the chosen word."""
    mechanism, choices = scene.chosen, scene.choices
    parts = ["python -m dpcore rewrite", "--mechanism", mechanism.key]
    parts += ["--epsilon", repr(scene.epsilon)]
    defaults = mechanism.parameters()
    for name, value in mechanism.settings().items():
        if value != defaults[name]["default"]:
            parts += ["--set", shlex.quote(f"{name}={value}")]
    seed, number = scene.seed, scene.number
    parts += ["--seed", str(seed), "--draw", str(number), "--lexicon", shlex.quote(choices.lexicon)]
    treatment = choices.treatment
    parts += ["--unknown", str(treatment.unknown_words), "--case", str(treatment.case)]
    if treatment.keep_stop_words:
        parts.append("--keep-stop-words")
    return " ".join([*parts, "--text", shlex.quote(scene.text)])
