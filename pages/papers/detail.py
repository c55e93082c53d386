"""Details of one claim: statement beside computation, the failing step, the repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import pandas as pd
import streamlit as st

from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Outcome, Verdict
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.noise.streams import generator
from dpcore.papers.claims import PROFILED, RecordedVerdicts, claimed_profile
from dpcore.papers.habernal2021.comparison import exceeding_pairs, two_dimensions
from dpcore.papers.overview import CITED, REPAIRS, cost, measured
from dpcore.plots.audit import (
    exceeding_caption,
    exceeding_figure,
    geometry_caption,
    geometry_figure,
    profile_caption,
    profile_figure,
)
from pages.papers.claims import (
    conditions_table,
    figures_table,
    overview_table,
    price,
    settings_table,
    signed,
    take_claim,
    verdicts,
)
from pages.papers.controls import choose_settings
from pages.papers.store import compute, find_verdict
from pages.shared.figure import show_figure
from pages.shared.language import later, numeral, retold, say
from pages.shared.messages import inform, note, refuse
from pages.shared.once import once
from pages.shared.progress import Reporter
from pages.shared.table import show_table
from pages.shared.taking import Takeaway

# Pictures of a claim: its privacy profile, and for ADePT the pairs that its noise does not cover.


_PAIRS, _SEED = 10_000, 0
_DRAWN = "audit_pairs"


def pictures(key: str, words: Lexicon, settings: AuditSettings) -> None:
    """Draw the pictures of a claim at these settings."""
    if key in PROFILED:
        st.subheader(say("Claimed against true"), anchor=False)
        try:
            with st.spinner(say("Computing the privacy profile…"), show_time=True):
                # Shared by all sessions: settings are numbers within limits, and no text is typed
                # here.
                table = once(
                    "claimed profiles",
                    (words.fingerprint, key, settings),
                    lambda: claimed_profile(key, words, settings),
                )
        except DpcoreError as error:
            refuse(say("The privacy profile cannot be computed at these settings."), error)
            return
        show_figure(profile_figure(table), profile_caption(table), table, f"profile_{key}")
    if key == "adept-published":
        _habernal()


def _habernal() -> None:
    st.subheader(say("Why: two dimensions"), anchor=False)
    shapes = two_dimensions()
    show_figure(geometry_figure(shapes), geometry_caption(shapes), shapes, "adept_geometry")
    st.subheader(say("How many pairs are not covered"), anchor=False)
    note(
        say(
            "Figure 1 of Habernal (2021): pairs of latent vectors are drawn, clipped to the "
            "norm C, and counted where they lie further apart than the published noise covers."
        )
    )
    # Only on request: the drawing takes seconds, and most who open the claim want the verdict.
    if _DRAWN not in st.session_state and st.button(
        say("Draw {pairs:,} pairs for each dimension", pairs=_PAIRS),
        key="draw_pairs",
        icon=":material/scatter_plot:",
        help=say(
            "From 1 to 255 dimensions, for three distributions; some seconds, seed {seed}.",
            seed=_SEED,
        ),
    ):
        _draw()
    if _DRAWN in st.session_state:
        table = st.session_state[_DRAWN]
        show_figure(exceeding_figure(table), exceeding_caption(table), table, "adept_pairs")


def _draw() -> None:
    rng = generator(_SEED, "audit", "habernal")
    with Reporter(say("Drawing pairs"), stop="audit_stop_pairs") as progress:
        st.session_state[_DRAWN] = exceeding_pairs(rng, pairs=_PAIRS, progress=progress)
    # So that the figure takes the place of the button.
    st.rerun()


_WRITTEN = r"[^A-Za-z]*\d[^A-Za-z]*(e[-+]?\d+)?"
_COMPUTED = later("How is this verdict computed?")  # each figure of a verdict says so itself


def detail(
    key: str, words: Lexicon, recorded: RecordedVerdicts | None
) -> tuple[Verdict, AuditSettings] | None:
    """Draw one claim; return its verdict and settings if it is known."""
    # The verdict comes first on the screen, and needs the settings that are drawn below it.
    first, computed = st.container(), st.expander(say(_COMPUTED), key="computed")
    with computed:
        try:
            settings, pressed = choose_settings(key)
        except DpcoreError as error:
            refuse(say("These settings cannot be audited."), error)
            return None
        if pressed:
            verdict = compute(key, words, settings)
        else:
            # Looked up only: other settings or another lexicon compute nothing without the button.
            verdict = find_verdict(key, words, settings, recorded)
        if verdict is not None:
            _computed(verdict)
    with first:
        if verdict is None:
            if not pressed:
                inform(
                    say(
                        "Not computed yet on this lexicon at these settings: open “{computed}” "
                        "and press its button.",
                        computed=say(_COMPUTED),
                    )
                )
            return None
        _verdict(verdict)
        if verdict.outcome is not Outcome.REFUTED:
            usual = find_verdict(key, words, AuditSettings(), recorded)
            if usual is not None and usual.outcome is Outcome.REFUTED:
                inform(
                    say(
                        "At the usual settings this claim is refuted. One counterexample is "
                        "enough: it does not hold in general, whatever holds at these settings."
                    )
                )
        _repairs(key, words, recorded)
        pictures(key, words, settings)
    return verdict, settings


def takeaway(
    verdict: Verdict,
    settings: AuditSettings,
    name: str,
    every: Callable[[], list[Verdict]],
) -> Takeaway:
    """Return link, tables and cell of one claim, for export.

    Args:
        verdict: verdict on the claim.
        settings: settings of the computation.
        name: name of the lexicon in the catalogue.
        every: returns all known verdicts on these words.
    """
    return Takeaway(
        cell=python_cell(verdict.key, settings, name),
        cited=CITED[verdict.key],
        command=verdict.command,
        prints=say("It computes this claim again, on these words and at these settings."),
        tables={
            later("All verdicts"): lambda: overview_table(every()),
            later("Figures of this claim"): lambda: figures_table(verdict),
        },
    )


def python_cell(key: str, settings: AuditSettings, name: str) -> str:
    """Return a Python cell that computes one verdict and prints it.

    Args:
        key: key of the claim.
        settings: settings of the computation.
        name: name of the lexicon in the catalogue.
    """
    usual = AuditSettings()
    given = [
        f"{field}={value!r}"
        for field, value in asdict(settings).items()
        # Defaults are left out, so that the cell shows what was changed.
        if value != getattr(usual, field)
    ]
    words = "dp.lexicon()" if name == "default" else f"dp.lexicon({name!r})"
    return "\n".join(
        (
            "import dpcore as dp",
            "from dpcore.audit.report import AuditSettings",
            "from dpcore.papers.claims import verdict",
            "from dpcore.papers.overview import measured",
            "",
            f"result = verdict({key!r}, {words}, AuditSettings({', '.join(given)}))",
            'print(f"{result.title}: {result.label}")',
            "print(measured(result))",
        )
    )


def _verdict(verdict: Verdict) -> None:
    st.header(f"{say(verdict.title)}: {signed(verdict)}", anchor=False)
    # st.text: sources, conditions and figures are not Markdown, and some name words.
    left, right = st.columns(2, border=True)
    with left:
        _paragraph(say("It says"), f"{retold(verdict.claim)}\n({retold(verdict.source)})")
    with right:
        _paragraph(say("Computed here"), retold(measured(verdict)))
    if verdict.failing_step:
        refuted = verdict.outcome is Outcome.REFUTED
        _paragraph(
            say("The step that fails") if refuted else say("The mistake"),
            retold(verdict.failing_step),
        )
    _paragraph(say("What holds, and why"), retold(verdict.repair))


def _computed(verdict: Verdict) -> None:
    _paragraph(say("What was computed"), retold(verdict.computed))
    if verdict.conditions:
        st.markdown(say("**Conditions**"))
        show_table(conditions_table(verdict), say("Conditions of the claim, and which are met"))
    st.markdown(say("**The figures**"))
    show_table(
        _told(figures_table(verdict)), say("The figures of this verdict, by name"), height="content"
    )
    if verdict.settings:
        st.markdown(say("**Computed at**"))
        show_table(_told(settings_table(verdict)), say("Settings of this verdict"))
    note(
        say(
            "An audit can **refute** a claim or fail to. Only a proof shows it for every "
            "vocabulary, and only a bound on every privacy loss shows it for one. A verdict "
            "concerns the mechanism in real numbers; the page Rewrite shows the effect of "
            "rounding beside each guarantee."
        )
    )


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of names and values in the language of the page."""
    names, values = table.columns
    # A value may be a word of the lexicon, which stays as it is.
    numbers = table[values].str.fullmatch(_WRITTEN)
    return table.assign(
        **{
            names: table[names].map(say),
            values: table[values].where(~numbers, table[values].map(numeral)),
        }
    )


def _paragraph(title: str, text: str) -> None:
    with st.container(gap="xsmall"):
        st.markdown(f"**{title}**")
        st.text(text)


def _repairs(key: str, words: Lexicon, recorded: RecordedVerdicts | None) -> None:
    if key not in REPAIRS:
        return
    here = {verdict.key: verdict for verdict in verdicts(words, recorded)}
    # On another lexicon the claim itself may not be computed yet: there is no cost to compare with.
    if key not in here:
        return
    proved = here[key].outcome is Outcome.PROVED  # no repair is needed
    title = (
        say("What needs less noise") if proved else say("What to use instead, and what it costs")
    )
    st.subheader(title, anchor=False)
    with st.container(gap="xsmall"):
        if cost(here[key]) is not None:
            st.text(say("As claimed: {here}", here=price(here[key])))
        for repair in (here[name] for name in REPAIRS[key] if name in here):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(
                    say(repair.title),
                    key=f"repair_{repair.key}",
                    type="tertiary",
                    icon=":material/arrow_forward:",
                    help=say("Shows this claim in place of the present one."),
                    on_click=take_claim,
                    args=(repair.key,),
                )
                st.text(f"{signed(repair)}; {price(repair)}", width="stretch")
    note(
        say(
            "At the usual settings. C is the norm of clipping; a repair that has a δ has 1 in "
            "{delta:,.0f}.",
            delta=1 / AuditSettings().delta,
        )
    )
