"""Map of the page Words: its choice, outputs on it, clicks, and building."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError, MapMissingError
from dpcore.lexicon.cache import only_in_memory
from dpcore.measure.maps import jobs as map_jobs
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.maps.table import point_table
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.written import Filled
from dpcore.plots.maps.panes import chosen_word, map_caption, map_figure
from dpcore.plots.style import percent
from pages.shared.figure import show_caption, show_figure, show_numbers
from pages.shared.fragments import fragment
from pages.shared.language import later, numeral, say
from pages.shared.link import segments
from pages.shared.messages import inform, note, refuse
from pages.shared.table import show_table
from pages.shared.taking import show_line
from pages.shared.words import choose
from pages.words.bench import PairBench
from pages.words.density import density_of, density_or_button
from pages.words.vocabulary import show_vocabulary
from pages.words.words import SLOTS, TITLES

AROUND, WHOLE = later("Around the two words"), later("Whole vocabulary")
KINDS = {"densMAP": Projection.DENSMAP, "UMAP": Projection.UMAP, "PCA": Projection.PCA}
FIGURE = "map"
_READING = {
    Projection.UMAP: later(
        "**How to read it:** words of one clump are often near in the vectors too. How large a "
        "clump is, how wide a gap, and which clump lies beside which mean nothing."
    ),
    Projection.DENSMAP: later(
        "**How to read it:** wide clumps hold lonelier words, which UMAP does not show; fewer "
        "neighbours are kept for it. Gaps, and which clump lies where, mean nothing."
    ),
    Projection.PCA: later(
        "**How to read it:** no two words are nearer in the vectors than they look. But most words "
        "that lie together here are strangers: nearness on this map says next to nothing."
    ),
}
_JOB = "neighbouring_job"
_FAILED = "neighbouring_job_failed"
_PULSE_SECONDS = 1.0


@dataclass(frozen=True)
class View:
    """Choice of a map: its scope, its projection, and the word that a click replaces."""

    whole: bool
    projection: Projection
    slot: str


def choose_view(*, clicks: bool = True) -> View:
    """Draw the choice of the map; it is part of the link.

    Args:
        clicks: True to offer the meaning of a click as well.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scope = segments(
            say("Map"),
            [AROUND, WHOLE],
            "scope",
            say(
                "The nearest words of both words in one fit and one scale, or every word: to be "
                "moved, zoomed and searched."
            ),
        )
        kind = segments(
            say("Drawn by"),
            KINDS,
            "projection",
            say(
                "UMAP keeps some of the neighbours and loses density. densMAP also keeps some "
                "of the density. PCA is the honest shadow: no distance is exaggerated, but most "
                "of each is lost."
            ),
            start="densMAP",
        )
        # On the map of all words a click looks at a word, and a button chooses it.
        slot = choose_slot() if clicks and scope == AROUND else SLOTS[0]
    return View(scope == WHOLE, KINDS[kind], slot)


def choose_slot() -> str:
    """Draw the choice of the word that a click replaces; it is part of the link."""
    title = segments(
        say("A click chooses the"),
        TITLES,
        "click",
        say(
            "Which of the two words becomes the word that you click on the map or in the lists "
            "of dense and sparse words."
        ),
    )
    return SLOTS[TITLES.index(title)]


def show_map(
    bench: PairBench, view: View, mechanism: Mechanism, epsilon: float, reading: str
) -> None:
    """Draw the map with the output mass of one mechanism at one ε."""
    shown = find_map(bench, view)
    if shown is None:
        return
    words, pair = bench.pair.lexicon, bench.pair
    defined = epsilon in mechanism.admissible
    outputs = bench.outputs(mechanism, epsilon, shown) if defined else None
    mass = None if outputs is None else outputs.table
    caption = map_caption(
        str(shown.projection),
        len(shown),
        len(words),
        shown.mean_kept,
        shown.k,
        shown.density,
        None if outputs is None else outputs.on_map,
        say("{mechanism} at {reading}", mechanism=mechanism.short, reading=reading),
        drawn=mass,
    )
    table = bench.points(shown) if mass is None else mass
    if view.whole:
        show_vocabulary(bench, shown, outputs, caption.alternative)
        if density_of(words) is None:
            # The map does not wait for the density, which may take half a minute.
            note(say("All points have one colour until it is known how crowded each word is."))
            density_or_button(words)
        show_caption(caption, FIGURE)
        note(say(_READING[shown.projection]))
        count = bench.mapped_neighbours
        # The file has every point; the table below shows those near the two words.
        every = partial(point_table, words, shown, pair.words, count, len(words))
        show_numbers(table, FIGURE, caption.finding, csv=every)
        return

    def take() -> None:
        for point in st.session_state[f"figure_{FIGURE}"].selection.points:
            word = chosen_word(point.get("customdata"))
            if word is not None and word in words:
                choose(view.slot, word)

    show_figure(map_figure(bench.base(shown), mass), caption, table, FIGURE, on_click=take)
    spread = bench.spread(shown)
    if spread is not None:
        st.text(
            say(
                "In the vectors the {count} nearest words of “{second}” are on average {true:.3g} "
                "times as far from it as those of “{first}” are from “{first}”; on this map "
                "{drawn:.3g} times.",
                count=spread.neighbours,
                second=pair.names[1],
                true=spread.true,
                first=pair.names[0],
                drawn=spread.drawn,
            )
        )


def find_map(bench: PairBench, view: View) -> Map | None:
    """Return the map of a view; a missing one can be built, and PCA is shown in the meantime."""
    try:
        with st.spinner(say("Drawing the map…"), show_time=True):
            return bench.map(view.whole, view.projection)
    except MapMissingError as error:
        # PCA takes a second, and a map that hides much is better than none.
        pca = _pca(bench, view)
        _offer(bench, view, str(error), say("Until then PCA is shown.") if pca else "")
        return pca
    except DpcoreError as error:
        refuse(say("There is no such map."), error)
        return _pca(bench, view)


def _pca(bench: PairBench, view: View) -> Map | None:
    try:
        return bench.map(view.whole, Projection.PCA)
    except DpcoreError:
        return None  # not built either, or of too few words for any map


def _offer(bench: PairBench, view: View, missing: str, meanwhile: str) -> None:
    """Draw a button that builds the map in a process of its own, or the progress of building."""
    # A map is built in another process, from files; uploaded vectors are written nowhere.
    if only_in_memory(bench.pair.lexicon.fingerprint):
        inform(
            say(
                "Of vectors of your own there is PCA alone: another map takes minutes, and "
                "would have to be kept on disk. To have them all, add the vectors on your "
                "machine, and build:"
            )
        )
        show_line("python -m dpcore lexicon add FILE --name NAME")
        show_line("python -m dpcore map build --lexicon NAME")
        return
    identity = (bench.pair.lexicon.fingerprint, view.whole, view.projection, bench.pair.words)
    building = st.session_state.get(_JOB)
    # Another map may be building: its progress belongs to its own view.
    if building is not None and building[0] == identity:
        fragment(_watch, meanwhile, every=_PULSE_SECONDS)
        return
    building_time = say(
        "Building takes half a minute around two words, minutes for a whole vocabulary; the page "
        "stays usable."
    )
    with st.container(border=True):
        st.markdown(
            " ".join(
                filter(
                    None, (say("**This map has not been built yet.**"), meanwhile, building_time)
                )
            )
        )
        if st.session_state.get(_FAILED, ("",))[0] == identity:
            st.text(st.session_state[_FAILED][1])
        st.button(
            say("Build this map"),
            key="build_map",
            icon=":material/map:",
            on_click=_build,
            args=(bench, view, identity),
            help=say("Runs in a process of its own. The map is kept for the next time."),
        )
        if view.whole:
            # The message of the engine ends with the command.
            show_line(missing.rpartition("build it with: ")[2])


def _build(bench: PairBench, view: View, identity: tuple[object, ...]) -> None:
    st.session_state.pop(_FAILED, None)
    # One map at a time in a session: each takes minutes of a core.
    _drop()
    centres = () if view.whole else bench.pair.words
    k = bench.mapped_neighbours
    try:
        job = map_jobs.start(bench.pair.lexicon, view.projection, centres, k)
    except DpcoreError as error:
        st.session_state[_FAILED] = (identity, str(error))
        return
    if job is not None:  # else another session has built it meanwhile
        st.session_state[_JOB] = (identity, job)


def _drop() -> None:
    building = st.session_state.pop(_JOB, None)
    if building is not None:
        building[1].stop()


def _watch(meanwhile: str) -> None:
    """Draw the progress of the map; run the page again when it is built."""
    building = st.session_state.get(_JOB)
    if building is None:
        return
    identity, job = building
    if job.done:
        if job.error is not None:
            # Kept beyond the job, so that the reason stands beside the button that starts it again.
            st.session_state[_FAILED] = (identity, job.error)
        st.session_state.pop(_JOB, None)
        st.rerun()
    share, sentence = job.progress()
    st.progress(share, text=f"{say(sentence)}. {meanwhile}".rstrip())
    st.button(
        say("Stop building"),
        key="stop_map",
        icon=":material/stop_circle:",
        on_click=_drop,
        help=say("Gives the map up; what was computed so far is not kept."),
    )


def misreading(bench: PairBench, view: View) -> None:
    """Draw how the maps mislead, in numbers of the available maps."""
    note(
        say(
            "**Gaps are not distances, areas are not densities.** A map squeezes {dimension} "
            "dimensions into two. UMAP evens out how crowded places are, and errs in both "
            "directions for a single word; densMAP puts the crowding back, and often too much "
            "of it; PCA never shows two words farther apart than they are, but lets strangers "
            "fall on top of each other. How near a word really is stands in the lists and in "
            "the strip of true distances.",
            dimension=bench.pair.lexicon.dimension,
        )
    )
    rows = []
    headings: dict[str, str] = {}
    for title, projection in KINDS.items():
        try:
            shown = bench.map(view.whole, projection)
        # A map that is not built yet has no row; the others can be compared meanwhile.
        except DpcoreError:
            continue
        spread = bench.spread(shown)
        kept = Filled("of the {count} nearest words kept", count=shown.k)
        headings[str(kept)] = say(kept)
        rows.append(
            {
                later("map"): title,
                later("words"): len(shown),
                kept: numeral(percent(shown.mean_kept)),
                later("rank correlation of crowding"): numeral(f"{shown.density:.2f}"),
                later("spread ratio on the map"): _ratio(None if spread is None else spread.drawn),
                later("… in the vectors"): _ratio(spread.true if spread else None),
            }
        )
    if rows:
        show_table(
            pd.DataFrame(rows),
            say("What each map keeps of the truth: neighbours, crowding, room around the words"),
            column_config=headings,
        )
        note(
            say(
                "A rank correlation of 1 would keep the order of crowded and lonely words, 0 "
                "nothing of it. The last two columns compare the mean distance to the 10 "
                "nearest words."
            )
        )


def _ratio(value: float | None) -> str:
    return "–" if value is None else numeral(f"{value:.3g}")
