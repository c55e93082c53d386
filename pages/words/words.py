"""Choice of the two words: search, facts, neighbours and lists, and the shown mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.errors import DpcoreError, UnknownWordError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import VocabularyDensity, search, sparsest_common
from dpcore.measure.pair import less_protected
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, resolve
from dpcore.plots.maps.panes import APART, shortened
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.fragments import heard
from pages.shared.language import later, numeral, say
from pages.shared.link import pick
from pages.shared.messages import note, refuse
from pages.shared.once import session_memo
from pages.shared.session import Settings, mechanism
from pages.shared.sidebar import MECHANISM_WIDTH, START_MECHANISM
from pages.shared.table import show_table
from pages.shared.words import OTHER, WORD, choose, exchange, spelled
from pages.words.bench import SEED, PairBench
from pages.words.density import density_of
from pages.words.scene import (
    EXAMPLES,
    MECHANISM,
    WordsScene,
    show_example,
    show_mechanism,
)
from pages.words.tables import facts_table, neighbour_table

if TYPE_CHECKING:
    import pandas as pd


SLOTS = (WORD, OTHER)
TITLES = (later("First word"), later("Second word"))
MATCHES = 12
_FIND, _MATCH, _UNKNOWN = "find_", "match_", "unknown_"
_EXAMPLE, _KEPT = "words_example", "words_mechanism"
_LESS_PROTECTED, _NONE_FOUND = "less_protected", "none_less_protected"
_FEW = 10  # words tried under each other mechanism, of which one is enough


def example_box() -> None:
    """Draw a list of examples; it is empty again once one is chosen."""

    def take() -> None:
        title = heard(_EXAMPLE)
        # Empty, so that the same example can be chosen once more after the dial was moved.
        st.session_state[_EXAMPLE] = None
        for example in EXAMPLES:
            if example.title == title:
                show_example(example)

    st.selectbox(
        say("Another example"),
        [example.title for example in EXAMPLES],
        index=None,
        key=_EXAMPLE,
        format_func=say,
        placeholder=say("Choose an example"),
        on_change=take,
        width=300,
        help=say(
            "Two words under one mechanism at one ε: madlib treats them very differently, tem "
            "nearly alike."
        ),
    )


def has_common_words(bench: PairBench) -> bool:
    """Return True if words can be offered for the second place without waiting."""
    return density_of(bench.pair.lexicon) is not None


def try_less_protected(scene: WordsScene) -> None:
    """Put a less protected word in the second place, another one each time, or say there is none.

    At the ε of the dials now: they may have moved since the page was drawn.
    """
    words, (first, second) = scene.bench.pair.lexicon, scene.bench.pair.words
    kind = scene.mechanism
    if _epsilon(kind) not in kind.admissible:
        return  # the panes say so
    candidates = _less_protected(words, first, kind)
    begin = candidates.index(second) + 1 if second in candidates else 0
    other = next((i for i in candidates[begin:] + candidates[:begin] if i != second), None)
    if other is not None:
        choose(OTHER, words.words[other])
        return
    elsewhere = (each for each in scene.compared if each != kind)
    better = next((each for each in elsewhere if _less_protected(words, first, each, _FEW)), None)
    before = st.session_state.get(_NONE_FOUND)
    # Numbered, so that a second click tells it once more.
    number = 1 if before is None else before["number"] + 1
    st.session_state[_NONE_FOUND] = {"about": _about(scene), "better": better, "number": number}


def none_found(scene: WordsScene) -> dict[str, Any] | None:
    """Return the sentence that no other word is less protected, and its number; None if not asked.

    It is about one pair under one mechanism at one ε.
    """
    answer = st.session_state.get(_NONE_FOUND)
    if answer is None or answer["about"] != _about(scene):
        return None
    word, better = shortened(scene.bench.pair.names[0]), answer["better"]
    if better is None:
        sentence = say(
            "No other common word that was tried is guessed clearly more often than “{word}” here: "
            "raise or lower ε, or choose another mechanism.",
            word=word,
        )
    else:
        sentence = say(
            "No other common word that was tried is guessed clearly more often than “{word}” here: "
            "choose {mechanism}, under which some are.",
            word=word,
            mechanism=better.short,
        )
    return {"text": sentence, "number": answer["number"]}


def _about(scene: WordsScene) -> tuple[object, ...]:
    return scene.bench.pair.names, scene.mechanism, _epsilon(scene.mechanism)


def _epsilon(kind: Mechanism) -> float:
    return epsilon_of(group_of(kind.meaning))


def _less_protected(words: Lexicon, first: int, kind: Mechanism, tried: int = 40) -> list[int]:
    """Return common words that stand alone beside a word, at the ε of the mechanism's dial.

    Args:
        words: the lexicon.
        first: index of the word.
        kind: the mechanism.
        tried: so many of the sparsest common words are compared with it.
    """
    density, epsilon = density_of(words), _epsilon(kind)
    # The dial is that of a group: this mechanism may be undefined at some of its steps.
    if density is None or epsilon not in kind.admissible:
        return []

    def compute() -> list[int]:
        common = sparsest_common(words, density, tried)
        indices = less_protected(kind, first, common, epsilon, margin=APART, seed=SEED)
        return [int(i) for i in indices]

    # In the session: the first word may come from a typed text.
    return session_memo(_LESS_PROTECTED, (kind, first, epsilon, tried), compute, 20)


def search_boxes(words: Lexicon, names: tuple[str, str], found_place: DeltaGenerator) -> None:
    """Draw a search for each word, and what it finds in a place over the panes.

    Typed text is not in the link; the chosen word is.
    """
    for slot, title, name in zip(SLOTS, TITLES, names, strict=True):
        with st.container(width=140):
            st.text_input(
                say(title),
                key=_FIND + slot,
                # A placeholder and no value: one types another word without deleting this one.
                placeholder=shortened(name),
                on_change=partial(_take_typed, words, slot),
                max_chars=80,
                help=say(
                    "Type another word or its beginning, then Enter. Capital letters do not "
                    "matter. A word of the vocabulary is taken at once; for anything else the "
                    "words that contain it are listed above the picture."
                ),
            )
        with found_place:
            _matches(words, slot, title, names)


def exchange_button(names: tuple[str, str]) -> None:
    """Draw a button that swaps the two words."""
    st.button(
        say("Swap words"),
        key="exchange",
        icon=":material/swap_horiz:",
        on_click=exchange,
        args=names,
        help=say("The first word becomes the second and the other way round."),
    )


def _matches(words: Lexicon, slot: str, title: str, names: tuple[str, str]) -> None:
    typed = st.session_state.get(_FIND + slot, "")
    if _UNKNOWN + slot in st.session_state:
        still = say(
            "The picture still shows “{first}” and “{second}”.", first=names[0], second=names[1]
        )
        st.text(f"{st.session_state[_UNKNOWN + slot]} {still}")
    if not typed.strip():
        return
    matches = search(words, typed, MATCHES).tolist()
    if matches:
        st.selectbox(
            say("{place}: words containing it", place=say(title)),
            [words.words[i] for i in matches],
            # Nothing is chosen at first: the best match is a guess.
            index=None,
            key=_MATCH + slot,
            placeholder=say("{count} found: choose one", count=len(matches)),
            on_change=partial(_take_match, slot),
            width=320,
            help=say(
                "The word itself, then words that begin with it, then words that contain it; the "
                "most frequent first."
            ),
        )


def _take_typed(words: Lexicon, slot: str) -> None:
    typed = (heard(_FIND + slot) or "").strip()
    st.session_state.pop(_UNKNOWN + slot, None)
    if not typed:
        return
    exact = spelled(typed, words)
    if exact is not None:
        # Not as typed text: any word of the vocabulary may stand in the link.
        choose(slot, exact)
        st.session_state[_FIND + slot] = ""  # the field names the word; nothing is to be chosen
        return
    if not search(words, typed, 1).size:
        try:
            # For the message of the engine, which is the same everywhere.
            words.index(typed)
        except UnknownWordError as error:
            st.session_state[_UNKNOWN + slot] = f"{error}. {say('Try a shorter beginning.')}"


def _take_match(slot: str) -> None:
    word = heard(_MATCH + slot)
    if word is not None:
        choose(slot, word)
        # The search is over: its matches would stay on the page.
        st.session_state[_FIND + slot] = ""


def facts(bench: PairBench, density: VocabularyDensity | None) -> None:
    """Draw the crowding around the two words, side by side."""
    names = bench.pair.names
    with st.container(horizontal=True, vertical_alignment="bottom"):
        radius = st.number_input(
            say("Count the words within"),
            0.0,
            None,
            None,
            step=0.5,
            format="%g",
            key="radius",
            bind="query-params",
            width=240,
            placeholder=numeral(f"{max(bench.pair.gaps):.3g}"),
            help=say(
                "A distance, in the unit of the vectors. Empty: the distance at which both words "
                "have a neighbour."
            ),
        )
        exchange_button(names)
    # At this distance both words have at least one neighbour, so both rows say something.
    limit = max(bench.pair.gaps) if radius is None else float(radius)
    show_table(
        facts_table(bench, density, limit),
        say("How crowded it is around “{first}” and “{second}”", first=names[0], second=names[1]),
        row_height=30,
        column_config={
            # On a phone the columns of the words stay in sight.
            "fact": st.column_config.TextColumn("", width=200),
            "first": names[0],
            "second": names[1],
        },
    )
    if density is None:
        note(
            say(
                "Hubness and stratum compare a word with all others: open *Dense and sparse "
                "words* below to compute them."
            )
        )


def neighbour_lists(bench: PairBench) -> None:
    """Draw the true neighbours of both words with true distances; a click selects one."""
    for place, slot in enumerate(SLOTS):
        name = bench.pair.names[place]
        selectable(
            neighbour_table(bench, place),
            slot,
            key=f"near_{slot}_{bench.pair.words[place]}",
            alt=say("The nearest words of “{name}” with their true distances", name=name),
            label=name,
        )
    note(say("True distances. A click on a word makes it the first or the second word."))


def selectable(table: pd.DataFrame, slot: str, *, key: str, alt: str, label: str) -> None:
    """Draw a list of words of which a click chooses one.

    Args:
        table: a column `word` and others.
        slot: slot of the chosen word.
        key: key of the element; it must change with the list, or an old click would choose again.
        alt: description of the list.
        label: title of the column of words.
    """

    def take() -> None:
        clicked = heard(key)
        if clicked and clicked.selection.rows:
            choose(slot, str(table["word"].iloc[clicked.selection.rows[0]]))

    show_table(
        table,
        alt,
        key=key,
        # Streamlit's heights of a header and of a row.
        height=38 + 35 * min(len(table), 8),
        column_config={
            "word": say("near {label}", label=label) if label else say("word"),
            "distance": st.column_config.NumberColumn(say("distance"), format="%.4g"),
        },
        on_select=take,
        selection_mode="single-row",
    )


# Mechanism in the panes: one of all, with its settings from the sidebar.


def shown_mechanism(words: Lexicon, chosen: Iterable[tuple[str, Settings]]) -> Mechanism:
    """Draw the choice of the mechanism; one that refuses its settings ends the page.

    Args:
        words: the lexicon.
        chosen: registry keys and settings of the sidebar.
    """
    # The menu carries no address to this page: back here, the mechanism is the one of before. A
    # field that is on the page has its own value, and no address names its default.
    is_on_page = MECHANISM in st.session_state
    if not is_on_page and MECHANISM not in st.query_params and _KEPT in st.session_state:
        show_mechanism(st.session_state[_KEPT])
    short = pick(
        say("Mechanism"),
        # First the one that old links mean by naming none.
        dict.fromkeys((START_MECHANISM, *(kind.short for kind in MECHANISMS.values()))),
        MECHANISM,
        say(
            "The mechanism whose outputs the two panes and the map show. The others are "
            "compared below the panes, with their settings from the sidebar."
        ),
        names=True,
        width=MECHANISM_WIDTH,
    )
    st.session_state[_KEPT] = short
    key = resolve(short).key
    try:
        return mechanism(words, key, dict(chosen).get(key, ()))
    except DpcoreError as error:
        refuse(say("This mechanism is not there for these words or settings."), error)
        st.stop()
