"""View of texts and exchanged words: the exact certificate of a linear classifier, computed now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.classifiers import averaged
from dpcore.learn.linear.certificate import changes_allowed
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    CertifiedPredictions,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.text import train_text, words_within
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import generator
from dpcore.plots.robust.shares import COLUMNS, certified_caption, ends_caption, lines_figure
from dpcore.plots.style import percent
from dpcore.written import Filled
from pages.robustness.one_text import OWN, one_text
from pages.robustness.reproducing import certify_cell, certify_command, computed_now
from pages.robustness.words_work import (
    CERTIFIED,
    NORMAL,
    Rules,
    model,
    near,
    read_corpus,
    ready,
    share_table,
    worst,
)
from pages.shared import link
from pages.shared.figure import show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.link import SEED, segments, steps, tabs
from pages.shared.messages import footer, note, refuse
from pages.shared.needed import lexicon_or_stop
from pages.shared.once import is_there, once
from pages.shared.progress import Reporter
from pages.shared.session import Settings
from pages.shared.sidebar import choose_lexicon, choose_mechanism
from pages.shared.taking import Takeaway, take_it_with_you

# PixelDP on the mean vector of a text, counted in words, beside the exact certificate.


_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2)
_DRAWS, _ERROR, _STEPS = 200, 0.001, 60


@dataclass(frozen=True, eq=False)
class Noisy:
    """Certificates of the test texts under noise on their mean vectors."""

    certified: CertifiedPredictions
    labels: np.ndarray


def mean_view(words: Lexicon, rules: Rules) -> None:
    """Draw the scale, the certified accuracy, and the certificate counted in words."""
    scale = steps(
        say("Scale of the noise on the mean vector"),
        _SCALES,
        0.05,
        "mean_scale",
        say("σ of Gaussian noise, in the unit of the vectors."),
    )
    try:
        noisy = _noisy(words, rules.labels, scale)
    except DpcoreError as error:
        refuse(say("The noise layer cannot be shown."), error)
        return
    # Where nothing is certified the axis would have no length.
    sizes = np.linspace(0.0, float(max(noisy.certified.tight.max(), scale)), _STEPS + 1).round(6)
    table = pd.DataFrame(
        {
            "curve": "proved by PixelDP's condition",
            "x": sizes,
            "mean": certified_accuracy(noisy.certified, noisy.labels, sizes),
        }
    ).reindex(columns=list(COLUMNS))
    show_figure(
        lines_figure(table, "size L of a shift of the mean vector", "accuracy that is certain"),
        ends_caption(
            table, Filled("Share of {count} texts that stay right", count=len(noisy.labels)), "L"
        ),
        table,
        "mean_accuracy",
    )
    st.text(_counted(words, rules, noisy))
    note(
        say(
            "{draws} draws of each text; its bounds (Clopper–Pearson) are wrong with "
            "probability at most {error:g}. The noise must hide any new word, because it does "
            "not know which are allowed; the exact certificate knows. That is the price of a "
            "proof that asks nothing of the classifier.",
            draws=_DRAWS,
            error=_ERROR,
        )
    )


def _counted(words: Lexicon, rules: Rules, noisy: Noisy) -> str:
    """Describe the certificate in words, beside the exact one."""
    corpus = read_corpus(words, rules.labels)
    lengths = np.array(
        # Known words only: the others are not in the mean.
        [int((part >= 0).sum()) for part in np.split(corpus.test.words, corpus.test.offsets[1:-1])]
    )
    # Exchanging one of m words for any other moves the mean by at most the diameter over m.
    diameter = float(words.extent.diameter)
    counted = words_within(noisy.certified.sizes, lengths, diameter)
    certain = int((counted > 0).sum())
    largest = float(noisy.certified.sizes.max())
    need = float((diameter / lengths).min())
    budget = changes_allowed(lengths, rules.share)
    exact = [worst(words, rules, certified=certified).accuracy for certified in (False, True)]
    abstained = int((noisy.certified.classes == ABSTAINED).sum())
    return say(
        "Counted in words: on {certain} of {texts} texts the certificate covers the replacement "
        "of one word by any other (abstaining on {abstained}). The largest certified shift is "
        "{largest:.3g}; one word of the longest text ({longest} words) can move the mean by "
        "{need:.3g}, with the diameter {diameter:.3g} of the vocabulary.\nThe exact certificate "
        "for k = {neighbours} nearest words in {share:.0%} of the places (up to {budget} "
        "words): {exact} of the texts {normal}, {exact_certified} with {certified}.",
        certain=certain,
        texts=len(lengths),
        abstained=abstained,
        largest=largest,
        longest=lengths.max(),
        need=need,
        diameter=diameter,
        neighbours=rules.neighbours,
        share=rules.share,
        budget=budget.max(),
        exact=percent(exact[0]),
        normal=say(NORMAL),
        exact_certified=percent(exact[1]),
        certified=say(CERTIFIED),
    )


def _noisy(words: Lexicon, labels: str, scale: float) -> Noisy:
    key = (words.fingerprint, labels, scale)
    # No progress for what is cached: it would flash in every run.
    if is_there("mean noise", key):
        return once("mean noise", key, lambda: _computed(words, labels, scale, silent))
    with (
        Reporter(say("Drawing noise on the mean vectors")) as progress,
        st.spinner(say("Training under noise on the mean vectors…")),
    ):
        return once("mean noise", key, lambda: _computed(words, labels, scale, progress))


def _computed(words: Lexicon, labels: str, scale: float, progress: Progress) -> Noisy:
    corpus = read_corpus(words, labels)
    rng = generator(SEED, "mean vectors", labels)
    model = train_text(
        Accounting.ANALYTIC, scale, corpus.train, corpus.train_labels, words.vectors, rng
    )
    inputs = averaged(corpus.test.counts(), words.vectors)
    scores = draw_scores(model.scores, model.layer, inputs, _DRAWS, rng, progress)
    bounds = score_bounds(scores, _ERROR, Bound.CLOPPER_PEARSON)
    return Noisy(certify(model.layer, bounds), model.places(corpus.test_labels))


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
    # Said, or its accuracy would look like a robust classifier's.
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
            # The key of the choice in the part "One text", which may not be the open one.
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
    """Read, find neighbours and train, with progress, unless that is done.

    Raises:
        DpcoreError: scipy's linear program failed, or the corpus is damaged.
    """
    if ready(words, rules):
        return
    with (
        Reporter(say("Certified training")) as progress,
        st.spinner(say("Reading the corpus, finding neighbours, training…")),
    ):
        read_corpus(words, rules.labels)
        near(words, progress)
        # Both at once: every view compares them.
        for certified in (False, True):
            model(words, rules, certified=certified, progress=progress)


def _all_texts(words: Lexicon, rules: Rules) -> None:
    table = share_table(words, rules)
    count = len(read_corpus(words, rules.labels).test)
    show_figure(
        lines_figure(table, "share of the words that may change", "certified accuracy"),
        certified_caption(table, Filled("{count} test texts", count=count), rules.share),
        table,
        "words_accuracy",
    )
    values = table.set_index(["curve", "x"])["mean"]
    # At the share for which it was trained, where the comparison is fair.
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
