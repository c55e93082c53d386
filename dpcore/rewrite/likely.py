"""What a word most likely becomes: the head of its law, at every ε of a grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcore.mechanisms.additive import RadialMechanism
from dpcore.mechanisms.law import Effort, Law
from dpcore.rewrite.randomness import generator

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.mechanisms.path import FloatArray
    from dpcore.mechanisms.rays import Bundle
    from dpcore.rewrite.sentence import Sentence

_PUBLIC_SEED = 0  # of directions that estimate a law: they protect nothing


@dataclass(frozen=True)
class Candidate:
    """A possible output: the word, its probability, and its true distance from the input."""

    word: str
    probability: float
    distance: float


@dataclass(frozen=True)
class Likely:
    """The most likely outputs of one word at each ε of a grid.

    Attributes:
        epsilons: the grid, shape (E,).
        candidates: for each ε, most likely first.
        stay: probability that the word stays, shape (E,).
        exact: whether the probabilities are computed or estimated.
        error: bound on the error if exact, largest standard error if estimated.
        method: how they were found.
    """

    epsilons: FloatArray
    candidates: tuple[tuple[Candidate, ...], ...]
    stay: FloatArray
    exact: bool
    error: float
    method: str


@dataclass
class SharedDirections:
    """Noise directions that estimate the laws of all words, for mechanisms that can share them.

    They depend on nothing that anybody typed, so one instance can serve everyone.
    """

    effort: Effort = field(default_factory=Effort)
    _bundles: dict[tuple[object, ...], Bundle] = field(default_factory=dict, repr=False)

    def bundle(self, mechanism: RadialMechanism) -> Bundle:
        """The directions of this mechanism, made at the first call."""
        key = mechanism.direction_key
        if key not in self._bundles:
            rng = generator(_PUBLIC_SEED, "directions")
            self._bundles[key] = mechanism.bundle(rng, self.effort.directions)
        return self._bundles[key]


def word_law(
    sentence: Sentence,
    mechanism: Mechanism,
    slot: int,
    epsilons: FloatArray,
    shared: SharedDirections,
) -> Law:
    """The law of one open slot's word (it must be in the vocabulary)."""
    word = int(sentence.words[slot])
    ranking = sentence.rankings(sentence.words[slot : slot + 1])[0]
    rng = generator(_PUBLIC_SEED, "law", mechanism.key)
    if isinstance(mechanism, RadialMechanism):
        bundle = shared.bundle(mechanism)
        return mechanism.law(word, epsilons, rng=rng, ranking=ranking, bundle=bundle)
    return mechanism.law(word, epsilons, rng=rng, ranking=ranking, effort=shared.effort)


def likely_outputs(
    sentence: Sentence,
    mechanism: Mechanism,
    slot: int,
    epsilons: FloatArray,
    shared: SharedDirections,
    count: int = 5,
) -> Likely | None:
    """The `count` most likely outputs of one open slot at each ε.

    Returns:
        None for a word outside the vocabulary: it has no law of its own (its stand-in is a
        uniformly random word).
    """
    if sentence.words[slot] < 0:
        return None
    law = word_law(sentence, mechanism, slot, epsilons, shared)
    lexicon = sentence.lexicon
    origin = lexicon.vectors[law.word].astype(np.float64)
    candidates = tuple(
        tuple(
            Candidate(
                lexicon.words[index],
                probability,
                float(np.linalg.norm(lexicon.vectors[index] - origin)),
            )
            for index, probability in law.top(count, e)
        )
        for e in range(law.epsilons.size)
    )
    return Likely(law.epsilons, candidates, law.stay(), law.exact, law.error, law.method)
