"""One trial of labelled texts: one noise draw, and all that is measured of its texts.

The draw is what costs, so everything is measured of the same private texts: accuracy under one or
several labellings, words kept, and membership inference, whose four quarters are halves of what
is trained on and of what is tested on. Only the similarity of rewritten texts has a draw of its
own, of a few texts (`dpcore.study.rewriting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcore.learn.bags import Bags
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure.similarity.encoder import load_encoder
from dpcore.noise.streams import generator
from dpcore.rewrite.documents import encode_all
from dpcore.study.membership_trial import QUARTERS, MembershipTrial
from dpcore.study.rewriting import rewriting
from dpcore.study.rows import CLEAN, PRIVATE, Prepared, Row, kept
from dpcore.study.utility import learned, majority, private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcore.learn.classifiers import Classifier
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.encoded import Documents

ATTACKS = ("auc", "tpr", "roc")
"""Quantities of membership inference."""


@dataclass(frozen=True, eq=False)
class Material:
    """Texts that are trained on and texts that are tested on, read over one lexicon.

    Attributes:
        training: what is trained on.
        testing: what is tested on.
        labels: by labelling, the classes of both.
        classes: by labelling, the names of the classes.
        originals: the texts that are tested on, as they were written.
    """

    training: Documents
    testing: Documents
    labels: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    classes: Mapping[str, tuple[str, ...]]
    originals: tuple[str, ...]

    @cached_property
    def bags(self) -> tuple[Bags, Bags]:
        """Both parts as bags of words; always the same ones, which keep what was computed."""
        n = len(self.training.lexicon)
        first, second = (Bags(d.words, d.offsets, n) for d in (self.training, self.testing))
        return first, second


def read_material(
    labellings: Mapping[str, tuple[LabelledTexts, LabelledTexts]], lexicon: Lexicon
) -> Material:
    """Read labelled texts over a lexicon.

    Args:
        labellings: by name, what is trained on and what is tested on; all of the same texts.
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
    """What is measured.

    Attributes:
        learners: names of `dpcore.learn.classifiers.LEARNERS`.
        attacked: those of them whose training texts are inferred.
        compared: test texts whose rewriting is compared with the original; 0 for none.
        encoder: whether by their meaning too, for which the encoder's package is needed.
    """

    learners: tuple[str, ...] = ("averaged", "tf-idf")
    attacked: tuple[str, ...] = ()
    compared: int = 0
    encoder: bool = False


Draw = tuple[Bags, Bags]
"""What is trained on and what is tested on, rewritten at one ε."""
Watch = Callable[[str, str, float | None, "Classifier", "Bags"], None]
"""Called with labelling, learner, ε, the trained classifier and the test texts that it faces."""


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
    """All that is wanted, at each ε of a mechanism, or of the texts as they stand.

    Args:
        material: texts over the lexicon of the mechanism.
        mechanism: None for the baselines.
        epsilons: of the mechanism; none for the baselines.
        seed: of all noise, of the networks and of the quarters.
        wanted: what is measured.
        watch: sees every classifier.
        progress: called with (stage, done, total) while the texts are rewritten.
        drawn: the private texts at each ε, where those of several trials were drawn at once
            (`drawn_at_once`); None draws them.

    Yields:
        Rows of `dpcore.study.rows.COLUMNS`; `data` names the labelling, if it is about one.

    Raises:
        EpsilonError: the mechanism does not have an ε.
        CorpusError: a quarter has texts of one class alone.
        MissingPackageError: scikit-learn or a similarity's package is not installed.
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
                # The accuracy of a target that learned from a quarter of the texts is left out.
                if result["quantity"] in ATTACKS:
                    yield result | {"data": name}
    if wanted.compared:
        some = material.originals[: wanted.compared]
        encoder = load_encoder() if wanted.encoder else None
        lexicon = material.training.lexicon
        for result in rewriting(some, lexicon, mechanism, epsilons, seed, encoder):
            # Nw of these few texts would stand beside that of all of them.
            if mechanism is None or result["quantity"] != "nw":
                yield result


def drawn_at_once(
    materials: Sequence[Material],
    mechanism: Mechanism,
    epsilons: Sequence[float],
    seed: int,
    progress: Progress = silent,
) -> list[list[Draw]]:
    """The private texts of several trials, whose noise is independent, at each ε of each trial.

    A law that is computed word by word is computed once for all trials.

    Args:
        materials: one a trial, over the lexicon of the mechanism.
        mechanism: rewrites each place.
        epsilons: of the mechanism.
        seed: of all noise.
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
    """Accuracy of every classifier on clean and on private test texts."""
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
    """Membership inference on halves of both parts, each class divided alike."""

    def __init__(self, material: Material, name: str, seed: int, learners: Sequence[str]) -> None:
        """Divide the texts of a labelling for these classifiers."""
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
        """What the attackers get out of the private texts at one ε."""
        if self._trials:
            first, last = self._halves[0], self._halves[QUARTERS.index("TE2")]
            target, shadow = texts.part(first), tests.part(last)
            for trial in self._trials:
                yield from trial.rows(target, shadow, epsilon)


def halves(
    labels: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two halves of the places of some texts, in each of which every class has its share."""
    # A random order, sorted by class and stable: every other place is a half of each class.
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    return order[::2], order[1::2]
