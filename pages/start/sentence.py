"""The sentence of the start page: some mechanisms side by side, and what each says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.guarantee import ApproximateLocalPrivacy
from dpcore.mechanisms.registry import resolve
from dpcore.plots.captions import epsilon_reading
from pages.rewrite.rewritten import rewritten
from pages.shared.drawing import seed_and_draw
from pages.shared.groups import GROUPS, group_of
from pages.shared.messages import note
from pages.shared.settings import chosen_settings

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.shared.bench import Bench
    from pages.shared.resources import Settings

SHOWN = ("madlib", "truncated-gumbel", "gaussian")
"""One of each group: their promises differ in kind."""


def shown_mechanisms() -> list[tuple[str, Settings]]:
    """Registry keys, with the settings that were chosen on other pages."""
    kinds = [resolve(short) for short in SHOWN]
    return [(kind.key, chosen_settings(kind)) for kind in kinds]


@st.fragment
def rewritten_sentence(bench: Bench, mechanisms: list[Mechanism]) -> None:
    """Draw the rewritten rows, at the ε of the page Rewrite, and a sentence on each."""
    seed, draw = seed_and_draw()
    epsilons = {g.name: st.session_state.get(f"eps_{g.name}", g.start) for g in GROUPS}
    rewritten(bench, mechanisms, epsilons, seed, draw, key="start_grid")
    for mechanism in mechanisms:
        epsilon = epsilons[group_of(mechanism.meaning).name]
        st.markdown(_in_words(bench, mechanism, epsilon, seed, draw))
    note(
        "Odds of thousands to one are hardly a promise: on the page Rewrite a smaller ε gives "
        "smaller odds, and you see what it costs."
    )


def _in_words(bench: Bench, mechanism: Mechanism, epsilon: float, seed: int, draw: int) -> str:
    """What one mechanism does and promises here; fixed text of ours with numbers in it."""
    if epsilon not in mechanism.admissible:
        reading = group_of(mechanism.meaning).reading(epsilon)
        return f"**{mechanism.title}** is not defined at {reading}."
    changed = bench.draw(mechanism, seed, draw).at(epsilon).changed
    words, promise = bench.sentence.protected, mechanism.guarantee(epsilon)
    but = ""
    if isinstance(promise, ApproximateLocalPrivacy):
        but = f", up to a probability of δ = {promise.delta_text},"
    return (
        f"**{mechanism.title}** changed {changed} of {words} {'word' if words == 1 else 'words'}. "
        f"{epsilon_reading(mechanism.meaning, epsilon, bench.nearest_distance())} "
        f"This promise{but} is {promise.status}."
    )
