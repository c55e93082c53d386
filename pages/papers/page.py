"""Papers page: rows of claims, recorded experiments and audited packages, and one in detail."""

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.papers.claims import RecordedVerdicts
from pages.papers.claims import (
    choose_claim,
    choose_verdict,
    chosen_claim,
    finding,
    verdicts,
)
from pages.papers.detail import detail
from pages.papers.detail import takeaway as claim_takeaway
from pages.papers.experiments import (
    STUDY,
    choose_experiment,
    chosen_experiment,
    entries,
    experiment,
)
from pages.papers.experiments import takeaway as experiment_takeaway
from pages.papers.packages import (
    PACKAGE,
    choose_audit,
    chosen_audit,
    package_detail,
    package_takeaway,
    recorded_packages,
)
from pages.papers.store import recorded_verdicts
from pages.shared import link
from pages.shared.frame import heading
from pages.shared.language import later, say
from pages.shared.link import choose_one
from pages.shared.messages import footer, provenance, refuse
from pages.shared.needed import lexicon_or_stop
from pages.shared.sidebar import choose_lexicon
from pages.shared.taking import recorded as read
from pages.shared.taking import recorded_footer, take_it_with_you

LOOK, CLAIMS, EXPERIMENTS, PACKAGES = "look", "claims", "experiments", "packages"
_TITLES = {CLAIMS: later("Claims"), EXPERIMENTS: later("Experiments"), PACKAGES: later("Packages")}
# Titles of the chosen item are those of a section, not of a page. The rows stay beside it.
_STYLE = """
[data-testid=stMainBlockContainer] h2 { font-size: 1.4rem; padding: 0.25rem 0 0.4rem; }
[data-testid=stMainBlockContainer] h3 { font-size: 1.1rem; padding: 0.25rem 0 0; }
@media (min-width: 640px) {
  [data-testid=stColumn]:has(> * .st-key-papers_rows) {
    position: sticky; top: 4rem; align-self: flex-start;
  }
}
"""


def claims_part() -> None:
    """Draw the claims, and the chosen one beside them."""
    recorded: RecordedVerdicts | None
    try:
        recorded = recorded_verdicts()
    except DpcoreError as error:
        refuse(say("The recorded verdicts are missing; claims can be computed one by one."), error)
        # The page goes on without the record: every claim can be computed.
        recorded = None
    chosen = chosen_claim()
    with controls:
        outcome = choose_verdict(words, recorded)
        st.text(finding(words, recorded))
    # Rows of claims are the longest; those of experiments leave more room to the figures.
    left, right = st.columns((7, 5), gap="medium")
    with left, st.container(key="papers_rows"):
        choose_claim(words, recorded, outcome, chosen)
    with right:
        verdict = detail(chosen, words, recorded)
    if verdict is not None:
        take_it_with_you(lambda: claim_takeaway(*verdict, name, lambda: verdicts(words, recorded)))
    footer(
        words,
        0 if recorded is None else recorded.settings.seed,
        say("samples as each verdict says"),
    )


def experiments_part() -> None:
    """Draw the recorded experiments, and the chosen one beside them."""
    try:
        there = entries()
        chosen = chosen_experiment(there)
        left, right = st.columns((5, 7), gap="medium")
        with left, st.container(key="papers_rows"):
            choose_experiment(there, chosen)
        with right:
            record = read(chosen)
            experiment(record)
    # `StopIteration`: there is no record at all, and so no first one.
    except (DpcoreError, StopIteration) as error:
        refuse(say("The recorded experiments could not be read; the claims can be."), error)
        return
    take_it_with_you(lambda: experiment_takeaway(record))
    recorded_footer(record)


def packages_part() -> None:
    """Draw the audits of packages, and the chosen one beside them."""
    try:
        record = recorded_packages()
    except DpcoreError as error:
        refuse(say("The recorded audits of packages could not be read; the claims can be."), error)
        return
    chosen = chosen_audit(record)
    left, right = st.columns((6, 6), gap="medium")
    with left, st.container(key="papers_rows"):
        choose_audit(record, chosen)
    with right:
        package_detail(chosen, record)
    take_it_with_you(lambda: package_takeaway(record))
    provenance(
        say(
            "{lexicon} · seed {seed} · {calls:,} calls · error {error:g} · recorded by dpcore "
            "{version}",
            lexicon=say(chosen.lexicon),
            seed=record.seed,
            calls=chosen.calls,
            error=chosen.error,
            version=record.version,
        )
    )


heading(say("Is the guarantee true?"), _STYLE)
with st.sidebar:
    name = choose_lexicon()
words = lexicon_or_stop(name)
if STUDY in st.query_params and LOOK not in st.session_state and LOOK not in st.query_params:
    st.session_state[LOOK] = EXPERIMENTS  # a link from before this choice existed
controls = st.container(horizontal=True, vertical_alignment="center")
with controls:
    look = choose_one(
        st.segmented_control,
        say("Show"),
        _TITLES,
        LOOK,
        required=True,
        help=say(
            "Claims: what papers and this laboratory say, and whether it is true. Experiments: "
            "what papers measured, measured again beforehand. Packages: what releases of others "
            "do, seen from outside."
        ),
        label_visibility="collapsed",
    )
for other, kept in ((CLAIMS, "claim"), (EXPERIMENTS, STUDY), (PACKAGES, PACKAGE)):
    if look != other:
        # A link names the choice of the open part alone; the other parts would open at an old one.
        link.drop(kept)
{CLAIMS: claims_part, EXPERIMENTS: experiments_part, PACKAGES: packages_part}[look]()
