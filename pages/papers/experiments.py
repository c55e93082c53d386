"""Recorded experiments, one row each: agreement with their papers, details and export."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import resolve
from dpcore.papers.comparison import Agreement, agreement, comparison_rows, comparison_table
from dpcore.papers.ours.learning import RECORDS
from dpcore.papers.overview import PAPERS
from dpcore.papers.studies import EXPERIMENTS, STUDIES
from dpcore.papers.xu2021.training_comparison import against_paper
from dpcore.plots.robust.shares import lines_figure, printed_caption
from dpcore.plots.style import SCALES
from dpcore.study.recorded import Entry, Recorded, read_bundled, read_recorded
from dpcore.written import Filled
from pages.crowd.views import learned_with
from pages.curves.papers import sheet_of, show_panels
from pages.papers.board import all_boards, board_view, is_benchmark, line_view
from pages.papers.claims import Row, listing
from pages.shared import link
from pages.shared.figure import show_figure
from pages.shared.fragments import remembered
from pages.shared.language import later, retold, say
from pages.shared.learning.curves import LEARNING_TABS, VIEW, learning_views
from pages.shared.learning.evidence import Evidence, Rows, choose_part, show_examples
from pages.shared.link import short_tabs
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.taking import Takeaway, compared_rows, made_view, papers_view, recorded

if TYPE_CHECKING:
    import pandas as pd

View = Callable[[], None]


STUDY = "experiment"
_PAPER = {"adept2021": "habernal2021", "pixeldp": "lecuyer2019"}
"""Beginnings of names of experiments whose source has another key."""
_PAPERS = {"xu2021", "carvalho2021", "huang2024"}


def entries() -> dict[str, Entry]:
    """Return the recorded experiments by name, in the order of the studies.

    Raises:
        DpcoreError: the record cannot be read.
    """
    there = {entry.name: entry for entry in read_bundled()}
    # In the order of the studies, whatever the order of the manifest.
    return {name: there[name] for name in (*EXPERIMENTS, *STUDIES) if name in there}


def paper_of(name: str) -> str:
    """Return the key of an experiment's source in `dpcore.papers.overview.PAPERS`."""
    first = name.partition("-")[0]
    return _PAPER.get(first, first if first in _PAPERS else "ours")


def chosen_experiment(there: dict[str, Entry]) -> str:
    """Return the name of the shown experiment; it is part of the link.

    Args:
        there: the recorded experiments, at least one.
    """
    rewriting = [name for name in there if name in EXPERIMENTS and EXPERIMENTS[name].rewrites]
    # Those of papers first: an experiment of our own has nothing to be compared with.
    ordered = sorted(rewriting, key=lambda name: paper_of(name) == "ours")
    usual = next(iter(ordered or there))
    linked = st.query_params.get(STUDY, usual)
    name = linked if linked in there else usual
    link.write(STUDY, name, usual)
    return name


def choose_experiment(there: dict[str, Entry], chosen: str) -> None:
    """Draw the rows.

    Args:
        there: the recorded experiments.
        chosen: name of the shown experiment.

    Raises:
        DpcoreError: a record cannot be read.
    """
    with st.spinner(say("Comparing the records with their papers…")):
        rows = [_row(name, entry) for name, entry in there.items()]
    listing(
        rows,
        chosen,
        _take,
        label=later("Experiments"),
        columns=(later("Agrees?"), later("Experiment"), later("Paper against measurement")),
    )


def comes_to(counts: Agreement) -> str:
    """Describe how closely an experiment agrees with its paper, in a few words."""
    if not counts.rows:
        return say("measured here alone: no printed figure to compare with")
    if not counts.numbers and counts.printed:
        return say("{count} numbers side by side; the paper's are not tested", count=counts.rows)
    if not counts.numbers:
        return say(
            "{count} entries side by side; the paper prints no number to test", count=counts.rows
        )
    return say(
        "{within} of {count} printed figures lie in our intervals; {more} more side by side",
        within=counts.within,
        count=counts.numbers,
        more=counts.rows - counts.numbers,
    )


def ahead(_: Lexicon) -> list[Callable[[], object]]:
    """Return what the server computes before the first request: it takes some seconds."""
    return [_compare_all]


def _compare_all() -> None:
    for entry in entries().values():
        _agreement(entry)


def _agreement(entry: Entry) -> Agreement:
    return once(
        "agreement of a record",
        (entry.name, entry.sha256),
        # Not kept after the comparison: the tables of all records are 35 MB that no page shows.
        lambda: agreement(comparison_rows(read_recorded(entry.name))),
    )


def _row(name: str, entry: Entry) -> Row:
    counts = _agreement(entry)
    sign, word = _judged(counts)
    return Row(
        key=name,
        paper=paper_of(name),
        sign=sign,
        word=word,
        says=say(entry.title),
        name=say(entry.source),
        figure=comes_to(counts),
    )


def _judged(counts: Agreement) -> tuple[str, str]:
    if not counts.rows:
        # Signs as well as words: colour alone would not do.
        return "–", say("ours")
    if not counts.numbers:
        return "≈", say("compared")
    if counts.within == counts.numbers:
        return "✔", say("agrees")
    return ("◐", say("in part")) if counts.within else ("✘", say("differs"))


def _take(name: str) -> None:
    link.put({STUDY: [name]})


# Details of one recorded experiment: its curves, paper against measurement, provenance.


TABS = {
    "board": later("Leaderboard"),
    "line": later("No curve crosses"),
    **LEARNING_TABS,
    "papers": later("Paper against measurement"),
    "command": later("How it was made"),
}
_TRAINING, _TABLES = "xu2021-tables-", ("truncated-gumbel", "madlib")
_ELSEWHERE: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (_TRAINING, "robustness", "training_record", {"robust_view": "Training"}),
    ("huang2024-autoencoder-", "robustness", "auto_record", {"robust_view": "Auto-encoders"}),
    (
        "adept2021-",
        "robustness",
        "adept_record",
        {"robust_view": "Auto-encoders", "auto_system": "adept"},
    ),
    ("pixeldp-", "robustness", "noise_record", {"robust_view": "Noise in networks"}),
    *(
        (name, "crowd", "", {"crowd": crowd, "part": "In numbers"} | learned_with(name))
        for crowd, names in RECORDS.items()
        for name in names[::-1]  # the longer name first
    ),
    ("intervals", "crowd", "", {"crowd": "yelp", "part": "Count a word"}),
    ("trade-off", "tradeoff", "", {}),
    ("leak", "tradeoff", "", {}),
    ("left", "tradeoff", "", {}),
    ("counted", "tradeoff", "", {"left": "counted-100000"}),
    ("redactors", "rewrite", "", {"redactors": "rules"}),
    ("persons-facts", "rewrite", "", {"redactors": "rules"}),
    ("persons-authors", "attacker", "", {"view": "A sentence", "about": "People found"}),
    ("writers", "rewrite", "", {"view": "A new sentence"}),
    ("reader", "attacker", "", {"view": "A sentence"}),
    ("authors", "attacker", "", {"view": "A sentence"}),
    # Every name begins with "", so this one is last.
    ("", "curves", "study", {}),
)
"""Links to other pages by experiment; the first match counts.

Beginning of the name, the page that draws its figures, the name of the choice there, the rest of
the link.
"""


@st.cache_resource(max_entries=8, show_spinner=False)
def recorded_rows(name: str) -> Rows:
    """Return the rows of a record, with results computed from them for all sessions.

    Raises:
        DpcoreError: as `recorded`.
    """
    return Rows(recorded(name).table)


def experiment(record: Recorded) -> None:
    """Draw a recorded experiment."""
    entry = record.entry
    st.header(say(entry.title), anchor=False)
    source = (
        say("To be compared with {source}.", source=say(entry.source))
        if entry.source
        else say("There is no paper to compare with.")
    )
    note(f"{retold(entry.sizes)} {source}".strip())
    if entry.source:
        counts = agreement(compared_rows(record))
        st.text(f"{comes_to(counts)}.")
    if entry.name in EXPERIMENTS and EXPERIMENTS[entry.name].rewrites:
        _rewriting(record)
        return
    _elsewhere(entry.name)
    short_tabs(_drawn(record) | _about(record), TABS, VIEW)


def takeaway(record: Recorded) -> Takeaway:
    """Return link, tables and command of an experiment, for export."""
    entry = record.entry
    tables: dict[str, Callable[[], pd.DataFrame]] = {later("All numbers"): lambda: record.table}
    if entry.source:
        tables[later("Paper against measurement")] = lambda: comparison_table(record)
    if is_benchmark(record):
        tables[later("All boards")] = lambda: all_boards(record)
    # Only while its panels are on the page, from which they are taken.
    has_panels = entry.name in STUDIES and f"{entry.name}_1" in remembered()
    return Takeaway(
        cell=python_cell(entry.name),
        cited=PAPERS[paper_of(entry.name)].cited,
        command=entry.command,
        prints=say("It makes the record again; that takes from minutes to hours."),
        tables=tables,
        sheet=sheet_of(record) if has_panels else None,
    )


def python_cell(name: str) -> str:
    """Return a Python cell that compares a record with its paper and prints the agreement."""
    return "\n".join(
        (
            "from dpcore.papers.comparison import agreement, comparison_rows",
            "from dpcore.study.recorded import read_recorded",
            "",
            f"record = read_recorded({name!r})",
            "print(record.entry.title, len(record.table), 'rows')",
            "for row in comparison_rows(record):",
            "    print(f'{row.quantity}: {row.in_paper}; here {row.ours}')",
            "print(agreement(comparison_rows(record)))",
        )
    )


def _rewriting(record: Recorded) -> None:
    """Draw the views of an experiment that rewrites texts and learns from them."""
    # Above the tabs: one choice for all of them, drawn by the open tab if it needs it.
    above = st.container()

    def evidence() -> Evidence:
        """Return the chosen part of the record; boards show all of it, so they offer no choice."""
        with above:
            return choose_part(record.entry.name, recorded_rows(record.entry.name))

    views = learning_views(evidence)
    if is_benchmark(record):
        views = {"board": lambda: board_view(record), "line": lambda: line_view(record)} | views
    examples = record.examples
    if examples is not None:
        views["examples"] = lambda: recorded_examples(examples, evidence())
    short_tabs(views | _about(record), TABS, VIEW)


def recorded_examples(examples: pd.DataFrame, evidence: Evidence) -> None:
    """Draw the examples of a record, under the chosen labels and classifier."""
    here = examples[examples["learner"] == evidence.learner]
    if evidence.labels:
        here = here[here["data"] == evidence.labels]
    if not len(here):
        note(say("There are none of this classifier under these labels."))
        return
    show_examples(cast("list[dict[str, Any]]", here.to_dict("records")))
    note(say("The originals were written for this laboratory: they are about no one."))


def _about(record: Recorded) -> dict[str, View]:
    """Return the views that every experiment has."""
    views: dict[str, View] = {"command": lambda: made_view(record)}
    if record.entry.source:
        views = {"papers": lambda: papers_view(record)} | views
    return views


def _drawn(record: Recorded) -> dict[str, View]:
    """Return the view of the curves, ours over the paper's values, of records that have some."""
    name = record.entry.name
    if name in STUDIES:
        return {"curves": lambda: show_panels(record)}
    if name.startswith(_TRAINING):
        return {"curves": lambda: _trainings(record)}
    return {}


def _trainings(record: Recorded) -> None:
    """Draw adversarial accuracy over ε for both mechanisms of Tables 2 and 3 of Xu et al. 2021."""
    for mechanism in _TABLES:
        kind = resolve(mechanism)
        table = against_paper(record, mechanism, "paper")
        axis = SCALES[kind.meaning].axis
        unit = "ln ε" if axis.startswith("ln") else "ε"
        st.markdown(f"**{say(kind.title)}**")
        show_figure(
            lines_figure(table, axis, "accuracy", logarithm=unit == "ε"),
            printed_caption(table, Filled("Accuracy after the paper's attack"), unit),
            table,
            f"{record.entry.name}_{mechanism}",
        )


def _elsewhere(name: str) -> None:
    """Draw a link to the page with the figures of an experiment that rewrites no text."""
    page, field, view = next(
        (page, field, view)
        for beginning, page, field, view in _ELSEWHERE
        if name.startswith(beginning)
    )
    st.page_link(
        f"pages/{page}/page.py",
        label=say("Its curves and figures"),
        icon=":material/arrow_forward:",
        query_params=view | ({field: name} if field else {}),
    )
