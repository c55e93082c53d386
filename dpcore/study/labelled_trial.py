"""Trials on labelled texts: accuracy, kept words, membership inference and text similarity.

Drawing noise is the expensive step, so accuracy under one or several labellings, kept words and
membership inference are all measured on the same private texts; the four quarters of membership
inference are halves of the training and of the test texts. Only the similarity of rewritten texts
uses a separate draw, on a few texts (`rewriting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.attack.membership import (
    FEW,
    Answers,
    Attacker,
    AttackNetwork,
    Knowledge,
    Scores,
    auc,
    rate_at,
    roc,
    train_attacker,
)
from dpcore.errors import TextError
from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.learn.corpus import Bags, LabelledTexts
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS
from dpcore.measure.similarity import (
    Encoder,
    bleu,
    compare,
    greedy_matching,
    load_encoder,
    rouge1,
    words_kept,
)
from dpcore.mechanisms.bulk import outputs_at
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.reader import Documents
from dpcore.rewrite.sentence import Sentence, prepare
from dpcore.study.plan import CLEAN, PRIVATE, Prepared, Row, canonical, kept, row
from dpcore.study.utility import learned, majority, private

# Membership inference on four quarters of a corpus.
#
# The target learns from TR1 (private), the shadow model from TE2; the attack is that of
# `dpcore.attack.membership`. Carvalho et al. 2021 (Appendix C) give the attacker the outputs alone
# and a shadow model whose training text is not described as private. The stronger attacker uses all
# public knowledge: the shadow model learns from text rewritten by the same (public) mechanism, and
# the labels are known.


QUARTERS = ("TR1", "TR2", "TE1", "TE2")
ROC_RATES = tuple(float(f"{x:.4g}") for x in np.geomspace(1e-3, 1.0, 37))
"""False-positive rates at which a ROC curve is recorded."""
AS_WRITTEN, STRONGER = "shadow on clean text, outputs", "shadow on private text, outputs and label"
"""The attackers: that of the appendix, and one that uses all public knowledge."""


class MembershipTrial:
    """Membership inference with one kind of classifier on the four quarters.

    The attacker of the appendix does not know the mechanism, so one shadow model and one attack
    network are used against every target.
    """

    def __init__(
        self, quarters: Mapping[str, Prepared], name: str, seed: int, lexicon: Lexicon
    ) -> None:
        """Store the quarters as they were written, without training anything.

        Args:
            quarters: the quarters by name, from `QUARTERS`.
            name: name of the classifier.
            seed: seed of the networks.
            lexicon: lexicon whose vectors are the features.
        """
        self._quarters, self._name = quarters, name
        self._seed, self._vectors = seed, lexicon.vectors

    def rows(self, target_texts: Bags, shadow_texts: Bags, epsilon: float | None) -> Iterator[Row]:
        """Yield the accuracy of a target and the success of both attackers.

        Args:
            target_texts: TR1 as the target learns from it.
            shadow_texts: TE2 as the mechanism rewrites it.
            epsilon: ε of the rows; None for clean text.
        """
        common: dict[str, Any] = {"epsilon": epsilon, "learner": self._name}
        tests, learned = self._quarters["TE1"], self._quarters["TR1"]
        size = len(tests.bags)
        if epsilon is None:
            yield majority(learned.labels, tests.labels, **common)
        target = self._trained(target_texts, "TR1")
        share = target.accuracy(tests.bags, tests.labels)
        yield row("accuracy", share, tested_on=CLEAN, count=size, **common)
        # Queried on original texts: an attacker who asks about a person has those.
        asked = self._answers(target, "TR1", "TR2")
        seen = (asked[0].probabilities.argmax(axis=1) == learned.labels).mean()
        yield row("accuracy on what it learned", seen, tested_on=CLEAN, count=size, **common)
        # Without noise both attackers have the same shadow model, which is trained once.
        if epsilon is None:
            shadow = self._clean_shadow
        else:
            share = target.accuracy(shadow_texts, self._quarters["TE2"].labels)
            yield row("accuracy", share, tested_on=PRIVATE, count=len(shadow_texts), **common)
            shadow = self._trained(shadow_texts, "TE2")
        for variant, attacker in (
            (AS_WRITTEN, self._as_written),
            (STRONGER, self._attacker(shadow, Knowledge.LABEL, STRONGER)),
        ):
            yield from _attack_rows(attacker.scores(asked), {"variant": variant, **common})

    @cached_property
    def _clean_shadow(self) -> Classifier:
        return self._trained(self._quarters["TE2"].bags, "TE2")

    @cached_property
    def _as_written(self) -> Attacker:
        return self._attacker(self._clean_shadow, Knowledge.OUTPUT, AS_WRITTEN)

    def _trained(self, bags: Bags, part: str) -> Classifier:
        rng = generator(self._seed, "learner", self._name, part)
        return train(learner_of(self._name), bags, self._quarters[part].labels, self._vectors, rng)

    def _answers(self, model: Classifier, *parts: str) -> tuple[Answers, Answers]:
        """Return the answers of a model for the original texts of two quarters."""
        first, second = (
            Answers(model.probabilities(part.bags), part.labels)
            for part in (self._quarters[name] for name in parts)
        )
        return first, second

    def _attacker(self, shadow: Classifier, knowledge: Knowledge, variant: str) -> Attacker:
        rng = generator(self._seed, "attack", self._name, variant)
        return train_attacker(AttackNetwork(knowledge), self._answers(shadow, "TE2", "TE1"), rng)


def _attack_rows(scores: Scores, common: dict[str, Any]) -> Iterator[Row]:
    yield row("auc", auc(scores), count=scores.inside.size + scores.outside.size, **common)
    for rate in FEW:
        operating = rate_at(scores, rate)
        yield row(
            "tpr",
            operating.true_positives,
            at=rate,
            low=operating.low,
            high=operating.high,
            count=operating.inside,  # the share is one of members
            **common,
        )
    for rate, share in zip(ROC_RATES, roc(scores, ROC_RATES).tolist(), strict=True):
        yield row("roc", share, at=rate, count=scores.inside.size, **common)


# Similarity of rewritten texts to the originals, at each ε.
#
# Even without noise something is lost: words outside the vocabulary, which are never passed
# through, and some white space.


QUANTITIES = {
    "nw": "Nw: share of the words that stay",
    "rouge1_recall": "ROUGE-1 recall",
    "rouge1": "ROUGE-1 F1",
    "bleu": "BLEU (0 to 100)",
    "matching": "greedy matching of static vectors, F1",
    "bert_style": "greedy matching of contextual vectors (BERTScore's formula), F1",
    "cosine": "cosine of sentence vectors",
}
"""Names of the quantities."""


def rewriting(
    texts: Sequence[str],
    lexicon: Lexicon,
    mechanism: Mechanism | None,
    epsilons: Sequence[float],
    seed: int,
    encoder: Encoder | None = None,
) -> Iterator[Row]:
    """Yield rows of every quantity at each ε, from one noise draw of `seed`.

    Args:
        texts: original texts; those without a word to protect are left out.
        lexicon: lexicon of the mechanism, whose vectors are matched.
        mechanism: None keeps the words, except that unknown ones get random stand-ins.
        epsilons: values of ε that the mechanism admits.
        seed: seed of all noise.
        encoder: encoder for the contextual quantities, which are left out without it.

    Raises:
        TextError: a text cannot be read, or no text holds a word.
        EpsilonError: the mechanism does not admit an ε.
    """
    limits: dict[str, Any] = {
        "max_characters": MAX_FILE_CHARACTERS,
        "max_tokens": MAX_FILE_TOKENS,
    }
    read = [(text, prepare(text, lexicon, **limits)) for text in texts if text.strip()]
    read = [(text, sentence) for text, sentence in read if sentence.protected]
    if not read:
        raise TextError("none of the texts holds a word to rewrite: there is nothing to compare")
    before = np.concatenate([sentence.words for _, sentence in read])
    key = (mechanism.key, canonical(mechanism.settings())) if mechanism else ("",)
    rng = generator(seed, "rewritten text", *key)
    # Drawn for every position: a stand-in must not depend on which other words are unknown.
    inputs = np.where(before < 0, rng.integers(len(lexicon), size=before.size), before)
    meanings = encoder.pieces([text for text, _ in read]) if encoder else []
    if mechanism is None:
        yield from _compared(read, before, inputs, lexicon, None)
        if encoder:
            yield from _meanings(read, inputs, encoder, meanings, None)
        return
    outputs = outputs_at(mechanism, rng, inputs, np.asarray(epsilons))
    for e, epsilon in enumerate(epsilons):
        yield from _compared(read, before, outputs[:, e], lexicon, epsilon)
        if encoder:
            yield from _meanings(read, outputs[:, e], encoder, meanings, epsilon)


def _compared(
    read: Sequence[tuple[str, Sentence]],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    lexicon: Lexicon,
    epsilon: float | None,
) -> Iterator[Row]:
    """Yield every quantity at one ε except those of meaning."""
    ends, parts, written = _written(read, after)
    yield from likeness([text for text, _ in read], written, before, after, epsilon=epsilon)
    # An unknown word has no vector to match with the word written in its place.
    known = [part[part >= 0] for part in np.split(before, ends)]
    matched = greedy_matching(known, parts, lexicon.vectors).f1
    if np.isfinite(matched).any():  # else no text has a known word
        yield row("matching", float(np.nanmean(matched)), epsilon=epsilon, count=len(read))


def likeness(
    originals: Sequence[str],
    written: Sequence[str],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    **named: Any,
) -> Iterator[Row]:
    """Yield the share of words that stay, and the overlap of the texts by ROUGE-1 and BLEU.

    Args:
        originals: original texts.
        written: rewritten texts.
        before: input words of the texts, −1 outside the vocabulary, shape (t,).
        after: output words, shape (t,).
        named: other columns of the rows.
    """
    yield row("nw", words_kept(before, after), count=before.size, **named)
    overlap = rouge1(originals, written)
    for quantity, value in (
        ("rouge1_recall", overlap.recall.mean()),
        ("rouge1", overlap.f1.mean()),
        ("bleu", bleu(originals, written)),
    ):
        yield row(quantity, value, count=len(written), **named)


def _meanings(
    read: Sequence[tuple[str, Sentence]],
    after: NDArray[np.int64],
    encoder: Encoder,
    meanings: Sequence[NDArray[np.float32]],
    epsilon: float | None,
) -> Iterator[Row]:
    """Yield the quantities that need an encoder, at one ε."""
    style, cosine = compare(meanings, encoder.pieces(_written(read, after)[2]))
    yield row("bert_style", style.mean(), epsilon=epsilon, count=len(read))
    yield row("cosine", cosine.mean(), epsilon=epsilon, count=len(read))


def _written(
    read: Sequence[tuple[str, Sentence]], after: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], list[str]]:
    """Return the end of each text but the last, the output words of each text, and its new text."""
    ends = np.cumsum([sentence.protected for _, sentence in read])[:-1]
    parts = np.split(after, ends)
    return ends, parts, [s.write(part).text for (_, s), part in zip(read, parts, strict=True)]


ATTACKS = ("auc", "tpr", "roc")
"""Quantities of membership inference."""


@dataclass(frozen=True, eq=False)
class Material:
    """Training and test texts, read over one lexicon.

    Attributes:
        training: training texts.
        testing: test texts.
        labels: by labelling, the classes of both.
        classes: by labelling, the names of the classes.
        originals: the test texts as they were written.
    """

    training: Documents
    testing: Documents
    labels: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    classes: Mapping[str, tuple[str, ...]]
    originals: tuple[str, ...]

    @cached_property
    def bags(self) -> tuple[Bags, Bags]:
        """Both parts as bags of words; always the same objects, which cache their computations."""
        n = len(self.training.lexicon)
        first, second = (Bags(d.words, d.offsets, n) for d in (self.training, self.testing))
        return first, second


def read_material(
    labellings: Mapping[str, tuple[LabelledTexts, LabelledTexts]], lexicon: Lexicon
) -> Material:
    """Read labelled texts over a lexicon.

    Args:
        labellings: by name, training and test texts; the same texts in every labelling.
        lexicon: the vocabulary.
    """
    training, testing = next(iter(labellings.values()))
    return Material(
        encode_all(training.texts, lexicon),
        encode_all(testing.texts, lexicon),
        {name: (a.labels, b.labels) for name, (a, b) in labellings.items()},
        {name: a.classes for name, (a, _) in labellings.items()},
        testing.texts,
    )


@dataclass(frozen=True)
class Wanted:
    """The selection of measurements.

    Attributes:
        learners: names of `dpcore.learn.classifiers.LEARNERS`.
        attacked: the learners whose training texts are attacked.
        compared: number of test texts whose rewriting is compared with the original; 0 for none.
        encoder: True to compare meaning too, which needs the package of the encoder.
    """

    learners: tuple[str, ...] = ("averaged", "tf-idf")
    attacked: tuple[str, ...] = ()
    compared: int = 0
    encoder: bool = False


Draw = tuple[Bags, Bags]
"""Training and test texts, rewritten at one ε."""
Watch = Callable[[str, str, float | None, "Classifier", "Bags"], None]
"""Callback with labelling, learner, ε, the trained classifier and the test texts it faces."""


def labelled_trial(
    material: Material,
    mechanism: Mechanism | None,
    epsilons: Sequence[float],
    seed: int,
    wanted: Wanted,
    watch: Watch | None = None,
    progress: Progress = silent,
    drawn: Sequence[Draw] | None = None,
) -> Iterator[Row]:
    """Yield all selected measurements at each ε of a mechanism, or of the original texts.

    Args:
        material: texts over the lexicon of the mechanism.
        mechanism: None for the baselines.
        epsilons: values of ε; empty for the baselines.
        seed: seed of all noise, of the networks and of the quarters.
        wanted: selection of measurements.
        watch: called with every trained classifier.
        progress: called with (stage, done, total) while the texts are rewritten.
        drawn: private texts at each ε, if those of several trials were drawn at once
            (`drawn_at_once`); None draws them.

    Yields:
        Rows of `dpcore.study.plan.COLUMNS`; `data` names the labelling, if the row is about one.

    Raises:
        EpsilonError: the mechanism does not admit an ε.
        CorpusError: a quarter has texts of one class only.
        MissingPackageError: scikit-learn or a package for similarity is not installed.
    """
    trained_on, tested_on = clean = material.bags
    draws: list[tuple[float | None, Draw]] = [(None, clean)]
    if mechanism is not None:
        if drawn is None:
            (drawn,) = drawn_at_once([material], mechanism, epsilons, seed, progress)
        draws = list(zip(epsilons, drawn, strict=True))
    # The quarters are drawn once: all ε are attacked on the same members.
    attacks = {name: _Attacks(material, name, seed, wanted.attacked) for name in material.labels}
    for epsilon, (texts, tests) in draws:
        if epsilon is not None:
            yield kept((trained_on, texts), (tested_on, tests), epsilon=epsilon)
        for name in material.labels:
            for result in _learned(material, name, texts, tests, epsilon, seed, wanted, watch):
                yield result | {"data": name}
            for result in attacks[name].rows(texts, tests, epsilon):
                # Omitted: the accuracy of a target that learned from only a quarter of the texts.
                if result["quantity"] in ATTACKS:
                    yield result | {"data": name}
    if wanted.compared:
        some = material.originals[: wanted.compared]
        encoder = load_encoder() if wanted.encoder else None
        lexicon = material.training.lexicon
        for result in rewriting(some, lexicon, mechanism, epsilons, seed, encoder):
            # Nw of these few texts would appear beside that of all texts.
            if mechanism is None or result["quantity"] != "nw":
                yield result


def drawn_at_once(
    materials: Sequence[Material],
    mechanism: Mechanism,
    epsilons: Sequence[float],
    seed: int,
    progress: Progress = silent,
) -> list[list[Draw]]:
    """Draw the private texts of several trials with independent noise, at each ε of each trial.

    A law that is computed word by word is computed once for all trials.

    Args:
        materials: texts of each trial, over the lexicon of the mechanism.
        mechanism: the mechanism that rewrites each position.
        epsilons: values of ε that the mechanism admits.
        seed: seed of all noise.
        progress: called with (stage, done, total).
    """
    parts = [bags for material in materials for bags in material.bags]
    texts = private(mechanism, parts, epsilons, seed, progress)
    return [list(zip(*both, strict=True)) for both in zip(texts[::2], texts[1::2], strict=True)]


def _learned(
    material: Material,
    name: str,
    texts: Bags,
    tests: Bags,
    epsilon: float | None,
    seed: int,
    wanted: Wanted,
    watch: Watch | None,
) -> Iterator[Row]:
    """Yield the accuracy of every classifier on clean and on private test texts."""
    labels, true = material.labels[name]
    vectors = material.training.lexicon.vectors
    faced = {CLEAN: material.bags[1]} | ({} if epsilon is None else {PRIVATE: tests})
    if epsilon is None:
        yield majority(labels, true)

    def see(learner: str, model: Classifier) -> None:
        if watch is not None:
            watch(name, learner, epsilon, model, tests)

    training = Prepared(texts, labels)
    yield from learned(training, faced, true, wanted.learners, vectors, seed, epsilon, see)


class _Attacks:
    """Membership inference on halves of both parts, with every class split evenly."""

    def __init__(self, material: Material, name: str, seed: int, learners: Sequence[str]) -> None:
        """Split the texts of a labelling into quarters for these classifiers."""
        self._halves: list[NDArray[np.int64]] = []
        quarters: dict[str, Prepared] = {}
        parts = zip(material.bags, material.labels[name], strict=True)
        for (bags, labels), names in zip(parts, (QUARTERS[:2], QUARTERS[2:]), strict=True):
            rng = generator(seed, "quarters", name, names[0])
            both = halves(labels, rng)
            self._halves += both
            for quarter, rows in zip(names, both, strict=True):
                quarters[quarter] = Prepared(bags.part(rows), labels[rows])
        lexicon = material.training.lexicon
        self._trials = [MembershipTrial(quarters, learner, seed, lexicon) for learner in learners]

    def rows(self, texts: Bags, tests: Bags, epsilon: float | None) -> Iterator[Row]:
        """Yield the success of the attackers on the private texts at one ε."""
        if self._trials:
            first, last = self._halves[0], self._halves[QUARTERS.index("TE2")]
            target, shadow = texts.part(first), tests.part(last)
            for trial in self._trials:
                yield from trial.rows(target, shadow, epsilon)


def halves(
    labels: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the indices of some texts into two halves with an equal share of every class."""
    # A random order, stably sorted by class: every other index gives half of each class.
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    return order[::2], order[1::2]
