"""The protocol of all word mechanisms.

A `Mechanism` is a family indexed by ε over one lexicon: everything but ε is fixed when it is
created (and public). It has four methods: the guarantee at ε (`guarantee`), an output (`sample`,
for release), the outputs of one noise draw at every ε (`paths`, for inspection only), and the
probability of each output (`law`).

Never release outputs of one draw at two ε: the noise cancels. That is why `paths` and `sample` are
different methods.

Two kinds share nearly all of their methods: where the law is computed (`dpcore.mechanisms.exact`),
and where noise is added to a vector (`dpcore.mechanisms.additive`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import a_kind
from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import EpsilonMeaning, Guarantee, MetricPrivacy
from dpcore.lexicon.metric import Metric, distance_error, distances
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.bulk import Bulk, OneByOne, by_law, by_paths
from dpcore.mechanisms.law import Effort, Law, around
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import Settings
from dpcore.noise.samplers import Radial
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.mechanisms.additive.additive import RadialMechanism
    from dpcore.mechanisms.certificate import CalibratedMechanism


# Data that the hooks of a mechanism return, for computation in other packages.
#
# Callers ask a mechanism for one of these and use the result. None of them checks which mechanism
# it is, so a new mechanism works everywhere by its hooks.


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorNoise:
    """Law of the noise that is added to a vector at one ε.

    Attributes:
        origins: vectors that the noise is added to, one row a word, shape (n, p).
        family: the law of its length and direction at scale 1.
        scale: s, in the unit of the vectors.
        rate: 1/s, as the mechanism computes it.
        cut: A; coordinates of Laplace noise are cut off at ±A. ∞: they are not.
        covariance: λ, the share of the vocabulary's covariance in the shape of the noise; None for
            noise without such a shape.
        norm: C, to which origins are clipped; None if they are not.
        sensitivity: the largest distance of two origins that the scale allows for, in the norm of
            the noise; ∞ if they are not clipped.
        power: of the norm in which origins are clipped, 1 or 2.
    """

    origins: NDArray[np.float32]
    family: Radial
    scale: float
    rate: float
    cut: float = math.inf
    covariance: float | None = None
    norm: float | None = None
    sensitivity: float = math.inf
    power: int = 2

    @property
    def independent(self) -> bool:
        """True if the coordinates are independent Laplace variables, cut off or not."""
        return self.family is Radial.LAPLACE

    @property
    def dimension(self) -> int:
        """p, the dimension of the noise."""
        return int(self.origins.shape[1])


@dataclass(frozen=True)
class LossBounds:
    """Known bounds on the privacy losses between any two words, for their composition.

    Attributes:
        promised: the largest loss that the guarantee allows any two words, finite and > 0.
        span: the largest difference of two losses of one pair of words; ∞ where nothing is known
            beyond `promised`.
        chance: p, where a loss that is ε = `largest` with probability p, −ε with p·e^(−ε) and 0
            otherwise reveals no less than those of any two words: its δ is at least theirs
            everywhere. None takes 1/(1 + e^(−ε)) of randomised response, which reveals no less than
            any mechanism with this ε (Kairouz, Oh, Viswanath 2015).

    Raises:
        ParameterError: a number is out of range.
    """

    promised: float
    span: float = math.inf
    chance: float | None = None

    def __post_init__(self) -> None:
        chance = 1.0 if self.chance is None else self.chance
        if not (0 < self.promised < math.inf and self.span > 0 and 0 < chance <= 1):
            raise ParameterError(
                "bounds on losses need a finite guaranteed loss > 0, a span > 0 and a chance in "
                f"(0, 1], got {self.promised}, {self.span} and {self.chance}"
            )

    @property
    def largest(self) -> float:
        """Largest loss: those of a pair lie on both sides of 0, so their span is no less."""
        return min(self.promised, self.span)

    @property
    def width(self) -> float:
        """Largest difference of two losses of one pair, known or not."""
        return min(self.span, 2.0 * self.promised)


@dataclass(frozen=True)
class WorstLoss:
    """Pair of words and output with the largest loss per distance, of all.

    Attributes:
        epsilon: that loss per distance: the smallest true ε.
        error: bound on the absolute error of `epsilon`.
        word: w.
        other: w′.
        output: y, which distinguishes w from w′.
        distance: d(w, w′) in the metric of the claim.
        log_word: ln P(y | w).
        log_other: ln P(y | w′).
    """

    epsilon: float
    error: float
    word: int
    other: int
    output: int
    distance: float
    log_word: float
    log_other: float


@dataclass(frozen=True)
class LossSearch:
    """Search for the largest loss of all pairs of words in n² steps in place of n³.

    Attributes:
        method: name of the way in which the law is computed.
        find: maps ε and a progress callback to that loss.
    """

    method: str
    find: Callable[[float, Progress], WorstLoss]


@dataclass(frozen=True)
class ExponentialForm:
    """P(y | w) = exp(−min(s(ε)·D(w, y), c))/Z_w.

    Attributes:
        metric: of D.
        cap: c.
        strength: s(ε).
    """

    metric: Metric
    cap: float
    strength: Callable[[float], float]


@dataclass(frozen=True)
class NearestForm:
    """P(y | w) = Σ_k P(K = k)·exp(−s(ε)·D(w, y))/Z_k(w) over the K nearest words, y among them.

    K is a truncated Poisson variable (`dpcore.noise.samplers`), D is Euclidean.

    Attributes:
        strength: s(ε).
    """

    strength: Callable[[float], float]


@dataclass(frozen=True)
class NoisyNearestForm:
    """K nearest words as in `NearestForm`; the least D + truncated Gumbel noise wins.

    Attributes:
        noise_scale: b(ε).
    """

    noise_scale: Callable[[float], float]


@dataclass(frozen=True)
class ColumnForm:
    """Law whose columns need no preparation except distances.

    Attributes:
        column: maps an output y, its distances from all words (None without a metric) and ε to ln
            P(y | w) of every word w, shape (n,).
        error: bound on the relative error of these, where they are not below 1 in size.
        metric: of the distances; None for a law that uses none.
        prepare: does work that some ε share, at once; None if there is none.
    """

    column: Callable[[int, FloatArray | None, float], FloatArray]
    error: float
    metric: Metric | None = None
    prepare: Callable[[list[float]], object] | None = None


@dataclass(frozen=True, eq=False)
class KernelLaw:
    """P(y | w) = a_y·exp(−min(s·D(w, y), c))/Z_w at one ε, Z_w the sum of these over y.

    Attributes:
        metric: of D.
        strength: s.
        cap: c.
        weights: a, shape (n,), at least 0; None if all are 1.
    """

    metric: Metric
    strength: float
    cap: float = math.inf
    weights: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class SparseLaw:
    """P(y | w) = b_w + e(w, y) at one ε, with e(w, y) other than 0 for few pairs.

    Attributes:
        base: b, shape (n,).
        words: w of each such pair, shape (m,).
        outputs: its y, shape (m,).
        excess: its e, shape (m,).
    """

    base: FloatArray
    words: IntArray
    outputs: IntArray
    excess: FloatArray

    @property
    def response(self) -> tuple[float, float] | None:
        """P(w | w) and P(y | w) of any other word, if all words have the same two; else None."""
        n = self.base.size
        if not (self.words.size == n > 1 and np.array_equal(self.words, self.outputs)):
            return None
        other, excess = float(self.base[0]), float(self.excess[0])
        if not (np.all(self.base == other) and np.all(self.excess == excess)):
            return None
        return other + excess, other


Form = ExponentialForm | NearestForm | NoisyNearestForm | ColumnForm
"""Form of a law, for the computation of a column P(y | ·)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(Settings, ABC):
    """Family of randomised maps from words to words, indexed by ε.

    Every mechanism must define the abstract methods. A method with a default is a hook: a mechanism
    that has a better answer, or a property that others lack, overrides it in its own file.
    """

    key: ClassVar[str]
    """Versioned registry key: a changed formula has a new key."""
    title: ClassVar[str]
    summary: ClassVar[str]
    """One sentence for a reader who has not read the paper."""
    source: ClassVar[str]
    cited: ClassVar[tuple[str, ...]] = ()
    """Keys in `dpcore/papers/sources.bib` of the works that users of the mechanism cite."""
    meaning: ClassVar[EpsilonMeaning]
    accepts_approximate_search: ClassVar[bool] = False
    """True only if the search uses nothing but the noisy vector (post-processing)."""
    exact_law: ClassVar[bool] = False
    """True if `law` computes the probabilities instead of estimating them."""

    clip_power: ClassVar[int | None] = None
    """1 or 2 where vectors are clipped in that norm: then no loss depends on a distance."""
    law_method: ClassVar[str] = "closed form"
    """Method by which an exact law is computed."""
    log_error: ClassVar[float | None] = None
    """Relative error of `log_law` where it has its own formula; None: it is ln of `law`."""
    log_estimate: ClassVar[float | None] = None
    """Largest relative error of `log_law` that was observed, where no bound is known."""
    grouped_error: ClassVar[float] = 0.0
    """Absolute error of a probability of `grouped_law`."""

    @property
    def caution(self) -> str:
        """Warning for the use on this lexicon, with computed numbers; "" if there is none."""
        return ""

    @property
    def law_bounded(self) -> bool:
        """True if each probability is an integral between bounds: audits compare `log_bounds`."""
        return False

    @property
    def never_proved(self) -> bool:
        """True if it is known, without computing a guarantee, that none has a proof at any ε."""
        return False

    def __deepcopy__(self, _memo: object) -> Self:
        """Return this object: it is immutable, and its cached data are large."""
        return self

    def check_search(self, *, exact: bool) -> None:
        """Refuse an approximate search where it would break the guarantee."""
        if exact or self.accepts_approximate_search:
            return
        msg = (
            f"{self.short} selects among true neighbours of the private word: an approximate "
            "index would break its guarantee; use an exact one"
        )
        raise ParameterError(msg)

    def check_index(self, index: NeighbourIndex | None) -> None:
        """Check an index as `check_search` does; None is allowed."""
        self.check_search(exact=index is None or index.exact)

    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """Return the vectors of words with fresh noise, float64, before a nearest word is found.

        For computations from these vectors alone (post-processing, such as a decoder), which have
        this mechanism's guarantee. The numbers themselves are not for publication: the last digits
        of float64 noise reveal the vector that it was added to (Mironov 2012).

        Returns:
            Shape (k, p): p is the dimension of the noise.

        Raises:
            ParameterError: this mechanism chooses among words, and has no such vectors.
        """
        raise ParameterError(
            f"{self.short} chooses among words and has no noisy vectors; take a mechanism that "
            "adds noise to vectors, such as gaussian, laplace or madlib"
        )

    # -- the four methods

    @abstractmethod
    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee for this ε (and no other), with its status."""

    @abstractmethod
    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """Draw one output per entry of `words` (k,), with fresh independent noise, for release."""

    @abstractmethod
    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw once per entry of `words` (k,): the output as a function of ε, for inspection only.

        Args:
            rng: source of randomness.
            words: word indices, shape (k,).
            rankings: the vocabulary by Euclidean distance from each entry, if already known.
            epsilons: the grid on which a mechanism without exact breakpoints is evaluated.
        """

    @abstractmethod
    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
    ) -> Law:
        """Return the output distribution of one word at one ε or several: exact, or an estimate.

        Args:
            word: the word, or its index.
            epsilon: one ε, or E of them, shape (E,).
            rng: source of an estimate; None takes `estimating`, the same at every call. An exact
            law
                ignores it.
            ranking: the vocabulary by Euclidean distance from the word, if already known.
            effort: effort of an estimate.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message names it.
            EpsilonError: an ε is not admissible.
        """

    # -- derived

    def estimating(self) -> np.random.Generator:
        """Return the default stream of an estimate: the same at every call.

        Laws of two words or two ε share their noise. It protects nothing: releases never use it.
        """
        return generator(0, "law", self.key)

    def replace(self, word: int | str, epsilon: float) -> str:
        """Return a replacement to publish, with fresh noise from the operating system.

        The noise cannot be reproduced, hence no seed. Each call spends ε again: the guarantee for k
        words released in place of one is that of k·ε.

        Args:
            word: the private word, or its index.
            epsilon: the privacy parameter, in this mechanism's own meaning.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message names it.
            EpsilonError: ε is not admissible.
        """
        output = self.sample(generator(None), self.check_words([word]), epsilon)
        return self.lexicon.words[int(output[0])]

    # -- hooks: other ways to the same draws and laws

    def bulk(self, epsilon: float) -> Bulk:
        """Return a sampler for many documents with the draws of `sample`; here one by one."""
        return OneByOne(self, epsilon)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Return the outputs of `dpcore.mechanisms.bulk.outputs_at`, for checked arguments."""
        way = by_law if self.exact_law else by_paths
        return way(self, rng, entries, epsilons, progress)

    @property
    def rays(self) -> RadialMechanism | None:
        """This mechanism, if its law is integrated along directions that serve all ε; else None."""
        return None

    @property
    def calibrated(self) -> CalibratedMechanism | None:
        """This mechanism, if its noise is calibrated by a certificate of the lexicon; else None."""
        return None

    def same_law_from(self, epsilon: float) -> float:
        """Return the least ε that is known to have the law of this ε: the same output for less.

        Raises:
            EpsilonError: ε is not admissible.
        """
        return self.check_epsilon(epsilon)

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word) of every word y, shape (n,), of a computed law.

        −∞ where the probability underflows, unless a mechanism overrides this. An estimated law
        raises ParameterError.
        """
        if not self.exact_law:
            raise ParameterError(f"the law of {self.short} is estimated: it has no logarithm")
        dense = self.law(word, [epsilon], ranking=ranking).dense(len(self.lexicon))[0]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(dense))

    def floored_log_law(self, word: int, epsilon: float) -> tuple[FloatArray, float | None]:
        """Return `log_law` and a floor for entries that were not computed.

        Where the floor is a number, an entry of −∞ was not computed and is proved to lie below the
        floor; where it is None, −∞ is ln 0.
        """
        return self.log_law(word, epsilon), None

    def log_bounds(
        self, word: int, epsilon: float, *, ranking: Ranking | None = None
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return proved bounds on `log_law`, shapes (n,) each; None if it has no error bound."""
        if not self.exact_law or self.log_estimate is not None:
            return None
        if self.log_error is not None:
            return around(self.log_law(word, epsilon, ranking=ranking), self.log_error)
        return self.law(word, [epsilon], ranking=ranking).log_bounds(len(self.lexicon))

    def doubted_log_law(
        self, word: int, epsilon: float, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, str]:
        """Return ln P(y | word) of every word y, bounds on the absolute errors, and the method."""
        law = self.law(word, [epsilon], ranking=ranking)
        if self.log_error is not None:
            logs = self.log_law(word, epsilon, ranking=ranking)
            size = np.where(np.isneginf(logs), 0.0, np.maximum(np.abs(logs), 1.0))
            return logs, self.log_error * size, law.method
        # An error a of p is one of −ln(1 − a/p) of ln p, on the larger side: any from a = p on.
        probability = law.dense(len(self.lexicon))[0]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            logs = np.log(probability)
            errors = -np.log1p(-np.minimum(law.error / probability, 1.0))
        return logs, np.where(law.error == 0, 0.0, errors), law.method

    def grouped_law(
        self, word: int, epsilons: FloatArray, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return P(word), p and c with Σ_y φ(P(y)) = Σ c·φ(p); None if that is not faster.

        Shapes (E,), (E, m), (E, m).
        """
        return None

    def path_lengths(
        self, rng: np.random.Generator, count: int, epsilons: FloatArray
    ) -> FloatArray | None:
        """Return Euclidean lengths of the noise of `paths` from one stream, shape (count, E).

        None where no noise is added to the lexicon's own vectors.

        Args:
            rng: a stream in the state in which `paths` receives it.
            count: draws.
            epsilons: shape (E,).
        """
        return None

    # -- hooks: data for audits and attackers

    @property
    def column_form(self) -> Form | None:
        """Form of an exact law, if a column costs less than the laws of all words; else None."""
        return None

    @property
    def symmetric_law(self) -> bool:
        """True if P(y | w)/P(w | w) = P(w | y)/P(y | y) for every two words at every ε."""
        return False

    def kernel_law(self, epsilon: float) -> KernelLaw | None:
        """Return the law at ε as a kernel of one distance; None if it is none."""
        form = self.column_form
        if not isinstance(form, ExponentialForm):
            return None
        return KernelLaw(form.metric, form.strength(self.check_epsilon(epsilon)), form.cap)

    def sparse_law(self, epsilon: float) -> SparseLaw | None:
        """Return the law at ε as one number a word and few exceptions; None if it is not."""
        return None

    def vector_noise(self, epsilon: float) -> VectorNoise | None:
        """Return the noise that is added to a vector; None if the mechanism adds none."""
        return None

    def reference_noise(
        self, rng: np.random.Generator, epsilon: float, count: int
    ) -> FloatArray | None:
        """Draw noise mapped to a law that tests know: L2-Laplace noise at scale 1.

        For mechanisms with another kind of noise, whose sampler is tested by it.

        Returns:
            Shape (count, p), or None where there is no such noise.
        """
        return None

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """Return bounds on the loss of any two words under this guarantee.

        Args:
            guarantee: `guarantee` of this mechanism at an ε.
        """
        farthest = 1.0
        if isinstance(guarantee, MetricPrivacy):  # between any two words no distance matters
            lexicon = self.lexicon.with_metric(Metric.EUCLIDEAN)
            farthest = lexicon.extent.diameter * (1.0 + distance_error(lexicon.dimension))
        return LossBounds(guarantee.euclidean_loss(farthest))

    def loss_groups(self, guarantee: Guarantee) -> dict[str, LossBounds]:
        """Return `loss_bounds` for groups of word pairs defined by a public rule, by name.

        Empty where no pair has a stronger guarantee than any other.
        """
        return {}

    def promised_distances(self, words: IntArray, epsilon: float) -> FloatArray | None:
        """Return the distances in the guarantee at ε, between words, shape (k, k).

        None where the guarantee holds between any two words. A mechanism with its own metric, which
        is not in `dpcore.lexicon.metric`, computes it here.
        """
        promise = self.guarantee(epsilon)
        if not isinstance(promise, MetricPrivacy):
            return None
        points = self.lexicon.vectors[words]
        return distances(points, points, Metric.parse(promise.metric))

    @property
    def loss_search(self) -> LossSearch | None:
        """Fast search for the largest loss of all pairs of words and all outputs; None if none."""
        return None

    def least_epsilon(
        self, epsilon: float, word: int, other: int, output: int, distance: float
    ) -> float | None:
        """Return a proved lower bound on the true ε from this output of two words at this distance.

        None where the exact law has a stated error, and needs no separate bounds.
        """
        return None

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """Return the smallest true ε over all pairs at each nominal ε, where the two differ."""
        return None

    def true_delta(self, epsilon: float) -> float | None:
        """Return the exact δ of the worst difference of two vectors, if it is not nominal."""
        return None


def check_mechanism(mechanism: object) -> Mechanism:
    """Return a mechanism unchanged.

    Raises:
        ParameterError: it is not a mechanism, but for example the name of one.
    """
    return a_kind(
        mechanism,
        Mechanism,  # type: ignore[type-abstract]
        'a mechanism is needed, as dp.mechanism("tem", dp.lexicon()) returns one',
    )
