"""The sentence that the attacker reads: typed, rewritten, and kept in this session alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.shared.language import say
from pages.shared.messages import note
from pages.shared.session import bench_for
from pages.shared.sidebar import Choices, carried_choices

if TYPE_CHECKING:
    from dpcore.arrays import IntArray
    from pages.attacker.scene import Scene
    from pages.shared.bench import Bench


def bench_of(scene: Scene, text: str) -> Bench:
    """The work on a text, as the Rewrite page does it with its first options.

    Raises:
        TextError: the text cannot be rewritten.
    """
    options = Choices(scene.lexicon)
    if options != carried_choices(scene.lexicon):
        note(
            say(
                "Here every word of the vocabulary is exchanged, any other stands for a random "
                "one, and capital letters are kept, whatever was chosen on the page Rewrite."
            )
        )
    return bench_for(text, scene.words, options)


def outputs_of(scene: Scene, bench: Bench, seed: int) -> IntArray:
    """What one draw of noise makes of every open place at the present ε."""
    paths = bench.draw(scene.mechanism, seed, 0).paths
    return np.asarray(paths.at(np.array([scene.epsilon]))[:, 0])


def is_typed() -> bool:
    """Whether the sentence is a person's own; an example stands in the link by its name."""
    return st.session_state.get("preset") is None
