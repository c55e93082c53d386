"""Below the table: the private copy, a run on the texts, how all was computed, what to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from pages.release.board import chosen_row
from pages.release.command import takeaway
from pages.release.copying import private_copy
from pages.release.goal import step_of
from pages.release.keeping import Kept, choose_kept
from pages.release.offering import in_vocabulary
from pages.release.running import choose_run
from pages.shared.fragments import fragment
from pages.shared.language import say
from pages.shared.learning.views import run_views
from pages.shared.messages import inform, note
from pages.shared.promised import promised_epsilon
from pages.shared.taking import take_it_with_you

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from pages.release.board import Row
    from pages.release.goal import Goal
    from pages.release.running import Run
    from pages.release.uploading import Source
    from pages.shared.resources import Settings

BELOW = "release_below"
"""The fragment that runs when the dial rests."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What the page shows.

    Attributes:
        source: the texts; None where a table was refused.
        run: of this session on these texts, as the table shows it.
        rows: of the table.
        goal: that they shall meet.
        words: the lexicon.
        lexicon: its name in the catalogue.
        settings: of the mechanisms, by their keys.
    """

    source: Source | None
    run: Run | None
    rows: list[Row]
    goal: Goal
    words: Lexicon
    lexicon: str
    settings: dict[str, Settings]


def below(scene: Scene) -> None:
    """All that follows the table, for the mechanism that is chosen at the step of the dial.

    A step of the dial moves the table in the browser; here only what is below runs for it.
    """
    fragment(_below, scene, key=BELOW)


def _below(scene: Scene) -> None:
    source, rows, step = scene.source, scene.rows, step_of(scene.goal)
    row = chosen_row(rows)
    offer = row.offers[step]
    st.header(say("The private copy"), anchor=False)
    if source is None:
        inform(say("Choose another file: this one cannot be used."))
        return
    say_source(source, scene.words)
    keep = Kept()
    if offer.epsilon is None:
        st.text(
            say(
                "{label}: {why}. Choose another row, or another goal.",
                label=row.label,
                why=say(offer.why),
            )
        )
    else:
        st.text(
            say(
                "Chosen: {label}, {promise}.",
                label=row.label,
                promise=promised_epsilon(row.mechanism, offer.epsilon),
            )
        )
        keep = choose_kept(source)
        private_copy(source, row.mechanism, offer.epsilon, keep, scene.lexicon)
    st.header(say("Measured on these texts"), anchor=False)
    run = scene.run
    epsilons = {each.mechanism.short: each.offers[step].epsilon for each in rows}
    wanted = {short: epsilon for short, epsilon in epsilons.items() if epsilon is not None}
    members = [each.mechanism for each in rows]
    choose_run(source, run, members, scene.settings, scene.lexicon, wanted)
    if run is not None and run.rows is not None:
        run_views(run, run.rows)
    with st.expander(say("How is this computed?")):
        explain(source, run)
    take_it_with_you(
        lambda: takeaway(
            source,
            row.mechanism,
            offer.epsilon,
            keep,
            scene.lexicon,
            run,
            lambda: offers_at(rows, step),
        )
    )


def say_source(source: Source, words: Lexicon) -> None:
    """Draw which texts these are, and how many of their words the mechanisms know."""
    known, count = in_vocabulary(source, words)
    share = f"{known / count:.0%}" if count else say("none")
    # st.text: a file's name is given by a person and is no Markdown.
    st.text(
        say(
            "{name}: {texts:,} texts; {share} of their first {count:,} words are in the "
            "vocabulary. The others are exchanged for random words first, and never pass.",
            name=source.name,
            texts=len(source.table.rows),
            share=share,
            count=count,
        )
    )


def offers_at(rows: list[Row], step: int) -> pd.DataFrame:
    """The offers at one step, one row a mechanism."""
    lines = []
    for row in rows:
        offer = row.offers[step]
        line: dict[str, object] = {
            "mechanism": row.label,
            "epsilon": offer.epsilon,
            "remark": offer.why,
            "status": offer.status,
            "at least": offer.at_least,
        }
        for name in ("guessed", "accuracy", "auc"):
            ends = getattr(offer, name) or (None, None, None)
            line |= dict(zip((name, f"{name} low", f"{name} high"), ends, strict=True))
        lines.append(line)
    return pd.DataFrame(lines)


def explain(source: Source, run: Run | None) -> None:
    """Draw how the numbers of the table came about."""
    note(
        say(
            "**A stranger guesses**: recorded on the bundled lexicon, every word equally "
            "likely. He knows the mechanism and its ε; where his best guess is no closed form "
            "he repeats what came out, and a better one may guess more (“at least”). Between "
            "two measurements the log odds are straight lines in ln ε. ε is rounded to the safe "
            "side, and all of the 95 % interval meets the goal."
        )
    )
    if not source.own:
        note(
            say(
                "**Accuracy, and who was in it**: recorded on the teaching corpus, five trials "
                "with fresh noise, a linear classifier that learns from private texts and reads "
                "private texts. The attacker asks whether a text was among those learned from; "
                "0.5 is a coin, and below it nothing is gained."
            )
        )
    elif run is None:
        note(
            say(
                "**Accuracy, and who was in it**: not known of your file before a run on it, above."
            )
        )
    else:
        note(
            say(
                "**Accuracy, and who was in it**: of the run above, {seeds} trials, between two "
                "measured ε on straight lines. 0.5 is a coin, and below it nothing is gained.",
                seeds=run.live.seeds,
            )
        )
    note(
        say(
            "**ε of two mechanisms are not one quantity**: per distance in some, between any "
            "two words in others. What is guessed can be compared: here it is the very word. A "
            "response over neighbours hides the word and gives its neighbourhood away; the page "
            "Trade-off counts that too."
        )
    )
