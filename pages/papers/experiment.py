"""One recorded experiment from near: its curves, its paper against measurement, how it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dpcore.papers.agreement import agreement
from dpcore.papers.comparison import comparison_table
from dpcore.papers.overview import PAPERS
from dpcore.papers.studies import EXPERIMENTS
from pages.papers.board import all_boards, board_view, is_benchmark, line_view
from pages.papers.experiments import comes_to, paper_of
from pages.papers.frontier import frontier_view
from pages.shared import link
from pages.shared.language import later, say
from pages.shared.learning.curves import curves_view
from pages.shared.learning.evidence import Rows, choose_part
from pages.shared.learning.examples import show_examples
from pages.shared.learning.membership import membership_view
from pages.shared.learning.solving import solve_view
from pages.shared.messages import note
from pages.shared.recorded import compared_rows, made_view, papers_view, recorded
from pages.shared.taking import Takeaway

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dpcore.study.recorded import Recorded
    from pages.shared.learning.evidence import Evidence

    View = Callable[[], None]

VIEW = "use_view"
TABS = {
    "board": later("Leaderboard"),
    "line": later("Nobody crosses"),
    "curves": later("Curves"),
    "frontier": later("Frontier"),
    "membership": later("Membership"),
    "solve": later("Solve for ε"),
    "examples": later("Examples"),
    "papers": later("Paper against measurement"),
    "command": later("How it was made"),
}
_ELSEWHERE: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("xu2021-tables-", "robustness", "training_record", {"robust_view": "Training"}),
    ("huang2024-autoencoder-", "robustness", "auto_record", {"robust_view": "Auto-encoders"}),
    (
        "adept2021-",
        "robustness",
        "adept_record",
        {"robust_view": "Auto-encoders", "auto_system": "adept"},
    ),
    ("pixeldp-", "robustness", "noise_record", {"robust_view": "Noise in networks"}),
    ("trade-off", "tradeoff", "", {}),
    ("redactors", "rewrite", "", {"redactors": "rules"}),
    ("writers", "rewrite", "", {"view": "A new sentence"}),
    ("reader", "attacker", "", {"view": "A sentence"}),
    ("", "deniability", "study", {"part": "The papers' figures"}),
)
"""Beginning of the name, the page that draws its figures, the name of the choice there, the rest
of the link; the first that fits."""


@st.cache_resource(max_entries=8, show_spinner=False)
def recorded_rows(name: str) -> Rows:
    """Its rows, with what was computed of them for anybody.

    Raises:
        DpcoreError: as `recorded`.
    """
    return Rows(recorded(name).table)


def experiment(record: Recorded) -> None:
    """Draw a recorded experiment."""
    entry = record.entry
    st.header(entry.title, anchor=False)
    source = (
        say("To be compared with {source}.", source=entry.source)
        if entry.source
        else say("No paper to compare with.")
    )
    note(f"{entry.sizes} {source}".strip())
    if entry.source:
        counts = agreement(compared_rows(record))
        st.text(f"{comes_to(counts)}.")
    if entry.name in EXPERIMENTS and EXPERIMENTS[entry.name].rewrites:
        _rewriting(record)
        return
    _elsewhere(entry.name)
    _tabs(_about(record))


def takeaway(record: Recorded) -> Takeaway:
    """What an experiment can be taken along as."""
    entry = record.entry
    tables: dict[str, Callable[[], pd.DataFrame]] = {later("All numbers"): lambda: record.table}
    if entry.source:
        tables[later("Paper against measurement")] = lambda: comparison_table(record)
    if is_benchmark(record):
        tables[later("All boards")] = lambda: all_boards(record)
    return Takeaway(
        cell=python_cell(entry.name),
        cited=PAPERS[paper_of(entry.name)].cited,
        command=entry.command,
        prints=say("It makes the record again; that takes from minutes to hours."),
        tables=tables,
    )


def python_cell(name: str) -> str:
    """A cell that reads a record, compares it with its paper and prints what that comes to."""
    return "\n".join(
        (
            "from dpcore.papers.agreement import agreement",
            "from dpcore.papers.comparison import compare",
            "from dpcore.study.recorded import read_recorded",
            "",
            f"record = read_recorded({name!r})",
            "print(record.entry.title, len(record.table), 'rows')",
            "for row in compare(record):",
            "    print(f'{row.quantity}: {row.in_paper}; here {row.ours}')",
            "print(agreement(compare(record)))",
        )
    )


def _rewriting(record: Recorded) -> None:
    """What an experiment in which texts are rewritten and learned from has to show."""
    above = st.container()

    def evidence() -> Evidence:
        """What is chosen of the record; boards, which show all of it, have nothing to choose."""
        with above:
            return choose_part(record.entry.name, recorded_rows(record.entry.name))

    views: dict[str, View] = {
        "curves": lambda: curves_view(evidence()),
        "frontier": lambda: frontier_view(evidence()),
        "membership": lambda: membership_view(evidence()),
        "solve": lambda: solve_view(evidence()),
    }
    if is_benchmark(record):
        views = {"board": lambda: board_view(record), "line": lambda: line_view(record)} | views
    examples = record.examples
    if examples is not None:
        views["examples"] = lambda: recorded_examples(examples, evidence())
    _tabs(views | _about(record))


def recorded_examples(examples: pd.DataFrame, evidence: Evidence) -> None:
    """Draw the examples of a record, under the labels and of the classifier that are chosen."""
    here = examples[examples["learner"] == evidence.learner]
    if evidence.labels:
        here = here[here["data"] == evidence.labels]
    if not len(here):
        note(say("There are none of this classifier under these labels."))
        return
    show_examples(cast("list[dict[str, Any]]", here.to_dict("records")))
    note(say("The originals are texts that were written for this laboratory: they tell of nobody."))


def _about(record: Recorded) -> dict[str, View]:
    """What every experiment has to show."""
    views: dict[str, View] = {"command": lambda: made_view(record)}
    if record.entry.source:
        views = {"papers": lambda: papers_view(record)} | views
    return views


def _elsewhere(name: str) -> None:
    """A link to the page that draws the figures of an experiment in which no text is rewritten."""
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


def _tabs(views: dict[str, View]) -> None:
    """Draw tabs; only the open one is computed."""
    first = next(iter(views))
    if st.session_state.get(VIEW) not in {say(TABS[key]) for key in views}:
        linked = st.query_params.get(VIEW, "")
        st.session_state[VIEW] = say(TABS[linked if linked in views else first])
    tabs = st.tabs([say(TABS[key]) for key in views], key=VIEW, on_change="rerun")
    for tab, (key, view) in zip(tabs, views.items(), strict=True):
        if tab.open:
            link.write(VIEW, key, first)
            with tab:
                view()
