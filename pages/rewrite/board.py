"""Moving parts of the Rewrite page: dials, the grid, and the views below it."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.limits import PAGE_DRAWS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.style import tally_caption
from dpcore.rewrite.redact.redaction import Redaction
from pages.rewrite.redactors import redact_all
from pages.rewrite.rewritten import rewritten
from pages.rewrite.scene import (
    DIALS,
    GRID,
    LEAKAGE,
    VIEWS,
    RewriteScene,
    at_same_leakage,
    chosen_place,
    leaking,
    row_draw,
    row_epsilons,
    run_dependents,
)
from pages.rewrite.sentence_view import sentence_view
from pages.rewrite.tables import sentences_table, takeaway, tally_table
from pages.rewrite.word_view import word_view
from pages.shared import link
from pages.shared.dial import grouped, show_dial
from pages.shared.epsilon_dial import epsilon_dial
from pages.shared.figure import csv_button
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import tabs
from pages.shared.messages import inform
from pages.shared.progress import timed
from pages.shared.session import Bench
from pages.shared.sidebar import Choices
from pages.shared.table import show_table
from pages.shared.taking import take_it_with_you
from pages.tradeoff.scene import keep_step, leakage_dial, step_of

# Views below the grid: limits of the protection, a hundred draws, the legend.


def protection_view(scene: RewriteScene) -> None:
    """List the content that is released unchanged under the chosen options."""
    encoding = scene.bench.sentence.encoding
    lines = encoding.treatment.released(encoding.language)
    protected = scene.bench.sentence.protected
    unknown = len(encoding.unknown)
    st.markdown(
        say(
            "The guarantee covers **{protected} words** of this text; {unknown} of them are "
            "not in the vocabulary. Every word gets independent noise, so the privacy losses "
            "add up over the text: open “guarantee” in a row to see the sum, and a smaller "
            "joint bound where one is known. **Not protected:**",
            protected=protected,
            unknown=unknown,
        )
    )
    st.markdown("\n".join(f"- {say(line)}" for line in lines))
    st.markdown(
        say(
            "**This page is for looking.** It shows one draw of the noise at many ε. Anyone who "
            "holds two outputs of one draw may be able to solve for the words, so publish at "
            "most one text, made with fresh noise and an unpredictable seed: `python -m dpcore "
            "rewrite` without `--seed`."
        )
    )


def draws_view(scene: RewriteScene) -> None:
    """Tally the draws of the chosen mechanism at its ε."""
    if not (scene.defined and scene.bench.sentence.protected):
        inform(
            say("There is nothing to draw: choose a word of a mechanism that is defined at its ε.")
        )
        return
    title = scene.chosen.title
    request = (scene.chosen, scene.seed, PAGE_DRAWS)
    places = range(scene.bench.sentence.protected)
    # Every place, though the table shows one: the texts beside it need all of them.
    missing = [
        place for place in places if not scene.bench.has_redraw(*request, place, scene.epsilon)
    ]
    for place in timed(say("Drawing each word {draws} times", draws=PAGE_DRAWS), missing):
        scene.bench.redraw(*request, place, scene.epsilon)
    what = (scene.bench, scene.chosen, scene.epsilon, scene.seed, PAGE_DRAWS)
    counts = tally_table(*what, [scene.place])
    texts = sentences_table(*what)
    label = scene.bench.label(scene.place)
    kept = int(counts.loc[counts["output"] == label, "count"].sum())
    different = int((counts["output"] != label).sum())
    # As text: the chosen word may be typed.
    st.text(say(tally_caption(label, kept, different, PAGE_DRAWS, title)))
    left, right = st.columns([1, 2])
    with left:
        show_table(
            counts[["output", "count"]],
            say("How often the chosen word became what in {draws} draws", draws=PAGE_DRAWS),
            height=320,
        )
    with right:
        show_table(
            texts,
            say("The rewritten text of {draws} draws", draws=PAGE_DRAWS),
            height=320,
        )
    with st.container(horizontal=True):
        csv_button(
            say("Counts as CSV"), "counts", lambda: tally_table(*what, places), key="csv_counts"
        )
        csv_button(say("Texts as CSV"), "texts", lambda: texts, key="csv_texts")


def reading_view() -> None:
    """Draw the meaning of the grid's signs."""
    with st.expander(say("How to read this"), icon=":material/help:"):
        st.markdown(
            say(
                "Each word comes out as itself or as another, by chance; ε limits how much an "
                "output says about its word. **Changed words** are underlined and marked ↻: "
                "choose one to see what else it could have become. Mechanisms in one group "
                "mean the same by ε, and still change different numbers of words."
            )
        )


_VIEWS = {
    later("What is not protected"): protection_view,
    later("One word: strip and odds"): word_view,
    later("100 draws"): draws_view,
    later("A new sentence"): sentence_view,
}

# Three dials are visible at once, so each shows only its readings and its track. On a phone they
# are stacked in the page itself, low enough for the rows below them; only the first one says what
# the readings are, and stays in sight.
_SEVERAL = """
.st-key-rewrite_dials {{
  --dial-ends: none; --dial-exact: none; --dial-value: 1rem; --dial-columns: auto 1fr;
  backdrop-filter: blur(0.75rem);
}}
@media (max-width: 640px) {{
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]
    :has([class*="st-key-dial_place"]) {{ display: contents; }}
  [class*="st-key-dial_place"] {{
    --dial-value: 0.875rem; --dial-track: 1.75rem; --dial-padding: 0.2rem 0.75rem 0;
  }}
  [class*="st-key-dial_place"]:not(.st-key-dial_place_{first}) {{
    --dial-about: none; margin-top: -0.75rem;
  }}
  .st-key-dial_place_{first} {{ position: sticky; top: 3.75rem; z-index: 90; }}
}}
"""


def dials(mechanisms: list[Mechanism]) -> None:
    """Draw the dials of ε side by side, or that of the leakage, in their own fragment."""
    fragment(_dials, mechanisms, key=DIALS)


def _dials(mechanisms: list[Mechanism]) -> None:
    if at_same_leakage():
        known = [steps for mechanism in mechanisms if (steps := leaking(mechanism))]
        show_dial(leakage_dial(LEAKAGE, known), step_of(LEAKAGE), _leak)
        return
    groups = grouped(mechanisms)
    with st.container(key="rewrite_dials"):
        several = _SEVERAL.format(first=groups[0][0].name) if len(groups) > 1 else ""
        st.html(f"<style>{several}</style>")
        for (group, members), column in zip(groups, st.columns(len(groups)), strict=True):
            with column:
                epsilon_dial(group, members, run_dependents)


def _leak(step: int) -> None:
    keep_step(LEAKAGE, step)
    run_dependents()


def board(
    bench: Bench,
    mechanisms: list[Mechanism],
    choices: Choices,
    text: str,
    seed: int,
    number: int,
    redactors: tuple[str, ...],
    grid_place: DeltaGenerator,
) -> None:
    """Draw the grid and the views, each a fragment; a resting dial runs only these.

    Args:
        bench: the sentence.
        mechanisms: one row each.
        choices: choices of the sidebar.
        text: the typed text.
        seed: seed of the noise.
        number: number of the draw.
        redactors: names of the redactors beside the mechanisms.
        grid_place: place of the grid.
    """
    with grid_place:
        # Before the fragments, which all need these draws: the time is shown once, above the grid.
        missing = [m for m in mechanisms if not bench.has_draw(m, seed, number)]
        for mechanism in timed(say("Drawing noise"), missing):
            row_draw(bench, mechanism, seed, number, row_epsilons([mechanism])[mechanism.key])
        redactions = redact_all(bench, text, redactors)
        fragment(_grid, bench, mechanisms, seed, number, redactions, key=GRID)
    shown = (seed, number, redactions)
    fragment(_views, bench, mechanisms, choices, text, *shown, key=VIEWS)


def _grid(
    bench: Bench,
    mechanisms: list[Mechanism],
    seed: int,
    number: int,
    redactions: list[Redaction],
) -> None:
    chosen, place = _chosen(bench, mechanisms)
    rewritten(
        bench,
        mechanisms,
        row_epsilons(mechanisms),
        seed,
        number,
        key="grid",
        chosen=chosen,
        place=place,
        redactions=redactions,
    )


def _views(
    bench: Bench,
    mechanisms: list[Mechanism],
    choices: Choices,
    text: str,
    seed: int,
    number: int,
    redactions: list[Redaction],
) -> None:
    chosen, place = _chosen(bench, mechanisms)
    rows = tuple(mechanisms), row_epsilons(mechanisms)
    drawn = (*rows, chosen, place, seed, number, choices, text)
    scene = RewriteScene(bench, *drawn, tuple(redactions))
    tabs(_VIEWS, "view", scene)
    reading_view()
    take_it_with_you(lambda: takeaway(scene))


def _chosen(bench: Bench, mechanisms: list[Mechanism]) -> tuple[Mechanism, int]:
    """Return the mechanism and the place of the strip and the views; both are in the link."""
    if "via" not in st.session_state:
        # No field holds it (a click in the grid sets it), so the link is read and written here.
        st.session_state["via"] = st.query_params.get("via", "")
    via = st.session_state["via"]
    chosen = next((m for m in mechanisms if m.short == via), mechanisms[0])
    link.write("via", chosen.short, mechanisms[0].short)
    return chosen, chosen_place(bench)
