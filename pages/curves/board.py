"""Moving part of the page Curves: dials, curves, tables, and the views below.

All measurements exist by now; when a dial rests, numbers are looked up and drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.words import Selection
from dpcore.plots.deniability.curves import (
    BANDS,
    curves_alt,
    curves_caption,
    curves_figure,
    curves_mark,
)
from dpcore.plots.style import SCALES
from pages.curves.curves import Curve, comparison
from pages.curves.papers import appendix_view
from pages.curves.scene import (
    OPEN_VIEW,
    TAKING,
    VIEWS,
    CurvesScene,
    draw_dials,
    fragment_of,
)
from pages.curves.tables import curve_table, line_table, table_at, take, word_table
from pages.shared import link
from pages.shared.dial import Group, grouped
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.figure import Still, still_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, retold, say
from pages.shared.link import segments, tabs
from pages.shared.messages import note
from pages.shared.table import numbers, show_table
from pages.shared.words import OTHER, WORD, choose, choose_word, chosen_pair, write_pair

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


# Views below the curves: single words, and Appendix C of a paper.


def views(scene: CurvesScene) -> None:
    """Draw the tabs; only the open one is computed."""
    kinds = {
        later("Word by word"): _words_view,
        later("Appendix C"): lambda scene: appendix_view(scene.lexicon),
    }
    tabs(kinds, OPEN_VIEW, scene)


def _words_view(scene: CurvesScene) -> None:
    table = word_table(list(scene.curves), scene.epsilons(), scene.pinned)
    show_table(table, say("Nw and Sw of every word at the chosen ε"))
    note(
        say(
            "At the ε of the dials. The effective number 1/Σp² is the number of equally likely "
            "outputs for which two runs would agree as often as they do here."
        )
    )


NOMINAL, EQUAL = later("nominal ε"), later("calibrated: equal mean Nw")
_NUMBERS = (
    later("Nw"),
    later("Nw at least"),
    later("Nw at most"),
    later("Sw"),
    later("± Sw"),
    later("effective number"),
)


@dataclass(frozen=True)
class Part:
    """Group of mechanisms with everything that is drawn for it, made once for all steps.

    Attributes:
        group: the group.
        curves: curves of its mechanisms.
        pinned: words with rows of their own.
        tables: by quantity, the columns of `dpcore.plots.deniability.curves`.
        figures: by quantity.
        alts: their text alternatives.
    """

    group: Group
    curves: list[Curve]
    pinned: tuple[str, ...]
    tables: dict[str, pd.DataFrame]
    figures: dict[str, go.Figure]
    alts: dict[str, str]


def board(
    scene: CurvesScene,
    dial_place: DeltaGenerator,
    picture_place: DeltaGenerator,
    how_place: DeltaGenerator,
) -> None:
    """Draw the choice of the comparison, dials, curves, tables, views and the drawer.

    Args:
        scene: state of the page.
        dial_place: place of the dials.
        picture_place: place of the curves.
        how_place: place of the choice of how mechanisms are compared.
    """
    # Filled here, since the choice decides which controls there are.
    with how_place, st.container(horizontal=True):
        how = segments(
            say("Compare mechanisms at"),
            [NOMINAL, EQUAL],
            "compare",
            say(
                "nominal: each mechanism over its own ε, in one figure per meaning of ε. "
                "calibrated: all in one figure, over how often words stay."
            ),
        )
        if how == NOMINAL:
            band = _band()
            every = st.toggle(
                say("Thin line per word"),
                key="lines",
                bind="query-params",
                help=say("Draws the curves of all measured words behind their mean."),
            )
    with picture_place:
        if how == EQUAL:
            comparison(scene.curves, dial_place)
        else:
            # Mechanisms whose ε means the same share a figure and a dial; the others never share an
            # axis.
            groups = dict(grouped(curve.mechanism for curve in scene.curves))
            draw_dials(dial_place, groups)
            for group in groups:
                members = [c for c in scene.curves if c.mechanism.meaning in group.meanings]
                _group(_part(group, members, scene.pinned, BANDS[band], every))
    st.page_link(
        "pages/tradeoff/page.py",
        label=say("Choose ε from a goal"),
        icon=":material/tune:",
        # In English: tabs are linked by their English titles in every language.
        query_params={"part": "Choose ε", "goal": "nw"},
    )
    fragment(views, scene, key=VIEWS)
    fragment(take, scene, key=TAKING)


def _band() -> str:
    band: str = segments(
        say("Band around each mean"),
        BANDS,
        "band",
        say("Shows how much words differ from each other; it is not a measurement error."),
    )
    return band


def _part(
    group: Group, members: list[Curve], pinned: tuple[str, ...], band: str, every: bool
) -> Part:
    tables = {quantity: curve_table(members, quantity) for quantity in ("nw", "sw")}
    lines = line_table(members, pinned, every)
    title = SCALES[members[0].mechanism.meaning].axis
    # Made once for all steps of the dial; at a step only marks, captions and tables change.
    figures = {
        quantity: curves_figure(table, quantity, title, group.logarithm, band, lines)
        for quantity, table in tables.items()
    }
    alts = {quantity: curves_alt(table, quantity) for quantity, table in tables.items()}
    return Part(group, members, pinned, tables, figures, alts)


def _group(part: Part) -> None:
    """Draw two figures and a table of one group; only parts that show its ε are in the fragment."""
    group = part.group
    with st.container(key=f"group_title_{group.name}"):
        st.markdown(f"**{say(group.title)}**")
        _say_delta(part.curves)
    places = {}
    for quantity, column in zip(part.figures, st.columns(2), strict=True):
        with column:
            places[quantity] = still_figure(
                part.figures[quantity],
                part.alts[quantity],
                part.tables[quantity],
                f"{quantity}_{group.name}",
            )
    if part.pinned:
        kinds = (later("{word} solid"), later("{word} dotted"))
        drawn = [say(kind, word=word) for word, kind in zip(part.pinned, kinds, strict=False)]
        # As text: a pinned word may be typed.
        st.text(say("Drawn bold: {words}.", words=", ".join(drawn)))
    # Reserved before the note, and filled by the fragment, so that the table keeps its place.
    below = st.container()
    note(" ".join(_method(curve) for curve in part.curves))
    fragment(_moving, part, places, below, key=fragment_of(group))


def _moving(part: Part, places: dict[str, Still], below: DeltaGenerator) -> None:
    """Draw the captions at the ε of the group, the marks of the figures and the table."""
    group = part.group
    epsilon = epsilon_of(group)
    for quantity, table in part.tables.items():
        places[quantity].show(
            curves_caption(table, quantity, group.reading(epsilon), epsilon),
            curves_mark(table, quantity, group.logarithm, epsilon),
        )
    show_table(
        table_at(part.curves, part.pinned, epsilon),
        say(
            "Nw, Sw and effective number of each mechanism at {reading}",
            reading=group.reading(epsilon),
        ),
        place=below,
        column_config=numbers(_NUMBERS),
    )


def _say_delta(curves: list[Curve]) -> None:
    """Note which mechanisms have δ and which do not, since both kinds share an axis."""
    meanings = {c.mechanism.meaning for c in curves}
    approximate = [
        c.mechanism.short for c in curves if c.mechanism.meaning is EpsilonMeaning.LOCAL_APPROXIMATE
    ]
    # With a single kind the title of the axis says it already.
    if len(meanings) > 1:
        note(
            say(
                "Only up to a probability δ: {names}. The others guarantee ε alone.",
                names=", ".join(approximate),
            )
        )


def _method(curve: Curve) -> str:
    """Describe how the numbers of one mechanism were found, and their possible error."""
    figures, name = curve.measured.figures, curve.mechanism.short
    if curve.measured.method == "exact":
        return say("**{name}**: exact ({detail}).", name=name, detail=retold(figures.detail))
    how = retold(figures.detail)
    if curve.measured.method == "protocol":
        how = say("the papers' protocol ({detail})", detail=how)
    return say(
        "**{name}**: {how}; 95 % intervals of Nw; standard error of the mean Sw at most "
        "{error:.2g}.",
        name=name,
        how=how,
        error=float(figures.sw_mean_error.max()),
    )


# Two words that are shown individually: the pinned one, and one to compare it with.


_FIELDS = {WORD: "pin_word", OTHER: "pin_other"}
_LABELS = {WORD: later("Pin a word"), OTHER: later("Compare with")}
_HELP = {
    WORD: later(
        "Draws its curves bold and adds a row to the tables. Choose a measured word, or type "
        "any other word of the vocabulary and press Enter."
    ),
    OTHER: later("A second word, drawn bold and dotted. Other pages use the same two words."),
}


def pin_words(lexicon: Lexicon, selection: Selection, public: bool) -> tuple[str, ...]:
    """Draw the two choices; return the chosen words, the pinned one first.

    Args:
        lexicon: its words can be chosen.
        selection: the measured words are offered.
        public: True if they are a public sample; otherwise a chosen word stays out of the link.
    """
    pair = dict(zip((WORD, OTHER), chosen_pair(lexicon), strict=True))
    for slot, column in zip((WORD, OTHER), st.columns(2), strict=True):
        with column:
            _choice(slot, pair[slot], lexicon, selection, public)
    write_pair(pair[WORD] or "", pair[OTHER] or "", ("", ""))
    return tuple(dict.fromkeys(word for word in pair.values() if word is not None))


def _choice(
    slot: str, chosen: str | None, lexicon: Lexicon, selection: Selection, public: bool
) -> None:
    def clear() -> None:
        st.session_state.pop(slot, None)
        link.drop("word" if slot == WORD else "other")

    choose_word(
        say(_LABELS[slot]),
        _FIELDS[slot],
        chosen,
        lexicon,
        # If the measured words were typed, so may this one be, and it enters no link.
        partial(choose, slot, typed=not public),
        offered=[*selection.names, *([] if chosen is None else [chosen])],
        explained=say(_HELP[slot]),
        clear=clear,
    )
