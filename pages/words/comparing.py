"""Two words under every compared mechanism: a table at the chosen ε, and curves over all ε."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.pair import pair_alt, pair_caption, pair_mark
from pages.shared.downloads import csv_button
from pages.shared.figure import still_figure
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.table import show_table
from pages.words.measuring import found_so_far
from pages.words.moving import readings
from pages.words.tables import pair_table

if TYPE_CHECKING:
    from pages.words.scene import Scene

_MARK = later("The mechanism's mark and colour, as in the figures.")
# Name: label, width in pixels, explanation.
_COLUMNS = {
    "mechanism": ("mechanism", 146, None),
    "epsilon": ("ε", 64, later("The ε of the slider of its group.")),
    "word": ("word", 82, None),
    "nw": (
        "Nw",
        92,
        later("Probability that the word stays; with its 95 % interval where it is estimated."),
    ),
    "attack_nearest": (
        later("attacker: nearest"),
        112,
        later("How often an attacker is right who must tell the word from its nearest neighbour."),
    ),
    "attack": (
        later("attacker: the two"),
        112,
        later("How often an attacker is right who must tell the first word from the second."),
    ),
    "distance": (
        later("distance"),
        84,
        later("Expected distance of the output from the word, in the unit of the vectors."),
    ),
    "relative": (
        "÷ δ",
        62,
        later("The same distance in units of the distance to the nearest word."),
    ),
    "sw": ("Sw", 72, later("Different outputs in 200 runs, on average.")),
    "effective": (
        later("effective"),
        72,
        later("Number of equally likely outputs with which two runs would agree as often."),
    ),
    "bound_nearest": (
        later("nearest: at most"),
        100,
        later(
            "The largest success against the nearest word that the promise of the mechanism "
            "allows; “refuted” where the promise does not hold."
        ),
    ),
    "bound": (later("the two: at most"), 100, later("The same between the two words.")),
}


def comparison_view(scene: Scene) -> None:
    """Nw, Sw, distance of the output and success of an attacker at the chosen ε."""
    measured = found_so_far(scene.bench, scene.compared)
    if not measured:
        return
    here = pair_table(measured, readings(scene.compared)[0])
    if len(here):
        show_table(
            here,
            say(
                "Nw, Sw, distance of the output and success of an attacker for both words under "
                "each mechanism at the chosen ε"
            ),
            column_config={
                "mark": st.column_config.ImageColumn(say("sign"), width=44, help=say(_MARK)),
                **{
                    name: st.column_config.TextColumn(
                        say(label), width=width, help=None if explained is None else say(explained)
                    )
                    for name, (label, width, explained) in _COLUMNS.items()
                },
            },
        )
    everything = scene.bench.together(measured)
    csv_button(say("All ε as CSV"), "two_words", lambda: everything, key="csv_pair")
    note(
        say(
            "**Attacker**: sees one output, knows that it came from one of two words, each as "
            "likely as the other before, and takes the likelier one; 0.5 is guessing. A range "
            "is what the estimate leaves: its lower end is an attacker who learnt from one half "
            "of the noise directions, tried on the other half; its upper end is right or too "
            "high on average. Intervals have level 95 %; ± is two standard errors."
        )
    )


def curves_view(scene: Scene) -> None:
    """The same over all ε."""
    measured = found_so_far(scene.bench, scene.compared)
    if not measured:
        return
    epsilons, _ = readings(scene.compared)
    everything = scene.bench.together(measured)
    figure = scene.bench.pair_figure(measured)
    place = still_figure(figure, pair_alt(everything), everything, "staying")
    place.show(pair_caption(everything, epsilons), pair_mark(everything, epsilons))
