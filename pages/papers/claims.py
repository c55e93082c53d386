"""Claims of all sources, one row each, the chosen claim, and verdicts as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.claim import facts
from dpcore.papers.claims import CLAIMS, RecordedVerdicts
from dpcore.papers.overview import PAPER, PAPERS, REPAIRS, SAYS, brief, cost, measured, shown
from pages.papers.store import CLAIM, compute_all, find_verdict
from pages.shared import link
from pages.shared.language import later, numeral, retold, say
from pages.shared.link import choose_one
from pages.shared.messages import SIGNS, note

# Table of the page: one row per claim, experiment or audit, by source; a click chooses one.
#
# Streamlit draws a table on a canvas: screen readers cannot read its words, they do not wrap, and
# no phone shows five columns of it.


_HERE = Path(__file__).parent
_PAPERS = {key: source.title for key, source in PAPERS.items()}
_KEY = "word_privacy_lab.listing"


@dataclass(frozen=True)
class Row:
    """One row, all of it words for people.

    Attributes:
        key: identifies the choice.
        paper: key of its source: in `dpcore.papers.overview.PAPERS`, unless other groups are given.
        sign: sign of the finding, and `word` the finding itself: colour alone conveys nothing.
        word: see `sign`.
        says: the statement of the source.
        name: name of the claim, or its place in the source.
        figure: the computed figure.
        more: a note on more to see, such as a repair.
        refuted: True if the row is marked.
    """

    key: str
    paper: str
    sign: str
    word: str
    says: str
    name: str
    figure: str
    more: str = ""
    refuted: bool = False


@cache
def _component() -> Callable[..., Any]:
    css, js = ((_HERE / f"listing.{end}").read_text(encoding="utf-8") for end in ("css", "js"))
    return st.components.v2.component(_KEY, css=css, js=js)


def listing(
    rows: Sequence[Row],
    chosen: str,
    on_choice: Callable[[str], None],
    *,
    label: str,
    columns: tuple[str, ...],
    groups: Mapping[str, str] = _PAPERS,
) -> None:
    """Draw the table.

    Args:
        rows: in any order; they are shown by source.
        chosen: key of the chosen row.
        on_choice: called with the key when another row is chosen.
        label: label of the table, in English, and key of the element.
        columns: English titles of verdict, statement, figure, and of the notes on more, if any.
        groups: titles of sources by their keys, in the order in which they are shown.
    """
    key = f"listing_{label.lower()}"
    keys = {row.key for row in rows}

    def hear() -> None:
        heard = st.session_state.get(key, {}).get("chosen")
        # The key comes from a browser, so it is checked like any input.
        if heard is not None and heard["key"] in keys:
            on_choice(str(heard["key"]))

    parts = []
    for source, title in groups.items():
        members = [asdict(row) for row in rows if row.paper == source]
        if members:
            parts.append({"title": say(title), "rows": members})
    data = {
        "label": say(label),
        "columns": [say(column) for column in columns],
        "groups": parts,
        "chosen": chosen,
    }
    _component()(key=key, data=data, on_chosen_change=hear)


_USUAL = next(iter(CLAIMS))
_ALL = "all"
WORDS = {
    Outcome.CHECKED: later("checked here"),
    Outcome.DISAGREES: later("sampler fails"),
}
"""Outcomes whose label in a row is shorter; the others are unchanged."""
_MEANING = later(
    "✘ refuted, ✔ proved, ◉ checked exactly on this vocabulary alone, ? a condition is not met "
    "or was not computed, ○ not refuted, ⚠ the sampler disagrees with its law."
)


def verdicts(words: Lexicon, recorded: RecordedVerdicts | None) -> list[Verdict]:
    """Return the known verdicts on this lexicon at the default settings, in the usual order."""
    # At the default settings, whatever is set below: otherwise the rows could not be compared.
    usual = AuditSettings()
    every = (find_verdict(key, words, usual, recorded) for key in CLAIMS)
    return [verdict for verdict in every if verdict is not None]


def choose_verdict(words: Lexicon, recorded: RecordedVerdicts | None) -> str:
    """Draw the filter of the verdicts; return an outcome, or "all"."""
    counts = Counter(verdict.outcome for verdict in verdicts(words, recorded))
    # From refuted to proved: what is wrong comes first.
    there = [outcome for outcome in reversed(Outcome) if counts[outcome]]
    titles = {_ALL: say("All {count} claims", count=len(CLAIMS))} | {
        outcome.name.lower(): f"{SIGNS[outcome]} {word(outcome)}: {counts[outcome]}"
        for outcome in there
    }
    return choose_one(
        st.selectbox,
        say("Verdict"),
        titles,
        "verdict",
        help=say(_MEANING),
        label_visibility="collapsed",
        width=210,
    )


def chosen_claim() -> str:
    """Return the key of the shown claim; it is part of the link."""
    # The link alone holds the choice: every page that links to a claim then sets it.
    linked = st.query_params.get(CLAIM, _USUAL)
    chosen = linked if linked in CLAIMS else _USUAL
    link.write(CLAIM, chosen, _USUAL)
    return chosen


def choose_claim(
    words: Lexicon, recorded: RecordedVerdicts | None, outcome: str, chosen: str
) -> None:
    """Draw the rows.

    Args:
        words: the lexicon on which the claims are judged.
        recorded: verdicts on the bundled words, if they could be read.
        outcome: filter of the rows, from `choose_verdict`.
        chosen: key of the shown claim.
    """
    here = {verdict.key: verdict for verdict in verdicts(words, recorded)}
    rows = [_row(key, here.get(key)) for key in CLAIMS]
    if outcome != _ALL:
        wanted = Outcome[outcome.upper()]
        # A claim without a verdict on this lexicon belongs to no outcome.
        rows = [row for row in rows if row.key in here and here[row.key].outcome is wanted]
    listing(
        rows,
        chosen,
        take_claim,
        label=later("Claims"),
        columns=(later("Verdict"), later("It says"), later("Computed here"), later("Repair")),
    )
    if len(here) < len(CLAIMS):
        _compute_them(words, len(here))


def finding(words: Lexicon, recorded: RecordedVerdicts | None) -> str:
    """Summarise the verdicts on this lexicon in a sentence."""
    counts = Counter(verdict.outcome for verdict in verdicts(words, recorded))
    there = [
        f"{counts[outcome]} {word(outcome)}" for outcome in reversed(Outcome) if counts[outcome]
    ]
    if not there:
        return say("Each calculated again: none yet on these words.")
    return say("Each calculated again: {counts}.", counts=", ".join(there))


def word(outcome: Outcome) -> str:
    """Return an outcome in a word or two."""
    return say(WORDS.get(outcome, str(outcome)))


def take_claim(key: str) -> None:
    """Show another claim in the next run."""
    link.write(CLAIM, key, _USUAL)


def _row(key: str, verdict: Verdict | None) -> Row:
    repairs = len(REPAIRS.get(key, ()))
    more = say("1 repair") if repairs == 1 else say("{count} repairs", count=repairs)
    if verdict is not None and verdict.outcome is Outcome.PROVED:
        # A proved claim has relatives that need less noise; to call them repairs would say that it
        # fails.
        more = say("less noise")  # no repair is needed
    return Row(
        key=key,
        paper=PAPER[key],
        sign="–" if verdict is None else SIGNS[verdict.outcome],
        word=say("not computed") if verdict is None else word(verdict.outcome),
        says=say(SAYS[key]),
        name=say(str(facts()[key]["title"])),
        figure="" if verdict is None else retold(measured(verdict)),
        more=more if repairs else "",
        refuted=verdict is not None and verdict.outcome is Outcome.REFUTED,
    )


def _compute_them(words: Lexicon, known_claims: int) -> None:
    note(
        say(
            "{known} of {count} claims are computed on this lexicon. Verdicts are "
            "recorded for the bundled one; for another it takes seconds to minutes.",
            known=known_claims,
            count=len(CLAIMS),
        )
    )
    if st.button(
        say("Audit all claims on this lexicon"),
        key="audit_all",
        icon=":material/fact_check:",
        help=say(
            "Computes every claim at the usual settings, one after the other; results stay if "
            "you click elsewhere."
        ),
    ):
        compute_all(words)
        # The rows above were drawn before these verdicts existed.
        st.rerun()


# Verdicts as tables; lexicon words appear in them, so cells are plain text.


_COSTS = {
    "deviation/C": later("noise of deviation {amount} C"),
    "deviation/C, as published (not private)": later("noise of deviation {amount} C"),
    "sigma/C": later("noise of deviation {amount} C"),
    "b": later("noise of scale {amount}"),
    "noise scale b": later("noise of scale {amount}"),
    "exponent over that of TEM": later("{amount} times the exponent of TEM"),
    "temperature/range": later("a temperature of {amount} times the range"),
    "epsilon for one half": later("ε = {amount} for half of the tokens"),
}
"""Names of costs, as used within a sentence."""


def signed(verdict: Verdict) -> str:
    """Return the verdict as a sign and words."""
    return f"{SIGNS[verdict.outcome]} {retold(verdict.label)}"


def overview_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per claim: key, verdict, title, source, statement, computed figure."""
    rows = [(v.key, signed(v), v.title, v.source, v.claim, measured(v)) for v in verdicts]
    return pd.DataFrame(rows, columns=["key", "verdict", "claim", "source", "says", "computed"])


def figures_table(verdict: Verdict) -> pd.DataFrame:
    """Return all figures of a verdict, by name."""
    rows = [(name, shown(value)) for name, value in verdict.numbers.items()]
    return pd.DataFrame(rows, columns=["figure", "value"])


def settings_table(verdict: Verdict) -> pd.DataFrame:
    """Return the parameters of a verdict."""
    rows = [(name, shown(value)) for name, value in verdict.settings.items()]
    return pd.DataFrame(rows, columns=["setting", "value"])


def conditions_table(verdict: Verdict) -> pd.DataFrame:
    """Return the conditions of the claim, and whether these settings meet them."""
    rows = [
        (say("✔ met") if c.met else say("✘ not met"), retold(c.text)) for c in verdict.conditions
    ]
    return pd.DataFrame(rows, columns=["state", "condition"])


def price(verdict: Verdict) -> str:
    """Return the cost of a mechanism at its ε, in a few words."""
    paid = cost(verdict)
    if paid is None:
        return say("no more noise: a condition, not a mechanism")
    name, value = paid
    epsilon = verdict.settings.get("epsilon")
    amount = numeral(brief(value))
    figure = say(_COSTS[name], amount=amount) if name in _COSTS else f"{say(name)} {amount}"
    if epsilon is None:
        return figure
    return say("at ε = {epsilon}: {figure}", epsilon=numeral(brief(epsilon)), figure=figure)
