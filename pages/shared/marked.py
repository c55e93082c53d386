"""Rewritten texts at the steps of a dial, as a component of ours gets them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.rewrite.sentence import SentenceDraw

SCRIPT = Path(__file__).with_name("marked_words.js")
"""What shows them; it is put before the script of the component."""


def marked_words(drawn: SentenceDraw, epsilon: float, texts: dict[str, int]) -> list[list[Any]]:
    """The tokens at one ε, each as [index of its text, whether it changed, the gap before it].

    Args:
        drawn: the draw.
        epsilon: ε.
        texts: the distinct texts so far and their indices; new ones are added.
    """
    return [
        [texts.setdefault(token.output, len(texts)), int(token.changed), token.before]
        for token in drawn.at(epsilon).tokens
        if token.output
    ]
