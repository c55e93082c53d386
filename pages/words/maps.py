"""Maps of the page Words: their choice, outputs on them, and building."""

from __future__ import annotations

import itertools
from functools import partial

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError, MapMissingError
from dpcore.lexicon.cache import only_in_memory
from dpcore.measure.maps import jobs as map_jobs
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.maps.table import point_table
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.maps.panes import map_caption
from dpcore.plots.style import percent
from dpcore.written import Filled
from pages.shared import link
from pages.shared.figure import show_caption
from pages.shared.fragments import fragment
from pages.shared.language import later, numeral, say
from pages.shared.link import segments
from pages.shared.messages import inform, note, refuse
from pages.shared.table import show_table
from pages.shared.taking import show_line
from pages.words.bench import PairBench
from pages.words.density import density_of, density_or_button
from pages.words.vocabulary import show_vocabulary
from pages.words.words import SLOTS, TITLES

WHOLE = later("Whole vocabulary")
KINDS = {"densMAP": Projection.DENSMAP, "UMAP": Projection.UMAP, "PCA": Projection.PCA}
FIGURE = "map"
_TRUE, _PCA = later("True distances"), "PCA"
_DRAWN = "drawn_as"
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
        "that lie together here are strangers: nearness on this map says almost nothing."
    ),
}
_JOB = "neighbouring_job"
_FAILED = "neighbouring_job_failed"
_PULSE_SECONDS = 1.0


def old_link() -> None:
    """Lead links to former tabs: of maps to the panes or the map of all words; renamed ones."""
    asked = st.query_params
    if asked.get("more") not in {"Map", "How to misread the map"}:
        return
    if asked["more"] != "Map":
        link.put({"more": ["How the map can mislead"]})
    elif asked.get("scope") == WHOLE:
        link.put({"more": [WHOLE], "scope": []})
    else:
        drawn = asked.get("projection", "densMAP")
        link.put({"more": [], "scope": [], "projection": [], _DRAWN: [drawn]})
    st.rerun()  # fields read a link when they are first drawn


def chosen_map(bench: PairBench) -> Map | None:
    """Draw the choice of what the panes show: true distances, or the words on a map.

    Returns:
        The map of both neighbourhoods; None for true distances.
    """
    kinds = [_TRUE, "UMAP", "densMAP"]
    if st.query_params.get(_DRAWN) == _PCA:  # an old link; nobody else needs it
        kinds.append(_PCA)
    missing_place = st.container(key="words_missing")  # above the choice, which lies over the panes
    with st.container(key="words_view"):
        drawn = segments(
            say("Panes show"),
            kinds,
            _DRAWN,
            say(
                "True distances from the word in the middle, or both neighbourhoods on a map: UMAP "
                "keeps neighbours and loses density, densMAP keeps some of the density."
            ),
            label_visibility="collapsed",
        )
    if drawn == _TRUE:
        return None
    with missing_place:
        return find_map(bench, False, KINDS[drawn])


def choose_projection() -> Projection:
    """Draw the choice of the method of the map of all words; it is part of the link."""
    kind = segments(
        say("Drawn by"),
        KINDS,
        "projection",
        say(
            "UMAP keeps some of the neighbours and loses density. densMAP also keeps some "
            "of the density. PCA never draws two words farther apart than they are, but loses "
            "most of each distance."
        ),
        start="densMAP",
    )
    return KINDS[kind]


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
    bench: PairBench, projection: Projection, mechanism: Mechanism, epsilon: float, reading: str
) -> None:
    """Draw the map of all words with the output mass of one mechanism at one ε."""
    shown = find_map(bench, True, projection)
    if shown is None:
        return
    words = bench.pair.lexicon
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
    show_vocabulary(bench, shown, outputs, say(caption.alternative))
    if density_of(words) is None:
        # The map does not wait for the density, which may take half a minute.
        note(say("All points have one colour until it is known how crowded each word is."))
        density_or_button(words)
    # The file has every point; the table shows those near the two words.
    every = partial(
        point_table, words, shown, bench.pair.words, bench.mapped_neighbours, len(words)
    )
    show_caption(caption, FIGURE, bench.points(shown) if mass is None else mass, every)
    note(say(_READING[shown.projection]))
    if len(shown.regions):
        note(
            say(
                "Names in *italics* are regions: dense clumps of at least one word in 625 (found "
                "by HDBSCAN on the map), each named by the most frequent of its ten most central "
                "words."
            )
        )


def find_map(bench: PairBench, whole: bool, projection: Projection) -> Map | None:
    """Return a map of all words or of both neighbourhoods; until it is built, that by PCA."""
    try:
        with st.spinner(say("Drawing the map…"), show_time=True):
            return bench.map(whole, projection)
    except MapMissingError as error:
        # PCA takes a second, and a map that hides much is better than none.
        pca = _pca(bench, whole)
        _offer(bench, whole, projection, str(error), say("Until then PCA is shown.") if pca else "")
        return pca
    except DpcoreError as error:
        refuse(say("There is no such map."), error)
        return _pca(bench, whole)


def _pca(bench: PairBench, whole: bool) -> Map | None:
    try:
        return bench.map(whole, Projection.PCA)
    except DpcoreError:
        return None  # not built either, or of too few words for any map


def _offer(
    bench: PairBench, whole: bool, projection: Projection, missing: str, meanwhile: str
) -> None:
    """Draw a button that builds the map in a process of its own, or the progress of building."""
    # A map is built in another process, from files; uploaded vectors are written nowhere.
    if only_in_memory(bench.pair.lexicon.fingerprint):
        inform(
            say(
                "For your own vectors there is only PCA: other maps take minutes and would be kept "
                "on disk. To get them all, add the vectors on your machine and build the maps:"
            )
        )
        show_line("python -m dpcore lexicon add FILE --name NAME")
        show_line("python -m dpcore map build --lexicon NAME")
        return
    identity = (bench.pair.lexicon.fingerprint, whole, projection, bench.pair.words)
    building = st.session_state.get(_JOB)
    # Another map may be building: its progress belongs to its own view.
    if building is not None and building[0] == identity:
        fragment(_watch, meanwhile, every=_PULSE_SECONDS)
        return
    building_time = say(
        "Building takes half a minute around two words, minutes for a whole vocabulary; the page "
        "stays usable."
    )
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
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
            args=(bench, whole, projection, identity),
            help=say("Runs in a process of its own. The map is kept for the next time."),
        )
        if whole:
            # The message of the engine ends with the command.
            show_line(missing.rpartition("build it with: ")[2])


def _build(
    bench: PairBench, whole: bool, projection: Projection, identity: tuple[object, ...]
) -> None:
    st.session_state.pop(_FAILED, None)
    # One map at a time in a session: each takes minutes of a core.
    _drop()
    centres = () if whole else bench.pair.words
    k = bench.mapped_neighbours
    try:
        job = map_jobs.start(bench.pair.lexicon, projection, centres, k)
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
        help=say("Stops building; what was computed so far is lost."),
    )


def misreading(bench: PairBench) -> None:
    """Draw how the maps mislead, in numbers of the available maps."""
    note(
        say(
            "**Gaps are not distances, areas are not densities.** A map squeezes {dimension} "
            "dimensions into two. UMAP evens out how crowded places are, and errs in both "
            "directions for a single word; densMAP puts the crowding back, and often too much "
            "of it; PCA never shows two words farther apart than they are, but lets strangers "
            "fall on top of each other. True distances are in the panes, in the lists and in the "
            "strip.",
            dimension=bench.pair.lexicon.dimension,
        )
    )
    rows = []
    headings: dict[str, str] = {}
    for whole, (title, projection) in itertools.product((False, True), KINDS.items()):
        try:
            shown = bench.map(whole, projection)
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
                "A rank correlation of 1 would keep the order of crowded and lonely words, 0 would "
                "keep nothing of it. The last two columns compare the mean distance to the 10 "
                "nearest words."
            )
        )


def _ratio(value: float | None) -> str:
    return "–" if value is None else numeral(f"{value:.3g}")
