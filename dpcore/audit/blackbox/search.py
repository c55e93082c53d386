"""Search for the pairs of words and the events that tell most, and bounds on new outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.audit.montecarlo import clopper_pearson, loss_bound
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_AUDIT_ENTRIES
from dpcore.outwards import at_least, at_most

if TYPE_CHECKING:
    from dpcore.audit.blackbox.audit import Outputs, Promise

Draw = Callable[[IntArray], IntArray]
"""Function from words to their outputs, both as numbers, each with noise of its own."""


# Events that tell two words apart: chosen on some outputs, bounded on others.
#
# An event is a set of classes of outputs. A class is a single output, or all outputs whose
# distances from the two words lie between the same bounds: of a law that is spread over thousands
# of words each comes out once or never, and only such classes are seen often enough to be learned.
# Classes are sorted by their likelihood ratio, and the first few are the event: no other event of
# its probability tells more (lemma of Neyman and Pearson 1933).


_SHARES = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997, 0.999)
"""Quantiles of the outputs seen at which distances are cut; finer in the tail, where laws break."""

Classes = Callable[["IntArray"], "IntArray"]
"""Function from outputs to their classes, for one pair of words."""


def single(outputs: IntArray) -> IntArray:
    """Return the outputs: every output is a class of its own."""
    return outputs


@dataclass(frozen=True, eq=False)
class ByDistance:
    """Classes of outputs by their distances from both words of a pair.

    Attributes:
        distances: from outputs of the lexicon, shape (k,), to their distances from the two words,
            shape (2, k).
        edges: cuts of each of the two distances.
        words: size of the lexicon; outputs from there on are a class of their own.
    """

    distances: Callable[[IntArray], FloatArray]
    edges: tuple[FloatArray, FloatArray]
    words: int

    @classmethod
    def learned(
        cls, distances: Callable[[IntArray], FloatArray], seen: IntArray, words: int
    ) -> ByDistance:
        """Cut at quantiles of the outputs that were seen under both words."""
        inside = seen[seen < words]
        if not inside.size:
            return cls(distances, (np.empty(0), np.empty(0)), words)
        first, second = (np.unique(np.quantile(row, _SHARES)) for row in distances(inside))
        return cls(distances, (first, second), words)

    def __call__(self, outputs: IntArray) -> IntArray:
        """Return the class of each output, at least 0."""
        classes = np.zeros(outputs.shape, dtype=np.int64)
        inside = outputs < self.words
        distinct, back = np.unique(outputs[inside], return_inverse=True)
        if distinct.size:
            apart = self.distances(distinct)
            cells = [np.searchsorted(e, a) for e, a in zip(self.edges, apart, strict=True)]
            classes[inside] = (1 + cells[0] * (len(self.edges[1]) + 1) + cells[1])[back]
        return classes


@dataclass(frozen=True, eq=False)
class Sample:
    """Outputs of one word: the classes that were seen, ascending, and their counts."""

    classes: IntArray
    counts: IntArray
    draws: int

    @classmethod
    def of(cls, outputs: IntArray, classes: Classes = single) -> Sample:
        """Count outputs by their class."""
        seen, counts = np.unique(classes(outputs), return_counts=True)
        return cls(seen, counts, len(outputs))

    def count(self, classes: IntArray) -> IntArray:
        """Return the counts of these classes."""
        if not self.classes.size:
            return np.zeros(classes.shape, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.classes, classes), self.classes.size - 1)
        return np.where(self.classes[place] == classes, self.counts[place], 0)

    def inside(self, event: IntArray) -> int:
        """Count the outputs in an event, a sorted array of classes."""
        within: BoolArray = np.isin(self.classes, event)
        return int(self.counts[within].sum())


@dataclass(frozen=True, eq=False)
class Promising:
    """The best events of one pair of words, by three measures; for choosing, they bound nothing.

    Attributes:
        beyond: standard errors by which ln[(P(S|w) − δ)/P(S|w′)] seems to exceed what is allowed.
        event: the classes of that S, sorted.
        loss: about the largest such logarithm that the sample is sure of.
        loss_event: of that S.
        delta: about the largest P(S|w) − e^allowed·P(S|w′) that the sample is sure of.
        delta_event: of that S.
    """

    beyond: float
    event: IntArray
    loss: float
    loss_event: IntArray
    delta: float
    delta_event: IntArray


def promising(
    likely: tuple[Sample, Sample],
    unlikely: tuple[Sample, Sample],
    allowed: float,
    delta: float,
    deviations: float,
) -> Promising:
    """Choose the best events of a pair, by the order of the likelihood ratio.

    Args:
        likely: outputs of the word under which the event should be likelier, in two parts: the
            first puts classes in order, the second says how many of them are worth taking. By the
            same outputs, all that came out once would seem to belong to the event.
        unlikely: of the other word.
        allowed: ε·d, the loss that the guarantee allows.
        delta: the δ that it allows.
        deviations: how many standard deviations are subtracted where a bound should be sure. The
            bounds are those of two Poisson counts on the scale of square roots, where their
            deviation is 1/2: quick, and near enough for a choice.
    """
    classes, count = likely[0].classes, likely[0].counts
    # Half a count more under the other word: a class that it never gave by chance proves nothing.
    order = np.lexsort((classes, -count / (unlikely[0].count(classes) + 0.5)))
    ordered = classes[order]
    first = np.cumsum(likely[1].count(ordered))
    second = np.cumsum(unlikely[1].count(ordered))
    p, q = first / likely[1].draws, (second + 0.5) / unlikely[1].draws
    factor = np.exp(min(allowed, 700.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # To first order the variance of ln p is (1 − p)/(n·p); an event of all outputs has none,
        # and shows nothing however sure it is.
        spread = (1.0 - p) * p / likely[1].draws / np.square(p - delta)
        spread += np.maximum(1.0 - q, 0.0) / (second + 0.5)
        error = np.maximum(np.sqrt(spread), 1.0 / likely[1].draws)
        seeming = np.log(np.maximum(p - delta, 0.0)) - np.log(q)
        beyond = np.where(p > delta, (seeming - allowed) / error, -np.inf)
        low = np.square(np.maximum(np.sqrt(first) - 0.5 * deviations, 0.0)) / likely[1].draws
        high = np.square(np.sqrt(second + 1.0) + 0.5 * deviations) / unlikely[1].draws
        high = np.minimum(high, 1.0)
        loss = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
    most = low - factor * high
    ends = [int(measure.argmax()) for measure in (beyond, loss, most)]
    events = [np.sort(ordered[: end + 1]) for end in ends]
    return Promising(
        float(beyond[ends[0]]),
        events[0],
        float(loss[ends[1]]),
        events[1],
        float(most[ends[2]]),
        events[2],
    )


SCREENED = 96  # words at the beginning
_LAST = 6  # words at the end
_POOL = 512  # words whose distances from all others are computed
_DEVIATIONS = 4.0  # subtracted while a thousand pairs are compared, so that luck does not win
_REACHES = (0.1, 0.3, 1.0, 3.0, 9.0)  # nats, between which pairs compete with each other
_STAY = 0.25  # of its score by which another pair of words must be better than the best one
_BY_DISTANCE = 24  # words up to which outputs are also told apart by their distances


@dataclass(frozen=True, eq=False)
class Finalist:
    """An event that is worth a share of the second half of the calls.

    Attributes:
        word: under which it should be likelier.
        other: the other word.
        allowed: the loss that the guarantee allows these two.
        units: the factor of ε for them.
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
        """True if its outputs are told apart by their distances from the two words."""
        return isinstance(self.classes, ByDistance)


def screened_words(
    lexicon: Lexicon, promise: Promise, count: int, reach: float, rng: np.random.Generator
) -> IntArray:
    """Choose the first words: a crowd, loners, frequent and random ones, each with a neighbour.

    Args:
        lexicon: source of the words.
        promise: its metric gives the distances.
        count: how many, at most.
        reach: the largest loss that the budget can show; the guarantee allows a second neighbour
            about half of it.
        rng: of the random choices.
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
    """Search of the first half of the calls: words are halved round by round.

    In each round the words of the best pairs stay, with twice as many calls each (successive
    halving, Karnin et al. 2013). The search bounds nothing: its events are bounded on new outputs.

    Attributes:
        pairs: of words that were compared at the beginning.
        within_reach: of them, those whose guarantee allows less than the budget can show.
    """

    def __init__(self, lexicon: Lexicon, promise: Promise, words: IntArray, reach: float) -> None:
        """Begin with no output.

        Args:
            lexicon: source of the words.
            promise: the claim.
            words: indices of the words to compare.
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
        """Return the (number of words, calls per word) of each round, for so many calls in all."""
        sizes = [len(self.words)]
        while sizes[-1] > _LAST:
            sizes.append(max(_LAST, sizes[-1] // 2))
        return [(size, max(2, calls // len(sizes) // size)) for size in sizes]

    def look(self, calls: int, draw: Draw, rng: np.random.Generator) -> None:
        """Spend the budget of the search, round by round; `draw` may stop it by an exception."""
        kept: Sequence[int] = [int(word) for word in self.words]
        for size, each in self.rounds(calls):
            kept = kept[:size]
            # In random order: a function's memory of its calls makes no pattern of words.
            asked = rng.permutation(np.repeat(np.array(kept, dtype=np.int64), each))
            outputs = draw(asked)
            for word in kept:
                self._outputs[word].append(outputs[asked == word])
            kept = self._ordered(kept)

    def finalists(self, deviations: float, most: int) -> list[Finalist]:
        """Return the most promising events of the last words, at most `most`.

        Args:
            deviations: as `promising` takes them.
            most: how many events, at most; none if nothing was drawn.
        """
        calls = {word: sum(map(len, parts)) for word, parts in self._outputs.items()}
        last = sorted(calls, key=lambda word: -calls[word])[:_LAST]
        if not all(calls[word] for word in last):
            return []
        pairs = self._pairs(last, deviations)
        scores = _scores(pairs)
        best = pairs[int(scores[0].argmax())]
        # The fewer words there are, the more calls each has: another pair of words must be clearly
        # better than the one that seems to break the guarantee most surely.
        same = np.array([{pair.word, pair.other} == {best.word, best.other} for pair in pairs])
        scores[1:] += np.where(same, _STAY * np.abs(scores[1:]), 0.0)
        ranks = np.argsort(-scores, axis=1, kind="stable")
        chosen: dict[tuple[int, int, bytes], Finalist] = {}
        for i, kind in ((i, k) for column in ranks.T for k, i in enumerate(column)):
            pair = pairs[i]
            if len(chosen) == most:
                break
            if chosen and not same[i] and len(chosen) >= len(scores):
                continue  # the remaining places are for the best pair
            event = (pair.best.event, pair.best.loss_event, pair.best.delta_event)[kind]
            # Two events are one if they contain the same of the outputs seen.
            seen = np.concatenate((self._seen(pair.word), self._seen(pair.other)))
            inside = np.unique(seen[np.isin(pair.classes(seen), event)])
            units = self._units[pair.word, pair.other]
            chosen.setdefault(
                (pair.word, pair.other, inside.tobytes()),
                Finalist(pair.word, pair.other, pair.allowed, units, pair.classes, event),
            )
        return list(chosen.values())

    def ordered(self, finalist: Finalist) -> tuple[IntArray, tuple[int, ...]]:
        """Order the classes of a pair for its tests, and choose thresholds; both bound nothing.

        Returns:
            The classes that name the first word, the surest first, and how many of them a test
            takes that is wrong in about each of `RATES`. One half of the outputs puts them in
            order, the other gives the rates.
        """
        likely, unlikely = (
            _halves(self._seen(word), finalist.classes) for word in (finalist.word, finalist.other)
        )
        classes = np.union1d(likely[0].classes, unlikely[0].classes)
        ratio = (likely[0].count(classes) + 0.5) / (unlikely[0].count(classes) + 0.5)
        classes = classes[np.lexsort((classes, -ratio))]
        wrong = np.cumsum(unlikely[1].count(classes)) / max(unlikely[1].draws, 1)
        counts = np.searchsorted(wrong, RATES, side="right")
        return classes, tuple(dict.fromkeys(int(count) for count in counts if count))

    def _seen(self, word: int) -> IntArray:
        """Return all outputs of a word, in the order of their calls."""
        return np.concatenate(self._outputs[word])

    def _ordered(self, words: Sequence[int]) -> list[int]:
        """Sort words by their most promising pairs, taking each reach of the guarantee in turn.

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
        """Rate each ordered pair by single outputs, and where words are few also by distances."""
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
    """Count outputs in two parts, in turns."""
    return Sample.of(outputs[::2], classes), Sample.of(outputs[1::2], classes)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two words with one kind of classes."""

    word: int
    other: int
    allowed: float
    classes: Classes
    best: Promising


class _Distances:
    """Cache of the distances of outputs from a few words."""

    def __init__(self, lexicon: Lexicon, promise: Promise, words: Sequence[int]) -> None:
        self._lexicon, self._promise = lexicon, promise
        self._place = {word: i for i, word in enumerate(words)}
        self._words = np.array(words, dtype=np.int64)
        self._known = np.empty((len(words), 0))
        self._outputs = np.empty(0, dtype=np.int64)

    def of(self, first: int, second: int) -> Callable[[IntArray], FloatArray]:
        """Return a function from outputs, shape (k,), to their distances from two words, (2, k)."""
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
    """Rate pairs for refuting ε, for a bound on ε and for a bound on δ; shape (3, pairs)."""
    allowed = np.array([pair.allowed for pair in pairs])
    beyond, loss, delta = np.array(
        [(pair.best.beyond, pair.best.loss, pair.best.delta) for pair in pairs]
    ).T
    # A bound that is not above 0 shows nothing, however small the distance it is divided by.
    share = np.where(loss > 0, loss / allowed, loss)
    return np.asarray(np.nan_to_num(np.stack((beyond, share, delta)), neginf=-1e300))


# Bounds: new outputs of the last words.
#
# Each event was chosen before any of these outputs was drawn, so its counts are binomial and
# Clopper-Pearson bounds hold; those of all events together but for the stated error (union bound).
# Every call is taken to be independent of all others.


_SHOWN = 5  # outputs of an event that are named


@dataclass(frozen=True)
class Evidence:
    """One event, its counts under either word, and the bounds that follow.

    Attributes:
        word: w, for which it was expected more often.
        other: w′.
        distance: d(w, w′) in the metric of the guarantee, rounded up; None without one.
        outputs: the most frequent outputs in the event, at most five.
        size: number of outputs in it; by distance, of those that were seen.
        by_distance: True if it is all outputs within some bounds of distance from the two words,
            and not a list of outputs.
        count: calls with w in which it happened, of `draws`.
        draws: see `count`.
        other_count: calls with w′, of `other_draws`.
        other_draws: see `other_count`.
        allowed: ln of the factor that the guarantee allows: ε·d, or ε.
        loss: lower bound on ln[(P(S|w) − δ)/P(S|w′)]; −∞ if nothing is shown.
        epsilon: the same per unit of distance: no smaller ε is true.
        delta: lower bound on P(S|w) − e^allowed·P(S|w′): no smaller δ is true at the claimed ε.
    """

    word: str
    other: str
    distance: float | None
    outputs: tuple[str, ...]
    size: int
    by_distance: bool
    count: int
    draws: int
    other_count: int
    other_draws: int
    allowed: float
    loss: float
    epsilon: float
    delta: float

    @property
    def broken(self) -> bool:
        """True if it refutes the guarantee, but for the error."""
        return self.loss > self.allowed

    @property
    def event(self) -> str:
        """The event in words."""
        named = ", ".join(f"“{output}”" for output in self.outputs)
        if self.by_distance:
            return f"an output about as far from both words as {named or 'no other'}"
        if self.size == 1:
            return f"the output {named}" if named else "an output that then never came"
        more = ", …" if self.size > len(self.outputs) else ""
        return f"one of {self.size:,} outputs ({named}{more})"

    @property
    def sentence(self) -> str:
        """The counts in words."""
        return (
            f"“{self.word}” gives {self.event} in {self.count:,} of {self.draws:,} calls, "
            f"“{self.other}” in {self.other_count:,} of {self.other_draws:,}"
        )


RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
"""False-positive rates about which tests are tried."""


@dataclass(frozen=True)
class PowerPoint:
    """A test that names one of two words, with intervals that hold for all tests at once.

    Attributes:
        rate: share of the other word's outputs for which it is wrong.
        rate_low: lower end of its interval.
        rate_high: upper end.
        power: share of the word's outputs that it finds.
        power_low: lower end of its interval: the best test with the rate `rate_high` finds as many.
        power_high: upper end; better tests may find more.
    """

    rate: float
    rate_low: float
    rate_high: float
    power: float
    power_low: float
    power_high: float


@dataclass(frozen=True)
class PowerBand:
    """Tests of one word against another, on outputs of their own.

    Attributes:
        word: that is looked for.
        other: the other one.
        points: with ascending false-positive rates.
    """

    word: str
    other: str
    points: tuple[PowerPoint, ...]

    @property
    def sentence(self) -> str:
        """The test whose rate is sure to be nearest to 1 in 100, in words."""
        if not self.points:
            return ""
        point = min(self.points, key=lambda point: abs(np.log(point.rate_high / 0.01)))
        return (
            f"A test that is wrong in at most {at_most(point.rate_high, 3, times=100)} of 100 "
            f"outputs of “{self.other}” finds at least {at_least(point.power_low, 3, times=100)} "
            f"of 100 of “{self.word}”."
        )


def power_band(
    search: Search,
    finalist: Finalist,
    outputs: Mapping[int, IntArray],
    error: float,
    lexicon: Lexicon,
) -> PowerBand:
    """Bound rates and powers of tests on new outputs (Clopper and Pearson 1934, union bound).

    Args:
        search: that ordered the outputs, on others.
        finalist: the pair of words.
        outputs: of both, none of them empty.
        error: probability with which any of the intervals may be wrong.
        lexicon: names of words.
    """
    classes, thresholds = search.ordered(finalist)
    counts = []
    for word in (finalist.other, finalist.word):
        sample = Sample.of(outputs[word], finalist.classes)
        counts.append((np.cumsum(sample.count(classes)), sample.draws))
    tail = error / (4 * max(len(thresholds), 1))
    points = []
    for count_of_classes in thresholds:
        ends = []
        for total, draws in counts:
            count = int(total[count_of_classes - 1])
            ends += [count / draws, *clopper_pearson(count, draws, tail)]
        points.append(PowerPoint(*ends))
    words = lexicon.words
    return PowerBand(words[finalist.word], words[finalist.other], tuple(points))


def evidence(
    finalists: Sequence[Finalist],
    outputs: Mapping[int, IntArray],
    promise: Promise,
    error: float,
    lexicon: Lexicon,
    names: Outputs,
) -> tuple[Evidence, ...]:
    """Bound the finalists' events on new outputs of their words, best first.

    Args:
        finalists: events that were chosen on other outputs.
        outputs: of each of their words, in order, none of them empty.
        promise: the claim.
        error: probability with which any of the bounds may be wrong.
        lexicon: names of words.
        names: names of outputs.
    """
    shown = [
        _evidence(finalist, outputs, promise, error / len(finalists), lexicon, names)
        for finalist in finalists
    ]
    return tuple(sorted(shown, key=lambda e: (-e.broken, -e.epsilon, -e.delta)))


def _evidence(
    finalist: Finalist,
    outputs: Mapping[int, IntArray],
    promise: Promise,
    error: float,
    lexicon: Lexicon,
    names: Outputs,
) -> Evidence:
    first, second = outputs[finalist.word], outputs[finalist.other]
    likely, unlikely = (Sample.of(part, finalist.classes) for part in (first, second))
    count, other = likely.inside(finalist.event), unlikely.inside(finalist.event)
    loss = loss_bound(count, len(first), other, len(second), delta=promise.delta, error=error)
    # The same two bounds give the one on δ, so no more error is spent.
    low = clopper_pearson(count, len(first), 0.5 * error)[0]
    high = clopper_pearson(other, len(second), 0.5 * error)[1]
    beyond = low - float(np.exp(min(finalist.allowed, 700.0))) * high
    both = np.concatenate((first, second))
    within = both[np.isin(finalist.classes(both), finalist.event)]
    seen, often = np.unique(within, return_counts=True)
    frequent = seen[np.argsort(-often, kind="stable")][:_SHOWN]
    return Evidence(
        word=lexicon.words[finalist.word],
        other=lexicon.words[finalist.other],
        distance=None if promise.metric is None else finalist.units,
        outputs=tuple(names.names(frequent.tolist())),
        size=len(seen) if finalist.by_distance else len(finalist.event),
        by_distance=finalist.by_distance,
        count=count,
        draws=len(first),
        other_count=other,
        other_draws=len(second),
        allowed=finalist.allowed,
        loss=loss,
        epsilon=max(loss / finalist.units, 0.0),
        delta=max(beyond, 0.0),
    )
