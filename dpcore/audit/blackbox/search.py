"""The first half of the budget: which words are told apart, and by which outputs?

Words are chosen near to and far from each other, in crowds and alone. All of them are called a few
times, the half of which pairs look best is called twice as often, and so on (successive halving,
Karnin et al. 2013). Nothing here bounds anything: what is found is counted anew by
`dpcore.audit.blackbox.bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.blackbox.events import ByDistance, Promising, Sample, promising, single
from dpcore.limits import MAX_AUDIT_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.arrays import FloatArray, IntArray
    from dpcore.audit.blackbox.events import Classes
    from dpcore.audit.blackbox.promise import Promise
    from dpcore.lexicon.lexicon import Lexicon

    Draw = Callable[[IntArray], IntArray]
    """Words to their outputs, both as numbers, each with noise of its own."""

SCREENED = 96  # words at the beginning
_LAST = 6  # words at the end
_POOL = 512  # words whose distances from all others are looked at
_DEVIATIONS = 4.0  # taken off while pairs are compared: a thousand pairs, and luck should not win
_REACHES = (0.1, 0.3, 1.0, 3.0, 9.0)  # nats, between which pairs compete with each other
_STAY = 0.25  # of its score by which another pair of words must be better than the best one
_BY_DISTANCE = 24  # words from which on outputs are also told apart by their distances


@dataclass(frozen=True, eq=False)
class Finalist:
    """An event that is worth a share of the second half.

    Attributes:
        word: under which it should be likelier.
        other: the other word.
        allowed: the loss that the promise allows these two.
        units: what ε is multiplied by for them.
        classes: of outputs.
        event: classes in it, sorted.
    """

    word: int
    other: int
    allowed: float
    units: float
    classes: Classes
    event: IntArray

    @property
    def by_distance(self) -> bool:
        """Whether its outputs are told apart by their distances from the two words."""
        return isinstance(self.classes, ByDistance)


def screened_words(
    lexicon: Lexicon, promise: Promise, count: int, reach: float, rng: np.random.Generator
) -> IntArray:
    """Words to begin with: a crowd, loners, frequent and random ones, each with a neighbour.

    Args:
        lexicon: the words.
        promise: its metric says what is near.
        count: how many, at most.
        reach: the largest loss that the budget can show; a second neighbour is as far away as a
            promise of half of that reaches.
        rng: of what is drawn.
    """
    n = len(lexicon)
    if n <= count:
        return np.arange(n)
    size = max(2, min(_POOL, n, MAX_AUDIT_ENTRIES // (8 * n)))
    frequent = np.arange(min(size // 4, n))
    pool = np.union1d(frequent, rng.choice(n, size - len(frequent), replace=False))
    apart = promise.apart(lexicon, pool, np.arange(n))
    apart[np.arange(len(pool)), pool] = np.inf
    by_crowd = np.argsort(apart.min(axis=1), kind="stable")
    anchors = max(1, count // 3)
    turns = (by_crowd, by_crowd[::-1], np.argsort(pool), rng.permutation(len(pool)))
    chosen: dict[int, None] = {}
    # One of each kind in turn, so that any number of anchors has all kinds.
    order = dict.fromkeys(int(turn[i]) for i in range(len(pool)) for turn in turns)
    for row in list(order)[:anchors]:
        near = int(apart[row].argmin())
        wanted = 0.5 * reach / promise.epsilon
        further = int(np.abs(apart[row] - wanted).argmin())
        chosen |= dict.fromkeys((int(pool[row]), near, further))
    return np.array(list(chosen)[:count], dtype=np.int64)


class Search:
    """Outputs of the first half, and the pairs that look best.

    Attributes:
        pairs: of words that were compared at the beginning.
        within_reach: of them, those whose promise allows less than the budget can show.
    """

    def __init__(self, lexicon: Lexicon, promise: Promise, words: IntArray, reach: float) -> None:
        """Begin with no output.

        Args:
            lexicon: the words.
            promise: what is claimed.
            words: indices of those that are compared.
            reach: the largest loss that the budget can show.
        """
        self._lexicon, self._promise = lexicon, promise
        self.words = words
        self._outputs: dict[int, list[IntArray]] = {int(word): [] for word in words}
        apart = promise.apart(lexicon, words, words)
        units = promise.units(apart)
        rows = np.triu_indices(len(words), 1)
        self._units = {
            (int(words[i]), int(words[j])): float(units[i, j])
            for i in range(len(words))
            for j in range(len(words))
            if i != j
        }
        self.pairs = len(rows[0])
        self.within_reach = int((promise.epsilon * units[rows] < reach).sum())

    def rounds(self, calls: int) -> list[tuple[int, int]]:
        """How many words are called how often in each round, of so many calls in all."""
        sizes = [len(self.words)]
        while sizes[-1] > _LAST:
            sizes.append(max(_LAST, sizes[-1] // 2))
        return [(size, max(2, calls // len(sizes) // size)) for size in sizes]

    def look(self, calls: int, draw: Draw, rng: np.random.Generator) -> None:
        """Spend the budget of the search, round by round; `draw` may stop it by an exception."""
        kept: Sequence[int] = [int(word) for word in self.words]
        for size, each in self.rounds(calls):
            kept = kept[:size]
            # In random order: whatever a function remembers of its calls is no pattern of words.
            asked = rng.permutation(np.repeat(np.array(kept, dtype=np.int64), each))
            outputs = draw(asked)
            for word in kept:
                self._outputs[word].append(outputs[asked == word])
            kept = self._ordered(kept)

    def finalists(self, deviations: float, most: int) -> list[Finalist]:
        """The most promising events of the last words, at most so many.

        Args:
            deviations: as `events.promising` takes them.
            most: how many events, at most; none if nothing was drawn.
        """
        calls = {word: sum(map(len, parts)) for word, parts in self._outputs.items()}
        last = sorted(calls, key=lambda word: -calls[word])[:_LAST]
        if not all(calls[word] for word in last):
            return []
        pairs = self._pairs(last, deviations)
        scores = _scores(pairs)
        best = pairs[int(scores[0].argmax())]
        # The fewer words there are, the more calls has each: another pair of words must be clearly
        # better than the one that seems to break the promise most surely.
        same = np.array([{pair.word, pair.other} == {best.word, best.other} for pair in pairs])
        scores[1:] += np.where(same, _STAY * np.abs(scores[1:]), 0.0)
        ranks = np.argsort(-scores, axis=1, kind="stable")
        chosen: dict[tuple[int, int, bytes], Finalist] = {}
        for i, kind in ((i, k) for column in ranks.T for k, i in enumerate(column)):
            pair = pairs[i]
            if len(chosen) == most:
                break
            if chosen and not same[i] and len(chosen) >= len(scores):
                continue  # the places that are left are for the best pair
            event = (pair.best.event, pair.best.loss_event, pair.best.delta_event)[kind]
            # Two events are one if they hold the same of what was seen.
            seen = np.concatenate((self._seen(pair.word), self._seen(pair.other)))
            inside = np.unique(seen[np.isin(pair.classes(seen), event)])
            units = self._units[pair.word, pair.other]
            chosen.setdefault(
                (pair.word, pair.other, inside.tobytes()),
                Finalist(pair.word, pair.other, pair.allowed, units, pair.classes, event),
            )
        return list(chosen.values())

    def _seen(self, word: int) -> IntArray:
        """All outputs of a word, in the order of their calls."""
        return np.concatenate(self._outputs[word])

    def _ordered(self, words: Sequence[int]) -> list[int]:
        """The words of the most promising pairs first, of each reach of the promise in turn.

        Of thousands of near pairs, to which next to nothing is allowed, some look better by chance
        than the one pair in a thousand that needs more calls before it shows anything.
        """
        pairs = self._pairs(words, _DEVIATIONS)
        scores = _scores(pairs)
        reach = np.digitize([pair.allowed for pair in pairs], _REACHES)
        ranks = np.argsort(-scores, axis=1, kind="stable")
        groups = [np.stack([row[reach[row] == kind] for row in ranks]) for kind in np.unique(reach)]
        groups.sort(key=lambda group: -scores[0, group[0, 0]])
        order: dict[int, None] = {}
        # One pair of each reach by the first measure, then by the second: a place for all of them
        # even where few words are left.
        for place, measure in product(range(max(g.shape[1] for g in groups)), range(len(scores))):
            for group in groups:
                if place < group.shape[1]:
                    pair = pairs[group[measure, place]]
                    order |= dict.fromkeys((pair.word, pair.other))
        return [*order, *(word for word in words if word not in order)]

    def _pairs(self, words: Sequence[int], deviations: float) -> list[_Pair]:
        """Each ordered pair by single outputs, and where words are few also by distances."""
        outputs = {word: self._seen(word) for word in words}
        singles = {word: _halves(outputs[word], single) for word in words}
        look_up = _Distances(self._lexicon, self._promise, words)
        pairs = []
        for word, other in permutations(words, 2):
            allowed = self._promise.epsilon * self._units[word, other]
            kinds: list[Classes] = [single]
            if len(words) <= _BY_DISTANCE:
                seen = np.concatenate((outputs[word], outputs[other]))
                apart = look_up.of(word, other)
                kinds.append(ByDistance.learned(apart, seen, len(self._lexicon)))
            for classes in kinds:
                likely, unlikely = (
                    singles[each] if classes is single else _halves(outputs[each], classes)
                    for each in (word, other)
                )
                best = promising(likely, unlikely, allowed, self._promise.delta, deviations)
                pairs.append(_Pair(word, other, allowed, classes, best))
        return pairs


def _halves(outputs: IntArray, classes: Classes) -> tuple[Sample, Sample]:
    """Outputs counted in two parts, in turns."""
    return Sample.of(outputs[::2], classes), Sample.of(outputs[1::2], classes)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two words, by one kind of classes."""

    word: int
    other: int
    allowed: float
    classes: Classes
    best: Promising


class _Distances:
    """Distances of outputs from a few words, each computed once."""

    def __init__(self, lexicon: Lexicon, promise: Promise, words: Sequence[int]) -> None:
        self._lexicon, self._promise = lexicon, promise
        self._place = {word: i for i, word in enumerate(words)}
        self._words = np.array(words, dtype=np.int64)
        self._known = np.empty((len(words), 0))
        self._outputs = np.empty(0, dtype=np.int64)

    def of(self, first: int, second: int) -> Callable[[IntArray], FloatArray]:
        """Distances of outputs, shape (k,) without repetition, from two words, shape (2, k)."""
        rows = np.array([self._place[first], self._place[second]])

        def apart(outputs: IntArray) -> FloatArray:
            distinct, back = np.unique(outputs, return_inverse=True)
            new = np.setdiff1d(distinct, self._outputs, assume_unique=True)
            if new.size:
                more = self._promise.apart(self._lexicon, self._words, new)
                every = np.concatenate((self._outputs, new))
                order = np.argsort(every)
                self._known = np.concatenate((self._known, more), axis=1)[:, order]
                self._outputs = every[order]
            places = np.searchsorted(self._outputs, distinct)[back]
            return np.asarray(self._known[rows][:, places])

        return apart


def _scores(pairs: Sequence[_Pair]) -> FloatArray:
    """How good each pair is: for refuting ε, for a bound on it, for one on δ; shape (3, pairs)."""
    allowed = np.array([pair.allowed for pair in pairs])
    beyond, loss, delta = np.array(
        [(pair.best.beyond, pair.best.loss, pair.best.delta) for pair in pairs]
    ).T
    # A bound that is not above 0 shows nothing, however small the distance it is divided by.
    share = np.where(loss > 0, loss / allowed, loss)
    return np.asarray(np.nan_to_num(np.stack((beyond, share, delta)), neginf=-1e300))
