"""Black-box audit of any function from words to words.

Half of the calls search for words and outputs that tell words apart; the other half draw new
outputs of the best few events and bound them (`search`). A few calls before that test strings
outside the lexicon and look for noise that is used twice (`function`). The error is shared: half
of it goes to the bounds, and a sixth each to strings, to made-up words that are told apart, and to
noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.blackbox.function import (
    Form,
    Function,
    Output,
    Probe,
    Refusal,
    Repeats,
    WordFunction,
    known_texts,
    probe,
    repeats,
    unchanged_words,
    unknown_texts,
)
from dpcore.audit.blackbox.report import LEVEL, FunctionReport, Share
from dpcore.audit.blackbox.search import (
    SCREENED,
    Evidence,
    PowerBand,
    Search,
    evidence,
    power_band,
    screened_words,
)
from dpcore.audit.montecarlo import (
    DEFAULT_ERROR,
    clopper_pearson,
    epsilon_lower_bound,
    resolution,
)
from dpcore.audit.verdict import Outcome
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distance_error, distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_DRAWS, MIN_AUDIT_CALLS
from dpcore.noise.streams import check_seed, generator

# The claim about a function under test, and the numbering of its outputs.


ANY = "any"
"""In place of a metric: the guarantee holds between any two words, whatever their distance."""


@dataclass(frozen=True)
class Promise:
    """P(S|w) ≤ e^(ε·d(w, w′))·P(S|w′) + δ for every set S of outputs; d = 1 without a metric.

    Attributes:
        epsilon: ε.
        metric: of the lexicon's vectors; None: between any two words.
        delta: δ.
    """

    epsilon: float
    metric: Metric | None = Metric.EUCLIDEAN
    delta: float = 0.0

    @classmethod
    def of(cls, epsilon: float, metric: str | Metric, delta: float) -> Promise:
        """Check the arguments and return the claim.

        Raises:
            EpsilonError: ε is not a finite number > 0.
            ParameterError: an unknown metric, or δ outside [0, 1).
        """
        values = []
        for value in (epsilon, delta):
            try:
                values.append(float(value))
            except (TypeError, ValueError, OverflowError):
                values.append(math.nan)
        if not 0 < values[0] < math.inf:
            raise EpsilonError(f"epsilon must be a finite number > 0, got {str(epsilon)[:40]}")
        if not 0 <= values[1] < 1:
            raise ParameterError(f"delta must be in [0, 1), got {str(delta)[:40]}")
        name = str(metric).strip().lower()
        if name == ANY:
            return cls(values[0], None, values[1])
        try:
            return cls(values[0], Metric.parse(name), values[1])
        except ParameterError as error:
            raise ParameterError(f"{error}, or {ANY!r} for any two words") from None

    @property
    def name(self) -> str:
        """Name of the metric, as it was given."""
        return ANY if self.metric is None else str(self.metric)

    @property
    def sentence(self) -> str:
        """The claim in words."""
        between = per_unit(self.name)
        delta = f", δ = {self.delta:.6g}" if self.delta else ""
        return f"ε = {self.epsilon:.6g} {between}{delta}"

    def units(self, apart: FloatArray) -> FloatArray:
        """Return the factors of ε at these distances."""
        return np.ones_like(apart) if self.metric is None else apart

    def apart(self, lexicon: Lexicon, words: IntArray, others: IntArray) -> FloatArray:
        """Return the distances of words from others, shape (words, others), rounded up.

        Without a metric they are Euclidean, and serve to choose words and to tell outputs apart.
        """
        chosen, rows = lexicon.vectors[words], lexicon.vectors[others]
        metric = self.metric or Metric.EUCLIDEAN
        # A distance that is rounded down would make the guarantee stricter than it is.
        error = distance_error(lexicon.dimension)
        apart = distances(rows, chosen, metric)
        return apart + error if metric is Metric.ANGULAR else apart * (1.0 + error)


def per_unit(metric: str) -> str:
    """Return the unit of ε in words, for the name of a metric or "any"."""
    if metric == ANY:
        return "between any two words"
    name = metric if metric == Metric.ANGULAR else metric.capitalize()  # others are people's names
    return f"per unit of {name} distance"


class Outputs:
    """Numbering of outputs: words of the lexicon by their index, all others after them."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._others: dict[str | None, int] = {}

    def numbers(self, outputs: Iterable[Output]) -> IntArray:
        """Return the numbers of outputs; all refusals share one number."""
        known, n = self._lexicon, len(self._lexicon)
        numbers = []
        for output in outputs:
            if output in known:
                numbers.append(known.index(str(output)))
                continue
            name = None if isinstance(output, Refusal) else output
            numbers.append(self._others.setdefault(name, n + len(self._others)))
        return np.array(numbers, dtype=np.int64)

    def names(self, numbers: Iterable[int]) -> list[str]:
        """Return the outputs of some numbers, as displayed."""
        others = list(self._others)
        n = len(self._lexicon)
        return [
            self._lexicon.words[i] if i < n else others[i - n] or str(Refusal("no word"))
            for i in numbers
        ]


DEFAULT_CALLS = 100_000
_BOUNDS, _OTHERS = 1 / 2, 1 / 6  # shares of the error
_EVENTS = 4  # to bound
_CHUNK = 256  # words handed over at a time, and between two reports of progress
_TRIED = 200  # words at most, until the function takes one
_AGAIN = 3  # further attempts with a refused word
_SHOWN = 5  # outputs outside the lexicon that are named
_ROUND_CALLS = 40  # of each word in the first round, at least, if that leaves two words


def audit_function(
    function: Function | str,
    epsilon: float,
    *,
    lexicon: Lexicon | None = None,
    metric: str | Metric = Metric.EUCLIDEAN,
    delta: float = 0.0,
    samples: int = DEFAULT_CALLS,
    seed: int = 0,
    error: float = DEFAULT_ERROR,
    form: Form | str = Form.AUTO,
    progress: Progress = silent,
) -> FunctionReport:
    """Audit a function by its outputs alone.

    The audit finds lower bounds and no upper ones: a claim that is not refuted may still be false.
    After an interrupt, it reports the findings so far.

    Args:
        function: word → word; or (word, ε) → word, with the claimed ε; or the same of lists of
            words; or its name, `package.module:function`.
        epsilon: the claimed ε, per unit of the metric.
        lexicon: source of the input words and of their distances; None: the bundled one.
        metric: of the claim; "any" for a claim between any two words.
        delta: the claimed δ.
        samples: number of input words in all; calls per word depend on the outputs.
        seed: of the choice of words; the function has its own noise.
        error: probability with which a refutation, or one of the bounds, may be wrong.
        form: "word" or "words" to skip finding out the form by calls.
        progress: called with (stage, done, total).

    Raises:
        EpsilonError: ε is not a finite number > 0.
        ParameterError: no such function, or one that gives no words; or a parameter out of range.
    """
    promise = Promise.of(epsilon, metric, delta)
    budget = _budget(samples)
    if not 0 < error < 1:
        raise ParameterError(f"an error probability must be between 0 and 1, got {error}")
    check_seed(seed)
    tested = WordFunction(function, promise.epsilon, form)
    if lexicon is None:
        lexicon = load(progress=progress)
    return _Audit(tested, promise, lexicon, budget, seed, error, progress).report()


def _budget(samples: int) -> int:
    try:
        budget = int(samples)
    except (TypeError, ValueError, OverflowError):
        budget = -1
    if not (MIN_AUDIT_CALLS <= budget <= MAX_AUDIT_DRAWS and budget == samples):
        raise ParameterError(
            f"samples must be a whole number from {MIN_AUDIT_CALLS:,} to {MAX_AUDIT_DRAWS:,}, "
            f"got {str(samples)[:40]}"
        )
    return budget


class _Audit:
    """One audit, from its first call to its report."""

    def __init__(
        self,
        function: WordFunction,
        promise: Promise,
        lexicon: Lexicon,
        budget: int,
        seed: int,
        error: float,
        progress: Progress,
    ) -> None:
        self.function, self.promise, self.lexicon = function, promise, lexicon
        self.budget, self.seed, self.error, self.progress = budget, seed, error, progress
        self.rng = generator(seed, "audit", "function")
        self.names = Outputs(lexicon)
        self.taken: dict[int, bool] = {}
        self.refusal = ""
        self.outside = 0
        self.outsiders: list[str] = []
        self.unchanged = Share(0, 0, 0.0, 1.0)
        self.probes: list[Probe] = []
        self.told_apart: float | None = None
        self.repeats: Repeats | str = "not tested: the audit was stopped before"
        self.shown: tuple[Evidence, ...] = ()
        self.tests: PowerBand | None = None
        self.search: Search | None = None
        # As if two words shared the second half of the calls: no event can show more.
        self.reach = resolution(max(1, budget // 4), _BOUNDS * error / _EVENTS, promise.delta)

    def report(self) -> FunctionReport:
        """Run the audit until its end or an interrupt."""
        order = self.rng.permutation(len(self.lexicon))
        self.function.settle(self.lexicon.words[i] for i in order[:_TRIED])
        stopped = False
        try:
            self._probe(order)
            self._bound(self._searched())
        except KeyboardInterrupt:
            stopped = True
        return self._report(stopped)

    # -- the calls

    def _draw(self, words: IntArray, stage: str, done: int, total: int) -> IntArray:
        """Draw outputs of words of the lexicon, as numbers."""
        numbers, parted = [], self.function.parted
        for start in range(0, len(words), _CHUNK):
            part = words[start : start + _CHUNK]
            outputs = self.function.outputs([self.lexicon.words[i] for i in part])
            self._look_outside(outputs)
            numbers.append(self.names.numbers(outputs))
            self.progress(stage, done + start + len(part), total)
            # A refused list is asked again word by word, so outputs of its other words depend on
            # none of its words being refused. From now on each word is asked alone.
            self.function.singly |= self.function.parted > parted
        return np.concatenate(numbers) if numbers else np.empty(0, dtype=np.int64)

    def _look_outside(self, outputs: Sequence[Any]) -> None:
        strange = [
            output
            for output in outputs
            if not isinstance(output, Refusal) and output not in self.lexicon
        ]
        self.outside += len(strange)
        if len(self.outsiders) < _SHOWN:
            self.outsiders = list(dict.fromkeys([*self.outsiders, *strange]))[:_SHOWN]

    def _admitted(self, indices: IntArray) -> tuple[list[str], list[str]]:
        """Call these words; return those that the function takes, and their outputs.

        `taken` records which words it takes: a word that is refused in every attempt is not taken.
        """
        words = [self.lexicon.words[i] for i in indices]
        outputs = self.function.outputs(words)
        for _ in range(_AGAIN):
            refused = [k for k, output in enumerate(outputs) if isinstance(output, Refusal)]
            for k, output in zip(
                refused, self.function.outputs([words[k] for k in refused]), strict=True
            ):
                outputs[k] = output
        self._look_outside(outputs)
        pairs = []
        for index, word, output in zip(indices, words, outputs, strict=True):
            self.taken[int(index)] = not isinstance(output, Refusal)
            if isinstance(output, Refusal):
                self.refusal = self.refusal or output.reason
            else:
                pairs.append((word, output))
        return [word for word, _ in pairs], [output for _, output in pairs]

    def _probe(self, order: IntArray) -> None:
        """Test words, strings outside the lexicon, and noise."""
        many = min(len(order), max(32, self.budget // 200))
        words, outputs = self._admitted(order[:many])
        count = unchanged_words(words, outputs)
        tail = 0.5 * (1.0 - LEVEL)
        if words:
            self.unchanged = Share(count, len(words), *clopper_pearson(count, len(words), tail))
        unknown = unknown_texts(self.lexicon, self.rng)
        texts = unknown | known_texts(words, self.lexicon)
        error = _OTHERS * self.error / (2 * len(texts))  # two comparisons each
        for place, (kind, (text, plain)) in enumerate(texts.items()):
            self.probes.append(probe(self.function, kind, text, plain, self.lexicon, error))
            self.progress("probing", place + 1, len(texts))
        self._tell_apart()
        few = words[: max(32, min(256, self.budget // 400))]
        if few:
            self.repeats = repeats(self.function, self.promise.epsilon, few, _OTHERS * self.error)

    def _tell_apart(self) -> None:
        """Bound the loss between two made-up words from below."""
        if self.probes[0].passed or self.probes[0].tally.refused:
            return
        first = self.probes[0].tally.text
        second, _ = unknown_texts(self.lexicon, self.rng)["a made-up word"]
        each = 2 * min(5_000, self.budget // 100)
        parted, numbers = self.function.parted, []
        for start in range(0, each, _CHUNK):
            # In turns, so that a function that learns from its calls learns for both.
            asked = [first, second] * min(_CHUNK, each - start)
            numbers.append(self.names.numbers(self.function.outputs(asked)))
            self.progress("made-up words", min(start + _CHUNK, each), each)
        if self.function.parted > parted:
            return  # outputs of a list depend on none of its words being refused
        outputs = np.concatenate(numbers)
        self.told_apart = epsilon_lower_bound(
            outputs[::2], outputs[1::2], error=_OTHERS * self.error
        ).epsilon

    def _searched(self) -> Search:
        """Spend half of the remaining calls on the search."""
        left = max(0, self.budget - self.function.calls) // 2
        many = int(np.clip(left // (5 * _ROUND_CALLS), 2, SCREENED))
        words = screened_words(self.lexicon, self.promise, many, self.reach, self.rng)
        self._admitted(np.array([i for i in words if int(i) not in self.taken], dtype=np.int64))
        # A refused word is replaced by one of the words drawn before.
        order = dict.fromkeys([*map(int, words), *self.taken])
        taken = np.array([i for i in order if self.taken[i]][:many], dtype=np.int64)
        if len(taken) < 2:
            raise ParameterError(
                f"{self.function.name} takes {len(taken)} of {len(self.taken)} words of lexicon "
                f"{self.lexicon.name!r}, and two at least have to be compared: name the lexicon "
                "that it was made with"
            )
        self.search = search = Search(self.lexicon, self.promise, taken, self.reach)
        done, total = 0, sum(size * each for size, each in search.rounds(left))

        def draw(asked: IntArray) -> IntArray:
            nonlocal done
            outputs = self._draw(asked, "searching", done, total)
            done += len(asked)
            return outputs

        search.look(left, draw, self.rng)
        return search

    def _bound(self, search: Search) -> None:
        """Spend the rest on the best events, in rounds: a stop leaves as much of each word."""
        from scipy.stats import norm

        share = _BOUNDS * self.error
        deviations = float(norm.isf(share / (2 * _EVENTS)))
        finalists = search.finalists(deviations, _EVENTS)
        words = np.unique([[f.word, f.other] for f in finalists])
        blocks: list[tuple[IntArray, IntArray]] = []
        try:
            singly = self.function.singly
            self._count(words, blocks)
            if self.function.singly and not singly:
                # The counts so far are no sample of single calls: start again.
                blocks.clear()
                self._count(words, blocks)
        finally:
            if blocks:
                asked, drawn = (np.concatenate(part) for part in zip(*blocks, strict=True))
                outputs = {int(word): drawn[asked == word] for word in words}
                self.shown = evidence(
                    finalists, outputs, self.promise, share, self.lexicon, self.names
                )
                # The pair that was chosen first: by these outputs nothing is chosen.
                self.tests = power_band(search, finalists[0], outputs, self.error, self.lexicon)

    def _count(self, words: IntArray, blocks: list[tuple[IntArray, IntArray]]) -> None:
        """Call words for the rest of the budget, or until a list is refused for the first time.

        Words and outputs go into `blocks` together, so that an interrupt leaves no half of a block.
        """
        singly = self.function.singly
        each = max(1, max(0, self.budget - self.function.calls) // len(words))
        for start in range(0, each, _CHUNK):
            asked = self.rng.permutation(np.repeat(words, min(_CHUNK, each - start)))
            drawn = self._draw(asked, "bounding", start * len(words), each * len(words))
            blocks.append((asked, drawn))
            if self.function.singly and not singly:
                return

    # -- the report

    def _report(self, stopped: bool) -> FunctionReport:
        again = None if isinstance(self.repeats, str) else self.repeats
        if again is not None and again.remembers:
            # Counts of dependent calls are not binomial, so they refute nothing.
            outcome, extent = Outcome.NOT_REFUTED, "calls of one process are not independent"
        elif any(e.broken for e in self.shown) or (again is not None and again.same_noise):
            outcome, extent = Outcome.REFUTED, ""
        else:
            outcome, extent = Outcome.NOT_REFUTED, self._extent(stopped)
        pairs = 0 if self.search is None else self.search.pairs
        calls, seconds = self.function.calls, self.function.seconds
        return FunctionReport(
            name=self.function.name,
            form=self.function.form,
            promise=self.promise,
            lexicon=self.lexicon.name,
            fingerprint=self.lexicon.fingerprint,
            seed=self.seed,
            error=self.error,
            outcome=outcome,
            label=f"{outcome} ({extent})" if extent else str(outcome),
            evidence=self.shown,
            tests=self.tests,
            resolution=self._resolution(),
            pairs=pairs,
            within_reach=0 if self.search is None else self.search.within_reach,
            unchanged=self.unchanged,
            outside=self.outside,
            outsiders=tuple(self.outsiders),
            refused=sum(not taken for taken in self.taken.values()),
            tried=len(self.taken),
            refusal=self.refusal,
            probes=tuple(self.probes),
            told_apart=self.told_apart,
            repeats=self.repeats,
            calls=calls,
            microseconds=1e6 * seconds / calls,
            stopped=stopped,
        )

    def _resolution(self) -> float:
        if not self.shown:
            return -math.inf
        draws = min(min(e.draws, e.other_draws) for e in self.shown)
        return resolution(draws, _BOUNDS * self.error / len(self.shown), self.promise.delta)

    def _extent(self, stopped: bool) -> str:
        """Describe how far the audit looked."""
        if not self.shown:
            return "stopped before anything was bounded"
        search = self.search
        assert search is not None  # noqa: S101  # nothing is shown without it
        early = "stopped early; " if stopped else ""
        seen = f"a factor above e^{self._resolution():.3g} cannot be seen"
        if not search.within_reach:
            return f"{early}{seen}, and the guarantee allows more for all {search.pairs:,} pairs"
        return f"{early}{search.pairs:,} pairs of words, {self.function.calls:,} calls; {seen}"
