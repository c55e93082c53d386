"""Genetic word substitution: a population of changed texts that a classifier should get wrong.

Alzantot et al. 2018, as used by Xu et al. 2021 (Section 6.3): each member begins with one random
substitution; while no member fools the classifier, the fittest one is kept, and the others are
replaced by children that take every word from one of two parents, drawn by fitness, and are
changed in one more place. Fitness is 1 less the probability of the label. The whole population is
one call of the classifier, which needs nothing but probabilities.

The attack shows that a prediction can be changed. That it fails shows nothing: see
`dpcore.learn.linear.certificate` for what no attack gets below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.learn.bags import Bags
from dpcore.learn.linear.certificate import changes_allowed
from dpcore.limits import MAX_GENERATIONS, MAX_POPULATION

if TYPE_CHECKING:
    from dpcore.attack.genetic.candidates import Candidates


class Victim(Protocol):
    """Anything that gives probabilities of classes."""

    def probabilities(self, bags: Bags) -> FloatArray:
        """Probability of each class for each document, shape (k, m)."""


@dataclass(frozen=True)
class Genetic:
    """Settings of the attack.

    Attributes:
        population: members, at least 2.
        generations: after the first one.
        share: of the known words that may be changed; see `changes_allowed` in
            `dpcore.learn.linear.certificate`.
        tries: candidates that are tried in a changed place, of which the fittest is taken; 1 as in
            Xu et al. 2021, more as in Alzantot et al. 2018.
    """

    population: int = 40
    generations: int = 20
    share: float = 0.2
    tries: int = 1

    def __post_init__(self) -> None:
        if not 2 <= self.population <= MAX_POPULATION:
            raise ParameterError(
                f"a population has 2 to {MAX_POPULATION:,} members, got {self.population}"
            )
        if not 0 <= self.generations <= MAX_GENERATIONS:
            raise ParameterError(
                f"the attack takes 0 to {MAX_GENERATIONS:,} generations, got {self.generations}"
            )
        if not 1 <= self.tries <= MAX_POPULATION:
            raise ParameterError(
                f"1 to {MAX_POPULATION:,} candidates are tried in a place, got {self.tries}"
            )
        changes_allowed([1], self.share)


@dataclass(frozen=True)
class Generation:
    """The fittest text of one generation.

    Attributes:
        number: 0 for the original text, 1 for the first population.
        probability: of the label.
        changed: words that differ from the original.
        words: lexicon index in each place.
    """

    number: int
    probability: float
    changed: int
    words: tuple[int, ...]


@dataclass(frozen=True)
class Attacked:
    """What the attack found.

    Attributes:
        label: the class that should stay.
        success: whether the last text is classified otherwise.
        generations: the fittest text of each, the original first.
        queries: texts that the classifier was asked about.
    """

    label: int
    success: bool
    generations: tuple[Generation, ...]
    queries: int

    @property
    def words(self) -> IntArray:
        """The text that was found, shape (t,)."""
        return np.array(self.generations[-1].words, dtype=np.int64)


def attack(
    victim: Victim,
    candidates: Candidates,
    label: int,
    settings: Genetic,
    rng: np.random.Generator,
) -> Attacked:
    """Attack one document.

    Args:
        victim: the classifier.
        candidates: the document, and what its words may become.
        label: the class that should stay.
        settings: of the attack.
        rng: of everything that is drawn.

    Returns:
        The original text alone if it is already classified otherwise, or nothing may change.

    Raises:
        ParameterError: the label is no class of the classifier.
    """
    return _Hunt(victim, candidates, label, settings, rng).run()


class _Hunt:
    """One attack, and what it counts."""

    def __init__(
        self,
        victim: Victim,
        candidates: Candidates,
        label: int,
        settings: Genetic,
        rng: np.random.Generator,
    ) -> None:
        self.victim, self.candidates, self.label = victim, candidates, label
        self.settings, self.rng = settings, rng
        self.original = candidates.document.words
        known = int((self.original >= 0).sum())
        self.budget = int(changes_allowed([known], settings.share)[0])
        self.queries = 0

    def run(self) -> Attacked:
        members = self.original[None].copy()
        kept, fooled = self.look(members)
        generations = [self.note(0, members, kept, fooled)]
        if self.budget and self.candidates.places.size:
            members = np.repeat(members, self.settings.population, axis=0)
            for number in range(1, self.settings.generations + 2):
                if fooled.any():
                    break
                if number > 1:
                    members = self.children(members, kept)
                first = 0 if number == 1 else 1  # the fittest one stays as it is
                members[first:] = self.mutated(members[first:])
                kept, fooled = self.look(members)
                generations.append(self.note(number, members, kept, fooled))
        return Attacked(self.label, bool(fooled.any()), tuple(generations), self.queries)

    def look(self, members: IntArray) -> tuple[FloatArray, BoolArray]:
        """Probability of the label, and whether another class is predicted, of each text."""
        count, size = members.shape
        offsets = np.arange(count + 1, dtype=np.int64) * size
        bags = Bags(members.flatten(), offsets, self.candidates.document.vocabulary)
        probabilities = self.victim.probabilities(bags)
        if not 0 <= self.label < probabilities.shape[1]:
            raise ParameterError(
                f"the label must be one of the {probabilities.shape[1]} classes, got {self.label}"
            )
        self.queries += count
        return probabilities[:, self.label], probabilities.argmax(axis=1) != self.label

    def note(
        self, number: int, members: IntArray, kept: FloatArray, fooled: BoolArray
    ) -> Generation:
        """The member with the least probability of the label, among those that fool if any do."""
        # Two less puts those that fool before all others, whatever their probabilities.
        best = int(np.where(fooled, kept - 2.0, kept).argmin())
        changed = int((members[best] != self.original).sum())
        return Generation(number, float(kept[best]), changed, tuple(members[best].tolist()))

    def children(self, members: IntArray, kept: FloatArray) -> IntArray:
        """The fittest member, then children of pairs that are drawn by fitness."""
        fitness = np.maximum(1.0 - kept, 0.0)
        # Where every text is certainly classified right all are alike.
        law = fitness / fitness.sum() if fitness.sum() > 0 else None
        count = len(members)
        parents = self.rng.choice(count, size=(2, count - 1), p=law)
        first = self.rng.random((count - 1, members.shape[1])) < 0.5
        children = np.where(first, members[parents[0]], members[parents[1]])
        # Beyond the budget changes are taken back at random.
        moved = children != self.original
        order = self.rng.random(children.shape)
        order[~moved] = np.inf
        rank = order.argsort(axis=1).argsort(axis=1)
        children = np.where(moved & (rank >= self.budget), self.original, children)
        return np.concatenate((members[[int(kept.argmin())]], children))

    def mutated(self, members: IntArray) -> IntArray:
        """Each text with one more substitution, in a changed place if its budget is used up."""
        places = self.candidates.places
        moved = (members != self.original)[:, places]
        full = moved.sum(axis=1) >= self.budget
        order = self.rng.random(moved.shape)
        # The largest of independent numbers stands at a random place; −1 is never the largest, as
        # a text whose budget is used up has changed places.
        order[full[:, None] & ~moved] = -1.0
        picked = order.argmax(axis=1)
        tries = self.settings.tries
        changed = np.repeat(members, tries, axis=0)
        picked = np.repeat(picked, tries)
        changed[np.arange(len(changed)), places[picked]] = self.candidates.draw(self.rng, picked)
        if tries == 1:
            return changed
        kept = self.look(changed)[0].reshape(len(members), tries)
        return np.asarray(changed[np.arange(len(members)) * tries + kept.argmin(axis=1)])
