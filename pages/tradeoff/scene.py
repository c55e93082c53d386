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
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.study.reading import Figures
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.fragments import fragment, run_parts
from pages.shared.language import language, later, numeral, say
from pages.shared.memo import memo
from pages.shared.messages import inform, refuse
from pages.shared.progress import timed
from pages.shared.recorded import recorded
from pages.shared.resources import mechanism
from pages.shared.session import first_bench
from pages.shared.taking import drawer_is_open
from pages.tradeoff.board import show_board
from pages.tradeoff.choosing import FIRST
from pages.tradeoff.packet import Shown, epsilons, packet
from pages.tradeoff.quantities import LEAKAGES

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from dpcore.attack.trade.curve import TradeCurve
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.sentence import SentenceDraw
    from pages.shared.bench import Bench
    from pages.tradeoff.quantities import Leakage, Utility

_LEVEL = "level"
_SENT = 20  # boards of one sentence; with five mechanisms one takes 200 kB
_TURNING, VIEWS = "turning", "tradeoff_views"
"""The fragments that run when the dial rests, the second one if it shows what is there."""
OPEN_VIEW, AT_THE_DIAL = "part", later("In numbers")
"""Key of the open view, and the only view whose numbers are those at the dial."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What is shown.

    Attributes:
        shown: the mechanisms.
        leakage: across.
        utility: upwards.
        without: what texts teach without privacy; None where that is not the question.
        drawing: seed and number of the draw of the sentence.
    """

    shown: tuple[Shown, ...]
    leakage: Leakage
    utility: Utility
    without: float | None
    drawing: tuple[int, int]


def scene_or_stop(
    bench: Bench, labels: list[str], leakage: Leakage, utility: Utility, seed: int, number: int
) -> Scene:
    """Everything at every step of the dial; without a mechanism the page says so and ends."""
    if not labels:
        inform(say("Choose at least one mechanism."))
        st.stop()
    try:
        curves, drawn, without = recorded_curves(), *_of(utility)
    except DpcoreError as error:
        refuse(say("The recorded trade-off could not be read."), error)
        st.stop()
    shown = []
    for label in timed(say("Drawing noise"), labels):
        curve = curves[label]
        kind, draw = _drawn(bench, curve, leakage, seed, number)
        taught = drawn.get(label, _nothing(curve)) if drawn else curve
        shown.append(Shown(curve, taught, kind, draw))
    return Scene(tuple(shown), leakage, utility, without, (seed, number))


def draw_ahead(words: Lexicon) -> None:
    """Draw what a fresh visit shows first.

    Args:
        words: the bundled lexicon.
    """
    bench, curves = first_bench(words, DEFAULT_TREATMENT), recorded_curves()
    for label in FIRST.values():
        _drawn(bench, curves[label], LEAKAGES[0], link.SEED, 0)


def _drawn(
    bench: Bench, curve: TradeCurve, leakage: Leakage, seed: int, number: int
) -> tuple[Mechanism, SentenceDraw | None]:
    """The mechanism of a curve, and its draw at the ε of all steps, if there is any."""
    (arm,) = (arm for arm in ARMS if arm.name == curve.label)
    kind = mechanism(bench.lexicon, resolve(arm.mechanism).key, arm.settings)
    grid = sorted({value for value in epsilons(curve, leakage) if value is not None})
    return kind, bench.draw(kind, seed, number, tuple(grid)) if grid else None


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


def show_scene(
    scene: Scene, bench: Bench, dial_place: DeltaGenerator, board_place: DeltaGenerator
) -> None:
    """Draw the dial and the board."""
    leakage, utility = scene.leakage, scene.utility
    step = step_of(leakage)
    labels = tuple(one.curve.label for one in scene.shown)
    # A third of what the page costs; of the sentence that all begin with, once for everybody.
    key = language(), labels, leakage.key, utility.key, utility.data, *scene.drawing, step
    data = memo(
        bench.sent, key, lambda: packet(scene.shown, leakage, utility, step, scene.without), _SENT
    )
    with dial_place:
        fragment(_turning, scene, step, key=_TURNING)
    with board_place:
        show_board(data)


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
    if st.session_state.get(OPEN_VIEW) == AT_THE_DIAL or drawer_is_open():
        run_parts(VIEWS)


def _dial(scene: Scene) -> Dial:
    leakage = scene.leakage
    curves = [epsilons(one.curve, leakage) for one in scene.shown]
    steps = []
    for i, share in enumerate(leakage.steps):
        about, of = map(say, leakage.counted)
        number = numeral(f"{100 * share:g}")
        there = [epsilon for curve in curves if (epsilon := curve[i]) is not None]
        ends = (numeral(f"{end:.3g}") for end in (min(there, default=0.0), max(there, default=0.0)))
        low, high = ends
        span = (
            say("none reaches it")
            if not there
            else f"ε = {low}"
            if low == high
            else say("ε = {low} to {high}", low=low, high=high)
        )
        promised = (say("What the methods promise for it"), span)
        steps.append(
            Step((about, f"{number} {of}"), promised, f"{about} {number} {of}; {span}", share=share)
        )
    return Dial(
        f"leak_{leakage.key}",
        ", ".join(map(say, leakage.counted)),
        tuple(steps),
        fields=(("share", say("of 100")),),
    )
