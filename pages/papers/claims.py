"""The claims of all sources, one row each, and which one is chosen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Outcome
from dpcore.papers.claim import facts
from dpcore.papers.claims import CLAIMS
from dpcore.papers.overview import PAPER, REPAIRS, SAYS, measured
from pages.papers.listing import Row, listing
from pages.papers.store import CLAIM, compute_all, known
from pages.shared import link
from pages.shared.language import later, say
from pages.shared.linking import choose_one
from pages.shared.messages import note
from pages.shared.signs import SIGNS

if TYPE_CHECKING:
    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.papers.verdicts import RecordedVerdicts

_USUAL = next(iter(CLAIMS))
_ALL = "all"
WORDS = {
    Outcome.CHECKED: later("checked here"),
    Outcome.DISAGREES: later("sampler fails"),
}
"""Outcomes that need fewer words in a row; the others are as they are."""
_MEANING = later(
    "✘ refuted, ✔ proved, ◉ checked exactly on this vocabulary alone, ? a condition is not met "
    "or was not computed, ○ not refuted, ⚠ the sampler disagrees with its law."
)


def verdicts(words: Lexicon, recorded: RecordedVerdicts | None) -> list[Verdict]:
    """The verdicts on this lexicon that are known at the usual settings, in the usual order."""
    usual = AuditSettings()
    every = (known(key, words, usual, recorded) for key in CLAIMS)
    return [verdict for verdict in every if verdict is not None]


def choose_verdict(words: Lexicon, recorded: RecordedVerdicts | None) -> str:
    """Draw which verdicts are listed; return an outcome, or "all"."""
    counts = Counter(verdict.outcome for verdict in verdicts(words, recorded))
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
    """Key of the claim that is shown; it stands in the link."""
    linked = st.query_params.get(CLAIM, _USUAL)
    chosen = linked if linked in CLAIMS else _USUAL
    link.write(CLAIM, chosen, _USUAL)
    return chosen


def choose_claim(
    words: Lexicon, recorded: RecordedVerdicts | None, outcome: str, chosen: str
) -> None:
    """Draw the rows.

    Args:
        words: on whose words the claims are judged.
        recorded: verdicts on the bundled words, if they could be read.
        outcome: which of them are listed, from `choose_verdict`.
        chosen: key of the claim that is shown.
    """
    here = {verdict.key: verdict for verdict in verdicts(words, recorded)}
    rows = [_row(key, here.get(key)) for key in CLAIMS]
    if outcome != _ALL:
        wanted = Outcome[outcome.upper()]
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
    """How the claims of this lexicon stand, in a sentence."""
    counts = Counter(verdict.outcome for verdict in verdicts(words, recorded))
    there = [
        f"{counts[outcome]} {word(outcome)}" for outcome in reversed(Outcome) if counts[outcome]
    ]
    if not there:
        return say("Each calculated again: none yet on these words.")
    return say("Each calculated again: {counts}.", counts=", ".join(there))


def word(outcome: Outcome) -> str:
    """An outcome in a word or two."""
    return say(WORDS.get(outcome, str(outcome)))


def take_claim(key: str) -> None:
    """Show another claim in the next run."""
    link.write(CLAIM, key, _USUAL)


def _row(key: str, verdict: Verdict | None) -> Row:
    repairs = len(REPAIRS.get(key, ()))
    more = say("1 repair") if repairs == 1 else say("{count} repairs", count=repairs)
    if verdict is not None and verdict.outcome is Outcome.PROVED:
        more = say("less noise")  # there is nothing to repair
    return Row(
        key=key,
        paper=PAPER[key],
        sign="–" if verdict is None else SIGNS[verdict.outcome],
        word=say("not computed") if verdict is None else word(verdict.outcome),
        says=say(SAYS[key]),
        name=say(str(facts()[key]["title"])),
        figure="" if verdict is None else measured(verdict),
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
            "Computes every claim at the usual settings, one after the other; what is done "
            "stays if you click elsewhere."
        ),
    ):
        compute_all(words)
        st.rerun()
