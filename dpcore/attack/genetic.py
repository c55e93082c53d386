"""Genetic word substitution: an evolved population of changed texts that fool a classifier.

Alzantot et al. 2018, as used by Xu et al. 2021 (Section 6.3): each member begins with one random
substitution; while no member fools the classifier, the fittest one is kept, and the others are
replaced by children that take every word from one of two parents, drawn by fitness, and are
changed in one more position. Fitness is 1 less the probability of the label. The whole population
is one call of the classifier, of which only probabilities are needed.

A successful attack shows that a prediction can be changed. A failure shows nothing: see
`dpcore.learn.linear.certificate` for a bound that no attack gets below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError
from dpcore.learn.corpus import Bags
from dpcore.learn.linear.certificate import changes_allowed
from dpcore.learn.substitutions import Substitutions
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_DRAWS, MAX_GENERATIONS, MAX_POPULATION
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator


class Victim(Protocol):
    """Classifier that returns class probabilities."""

    def probabilities(self, bags: Bags) -> FloatArray:
        """Return the probability of each class for each document, shape (k, m)."""


@dataclass(frozen=True)
class Genetic:
    """Settings of the attack.

    Attributes:
        population: members, at least 2.
        generations: number of generations after the first one.
        share: share of the known words that may be changed; see `changes_allowed` in
            `dpcore.learn.linear.certificate`.
        tries: candidates that are tried in a changed position, of which the fittest is taken; 1 as
            in Xu et al. 2021, more as in Alzantot et al. 2018.
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
        probability: probability of the label.
        changed: number of words that differ from the original.
        words: lexicon index in each position.
    """

    number: int
    probability: float
    changed: int
    words: tuple[int, ...]


@dataclass(frozen=True)
class AttackResult:
    """Result of an attack on one document.

    Attributes:
        label: the class that should stay.
        success: True if the last text is classified otherwise.
        generations: the fittest text of each generation, the original first.
        queries: number of texts that the classifier was asked about.
    """

    label: int
    success: bool
    generations: tuple[Generation, ...]
    queries: int

    @property
    def words(self) -> IntArray:
        """Final text of the attack, shape (t,)."""
        return np.array(self.generations[-1].words, dtype=np.int64)


def attack(
    victim: Victim,
    candidates: Candidates,
    label: int,
    settings: Genetic,
    rng: np.random.Generator,
) -> AttackResult:
    """Attack one document.

    Args:
        victim: the classifier.
        candidates: the document, and the substitutes of its words.
        label: the class that should stay.
        settings: settings of the attack.
        rng: generator for all draws.

    Returns:
        The original text alone if it is already classified otherwise, or nothing may change.

    Raises:
        ParameterError: the label is not a class of the classifier.
    """
    return _Hunt(victim, candidates, label, settings, rng).run()


class _Hunt:
    """State of one attack, with its query count."""

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

    def run(self) -> AttackResult:
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
                first = 0 if number == 1 else 1  # the fittest one stays unchanged
                members[first:] = self.mutated(members[first:])
                kept, fooled = self.look(members)
                generations.append(self.note(number, members, kept, fooled))
        return AttackResult(self.label, bool(fooled.any()), tuple(generations), self.queries)

    def look(self, members: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return each text's probability of the label, and True if another class is predicted."""
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
        """Return the member least likely to get the label, among those that fool if any do."""
        # Subtracting 2 puts members that fool before all others, whatever their probabilities.
        best = int(np.where(fooled, kept - 2.0, kept).argmin())
        changed = int((members[best] != self.original).sum())
        return Generation(number, float(kept[best]), changed, tuple(members[best].tolist()))

    def children(self, members: IntArray, kept: FloatArray) -> IntArray:
        """Return the fittest member, then children of pairs that are drawn by fitness."""
        fitness = np.maximum(1.0 - kept, 0.0)
        # If every text is certainly classified as the label, all are equally fit.
        law = fitness / fitness.sum() if fitness.sum() > 0 else None
        count = len(members)
        parents = self.rng.choice(count, size=(2, count - 1), p=law)
        first = self.rng.random((count - 1, members.shape[1])) < 0.5
        children = np.where(first, members[parents[0]], members[parents[1]])
        # Changes beyond the budget are undone at random.
        moved = children != self.original
        order = self.rng.random(children.shape)
        order[~moved] = np.inf
        rank = order.argsort(axis=1).argsort(axis=1)
        children = np.where(moved & (rank >= self.budget), self.original, children)
        return np.concatenate((members[[int(kept.argmin())]], children))

    def mutated(self, members: IntArray) -> IntArray:
        """Return each text with one more substitution, in a changed position if at its budget."""
        places = self.candidates.places
        moved = (members != self.original)[:, places]
        full = moved.sum(axis=1) >= self.budget
        order = self.rng.random(moved.shape)
        # The largest of independent numbers is at a random position; −1 is never the largest, as
        # a text whose budget is used up has changed positions.
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


# Candidate words in each position of a text, with the probability that the attacker tries them.
#
# Alzantot et al. 2018 take near words; Xu et al. 2021 draw from a metric-private mechanism at ε.
# Both are a table: for each position some words with probabilities, without the word of the
# position itself.


USUAL_DRAWS = 200
"""Draws for each word that replace the law of a mechanism without an exact one."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Substitutes for each position of one document; read-only.

    Attributes:
        document: the one document.
        places: positions that have a candidate, shape (p,).
        rows: row of each of them in the two tables, one row for each distinct word, shape (p,).
        words: candidates, shape (u, c), never the word itself.
        steps: running sums of their probabilities, shape (u, c); the last is 1. A word that only
            pads a row has probability 0.
        method: source of the candidates, as text.
    """

    document: Bags
    places: IntArray
    rows: IntArray
    words: IntArray
    steps: FloatArray
    method: str

    def __post_init__(self) -> None:
        for array in (self.places, self.rows, self.words, self.steps):
            array.setflags(write=False)

    def draw(self, rng: np.random.Generator, picked: IntArray) -> IntArray:
        """Draw one candidate for each given entry of `places`, independently."""
        drawn = np.empty(picked.shape, dtype=np.int64)
        uniform = rng.random(picked.shape)
        rows = self.rows[picked]
        for row in np.unique(rows):
            here = rows == row
            column = np.searchsorted(self.steps[row], uniform[here], side="right")
            drawn[here] = self.words[row, column]
        return drawn


def from_substitutions(document: Bags, substitutions: Substitutions) -> Candidates:
    """Make every allowed substitute of a word equally likely.

    Raises:
        ParameterError: there is not exactly one document.
    """
    known = {word: substitutions.of(word) for word in _words(document)}
    table = {word: (substitutes, np.ones(substitutes.size)) for word, substitutes in known.items()}
    return _candidates(document, table, "substitutes, equally likely")


def from_mechanism(
    document: Bags,
    mechanism: Mechanism,
    epsilon: float,
    rng: np.random.Generator,
    *,
    draws: int | None = None,
    within: Substitutions | None = None,
) -> Candidates:
    """Take candidates from the outputs of a mechanism, by its law given a change or by draws.

    The law includes outputs however rare they are. Draws include only outputs that occurred: a word
    that every draw returned has no candidate.

    Args:
        document: exactly one document.
        mechanism: over the lexicon of the document.
        epsilon: ε of the mechanism.
        rng: generator for the draws.
        draws: draws of each distinct word, 1 to `limits.MAX_DRAWS`, even if there is an exact law.
            None: the exact law given a change, or `USUAL_DRAWS` for a mechanism without one.
        within: only these substitutes are tried, so that a certificate for them holds.

    Raises:
        EpsilonError: ε is not admissible.
        ParameterError: the number of draws is outside its range, or there is not one document.
    """
    epsilon = mechanism.check_epsilon(epsilon)
    by_law = draws is None and mechanism.exact_law
    draws = USUAL_DRAWS if draws is None else draws
    if not 1 <= draws <= MAX_DRAWS:
        raise ParameterError(f"candidates are found from 1 to {MAX_DRAWS:,} draws, got {draws}")
    table: dict[int, tuple[IntArray, FloatArray]] = {}
    for word in _words(document):
        if by_law:
            law = mechanism.law(word, [epsilon])
            outputs, weights = law.outputs, law.probabilities[0]
        else:
            drawn = mechanism.sample(rng, np.full(draws, word), epsilon)
            outputs, counts = np.unique(drawn, return_counts=True)
            weights = counts.astype(np.float64)
        kept = (outputs != word) & (weights > 0)
        if within is not None:
            kept &= np.isin(outputs, within.of(word))
        table[word] = (outputs[kept], weights[kept])
    how = "exact law" if by_law else f"{draws:,} draws a word"
    return _candidates(document, table, f"{mechanism.short} at epsilon {epsilon:g}, {how}")


def _words(document: Bags) -> list[int]:
    """Return the distinct known words of the one document."""
    if not len(document) == 1:
        raise ParameterError(f"one document is attacked at a time, got {len(document)}")
    words: list[int] = np.unique(document.words[document.words >= 0]).tolist()
    return words


def _candidates(
    document: Bags, table: dict[int, tuple[IntArray, FloatArray]], method: str
) -> Candidates:
    row_of = {word: row for row, word in enumerate(w for w in table if table[w][0].size)}
    width = max((table[word][0].size for word in row_of), default=0)
    words = np.zeros((len(row_of), width), dtype=np.int64)
    steps = np.ones((len(row_of), width))
    for word, row in row_of.items():
        outputs, weights = table[word]
        words[row, : outputs.size] = outputs
        # A row is padded with its last word, whose steps are all 1 and so are never reached.
        words[row, outputs.size :] = outputs[-1]
        sums = np.cumsum(weights)
        steps[row, : outputs.size] = sums / sums[-1]
    rows = np.array([row_of.get(int(word), -1) for word in document.words], dtype=np.int64)
    places = np.flatnonzero(rows >= 0)
    return Candidates(document, places, rows[places], words, steps, method)


# Effect of genetic word substitution on a classifier: word by word, and on its accuracy.


@dataclass(frozen=True)
class Step:
    """One changed word.

    Attributes:
        place: position in the document.
        old: the word before.
        new: the word after.
        probability: probability of the label after the change.
    """

    place: int
    old: int
    new: int
    probability: float


def steps(victim: Victim, document: Bags, attacked: AttackResult) -> tuple[Step, ...]:
    """Order the changes of an attack: each step lowers the probability of the label most.

    The steps end when the classifier is fooled, so that unnecessary changes are left out.

    Args:
        victim: the classifier.
        document: the document that was attacked.
        attacked: result of `attack`.
    """
    text, goal = np.array(document.words), attacked.words
    done: list[Step] = []
    while (places := np.flatnonzero(text != goal)).size:
        options = np.repeat(text[None], places.size, axis=0)
        options[np.arange(places.size), places] = goal[places]
        offsets = np.arange(places.size + 1, dtype=np.int64) * text.size
        scores = victim.probabilities(Bags(options.ravel(), offsets, document.vocabulary))
        best = int(scores[:, attacked.label].argmin())
        place = int(places[best])
        done.append(
            Step(place, int(text[place]), int(goal[place]), float(scores[best, attacked.label]))
        )
        text = options[best]
        if attacked.success and scores[best].argmax() != attacked.label:
            break
    return tuple(done)


@dataclass(frozen=True)
class AdversarialAccuracy:
    """Accuracy of a classifier under the attack: an upper bound on that under every attack.

    Attributes:
        clean: share of the documents that are right before.
        accuracy: share that are right after.
        low: lower end of its 95 % Clopper–Pearson interval, over documents like these.
        high: upper end.
        documents: number of documents.
        attacks: result for each document.
    """

    clean: float
    accuracy: float
    low: float
    high: float
    documents: int
    attacks: tuple[AttackResult, ...]


def adversarial_accuracy(
    victim: Victim,
    bags: Bags,
    labels: ArrayLike,
    candidates: Callable[[Bags, np.random.Generator], Candidates],
    settings: Genetic,
    seed: int,
    progress: Progress = silent,
) -> AdversarialAccuracy:
    """Attack every document; one that is classified otherwise already stays unchanged.

    Args:
        victim: the classifier.
        bags: k ≥ 1 documents.
        labels: class of each, shape (k,).
        candidates: makes the candidates of one document, such as `from_substitutions` with the
            substitutions filled in.
        settings: settings of the attack.
        seed: each document has its own stream under this seed.
        progress: called with ("attack", documents done, k).

    Raises:
        ParameterError: there is no document, or the number of labels differs from that of
            documents.
    """
    truth = np.asarray(labels, dtype=np.int64)
    if not (truth.shape == (len(bags),) and truth.size):
        raise ParameterError(
            f"each of at least one document needs a label, got {len(bags)} and {truth.size}"
        )
    attacks = []
    for i, label in enumerate(truth.tolist()):
        rng = generator(seed, "genetic", i)
        choices = candidates(bags.part([i]), rng)
        attacks.append(attack(victim, choices, label, settings, rng))
        progress("attack", i + 1, len(bags))
    # An attack that ended with the original text found it already classified otherwise.
    clean = sum(not (attacked.success and len(attacked.generations) == 1) for attacked in attacks)
    right = sum(not attacked.success for attacked in attacks)
    low, high = clopper_pearson(right, len(attacks), 0.025)
    return AdversarialAccuracy(
        clean / len(attacks), right / len(attacks), low, high, len(attacks), tuple(attacks)
    )
