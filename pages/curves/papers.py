"""Recorded figures of the papers, their comparison with measurements, and Appendix C."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.words import select_words
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.comparison import TRADE, Drawing, comparison_rows, comparison_table, drawing
from dpcore.papers.overview import PAPERS, Paper
from dpcore.papers.studies import STUDIES
from dpcore.papers.xu2021.appendix_c import (
    COLUMNS,
    appendix_rows,
    everyday_extremes,
    gumbel_limit,
    gumbel_sentences,
    laplace_sentences,
)
from dpcore.plots.deniability.recorded import (
    appendix_caption,
    appendix_figure,
    recorded_caption,
    recorded_figure,
    trade_caption,
    trade_figure,
)
from dpcore.plots.style import SCALES
from dpcore.study.recorded import Recorded
from dpcore.study.recording import provenance, undefined_sentence
from pages.shared.dial import admissible_grid, group_of
from pages.shared.epsilon_dial import APPENDIX_C
from pages.shared.figure import Sheet, show_figure
from pages.shared.fragments import heard
from pages.shared.language import later, retold, say
from pages.shared.link import pick
from pages.shared.messages import note, refuse
from pages.shared.once import latest
from pages.shared.progress import timed
from pages.shared.session import admissible, mechanism
from pages.shared.table import numbers, show_table
from pages.shared.taking import (
    Takeaway,
    recorded,
    recorded_footer,
    show_compared,
    show_line,
    take_it_with_you,
)
from pages.shared.words import OTHER, WORD, choose, chosen_pair, spelled

MEASURED = "measured"
"""Instead of a study: curves that are measured here."""
FIGURE = "figure"
"""Name of the choice in the link."""
FIGURES = {
    MEASURED: later("Measured here"),
    "xu2021-figure-1-imdb": later("Xu 2021, Figure 1 (IMDb)"),
    "xu2021-figure-1-snli": later("Xu 2021, Figure 1 (SNLI)"),
    "huang2024-figure-2-yelp": later("TrLaplace, Figure 2 (Yelp)"),
    "huang2024-figure-5-yahoo": later("TrLaplace, Figure 5 (Yahoo)"),
    "bundled-mechanisms": later("All mechanisms"),
}
"""Titles of the choices, by name of the recorded study."""


def choose_figure() -> str:
    """Draw the choice of the curves; return the name of a recorded study, or `MEASURED`."""
    # Links of before named the study, or the tab that held all of them.
    linked = st.query_params.get("study", "")
    if linked not in STUDIES and st.query_params.get("part") == "The papers' figures":
        linked = next(iter(STUDIES))
    start = linked if linked in STUDIES else MEASURED
    return pick(
        say("Curves"),
        [start, *(name for name in FIGURES if name != start)],
        FIGURE,
        say(
            "The papers' figures, recorded beforehand beside the values that they print, "
            "or TEM, Madlib and any other mechanism, measured on words of your choice."
        ),
        format_func=FIGURES.__getitem__,
        width=290,
    )


def papers_view(name: str) -> None:
    """Draw the figures of a recorded study, its comparison with the paper and its provenance.

    Args:
        name: of one of `STUDIES`.
    """
    study = STUDIES[name]
    try:
        record = recorded(name)
        compared, table = comparison_rows(record), comparison_table(record)
        source = say(study.source) or say("no paper: mechanisms with their own settings")
        note(f"**{say(study.title)}** ({source})")
        show_panels(record)
    except DpcoreError as error:
        refuse(say("The recorded results could not be read."), error)
        return
    undefined = undefined_sentence(record)
    if undefined:
        note(retold(undefined))
    if compared:
        st.header(say("The paper and our measurement"), anchor=False)
        for row in compared:
            show_compared(row)
    st.header(say("How it was made"), anchor=False)
    show_line(record.entry.command)
    st.text("\n".join(map(retold, provenance(record.entry))))
    keys = record.table["mechanism"].unique().tolist()
    papers = PAPERS.get(name.partition("-")[0], Paper("")).cited
    cited = tuple(dict.fromkeys((*papers, *(c for key in keys for c in MECHANISMS[key].cited))))
    tables = {later("All numbers"): lambda: record.table}
    if compared:
        tables[later("Comparison")] = lambda: table
    take_it_with_you(lambda: Takeaway(None, cited, tables=tables, sheet=sheet_of(record)))
    recorded_footer(record)


def sheet_of(record: Recorded) -> Sheet:
    """Return all panels of a recorded study, for one picture with how it was made."""
    name, study = record.entry.name, STUDIES[record.entry.name]
    source = say(study.source) or say("no paper: mechanisms with their own settings")
    panels = {f"{name}_{i + 1}": panel.title for i, panel in enumerate(study.panels)}
    return Sheet(name, panels, (f"{study.title} ({source}).", *provenance(record.entry)))


def show_panels(record: Recorded) -> None:
    """Draw the panels of a recorded study, two in a row, with the paper's values where it has any.

    Raises:
        DpcoreError: the record lacks a curve.
    """
    name = record.entry.name
    drawings = [drawing(record, panel) for panel in STUDIES[name].panels]
    for start in range(0, len(drawings), 2):
        pair = drawings[start : start + 2]
        for place, (column, figure) in enumerate(
            zip(st.columns(2), pair, strict=False), start=start
        ):
            with column:
                _panel(figure, f"{name}_{place + 1}")


def _panel(figure: Drawing, key: str) -> None:
    """Draw one figure with its title."""
    title = say(figure.panel.title)
    st.markdown(f"**{title}**")
    if figure.panel.quantity == TRADE:
        caption = trade_caption(figure.table)
        show_figure(trade_figure(figure.table), caption, figure.table, key, title=title)
        return
    logarithm = figure.meaning is EpsilonMeaning.METRIC_LOG
    quantity = figure.panel.quantity
    show_figure(
        recorded_figure(figure.table, quantity, SCALES[figure.meaning].axis, logarithm),
        recorded_caption(figure.table, quantity, logarithm),
        figure.table,
        key,
        title=title,
    )


# Appendix C of Xu et al. 2021 beside the truth: a section of the page Curves.


_KEYS = ("madlib.v1", "truncated-gumbel.v1")
_TITLES = (
    later("Laplace: 1 − exp(−εδ/4)"),
    later("Truncated Gumbel: at least P(K ≥ 2)/(1 + e^(−δ/b))"),
)
_ROWS, _STARTS = "appendix_held", "appendix_starts"
_BOXES = {WORD: "appendix_dense", OTHER: "appendix_sparse"}
_FOLLOWED = "appendix_followed"
_DIRECTIONS = 400
_SEED = 0
_LONGEST = 100
_SHOWN = ["mechanism", "word", "epsilon", "nearest", "formula", "truth", "low", "high"]


def appendix_view(lexicon: Lexicon) -> None:
    """Draw the choice of two words, both figures, the table and the failing formulas."""
    note(
        say(
            "Appendix C of Xu et al. (2021) predicts how often a word stays from δ alone, its "
            "distance to the nearest other word. It argues that Laplace noise treats dense and "
            "sparse regions differently and truncated Gumbel noise hardly does. Dashed: its "
            "formulas. Solid: the mechanisms. Dotted: bounds that can be proved instead."
        )
    )
    words = _choose(lexicon)
    if words is None:
        return
    mechanisms = [mechanism(lexicon, key) for key in _KEYS]
    tables = _tables(lexicon, mechanisms, words)
    here = []
    for each, table, title, column in zip(
        mechanisms, tables, _TITLES, st.columns(2), strict=True
    ):  # fmt: skip
        with column:
            here.append(_formula(each, table, title))
    show_table(
        pd.concat(here)[_SHOWN],
        say("Formula, truth and proved bounds of both words at the chosen ε"),
        column_config=numbers(_SHOWN[1:]),
    )
    note(
        say(
            "nearest is δ, low and high are proved bounds. The truth of truncated Gumbel is "
            "exact; that of Laplace is averaged over {directions} directions of the noise (seed "
            "{seed}).",
            directions=_DIRECTIONS,
            seed=_SEED,
        )
    )


def _formula(mechanism: Mechanism, table: pd.DataFrame, title: str) -> pd.DataFrame:
    """Draw slider, figure and sentences of one formula; return the rows at the chosen ε."""
    group = group_of(mechanism.meaning)
    grid = admissible_grid(group, [mechanism])
    st.header(say(title), anchor=False)
    # The default may be below the grid of a lexicon of another size.
    start = APPENDIX_C[group.name]
    epsilon = st.select_slider(
        say("ln ε of the marker") if group.logarithm else say("ε of the marker"),
        grid,
        value=start if start in grid else grid[len(grid) // 2],
        format_func=group.label,
        key=f"appendix_eps_{group.name}",
        help=say("The sentences and the table refer to this ε; nothing is computed again."),
    )
    rows = cast("list[dict[str, Any]]", table.to_dict("records"))
    n, d = len(mechanism.lexicon), mechanism.lexicon.dimension
    limit = gumbel_limit(n) if group.logarithm else None
    show_figure(
        appendix_figure(table, SCALES[mechanism.meaning].axis, group.logarithm, epsilon, limit),
        appendix_caption(table, group.reading(epsilon), epsilon),
        table,
        f"appendix_{mechanism.short}",
    )
    sentences = (
        gumbel_sentences(rows, epsilon, n)
        if group.logarithm
        else laplace_sentences(rows, epsilon, d)
    )
    for sentence in sentences:
        st.text(retold(sentence))
    return table[table["epsilon"] == epsilon]


def _choose(lexicon: Lexicon) -> tuple[str, str] | None:
    """Draw the choice of two words, by default the pair of all pages; None if one is unknown."""
    starts = latest(_STARTS, lexicon.fingerprint, lambda: everyday_extremes(lexicon))
    pair = tuple(
        chosen or start for chosen, start in zip(chosen_pair(lexicon), starts, strict=True)
    )
    # Only when the pair has changed elsewhere; otherwise a refused word would vanish from its
    # field.
    if st.session_state.get(_FOLLOWED) != pair:
        for key, word in zip(_BOXES.values(), pair, strict=True):
            st.session_state[key] = word
        st.session_state[_FOLLOWED] = pair
    labels = (say("A word in a dense region"), say("A word in a sparse region"))
    for (slot, key), label, column in zip(_BOXES.items(), labels, st.columns(2), strict=True):
        # Fields with keys of their own: one may hold a word that is refused, which must not become
        # the word in focus.
        column.text_input(
            label,
            key=key,
            max_chars=_LONGEST,
            on_change=_take,
            args=(slot, lexicon),
            help=say(
                "Any word of the lexicon; all pages use it as one of their two words. It stays "
                "in this browser session and is not put into the link."
            ),
        )
    typed = [str(st.session_state[key]).strip() for key in _BOXES.values()]
    known = [spelled(word, lexicon) for word in typed]
    for word, spelling in zip(typed, known, strict=True):
        if spelling is None:
            st.error(
                say("This word is not in the lexicon: type another one."), icon=":material/error:"
            )
            # As text: it was typed.
            st.text(word)
    dense, sparse = known
    if dense is None or sparse is None:
        return None
    if dense == sparse:
        st.error(say("These are the same word: type another one."), icon=":material/error:")
        return None
    return dense, sparse


def _take(slot: str, lexicon: Lexicon) -> None:
    """Select a known word on all pages; an unknown word is refused at its box."""
    word = spelled(str(heard(_BOXES[slot]) or "").strip(), lexicon)
    if word is not None:
        choose(slot, word, typed=True)


def _tables(
    lexicon: Lexicon, mechanisms: list[Mechanism], words: tuple[str, str]
) -> list[pd.DataFrame]:
    """Return the rows of each mechanism, kept in this session until other words are chosen."""

    def compute() -> list[pd.DataFrame]:
        parts = [(each, word) for each in mechanisms for word in words]
        rows: dict[str, list[dict[str, Any]]] = {key: [] for key in _KEYS}
        for each, word in timed(say("Computing the true values"), parts):
            rows[each.key] += appendix_rows(
                each, select_words(lexicon, [word]), admissible(each), runs=_DIRECTIONS, seed=_SEED
            )
        return [pd.DataFrame(rows[key], columns=list(COLUMNS)) for key in _KEYS]

    # In the session, since the words may be typed; one pair, since a pair takes seconds and few are
    # compared.
    return latest(_ROWS, (lexicon.fingerprint, words), compute)
