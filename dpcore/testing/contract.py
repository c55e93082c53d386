"""Contract of every mechanism, as one class to extend."""

from __future__ import annotations

import contextlib
import json
import math
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import ApproximateIndex, ExactIndex, rank
from dpcore.mechanisms.additive.rays import Bundle
from dpcore.mechanisms.law import Effort
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import construct
from dpcore.testing.chance import (
    FALSE_ALARM,
    assert_law,
    assert_law_near,
    assert_same_law,
    cloud,
    deviation,
    line,
)

# Shared by all parts of the contract: the mechanism under test, on one small lexicon.


SMALL = cloud(40, 3)
"""40 words in 3 dimensions."""
DIRECTIONS = 3000
"""Directions of an estimated law."""


class Contract:
    """Tests of one mechanism; a subclass may override the attributes.

    Attributes:
        kind: the class of the mechanism.
        quiet_epsilon: an ε that leaves no noise.
        quiet: the output at that ε: the word always, never, or neither.
        quiet_settings: settings at that ε, such as a small share kept for other words.
        forgets: True if one law is left for all words as ε goes to 0.
        forgetting_settings: settings for that limit.
        proves: True if the guarantee is proved or certified, which is the default.
        on_a_line: True if the laws are exact on a line, so that the guarantee can be checked there.
    """

    kind: ClassVar[type[Mechanism]]
    quiet_epsilon: ClassVar[float] = 1e9
    quiet: ClassVar[Literal["stays", "leaves", "neither"]] = "stays"
    quiet_settings: ClassVar[dict[str, Any]] = {}
    forgets: ClassVar[bool] = True
    forgetting_settings: ClassVar[dict[str, Any]] = {}
    proves: ClassVar[bool] = True
    on_a_line: ClassVar[bool] = True
    _name = ""

    def setup_method(self, method: Any) -> None:
        """Give each test its own random numbers."""
        self._name = f"{type(self).__qualname__}.{method.__name__}"

    def settings(self, lexicon: Lexicon) -> dict[str, Any]:
        """Return the settings that are required for a lexicon."""
        return {}

    def make(self, lexicon: Lexicon = SMALL, **settings: Any) -> Mechanism:
        """Return the mechanism under test."""
        return construct(self.kind, lexicon, self.settings(lexicon) | settings)

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator that depends on the test and the key alone."""
        return np.random.default_rng([zlib.crc32(self._name.encode()), *key])

    @property
    def typical(self) -> float:
        """ε at which the word sometimes stays, and sometimes not."""
        return _typical(self.kind, json.dumps(self.settings(SMALL)))


@cache
def _typical(kind: type[Mechanism], settings: str) -> float:
    return typical(construct(kind, SMALL, json.loads(settings)))


def typical(mechanism: Mechanism) -> float:
    """Return an ε at which the word sometimes stays, found by search: the units differ."""
    allowed = mechanism.admissible
    top = min(0.999 * allowed.high, 1e6)
    grid = np.geomspace(max(1.05 * allowed.low, 1e-3), top, 40)
    if not grid[0] < top:
        return float(top)
    for epsilon in grid:
        drawn = mechanism.sample(np.random.default_rng(0), np.zeros(400, np.int64), float(epsilon))
        if (drawn == 0).mean() > 0.3:
            return float(epsilon)
    return float(top)


def dense_law(
    mechanism: Mechanism, word: int, epsilon: float, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Return the law over the vocabulary, and its standard error (0 where it is exact)."""
    law = mechanism.law(word, [epsilon], rng=rng, effort=Effort(directions=DIRECTIONS))
    return law.dense(len(mechanism.lexicon))[0], 0.0 if law.exact else law.error


def refusal(kind: type[Exception], call: Callable[[], object]) -> str:
    """Return the text of the error that a call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__} was raised")


@contextlib.contextmanager
def refused(kind: type[Exception], part: str = "") -> Iterator[None]:
    """Check that the block raises this error, with `part` in its message."""
    text = None
    try:
        yield
    except kind as error:
        text = str(error)
    assert text is not None, f"no {kind.__name__} was raised"
    assert part in text


# Shapes, seeds and batches of what a mechanism draws.
#
# False-alarm probability of each randomised assertion: 1e-6.


class DrawingContract(Contract):
    """Tests of `sample` and `paths`."""

    def test_sample_gives_one_word_for_each_entry(self) -> None:
        """Any number of entries, as int64 inside the vocabulary."""
        mechanism = self.make()
        for size in (0, 1, 7, 1300):
            words = self.rng().integers(0, len(SMALL), size)
            out = mechanism.sample(self.rng(1), words, self.typical)
            assert out.shape == (size,)
            assert out.dtype == np.int64
            assert np.all((out >= 0) & (out < len(SMALL)))

    def test_paths_have_the_agreed_form(self) -> None:
        """Pieces follow each other without a gap, and each changes the output."""
        mechanism = self.make()
        for words in (np.array([], np.int64), np.array([4]), np.array([4, 9, 4]), np.full(5, 11)):
            paths = mechanism.paths(self.rng(), words)
            assert len(paths) == words.size
            assert paths.outputs.dtype == np.int64
            assert paths.outputs.shape == (words.size, paths.breaks.shape[1] + 1)
            assert np.array_equal(paths.words, words)
            for i in range(words.size):
                pieces = paths.pieces(i)
                assert pieces[0].from_epsilon == paths.low
                assert pieces[-1].to_epsilon == paths.high
                for a, b in pairwise(pieces):
                    assert a.to_epsilon == b.from_epsilon
                    assert a.output != b.output
                assert all(0 <= piece.output < len(SMALL) for piece in pieces)

    def test_a_seed_determines_the_output(self) -> None:
        """Earlier draws do not matter."""
        mechanism = self.make()
        words = np.arange(30)
        first = mechanism.sample(self.rng(), words, self.typical)
        assert np.array_equal(first, mechanism.sample(self.rng(), words, self.typical))
        other = mechanism.paths(self.rng(), words), mechanism.paths(self.rng(), words)
        assert np.array_equal(other[0].breaks, other[1].breaks)
        assert np.array_equal(other[0].outputs, other[1].outputs)

    def test_known_rankings_change_nothing(self) -> None:
        """They only save time."""
        mechanism = self.make()
        words = np.array([3, 17, 3])
        known = rank(SMALL.vectors, SMALL.vectors[words])
        a = mechanism.paths(self.rng(), words)
        b = mechanism.paths(self.rng(), words, rankings=known)
        epsilons = np.geomspace(max(a.low, 1e-3), min(a.high, 1e6), 60)
        assert np.array_equal(a.at(epsilons), b.at(epsilons))

    def test_equal_words_of_a_batch_get_different_noise(self) -> None:
        """One noise vector for a whole batch would make all 300 outputs equal."""
        mechanism, words = self.make(), np.zeros(300, dtype=np.int64)
        law, _ = dense_law(mechanism, 0, self.typical, self.rng(1))
        assert law.max() ** 299 < FALSE_ALARM, "this ε cannot tell"
        assert np.unique(mechanism.sample(self.rng(), words, self.typical)).size > 1
        grid = np.array([self.typical])
        paths = mechanism.paths(self.rng(2), words, epsilons=grid)
        assert np.unique(paths.at(grid)).size > 1

    def test_entries_of_a_batch_are_independent(self) -> None:
        """Neighbours agree as often as two independent draws: Σ p², within Bernstein's bound."""
        mechanism, draws = self.make(), 20_000
        out = mechanism.sample(self.rng(), np.zeros(draws, dtype=np.int64), self.typical)
        share = np.bincount(out) / draws
        expected = np.square(share).sum()
        for lag in (1, 2, 512):
            agree = (out[:-lag:2] == out[lag::2]) if lag % 2 else out[:-lag] == out[lag:]
            # Pairs may share an entry: half of them do not.
            slack = deviation(agree.size // 2, expected * (1 - expected)) + 2 * deviation(
                draws, 0.25
            )
            assert abs(agree.mean() - expected) <= slack

    def test_the_law_of_an_entry_does_not_depend_on_the_batch(self) -> None:
        """Alone, among others, or many at once."""
        mechanism = self.make()
        generator, epsilon, word = self.rng(), self.typical, 5
        many = mechanism.sample(generator, np.full(6000, word), epsilon)
        mixed = np.resize([word, 0, 39, 21], 4 * 3000)
        among = mechanism.sample(generator, mixed, epsilon)[::4]
        alone = [mechanism.sample(generator, np.array([word]), epsilon)[0] for _ in range(1500)]
        assert_same_law(many, among)
        assert_same_law(many, alone)


# Guarantees: as data, and kept exactly by all pairs of words and all outputs of a line.


LINES = {
    "even": line(-2, -1, 0, 1, 2, 3),
    "near and far": line(0, 1e-3, 0.5, 4, 4.001, -3),
    "two": line(0, 1),
    "random": cloud(25, 1),
}
"""Vocabularies of one dimension, on which every law can be computed."""
_EPSILONS = (1e-3, 0.1, 0.7, 2.0, 5.0, 12.0)


def exact_laws(mechanism: Any, epsilon: float) -> FloatArray:
    """Return the laws of all words: closed form, or over both directions of a line.

    A line has no other directions.
    """
    n = len(mechanism.lexicon)
    if mechanism.exact_law:
        laws = [mechanism.law(w, [epsilon]) for w in range(n)]
    else:
        both = Bundle(np.array([[1.0], [-1.0]]), mechanism.targets)
        laws = [
            mechanism.law(w, [epsilon], rng=np.random.default_rng(0), bundle=both) for w in range(n)
        ]
    return np.stack([law.dense(n)[0] for law in laws])


class GuaranteeContract(Contract):
    """Tests of `guarantee`."""

    def test_guarantee_is_data(self) -> None:
        """As JSON, for the ε that was asked for, with a sentence and a source."""
        mechanism = self.make()
        for epsilon in (self.typical, str(self.typical)):
            facts: dict[str, Any] = mechanism.guarantee(epsilon).to_dict()  # type: ignore[arg-type]
            assert json.loads(json.dumps(facts, allow_nan=False)) == facts
            assert facts["status"] in set(Status)
            assert math.isclose(facts["epsilon"], self.typical, rel_tol=1e-12), (
                "guarantee(ε) must be for the same ε: scale the law, not the guarantee"
            )
            assert all(facts[part] for part in ("reason", "source", "statement", "kind"))
        assert "3 protected words" in mechanism.guarantee(self.typical).for_tokens(3)

    def test_a_proved_guarantee_holds_exactly_on_a_line(self) -> None:
        """All pairs of words and all outputs, on four lines, at six ε."""
        if not self.on_a_line:
            return
        for lexicon in LINES.values():
            mechanism: Any = self.make(lexicon)
            admissible = [epsilon for epsilon in _EPSILONS if epsilon in mechanism.admissible]
            proved = [epsilon for epsilon in admissible if self._kept(mechanism, epsilon)]
            assert proved or not admissible or not self.proves

    def line_laws(self, mechanism: Any, epsilon: float) -> FloatArray | None:
        """Return exact laws of all words on a line, shape (n, n); None if there are none."""
        if not (mechanism.exact_law or mechanism.rays is not None):
            return None
        return exact_laws(mechanism, epsilon)

    def _kept(self, mechanism: Any, epsilon: float) -> bool:
        """Check the guarantee, if one is proved at ε; return True if one was."""
        guarantee = mechanism.guarantee(epsilon)
        if guarantee.status not in {Status.PROVED, Status.CERTIFIED}:
            return False
        laws = self.line_laws(mechanism, epsilon)
        if laws is None:
            return True  # an estimate cannot show that a guarantee holds exactly
        np.testing.assert_allclose(laws.sum(axis=1), 1, rtol=1e-12)
        log_delta = getattr(guarantee, "log_delta", -math.inf)
        for w in range(len(laws)):
            for v in range(len(laws)):
                loss = guarantee.loss(_distance(mechanism, guarantee, w, v))
                if math.isinf(log_delta):
                    # 1e-15 is the rounding of a difference of two distribution functions.
                    excess = laws[w] - math.exp(loss) * (1 + 1e-9) * (laws[v] + 1e-15)
                    assert excess.max() <= 1e-15, (epsilon, w, v)
                else:
                    # The hockey-stick divergence Σ(P − e^ε P′)₊.
                    exceeded = float(np.maximum(laws[w] - np.exp(loss) * laws[v], 0.0).sum())
                    assert exceeded <= math.exp(log_delta) * (1 + 1e-9), (epsilon, w, v)
        return True


def _distance(mechanism: Any, guarantee: Any, w: int, v: int) -> float:
    if mechanism.exact_law and isinstance(guarantee, MetricPrivacy):
        pair = np.array([w, v])
        return float(mechanism.promised_distances(pair, guarantee.epsilon)[0, 1])
    rows = mechanism.lexicon.vectors.astype(np.float64)
    factor = getattr(guarantee, "euclidean_factor", 1.0)
    return float(factor * np.linalg.norm(rows[w] - rows[v]))


# Laws against draws, and their limits.
#
# False-alarm probability of each randomised assertion: 1e-6.


_DRAWS = 20_000


class LawContract(Contract):
    """Tests of `law`, and of its limits without noise and without privacy budget."""

    def test_law_agrees_with_samples_and_with_paths(self) -> None:
        """Checked for two words."""
        mechanism, epsilon = self.make(), self.typical
        for word in (0, 33):
            law, error = dense_law(mechanism, word, epsilon, self.rng(word))
            sampled = mechanism.sample(self.rng(word, 1), np.full(_DRAWS, word), epsilon)
            grid = np.array([epsilon])
            paths = mechanism.paths(self.rng(word, 2), np.full(_DRAWS, word), epsilons=grid)
            on_paths = paths.at(grid)[:, 0]
            assert_same_law(sampled, on_paths)
            for drawn in (sampled, on_paths):
                if error == 0:
                    assert_law(drawn, law)
                else:
                    assert_law_near(drawn, law, error, DIRECTIONS)

    def test_law_is_a_distribution_at_every_epsilon(self) -> None:
        """Its table, its largest entries and its single ones agree."""
        mechanism = self.make()
        allowed = mechanism.admissible
        top = min(0.999 * allowed.high, 1e6)
        epsilons = np.geomspace(max(1.001 * allowed.low, 1e-3), top, 9)
        law = mechanism.law(7, epsilons, rng=self.rng())
        assert law.exact is type(mechanism).exact_law
        assert law.probabilities.shape == (9, law.outputs.size)
        assert np.all(np.diff(law.outputs) > 0)
        assert np.all(law.probabilities >= 0)
        np.testing.assert_allclose(law.probabilities.sum(axis=1), 1, rtol=1e-9)
        np.testing.assert_allclose(law.stay(), law.dense(len(SMALL))[:, 7], rtol=0, atol=0)
        for e in (0, 8):
            best = law.top(3, e)
            row = law.dense(len(SMALL))[e]
            assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
            assert best[0][1] == row.max()
            assert all(row[SMALL.index(word)] == law.probability(word, e) == p for word, p in best)

    def test_a_law_without_a_generator_is_the_same_at_every_call(self) -> None:
        """Two calls show the same picture."""
        mechanism = self.make()
        epsilon = min(2 * mechanism.admissible.low + 0.1, 0.9 * mechanism.admissible.high)
        law = mechanism.law(0, epsilon)
        again = mechanism.law(SMALL.words[0], [epsilon], rng=mechanism.estimating())
        assert law.exact is again.exact is type(mechanism).exact_law
        np.testing.assert_array_equal(law.outputs, again.outputs)
        np.testing.assert_array_equal(law.probabilities, again.probabilities)

    def test_without_noise_the_word_stays(self) -> None:
        """At `quiet_epsilon`; a mechanism with another limit declares it by `quiet`."""
        if self.quiet == "neither":
            return
        mechanism, words = self.make(**self.quiet_settings), np.arange(len(SMALL))
        outputs = mechanism.sample(self.rng(), words, self.quiet_epsilon)
        if self.quiet == "leaves":
            assert not (outputs == words).any()
            return
        np.testing.assert_array_equal(outputs, words)
        paths = mechanism.paths(self.rng(), words)
        if paths.high == math.inf:
            np.testing.assert_array_equal(paths.at(np.array([1e12]))[:, 0], words)

    def test_without_privacy_budget_the_word_does_not_matter(self) -> None:
        """ε→0: one law for all words; a mechanism with another limit declares it by `forgets`.

        Where ε has a least value the word still matters there.
        """
        mechanism = self.make(**self.forgetting_settings)
        if mechanism.admissible.low > 0:
            return
        a, b = (mechanism.sample(self.rng(w), np.full(_DRAWS, w), 1e-6) for w in (0, 33))
        if self.forgets:
            assert_same_law(a, b)
            return
        try:
            assert_same_law(a, b)
        except AssertionError:
            return
        raise AssertionError("two words have one law as ε goes to 0: `forgets` is to be True")


# Refusals and their messages: ε, indices, search indexes and parameters.
#
# False-alarm probability of each randomised assertion: 1e-6.


class RefusalContract(Contract):
    """Tests of refusals: each names the problem, the given value and the allowed ones."""

    def test_epsilon_must_be_a_finite_positive_number(self) -> None:
        """Checked for every method."""
        mechanism, words = self.make(), np.array([0])
        bad: list[Any] = [0, 0.0, -1, math.nan, math.inf, -math.inf, 10**400, "text", None]
        for value in bad:
            with refused(EpsilonError, "finite number > 0, got"):
                mechanism.check_epsilon(value)
            with refused(EpsilonError, "finite number > 0, got"):
                mechanism.guarantee(value)
            with refused(EpsilonError, "finite number > 0, got"):
                mechanism.sample(self.rng(), words, value)

    def test_bad_epsilons_of_a_law_are_refused(self) -> None:
        """Also one bad value among several."""
        for bad in ([0.0], [1.0, math.nan], [math.inf], [-2.0]):
            with refused(EpsilonError):
                self.make().law(0, bad, rng=self.rng())

    def test_the_ends_of_the_range_are_open_and_explained(self) -> None:
        """An ε at an end is outside; the refusal names the end and its reason."""
        mechanism = self.make()
        allowed = mechanism.admissible
        ends = [(allowed.low, 0.5, 1.0001, allowed.low_reason)] if allowed.low > 0 else []
        if allowed.high < math.inf:
            ends.append((allowed.high, 2.0, 0.9999, allowed.high_reason))
        for end, outwards, inwards, reason in ends:
            for value in (end, end * outwards):
                with refused(EpsilonError):
                    mechanism.check_epsilon(value)
                text = refusal(EpsilonError, lambda v=value: mechanism.check_epsilon(v))  # type: ignore[misc]
                assert f"{end:.6g}" in text
                assert reason in text
                assert f"got {value:g}" in text
            assert mechanism.check_epsilon(end * inwards) == end * inwards

    def test_words_outside_the_vocabulary_are_refused(self) -> None:
        """Also arrays that are not a list of words."""
        for bad in ([-1], [len(SMALL)], [[0, 1]]):
            with refused(ParameterError, "word indices"):
                self.make().sample(self.rng(), np.array(bad), self.typical)

    def test_an_approximate_index_is_refused_unless_it_is_post_processing(self) -> None:
        """An index that misses neighbours makes another mechanism."""
        mechanism, words = self.make(), np.zeros(4000, dtype=np.int64)
        approximate = ApproximateIndex(SMALL)
        if not mechanism.accepts_approximate_search:
            with refused(ParameterError, "approximate"):
                mechanism.sample(self.rng(), words, self.typical, index=approximate)
            return
        own_points = getattr(mechanism, "targets", None) is not SMALL.vectors
        for index in (approximate, ExactIndex(SMALL.vectors)):
            if own_points:
                with refused(ParameterError, "its own points"):
                    mechanism.sample(self.rng(), words, self.typical, index=index)
            else:
                outputs = mechanism.sample(self.rng(), words, self.typical, index=index)
                assert_same_law(outputs, mechanism.sample(self.rng(1), words, self.typical))

    def test_settings_survive_a_round_trip_through_json(self) -> None:
        """As numbers, and as strings of a command line."""
        settings = self.make().settings()
        assert construct(self.kind, SMALL, json.loads(json.dumps(settings))).settings() == settings
        as_text = {name: str(value) for name, value in settings.items()}
        assert construct(self.kind, SMALL, as_text).settings() == settings

    def test_an_unknown_parameter_is_named_with_the_known_ones(self) -> None:
        """Or the message says that there is none."""
        text = refusal(ParameterError, lambda: construct(self.kind, SMALL, {"no_such": 1}))
        for name in ("no_such", *(self.kind.parameters() or ["none"])):
            assert name in text

    def test_parameters_are_bounded_and_explained(self) -> None:
        """Each has a help text, and bounds or choices."""
        for name, declared in self.kind.parameters().items():
            assert declared["help"]
            bad: list[object] = [math.nan] if declared["low"] is not None else []
            if declared["low"] is not None:
                bad.append(declared["low"] - 1)
            if declared["high"] is not None:
                bad.append(declared["high"] * 2 + 1)
            if declared["type"] == "str":  # one of its choices, or a parsable string
                bad.append("no such choice")
            assert bad, f"{name} has neither bounds nor choices"
            for value in bad:
                with refused(ParameterError, name):
                    self.make(SMALL, **{name: value})


class MechanismContract(DrawingContract, RefusalContract, LawContract, GuaranteeContract):
    """Contract that every mechanism must satisfy.

    A subclass names the mechanism as `kind`; the other attributes of
    `dpcore.testing.contract.Contract` declare deliberate deviations.
    """
