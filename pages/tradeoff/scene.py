"""State of the Trade-off page: dial, board, and data of the views below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from dpcore.papers.ours.equal_leakage import task_curves, without_privacy
from dpcore.papers.ours.tradeoff import ARMS, recorded_curves
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.rewrite.sentence import SentenceDraw
from dpcore.study.recorded import Figures
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.figure import svg_board
from pages.shared.fragments import fragment, run_parts
from pages.shared.language import language, later, numeral, say
from pages.shared.link import choose_one, choose_some
from pages.shared.messages import inform, refuse
from pages.shared.once import memo
from pages.shared.progress import timed
from pages.shared.session import Bench, first_bench, mechanism
from pages.shared.taking import drawer_is_open, recorded
from pages.shared.text_box import choose_draw, draw_again, text_box
from pages.tradeoff.packet import BoardCurve, epsilons, packet
from pages.tradeoff.quantities import LEAKAGES, UTILITIES, Leakage, Utility

# Board of the Trade-off page: the chart, and one sentence by each mechanism at equal leakage.
#
# All steps of the dial are sent at once, so that moving it needs only the browser.


STYLE = """
@media (max-width: 50rem) {
  :has(> .st-key-tradeoff_choices) { order: 1; }
}
"""
"""On a phone the picture comes before the choices."""


def show_board(data: dict[str, Any]) -> None:
    """Draw the board.

    Args:
        data: `group` (whose dial moves it), `step`, `alt`, `charts` (frames: x and y with title,
            low, high and ticks as [value, text], guides with label, kind, points and place of the
            label; by step `level`, where the dial's line is, or null; `curves`: points as [x, y],
            bars as [x low, x high, y low, y high], by step `at` as [x, y] or null), by step `frame`
            (which of them) and `findings`, `lines` (label, colour, dash, glyph), `left` (of what),
            `texts`, and `rows` (line; by step left, promise and words as [index into `texts`,
            whether it changed, the gap before it] or null).
    """
    svg_board("tradeoff", Path(__file__).parent)(key="tradeoff_board", data=data)


# Choices of the comparison: the two axes, the mechanisms, the sentence; all are part of the link.


FIRST = {
    "neighbour-response-10": "neighbour-response, k = 10",
    "neighbour-response-3": "neighbour-response, k = 3",
    "madlib": "madlib",
    "tem": "tem",
    "optimal": "optimal",
}
"""Default curves, by name in the link."""


def choose_two() -> tuple[Leakage, Utility]:
    """Draw the choice of both axes."""
    leakages = {one.key: one for one in LEAKAGES}
    chosen = leakages[
        choose_one(
            st.selectbox,
            say("Attacker's goal"),
            # The label is hidden to save a line, so each option says what it is.
            {key: say("Guessed: {title}", title=say(one.title)) for key, one in leakages.items()},
            "learned",
            help=say("What counts as a correct guess; the dial counts these.")
            + " "
            + " ".join(f"**{say(one.title)}**: {say(one.meaning)}" for one in LEAKAGES),
            label_visibility="collapsed",
            width=290,
        )
    ]
    # Accuracy was recorded at a few levels of guessed words only, so only beside those.
    utilities = {one.name: one for one in UTILITIES if _goes_with(one, chosen)}
    kept = choose_one(
        st.selectbox,
        say("Utility"),
        {name: say("Utility: {title}", title=say(one.title)) for name, one in utilities.items()},
        "left",
        help=say(
            "**Meaning**: how near the output is to the word, 100 % for the word itself, 0 % "
            "for an unrelated one. **Unchanged words**: the share that stays. **Countable**: "
            "the share of content words whose count in that many private texts is known within "
            "ten percent. **Learned**: accuracy of a classifier on private texts."
        ),
        label_visibility="collapsed",
        width=350,
    )
    return chosen, utilities[kept]


def _goes_with(utility: Utility, leakage: Leakage) -> bool:
    if utility.data is None:
        # AUC was recorded with accuracy, on corpora; the lexicon alone has none.
        return leakage.key != "auc"
    return leakage.key not in {"kind", "pair", "near"}


def choose_curves() -> list[str]:
    """Draw the choice of mechanisms with their settings; return labels of recorded curves."""
    # A comma separates the names in the link, so none may be in a name.
    titles = {label.replace(", k = ", "-"): label for label in recorded_curves()}
    # The mechanism that a person chose for a release is among the first ones.
    released = st.session_state.get("offer")
    asked = {"curves"} & {*st.session_state, *st.query_params}
    if not asked and released in titles and released not in FIRST:
        st.session_state["curves"] = [*FIRST, released]
    with st.popover(say("Mechanisms"), icon=":material/tune:"):
        chosen = choose_some(
            say("Mechanisms"),
            titles,
            "curves",
            list(FIRST),
            help=say(
                "k of neighbour-response: the number of candidates, including the word itself. "
                "optimal keeps the most words that its guarantee allows, if all are equally "
                "likely and ε is at or above the critical value of the vocabulary."
            ),
        )
    return [titles[name] for name in chosen]


def choose_sentence() -> tuple[str, int, int]:
    """Draw the sentence and its draw; return the text, seed and number of the draw."""
    with st.popover(say("Your sentence"), icon=":material/edit:"):
        text = text_box()
        seed, number = choose_draw()
    # Outside the popover: another draw should take one click.
    draw_again()
    return text, seed, number


_LEVEL = "level"
_SENT = 20  # boards of one sentence; with five mechanisms one takes 200 kB
_TURNING, VIEWS = "turning", "tradeoff_views"
"""Fragments that run when the dial rests, the second one if it shows numbers at the dial."""
OPEN_VIEW, CHOOSE, AT_THE_DIAL = "part", later("Choose ε"), later("In numbers")
"""Key of the open view, and the views whose numbers follow the dial."""
TURNED = "tradeoff_turned"
"""Set when the dial rests: the goal of the table follows it, also where another was typed."""
_ELSEWHERE = {GUESSED: "aim_guess", NEARLY: "aim_near"}
"""Limit that a person set on Release, by what it counts: its key in the session."""


@dataclass(frozen=True, eq=False)
class TradeoffScene:
    """State of the page.

    Attributes:
        shown: the mechanisms.
        leakage: horizontal axis.
        utility: vertical axis.
        without: accuracy without privacy; None if the utility is not accuracy.
        drawing: seed and number of the draw of the sentence.
    """

    shown: tuple[BoardCurve, ...]
    leakage: Leakage
    utility: Utility
    without: float | None
    drawing: tuple[int, int]


def scene_or_stop(
    bench: Bench, labels: list[str], leakage: Leakage, utility: Utility, seed: int, number: int
) -> TradeoffScene:
    """Return the state at every step of the dial; without a mechanism the page says so and ends."""
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
        # An empty curve and not a missing one: the mechanism keeps its row and its sentence.
        taught = drawn.get(label, _nothing(curve)) if drawn else curve
        shown.append(BoardCurve(curve, taught, kind, draw))
    return TradeoffScene(tuple(shown), leakage, utility, without, (seed, number))


def ahead(words: Lexicon) -> list[Callable[[], object]]:
    """Return what the server computes before the first request.

    Args:
        words: the bundled lexicon.
    """
    return [lambda: _draw_ahead(words)]


def _draw_ahead(words: Lexicon) -> None:
    bench, curves = first_bench(words, DEFAULT_TREATMENT), recorded_curves()
    for label in FIRST.values():
        _drawn(bench, curves[label], LEAKAGES[0], link.SEED, 0)


def _drawn(
    bench: Bench, curve: TradeCurve, leakage: Leakage, seed: int, number: int
) -> tuple[Mechanism, SentenceDraw | None]:
    """Return the mechanism of a curve, and its draw at the ε of all steps, if there is any."""
    (arm,) = (arm for arm in ARMS if arm.name == curve.label)
    kind = mechanism(bench.lexicon, resolve(arm.mechanism).key, arm.settings)
    # A set: on a steep part of a curve two steps may have the same ε, and a grid must ascend.
    grid = sorted({value for value in epsilons(curve, leakage) if value is not None})
    return kind, bench.draw(kind, seed, number, tuple(grid)) if grid else None


def _nothing(curve: TradeCurve) -> TradeCurve:
    """Return a curve without points, for a mechanism without recorded accuracy."""
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
    scene: TradeoffScene, bench: Bench, dial_place: DeltaGenerator, board_place: DeltaGenerator
) -> None:
    """Draw the dial and the board."""
    leakage, utility = scene.leakage, scene.utility
    step = step_of(leakage)
    labels = tuple(one.curve.label for one in scene.shown)
    # This is a third of the cost of the page; for the default sentence it is shared by all.
    key = language(), labels, leakage.key, utility.key, utility.data, *scene.drawing, step
    data = memo(
        bench.sent, key, lambda: packet(scene.shown, leakage, utility, step, scene.without), _SENT
    )
    with dial_place:
        # A fragment: when the dial rests, the page need not run, since the board follows in the
        # browser.
        fragment(_turning, scene, step, key=_TURNING)
    with board_place:
        show_board(data)


def _turning(scene: TradeoffScene, step: int) -> None:
    curves = [epsilons(one.curve, scene.leakage) for one in scene.shown]
    show_dial(
        leakage_dial(scene.leakage, curves), step, lambda turned: _rested(scene.leakage, turned)
    )


def step_of(leakage: Leakage) -> int:
    """Return the position of the dial: from the link (of 100), else the default."""
    # By axis: a level of guessed words means nothing as a share of pairs told apart.
    text = st.session_state.get(_LEVEL, {}).get(leakage.key, st.query_params.get(_LEVEL))
    elsewhere = _ELSEWHERE.get(leakage.key)
    if text is None and elsewhere is not None:
        text = st.session_state.get(elsewhere)
    try:
        share = leakage.start if text is None else float(text) / 100
    except ValueError:
        share = leakage.start
    return min(range(len(leakage.steps)), key=lambda i: abs(leakage.steps[i] - share))


def share_at_dial(leakage: Leakage) -> float:
    """Return the leakage at the dial, of 100."""
    return round(100.0 * leakage.steps[step_of(leakage)], 6)


def keep_step(leakage: Leakage, step: int) -> None:
    """Keep the position of the dial, for this page and others with the same dial."""
    share = leakage.steps[step]
    st.session_state.setdefault(_LEVEL, {})[leakage.key] = f"{100 * share:g}"
    link.write(_LEVEL, f"{100 * share:g}", f"{100 * leakage.start:g}")


def _rested(leakage: Leakage, step: int) -> None:
    keep_step(leakage, step)
    st.session_state[TURNED] = True
    view = st.session_state.get(OPEN_VIEW) or CHOOSE
    if view in {CHOOSE, AT_THE_DIAL} or drawer_is_open():
        run_parts(VIEWS)


def leakage_dial(leakage: Leakage, curves: Sequence[Sequence[float | None]]) -> Dial:
    """Return the dial of a leakage, with the span of ε that it needs at each step.

    Args:
        leakage: it is set by the dial.
        curves: of each mechanism, ε at each step; None where it does not reach the step.
    """
    steps = []
    for i, share in enumerate(leakage.steps):
        about, of = map(say, leakage.counted)
        number = numeral(f"{100 * share:g}")
        there = [epsilon for curve in curves if (epsilon := curve[i]) is not None]
        # Compared as texts below: two ε that are equal in three digits are one number to a reader.
        ends = (numeral(f"{end:.3g}") for end in (min(there, default=0.0), max(there, default=0.0)))
        low, high = ends
        span = (
            say("none reaches it")
            if not there
            else f"ε = {low}"
            if low == high
            else say("ε = {low} to {high}", low=low, high=high)
        )
        promised = (say("ε each needs, estimated"), span)
        steps.append(
            Step((about, f"{number} {of}"), promised, f"{about} {number} {of}; {span}", share=share)
        )
    return Dial(
        f"leak_{leakage.key}",
        ", ".join(map(say, leakage.counted)),
        tuple(steps),
        fields=(("share", say("of 100")),),
    )
