"""One state of the Trade-off page: dial, board, and the views below."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.mechanisms.registry import resolve
from dpcore.papers.ours.equal_leakage_comparison import task_curves, without_privacy
from dpcore.papers.ours.tradeoff import ARMS, recorded_curves
from dpcore.study.reading import Figures
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.messages import inform, refuse
from pages.shared.progress import timed
from pages.shared.recorded import recorded
from pages.shared.resources import mechanism
from pages.tradeoff.board import show_board
from pages.tradeoff.packet import Shown, epsilons, packet

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from dpcore.attack.trade.curve import TradeCurve
    from pages.shared.bench import Bench
    from pages.tradeoff.quantities import Leakage, Utility

_LEVEL = "level"


@dataclass(frozen=True, eq=False)
class Scene:
    """What is shown.

    Attributes:
        shown: the mechanisms.
        leakage: across.
        utility: upwards.
        without: what texts teach without privacy; None where that is not the question.
    """

    shown: tuple[Shown, ...]
    leakage: Leakage
    utility: Utility
    without: float | None


def scene_or_stop(
    bench: Bench, labels: list[str], leakage: Leakage, utility: Utility, seed: int, number: int
) -> Scene:
    """Everything at every step of the dial; without a mechanism the page says so and ends."""
    if not labels:
        inform("Choose at least one mechanism.")
        st.stop()
    try:
        curves, drawn, without = recorded_curves(), *_of(utility)
    except DpcoreError as error:
        refuse("The recorded trade-off could not be read.", error)
        st.stop()
    arms = {arm.name: arm for arm in ARMS}
    shown = []
    for label in timed("Drawing noise", labels):
        arm, curve = arms[label], curves[label]
        made = mechanism(bench.lexicon, resolve(arm.mechanism).key, arm.settings)
        wanted = sorted({value for value in epsilons(curve, leakage) if value is not None})
        draw = bench.draw(made, seed, number, tuple(wanted)) if wanted else None
        shown.append(
            Shown(curve, drawn.get(label, _nothing(curve)) if drawn else curve, made, draw)
        )
    return Scene(tuple(shown), leakage, utility, without)


def _nothing(curve: TradeCurve) -> TradeCurve:
    """A mechanism that was not learned from: no point of it is drawn."""
    return type(curve)(curve.label, curve.mechanism, curve.epsilons, {})


def _of(utility: Utility) -> tuple[dict[str, TradeCurve], float | None]:
    if utility.data is None:
        return {}, None
    return _taught(*utility.data)


@cache
def _taught(name: str, data: str) -> tuple[dict[str, TradeCurve], float]:
    figures = Figures(recorded(name))
    return task_curves(figures, data), without_privacy(figures, data)[0].mean


def show_scene(scene: Scene, dial_place: DeltaGenerator, board_place: DeltaGenerator) -> None:
    """Draw the dial and the board."""
    leakage = scene.leakage
    step = step_of(leakage)
    with dial_place:
        st.fragment(_turning, key="turning")(scene, step)
    with board_place:
        show_board(packet(scene.shown, leakage, scene.utility, step, scene.without))


def _turning(scene: Scene, step: int) -> None:
    show_dial(_dial(scene), step, lambda turned: _rested(scene.leakage, turned))


def step_of(leakage: Leakage) -> int:
    """Where the dial stands: as the link says, of 100, or where a fresh visit begins."""
    text = st.session_state.get(_LEVEL, {}).get(leakage.key, st.query_params.get(_LEVEL, ""))
    try:
        share = float(text) / 100
    except ValueError:
        share = leakage.start
    return min(range(len(leakage.steps)), key=lambda i: abs(leakage.steps[i] - share))


def _rested(leakage: Leakage, step: int) -> None:
    share = leakage.steps[step]
    st.session_state.setdefault(_LEVEL, {})[leakage.key] = f"{100 * share:g}"
    link.write(_LEVEL, f"{100 * share:g}", f"{100 * leakage.start:g}")


def _dial(scene: Scene) -> Dial:
    leakage = scene.leakage
    steps = []
    for i, share in enumerate(leakage.steps):
        about, of = leakage.counted
        number = f"{100 * share:g}"
        there = [e for one in scene.shown if (e := epsilons(one.curve, leakage)[i]) is not None]
        ends = (f"{end:.3g}" for end in (min(there, default=0.0), max(there, default=0.0)))
        low, high = ends
        span = (
            "none reaches it"
            if not there
            else f"ε = {low}" + (f" to {high}" if low != high else "")
        )
        promised = ("What the methods promise for it", span)
        steps.append(
            Step((about, f"{number} {of}"), promised, f"{about} {number} {of}; {span}", share=share)
        )
    return Dial(f"leak_{leakage.key}", f"{leakage.counted[0]}, {leakage.counted[1]}", tuple(steps))
