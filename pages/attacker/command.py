"""The command lines that print the numbers of the Attacker page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pages.attacker.believing import AROUND, LIST
from pages.shared import link

if TYPE_CHECKING:
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene


def posterior_command(scene: Scene, seen: str, belief: Belief, count: int) -> str:
    """The command that prints what the attacker believes after one output.

    Args:
        scene: mechanism and ε.
        seen: the output.
        belief: the prior.
        count: how many words are listed.
    """
    parts = [f"--output {shlex.quote(seen)}", f"--prior {shlex.quote(_prior(belief))}"]
    if belief.kind == AROUND:
        before, after = belief.around
        parts.append(f"--sentence {shlex.quote(f'{before} _ {after}'.strip())}")
    if not scene.mechanism.exact_law:
        parts.append(f"--nearest --seed {link.SEED}")
    return f"{_command('attack', scene)} {' '.join(parts)} --top {count}"


def sentence_command(scene: Scene, text: str, seed: int) -> str:
    """The command that prints the sentence that the attacker reads."""
    tail = f"--seed {seed} --text {shlex.quote(text)}"
    return f"{_command('rewrite', scene)} {tail}"


def _command(name: str, scene: Scene) -> str:
    """The beginning of every command: mechanism, settings, ε and lexicon."""
    mechanism = scene.mechanism
    defaults = mechanism.parameters()
    parts = [f"python -m dpcore {name} --mechanism {mechanism.key} --epsilon {scene.epsilon!r}"]
    parts += [
        f"--set {shlex.quote(f'{name}={value}')}"
        for name, value in mechanism.settings().items()
        if value != defaults[name]["default"]
    ]
    return " ".join([*parts, f"--lexicon {shlex.quote(scene.lexicon)}"])


def _prior(belief: Belief) -> str:
    if belief.kind == LIST:
        return " ".join(belief.text.split())
    if belief.kind == AROUND:
        return "context"
    return {0: "uniform", 100: "frequency"}.get(belief.share, f"frequency:{belief.share / 100:g}")
