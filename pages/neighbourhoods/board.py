"""The part of the Neighbourhoods page that moves with the sliders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.maps.distances import distance_caption, noise_mark
from dpcore.plots.pair import pair_alt, pair_caption, pair_mark
from pages.neighbourhoods.maps import View, choose_view, show_map
from pages.neighbourhoods.measuring import found_so_far, measure, steps_left
from pages.neighbourhoods.moving import MOVING, VIEWS, readings, sliders
from pages.neighbourhoods.session import follow
from pages.neighbourhoods.tables import noise_table, noisy, pair_table
from pages.neighbourhoods.views import views
from pages.neighbourhoods.words import neighbour_lists
from pages.shared.downloads import csv_button
from pages.shared.fields import segments
from pages.shared.figure import still_figure
from pages.shared.messages import note
from pages.shared.table import show_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.plots.maps.distances import Strip
    from pages.neighbourhoods.bench import Measured, PairBench
    from pages.shared.figure import Still

_MARK = "The mechanism's mark and colour, as in the figures."
# Name: label, width in pixels, explanation.
_COLUMNS = {
    "mechanism": ("mechanism", 146, None),
    "epsilon": ("ε", 64, "The ε of the slider of its group."),
    "word": ("word", 82, None),
    "nw": (
        "Nw",
        92,
        "Probability that the word stays; with its 95 % interval where it is estimated.",
    ),
    "attack_nearest": (
        "attacker: nearest",
        112,
        "How often an attacker is right who must tell the word from its nearest neighbour.",
    ),
    "attack": (
        "attacker: the two",
        112,
        "How often an attacker is right who must tell the first word from the second.",
    ),
    "distance": (
        "distance",
        84,
        "Expected distance of the output from the word, in the unit of the vectors.",
    ),
    "relative": ("÷ δ", 62, "The same distance in units of the distance to the nearest word."),
    "sw": ("Sw", 72, "Different outputs in 200 runs, on average."),
    "effective": (
        "effective",
        72,
        "Number of equally likely outputs with which two runs would agree as often.",
    ),
    "bound_nearest": (
        "nearest: at most",
        100,
        "The largest success against the nearest word that the promise of the mechanism allows; "
        "“refuted” where the promise does not hold.",
    ),
    "bound": ("the two: at most", 100, "The same between the two words."),
}


@dataclass(frozen=True)
class Scene:
    """What is shown at every ε.

    Attributes:
        bench: the pair and what is measured of it.
        mechanisms: those that are shown.
        view: of the map.
        lexicon: its name in the catalogue.
        mapped: the one of `mechanisms` whose outputs are on the map.
    """

    bench: PairBench
    mechanisms: tuple[Mechanism, ...]
    view: View
    lexicon: str
    mapped: Mechanism


@dataclass(frozen=True)
class Places:
    """Where the fragment of the sliders draws what moves: map, strip, table and curves.

    The curves are absent as long as nothing is measured.
    """

    map: DeltaGenerator
    noise: Still
    table: DeltaGenerator
    staying: Still | None


def board(bench: PairBench, mechanisms: list[Mechanism], lexicon: str) -> None:
    """Sliders, map, strip, table and views; a step of a slider runs only what shows its ε."""
    top = st.container()
    st.subheader("Where the output falls", anchor=False)
    view = choose_view()
    shorts = {m.short: m for m in mechanisms}
    picked = segments(
        "Outputs of",
        shorts,
        "outputs_of",
        "The larger a filled mark, the likelier that word is to come out.",
        start=mechanisms[0].short,
    )
    scene = Scene(bench, tuple(mechanisms), view, lexicon, shorts.get(picked, mechanisms[0]))
    wide, narrow = st.columns([3, 1])
    with wide:
        map_place = st.container()
    with narrow:
        neighbour_lists(bench)
    st.subheader("The true distances", anchor=False)
    strip = bench.strip(noisy(mechanisms))
    noise = still_figure(strip.figure, strip.alt, bench.distances(), "distances")
    note(
        "Noise is added in all dimensions at once, so that it may be longer than every distance "
        "and still leave the word where it is: only what it moves *towards another word* counts. "
        "An arrow at an end of the axis stands for noise beyond it."
    )
    st.subheader("The same ε, two words", anchor=False)
    table_place, measuring = st.container(), st.container()
    left = steps_left(bench, mechanisms)
    measured = found_so_far(bench, mechanisms)
    staying = _compared(bench, measured) if measured else None
    places = Places(map_place, noise, table_place, staying)
    with top:
        st.fragment(_moving, key=MOVING)(scene, strip, measured, places)
    with measuring:
        measure(bench, mechanisms)
    if steps_left(bench, mechanisms) != left:
        st.rerun()  # what is drawn above knows nothing of it yet
    st.fragment(views, key=VIEWS)(scene)


def _compared(bench: PairBench, measured: list[Measured]) -> Still:
    """What is said of both words at every ε."""
    everything = bench.together(measured)
    csv_button("All ε as CSV", "two_words", lambda: everything, key="csv_pair")
    note(
        "**Attacker**: sees one output, knows that it came from one of two words, each as likely "
        "as the other before, and takes the likelier one; 0.5 is guessing. A range is what the "
        "estimate leaves: its lower end is an "
        "attacker who learnt from one half of the noise directions, tried on the other half; its "
        "upper end is right or too high on average. After an estimated Nw stands its interval of "
        "level 95 %; ± is two standard errors."
    )
    return still_figure(bench.pair_figure(measured), pair_alt(everything), everything, "staying")


def _moving(scene: Scene, strip: Strip, measured: list[Measured], places: Places) -> None:
    """The sliders, and all that is shown at their ε."""
    bench, mechanisms = scene.bench, list(scene.mechanisms)
    follow(bench)
    sliders(mechanisms)
    epsilons, texts = readings(mechanisms)
    with places.map:
        _map(scene, epsilons, texts)
    noise = noise_table(mechanisms, epsilons)
    places.noise.show(
        distance_caption(strip, noise if strip.titles else None), noise_mark(strip, noise)
    )
    here = pair_table(measured, epsilons)
    if not len(here):
        places.table.empty()
    else:
        show_table(
            here,
            "Nw, Sw, distance of the output and success of an attacker for both words under "
            "each mechanism at the chosen ε",
            place=places.table,
            column_config={
                "mark": st.column_config.ImageColumn("", width=28, help=_MARK),
                **{
                    name: st.column_config.TextColumn(label, width=width, help=explained)
                    for name, (label, width, explained) in _COLUMNS.items()
                },
            },
        )
    if places.staying is not None:
        everything = bench.together(measured)
        places.staying.show(pair_caption(everything, epsilons), pair_mark(everything, epsilons))


def _map(scene: Scene, epsilons: dict[str, float], texts: dict[str, str]) -> None:
    mechanism = scene.mapped
    epsilon = epsilons[mechanism.key]
    if epsilon not in mechanism.admissible:
        note(f"{mechanism.short} is not defined at this ε: only the words are drawn.")
    show_map(scene.bench, scene.view, mechanism, epsilon, texts[mechanism.key])
