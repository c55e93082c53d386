"""First screen of the page Words: dial, two panes, and the views below them.

When a dial rests, only the open view runs: the panes have the numbers of every ε, and receive the
current one in the browser.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.mechanisms.mechanism import Mechanism
from pages.shared.dial import admissible_grid, group_of, grouped
from pages.shared.epsilon_dial import epsilon_dial, epsilon_of
from pages.shared.fragments import fragment, run_parts
from pages.shared.language import language, later, say
from pages.shared.link import tabs
from pages.shared.messages import inform, note
from pages.shared.once import memo
from pages.shared.taking import drawer_is_open, take_it_with_you
from pages.words.maps import WHOLE, chosen_map
from pages.words.measuring import measure, steps_left, stopped
from pages.words.panes import map_data, pane_data, panes
from pages.words.scene import WordsScene, follow
from pages.words.views import (
    comparison_view,
    curves_view,
    distances_view,
    extremes_view,
    facts_view,
    map_view,
    misreading_view,
    takeaway,
)
from pages.words.words import example_box, has_common_words, none_found, try_less_protected

_MEASURED: dict[str, Callable[[WordsScene], None]] = {
    later("Comparison"): comparison_view,
    later("Curves"): curves_view,
}
_VIEWS: dict[str, Callable[[WordsScene], None]] = _MEASURED | {
    later("Facts"): facts_view,
    WHOLE: map_view,
    later("True distances"): distances_view,
    later("Dense and sparse words"): extremes_view,
    later("How the map can mislead"): misreading_view,
}
MOVING, VIEWS = "pair_moving", "pair_views"
OPEN_VIEW = "more"
STILL_VIEWS = frozenset({"Facts", "Dense and sparse words", "How the map can mislead"})
"""Views without numbers at an ε."""
_WAIT = later("Drawing a hundred times at every ε…")


def board(scene: WordsScene) -> None:
    """Draw the panes, and below them the views; only the open one is computed."""
    _panes(scene)
    left = steps_left(scene.bench, scene.compared)
    fragment(_views, scene, key=VIEWS)
    # Only for the views that show measurements: the panes have numbers of their own.
    if _open_view() in _MEASURED:
        measure(scene.bench, scene.compared)
    if steps_left(scene.bench, scene.compared) != left:
        st.rerun()  # the elements drawn above do not have it yet


def first_dial(mechanism: Mechanism, members: list[Mechanism]) -> None:
    """Draw the dial of the mechanism in the panes, in its own fragment.

    Args:
        mechanism: mechanism in the panes.
        members: the shown mechanisms of its group, this one first.
    """
    fragment(_dial, mechanism, members, key=MOVING)


def _dial(mechanism: Mechanism, members: list[Mechanism]) -> None:
    epsilon_dial(group_of(mechanism.meaning), members, _moved, read=mechanism)


def _other_dials(mechanism: Mechanism, compared: list[Mechanism]) -> None:
    """Draw a dial for each compared group that has none above."""
    own = group_of(mechanism.meaning)
    for group, members in grouped(compared):
        # The dial of this group stands above the panes already.
        if group is not own:
            note(
                say(
                    "A slider for {names}, whose ε is on another scale. {explanation}",
                    names=", ".join(kind.short for kind in members),
                    explanation=say(group.explanation),
                )
            )
            epsilon_dial(group, members)


def _moved() -> None:
    if st.session_state.get(OPEN_VIEW) not in STILL_VIEWS or drawer_is_open():
        run_parts(VIEWS)


def _panes(scene: WordsScene) -> None:
    bench, mechanism = scene.bench, scene.mechanism
    group = group_of(mechanism.meaning)
    steps = admissible_grid(group, scene.members)
    with st.spinner(say(_WAIT), show_time=True):
        data = memo(
            bench.sent,
            (language(), mechanism, steps),  # numerals are written as in the language
            lambda: pane_data(bench, mechanism, group, steps),
        )
    shown = chosen_map(bench)
    placed = None if shown is None else map_data(bench, shown)
    panes(
        data
        | {
            "step": steps.index(epsilon_of(group)),
            "map": placed,
            "offers": has_common_words(bench),
            "none found": none_found(scene),
        },
        on_less_protected=lambda: try_less_protected(scene),
    )
    example_box()


def _views(scene: WordsScene) -> None:
    # First, before anything is drawn for words that are no longer the chosen ones.
    follow(scene.bench)
    _other_dials(scene.mechanism, scene.compared)
    if not scene.compared:
        inform(say("Choose at least one mechanism in the sidebar to compare it with others."))
    tabs(_VIEWS, OPEN_VIEW, scene)
    take_it_with_you(partial(takeaway, scene))
    waiting = _open_view() in _MEASURED and not stopped(scene.bench)
    if waiting and _in_fragment() and steps_left(scene.bench, scene.compared):
        st.rerun()  # measuring needs the whole page, whose buttons work meanwhile


def _open_view() -> str:
    return str(st.session_state.get(OPEN_VIEW) or next(iter(_VIEWS)))


def _in_fragment() -> bool:
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)
