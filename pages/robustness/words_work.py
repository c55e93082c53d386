"""Classifiers of the teaching corpus and their certificates, computed once for all sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpcore.learn.corpus import Bags, LabelledTexts, bags_of, teaching_corpus
from dpcore.learn.linear.certificate import Worst, certify_linear
from dpcore.learn.linear.training import LinearModel, LinearTraining, train_linear
from dpcore.learn.substitutions import Substitutions, nearest_words
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.optional import one_thread
from dpcore.plots.robust.shares import COLUMNS
from pages.shared.language import later
from pages.shared.once import is_there, once

STRENGTH = 0.05
"""C of the training, as in the command `robust certify`."""
# The largest k that is offered: one table serves every smaller k.
MOST_NEIGHBOURS = 8
NORMAL, CERTIFIED = later("trained normally"), later("certified training")
_SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Rules:
    """Capabilities of an attacker of texts, and assumptions of the certified training; a key.

    Attributes:
        labels: "sentiment" or "topic".
        neighbours: k, number of nearest words that a word may become.
        share: share of the words that may change.
        robust: weight of the worst case in the certified training.
    """

    labels: str = "sentiment"
    neighbours: int = 1
    share: float = 0.2
    robust: float = 1.0


@dataclass(frozen=True, eq=False)
class CorpusBags:
    """Teaching corpus as words of a lexicon."""

    train: Bags
    train_labels: np.ndarray
    test: Bags
    test_labels: np.ndarray
    classes: tuple[str, ...]
    texts: tuple[str, ...]


def read_corpus(words: Lexicon, labels: str) -> CorpusBags:
    """Read the corpus under one labelling; `texts` are the test texts."""

    def compute() -> CorpusBags:
        parts = []
        for split in ("train", "test"):
            part = teaching_corpus().part(split)
            texts = LabelledTexts.of(part.texts, part.labels(labels))
            parts.append((bags_of(texts.texts, words), texts))
        (train, learned), (test, asked) = parts
        return CorpusBags(
            train, learned.labels, test, asked.labels, learned.classes, tuple(asked.texts)
        )

    return once("corpus", (words.fingerprint, labels), compute)


def near(words: Lexicon, progress: Progress = silent) -> Substitutions:
    """Return the nearest words of every word of the corpus."""

    def compute() -> Substitutions:
        # Under either labelling: the texts are the same.
        corpus = read_corpus(words, Rules.labels)
        both = np.concatenate((corpus.train.words, corpus.test.words))
        with one_thread():
            return nearest_words(words, both, MOST_NEIGHBOURS, progress=progress)

    return once("near words", words.fingerprint, compute, 4)


def allowed(words: Lexicon, neighbours: int) -> Substitutions:
    """Return the allowed substitutes of each word of the corpus: its k nearest words."""
    key = (words.fingerprint, neighbours)
    return once("allowed words", key, lambda: near(words).first(neighbours), 16)


def model(
    words: Lexicon, rules: Rules, *, certified: bool, progress: Progress = silent
) -> LinearModel:
    """Return a classifier, trained normally or for the worst case under the rules."""
    # Weight 0 of the worst case is normal training.
    settings = LinearTraining(STRENGTH, rules.robust if certified else 0.0, rules.share)

    def compute() -> LinearModel:
        corpus = read_corpus(words, rules.labels)
        table = allowed(words, rules.neighbours)
        with one_thread():
            return train_linear(
                settings, corpus.train, corpus.train_labels, words.vectors, table, progress
            ).model

    return once("linear", _key(words, rules, certified), compute)


def ready(words: Lexicon, rules: Rules) -> bool:
    """Return True if both classifiers are cached."""
    return all(is_there("linear", _key(words, rules, certified)) for certified in (False, True))


def _key(words: Lexicon, rules: Rules, certified: bool) -> tuple[object, ...]:
    # Normal training knows no rules, so one classifier serves all of them.
    return (words.fingerprint, rules.labels, rules if certified else None)


def worst(words: Lexicon, rules: Rules, *, certified: bool) -> Worst:
    """Return the worst allowed rewriting of every test text."""

    def compute() -> Worst:
        corpus = read_corpus(words, rules.labels)
        classifier = model(words, rules, certified=certified)
        return certify_linear(
            classifier,
            corpus.test,
            corpus.test_labels,
            allowed(words, rules.neighbours),
            rules.share,
        )

    return once("worst texts", (words.fingerprint, rules, certified), compute)


def share_table(words: Lexicon, rules: Rules) -> pd.DataFrame:
    """Return certified accuracy by share of words that may change: columns of the figure."""

    def compute() -> pd.DataFrame:
        corpus, table = read_corpus(words, rules.labels), allowed(words, rules.neighbours)
        rows = []
        for name, certified in ((NORMAL, False), (CERTIFIED, True)):
            classifier = model(words, rules, certified=certified)
            rows += [
                (name, share, _certain(classifier, corpus, table, share))
                # The share of the rules too: the page reads the table at exactly this point.
                for share in sorted({*_SHARES, rules.share})
            ]
        return pd.DataFrame(rows, columns=["curve", "x", "mean"]).reindex(columns=list(COLUMNS))

    return once("shares", (words.fingerprint, rules), compute)


def _certain(
    classifier: LinearModel, corpus: CorpusBags, table: Substitutions, share: float
) -> float:
    """Return certified accuracy; without any change, the accuracy with ties as in prediction."""
    if share == 0:
        return classifier.accuracy(corpus.test, corpus.test_labels)
    return certify_linear(classifier, corpus.test, corpus.test_labels, table, share).accuracy
