"""PixelDP on the mean vector of a text, counted in words, beside the exact certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.classifiers import averaged
from dpcore.learn.linear.certificate import changes_allowed
from dpcore.learn.pixeldp.certified_prediction import (
    ABSTAINED,
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.text import train_text, words_within
from dpcore.lexicon.progress import silent
from dpcore.noise.streams import generator
from dpcore.plots.layout import percent
from dpcore.plots.robust.shares import COLUMNS, ends_caption, lines_figure
from pages.robustness.words_work import CERTIFIED, NORMAL, read, worst
from pages.shared.fields import steps
from pages.shared.figure import show_figure
from pages.shared.language import numeral, say
from pages.shared.link import SEED
from pages.shared.messages import note, refuse
from pages.shared.once import is_there, once
from pages.shared.progress import Reporter

if TYPE_CHECKING:
    from dpcore.learn.pixeldp.certified_prediction import Certified
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from pages.robustness.words_work import Rules

_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2)
_DRAWS, _ERROR, _STEPS = 200, 0.001, 60


@dataclass(frozen=True, eq=False)
class Noisy:
    """Certificates of the test texts under noise on their mean vectors."""

    certified: Certified
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
        ends_caption(table, f"Share of {len(noisy.labels)} texts that stay right", "L"),
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
    """What the certificate says in words, beside the exact one."""
    corpus = read(words, rules.labels)
    lengths = np.array(
        [int((part >= 0).sum()) for part in np.split(corpus.test.words, corpus.test.offsets[1:-1])]
    )
    # One of m words, exchanged for any other, moves the mean by at most the diameter over m.
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
        exact=numeral(percent(exact[0])),
        normal=say(NORMAL),
        exact_certified=numeral(percent(exact[1])),
        certified=say(CERTIFIED),
    )


def _noisy(words: Lexicon, labels: str, scale: float) -> Noisy:
    key = (words.fingerprint, labels, scale)
    if is_there("mean noise", key):
        return once("mean noise", key, lambda: _computed(words, labels, scale, silent))
    with (
        Reporter(say("Drawing noise on the mean vectors")) as progress,
        st.spinner(say("Training under noise on the mean vectors…")),
    ):
        return once("mean noise", key, lambda: _computed(words, labels, scale, progress))


def _computed(words: Lexicon, labels: str, scale: float, progress: Progress) -> Noisy:
    corpus = read(words, labels)
    rng = generator(SEED, "mean vectors", labels)
    model = train_text(
        Accounting.ANALYTIC, scale, corpus.train, corpus.train_labels, words.vectors, rng
    )
    inputs = averaged(corpus.test.counts(), words.vectors)
    scores = draw_scores(model.scores, model.layer, inputs, _DRAWS, rng, progress)
    bounds = score_bounds(scores, _ERROR, Bound.CLOPPER_PEARSON)
    return Noisy(certify(model.layer, bounds), model.places(corpus.test_labels))
