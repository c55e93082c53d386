"""Texts and exchanged words: the exact certificate of a linear classifier, computed now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.plots.robust.shares import certified_caption, lines_figure
from pages.robustness.cells import certify_cell
from pages.robustness.mean_view import mean_view
from pages.robustness.one_text import OWN, one_text
from pages.robustness.reproducing import certify_command, computed_now
from pages.robustness.words_work import (
    CERTIFIED,
    NORMAL,
    Rules,
    model,
    near,
    read,
    ready,
    share_table,
)
from pages.shared import link
from pages.shared.fields import segments, steps
from pages.shared.figure import show_figure
from pages.shared.footer import footer
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.messages import note, refuse
from pages.shared.needed import lexicon_or_stop
from pages.shared.progress import Reporter
from pages.shared.sidebar import choose_lexicon, choose_mechanism
from pages.shared.tabs import tabs
from pages.shared.taking import Takeaway, take_it_with_you

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from pages.shared.resources import Settings

_NEIGHBOURS = (1, 2, 3, 4, 8)
_SHARES = (0.1, 0.2, 0.3, 1.0)
_ROBUST = (0.25, 0.5, 0.75, 1.0)
LABELS = (later("sentiment"), later("topic"))


def words_view() -> None:
    """Draw the rules, both classifiers, one text, and PixelDP beside them."""
    note(
        say(
            "A text is the mean of its word vectors, and the classifier is linear: then the "
            "worst that allowed substitutions can do to a text is found word by word. It is "
            "exact, so certified accuracy is also what the best attack leaves. 1,008 texts of "
            "the teaching corpus train, 432 test."
        )
    )
    with st.sidebar:
        chosen = choose_mechanism(
            say(
                "Used in the part “One text”, where the words that it is likely to put in a "
                "word's place are the allowed ones."
            )
        )
        name = choose_lexicon()
    words = lexicon_or_stop(name)
    computed_now()
    fragment(_board, words, name, chosen)
    footer(words, link.SEED, say("certificates are exact; the noise on mean vectors is drawn"))


def _board(words: Lexicon, name: str, chosen: tuple[str, Settings]) -> None:
    rules = choose_rules()
    try:
        prepare(words, rules)
    except DpcoreError as error:
        refuse(say("The classifiers could not be trained."), error)
        return
    zero = model(words, rules, certified=True).constant
    if zero:
        st.warning(
            say(
                "Certified training ends at the zero classifier: under these rules no linear "
                "classifier that was found has a smaller loss in the worst case than one that "
                "reads no text and always gives one answer. It is certified for the share of "
                "texts that have that answer. Allow fewer neighbours, a smaller share of the "
                "words, or less weight of the worst case."
            ),
            icon=":material/exposure_zero:",
        )
    views = {
        later("All texts"): lambda: _all_texts(words, rules),
        later("One text"): lambda: one_text(words, rules, chosen),
        later("Noise on the mean vector"): lambda: mean_view(words, rules),
    }
    tabs(views, "words_part")
    take_it_with_you(
        lambda: Takeaway(
            certify_cell(rules, name),
            ("jia2019certified", "lecuyer2019pixeldp"),
            certify_command(rules, name),
            say("It prints accuracy and certified accuracy of both classifiers."),
            typed=st.session_state.get("words_text_source") == OWN,
            tables={later("Certified accuracy"): lambda: share_table(words, rules)},
        )
    )


def choose_rules() -> Rules:
    """Draw the choice of labels, substitutions and training."""
    usual = Rules()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = segments(
            say("Labels"),
            LABELS,
            "words_labels",
            say("Sentiment: negative or positive. Topic: one of six."),
            start=usual.labels,
        )
        neighbours = segments(
            say("A word may become one of its nearest"),
            _NEIGHBOURS,
            "words_neighbours",
            say(
                "k: by exact Euclidean distance in the lexicon. The nearest words of “good” "
                "hold “bad” as well: that is what makes this hard."
            ),
            start=usual.neighbours,
            format_func=str,
        )
        share = segments(
            say("Share of words that may change"),
            _SHARES,
            "words_share",
            say("Rounded down, but at least one word of a text."),
            start=usual.share,
            format_func=lambda value: f"{value:.0%}",
        )
        robust = steps(
            say("Weight of the worst case"),
            _ROBUST,
            usual.robust,
            "words_robust",
            say(
                "In certified training: 1 minimises the loss of the worst allowed text alone, "
                "less mixes in the loss of the text as it is. Normal training has weight 0."
            ),
            width=220,
        )
    return Rules(labels, neighbours, share, robust)


def prepare(words: Lexicon, rules: Rules) -> None:
    """Read, look up neighbours and train, with progress, unless that is done.

    Raises:
        DpcoreError: scipy's program failed, or the corpus is damaged.
    """
    if ready(words, rules):
        return
    with (
        Reporter(say("Certified training")) as progress,
        st.spinner(say("Reading the corpus, finding neighbours, training…")),
    ):
        read(words, rules.labels)
        near(words, progress)
        for certified in (False, True):
            model(words, rules, certified=certified, progress=progress)


def _all_texts(words: Lexicon, rules: Rules) -> None:
    table = share_table(words, rules)
    count = len(read(words, rules.labels).test)
    show_figure(
        lines_figure(table, "share of the words that may change", "certified accuracy"),
        certified_caption(table, f"{count} test texts", rules.share),
        table,
        "words_accuracy",
    )
    values = table.set_index(["curve", "x"])["mean"]
    gain = values[CERTIFIED, rules.share] - values[NORMAL, rules.share]
    cost = values[NORMAL, 0.0] - values[CERTIFIED, 0.0]
    st.text(
        say(
            "With {share:.0%} of the words and k = {neighbours}, certified training certifies "
            "{more} than normal training, of {count}, and changes the accuracy without an "
            "attack by {points:+.1f} points.",
            share=rules.share,
            neighbours=rules.neighbours,
            more=_more(round(gain * count)),
            count=count,
            points=-100 * cost,
        )
    )
    note(
        say(
            "At 0 no word may change: that is the accuracy without an attack. Certified "
            "training knew the share {share:.0%}; the other points ask what it withstands at "
            "other shares. No attack that keeps the rules gets below a curve, and one that "
            "reaches it is in “One text”.",
            share=rules.share,
        )
    )


def _more(texts: int) -> str:
    count = say("1 text") if abs(texts) == 1 else say("{texts} texts", texts=abs(texts))
    return say("{count} more", count=count) if texts >= 0 else say("{count} fewer", count=count)
