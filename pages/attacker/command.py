"""The command lines that print the numbers of the Attacker page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.attacker.believing import AROUND, LIST
from pages.shared import link
from pages.shared.reproducing import command_line, mechanism_words

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
    words = ["--output", seen, "--prior", _prior(belief)]
    if belief.kind == AROUND:
        before, after = belief.around
        words += ["--sentence", f"{before} _ {after}".strip()]
    if not scene.mechanism.exact_law:
        words += ["--nearest", "--seed", str(link.SEED)]
    return command_line("attack", *_attacked(scene), *words, "--top", str(count))


def sentence_command(scene: Scene, text: str, seed: int) -> str:
    """The command that prints the sentence that the attacker reads."""
    return command_line("rewrite", *_attacked(scene), "--seed", str(seed), "--text", text)


def _attacked(scene: Scene) -> list[str]:
    """Mechanism, ε and lexicon."""
    return [*mechanism_words(scene.mechanism, scene.epsilon), "--lexicon", scene.lexicon]


def _prior(belief: Belief) -> str:
    if belief.kind == LIST:
        return " ".join(belief.text.split())
    if belief.kind == AROUND:
        return "context"
    return {0: "uniform", 100: "frequency"}.get(belief.share, f"frequency:{belief.share / 100:g}")
