"""The one protocol of all word mechanisms.

A `Mechanism` is a family indexed by ε over one lexicon: everything but ε is fixed when it is
made (and public). It answers four questions: what is promised at ε (`guarantee`), what comes out
(`sample`, for release), what *would* come out of one noise draw at every ε (`paths`, for looking
only), and with which probability (`law`).

Never release outputs of one draw at two ε: the noise cancels. That is why `paths` and `sample`
are different methods.

Two kinds share nearly all of their answers: where the law is computed (`dpcore.mechanisms.exact`),
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


# What the hooks of a mechanism return: data that other rooms compute with.
#
# Rooms above ask a mechanism for one of these and go by what they get. None of them asks which
# mechanism it is, so a new one is known everywhere by what it answers.


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorNoise:
    """The law of noise that is added to a vector at one ε.

    Attributes:
        origins: what it is added to, one row a word, shape (n, p).
        family: the law of its length and direction at scale 1.
        scale: s, in the unit of the vectors.
        rate: 1/s, as the mechanism computes it.
        cut: A; coordinates of Laplace noise are cut off at ±A. ∞: they are not.
        covariance: λ, the share of the vocabulary's covariance in the shape of the noise; None for
            noise that has no shape of its own.
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
        """Whether the coordinates are independent Laplace variables, cut off or not."""
        return self.family is Radial.LAPLACE

    @property
    def dimension(self) -> int:
        """p."""
        return int(self.origins.shape[1])


@dataclass(frozen=True)
class LossBounds:
    """What is known of the privacy losses between any two words, for their composition.

    Attributes:
        promised: the largest loss that the promise allows any two words, finite and > 0.
        span: the largest difference of two losses of one pair of words; ∞ where nothing is known
            beyond `promised`.
        chance: p, where a loss that is ε = `largest` with probability p, −ε with p·e^(−ε) and 0
            otherwise tells no less than those of any two words: its δ is at least theirs
            everywhere. None takes 1/(1 + e^(−ε)) of randomised response, which tells no less than
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
                "bounds on losses need a finite promised loss > 0, a span > 0 and a chance in "
                f"(0, 1], got {self.promised}, {self.span} and {self.chance}"
            )

    @property
    def largest(self) -> float:
        """The largest loss: those of a pair lie on both sides of 0, so their span is no less."""
        return min(self.promised, self.span)

    @property
    def width(self) -> float:
        """The largest difference of two losses of one pair, known or not."""
        return min(self.span, 2.0 * self.promised)


@dataclass(frozen=True)
class WorstLoss:
    """The pair of words and the output with the largest loss per distance, of all.

    Attributes:
        epsilon: that loss per distance: the smallest ε that is true.
        error: bound on the absolute error of `epsilon`.
        word: w.
        other: w′.
        output: y, which tells w from w′.
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
    """A way to the largest loss of all pairs of words in n² steps in place of n³.

    Attributes:
        method: how the law is computed, in words.
        find: from ε and a progress to that loss.
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

    K is a truncated Poisson variable (`dpcore.noise.poisson`), D is Euclidean.

    Attributes:
        strength: s(ε).
    """

    strength: Callable[[float], float]


@dataclass(frozen=True)
class NoisyNearestForm:
    """The K nearest words as in `NearestForm`, but the least D + truncated Gumbel noise wins.

    Attributes:
        noise_scale: b(ε).
    """

    noise_scale: Callable[[float], float]


@dataclass(frozen=True)
class ColumnForm:
    """Any law whose columns take no preparation but distances.

    Attributes:
        column: from an output y, its distances from all words (None without a metric) and ε to
            ln P(y | w) of every word w, shape (n,).
        error: bound on the relative error of these, where they are not below 1 in size.
        metric: of the distances; None for a law that goes by none.
    """

    column: Callable[[int, FloatArray | None, float], FloatArray]
    error: float
    metric: Metric | None = None


Form = ExponentialForm | NearestForm | NoisyNearestForm | ColumnForm
"""What a law is made of, for one who computes a column P(y | ·) of it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(Settings, ABC):
    """A family of randomised maps from words to words, indexed by ε.

    What is abstract every mechanism must have. What has a default is a hook: a mechanism that knows
    better, or has something that others lack, answers in its own file.
    """

    key: ClassVar[str]
    """Versioned registry key: a changed formula is a new key."""
    title: ClassVar[str]
    summary: ClassVar[str]
    """One sentence for a person who has not read the paper."""
    source: ClassVar[str]
    cited: ClassVar[tuple[str, ...]] = ()
    """Keys in `dpcore/papers/sources.bib` of what is cited by whoever uses it."""
    meaning: ClassVar[EpsilonMeaning]
    accepts_approximate_search: ClassVar[bool] = False
    """True only if the search sees nothing but the noisy vector (post-processing)."""
    exact_law: ClassVar[bool] = False
    """Whether `law` computes the probabilities instead of estimating them."""

    clip_power: ClassVar[int | None] = None
    """1 or 2 where vectors are clipped in that norm: then no loss depends on a distance."""
    law_method: ClassVar[str] = "closed form"
    """How an exact law is computed."""
    log_error: ClassVar[float | None] = None
    """Relative error of `log_law` where that is a formula of its own; None: it is ln of `law`."""
    log_estimate: ClassVar[float | None] = None
    """Largest relative error of `log_law` that was found, where no bound is known."""
    grouped_error: ClassVar[float] = 0.0
    """Absolute error of a probability of `grouped_law`."""

    @property
    def caution(self) -> str:
        """What to know before it is taken on this lexicon, with computed numbers; "" if nothing."""
        return ""

    def __deepcopy__(self, _memo: object) -> Self:
        """Itself: it cannot change, and what it keeps of its lexicon is large."""
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
        """As `check_search`, for an index or none."""
        self.check_search(exact=index is None or index.exact)

    def noisy_vectors(
        self, rng: np.random.Generator, words: IntArray, epsilon: float
    ) -> FloatArray:
        """The vectors of words with fresh noise, before a word is sought near them, float64.

        For what is computed from nothing else (post-processing, such as a decoder): it has this
        mechanism's guarantee. The numbers themselves are not for publishing: float64 noise shows
        in its last digits what it was added to (Mironov 2012).

        Returns:
            Shape (k, p): p is the dimension of the noise.

        Raises:
            ParameterError: this mechanism chooses among words, and has no such vectors.
        """
        raise ParameterError(
            f"{self.short} chooses among words and has no noisy vectors; take a mechanism that "
            "adds noise to vectors, such as gaussian, laplace or madlib"
        )

    # -- the four questions

    @abstractmethod
    def guarantee(self, epsilon: float) -> Guarantee:
        """What is promised at ε, with its status."""

    @abstractmethod
    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """One output per entry of `words` (k,), each with fresh independent noise: for release."""

    @abstractmethod
    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """One draw per entry of `words` (k,), its output as a function of ε: for looking only.

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
        """The output distribution of one word at one ε or several: exact, or an estimate.

        Args:
            word: the word, or its index.
            epsilon: one ε, or E of them, shape (E,).
            rng: of an estimate; None takes `estimating`, the same at every call. An exact law
                ignores it.
            ranking: the vocabulary by Euclidean distance from the word, if already known.
            effort: how hard an estimate works.

        Raises:
            UnknownWordError: the word is not in the vocabulary; the message names it.
            EpsilonError: an ε is not admissible.
        """

    # -- what follows from them

    def estimating(self) -> np.random.Generator:
        """The stream of an estimate for which none was given: the same at every call.

        Laws of two words or two ε share their noise. It protects nothing: releases never use it.
        """
        return generator(0, "law", self.key)

    def replace(self, word: int | str, epsilon: float) -> str:
        """A word to publish in place of this one, with fresh noise from the operating system.

        Nobody can repeat the noise, hence no seed. Each call spends ε again: the promise for k
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
        """Many documents at once with the draws of `sample`; here one after the other."""
        return OneByOne(self, epsilon)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """What `dpcore.mechanisms.bulk.outputs_at` gives, its arguments being checked."""
        way = by_law if self.exact_law else by_paths
        return way(self, rng, entries, epsilons, progress)

    @property
    def rays(self) -> RadialMechanism | None:
        """Itself, if its law is integrated along noise directions that serve all ε at once."""
        return None

    @property
    def calibrated(self) -> CalibratedMechanism | None:
        """Itself, if its noise is calibrated by a certificate of the lexicon."""
        return None

    def same_law_from(self, epsilon: float) -> float:
        """The least ε that is known to have the law of this one: a smaller promise for the same.

        Raises:
            EpsilonError: ε is not admissible.
        """
        return self.check_epsilon(epsilon)

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """ln P(y | word) of every word y, shape (n,), of a law that is computed.

        −∞ where the probability underflows, unless a mechanism knows better. An estimated law
        raises ParameterError.
        """
        if not self.exact_law:
            raise ParameterError(f"the law of {self.short} is estimated: it has no logarithm")
        dense = self.law(word, [epsilon], ranking=ranking).dense(len(self.lexicon))[0]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(dense))

    def floored_log_law(self, word: int, epsilon: float) -> tuple[FloatArray, float | None]:
        """`log_law` and a floor.

        Where the floor is a number, an entry of −∞ was not computed and is proved to lie below the
        floor; where it is None, −∞ is ln 0.
        """
        return self.log_law(word, epsilon), None

    def log_bounds(
        self, word: int, epsilon: float, *, ranking: Ranking | None = None
    ) -> tuple[FloatArray, FloatArray] | None:
        """Proved bounds on `log_law`, shapes (n,) each; None where its error is not bounded."""
        if not self.exact_law or self.log_estimate is not None:
            return None
        if self.log_error is not None:
            return around(self.log_law(word, epsilon, ranking=ranking), self.log_error)
        return self.law(word, [epsilon], ranking=ranking).log_bounds(len(self.lexicon))

    def doubted_log_law(
        self, word: int, epsilon: float, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, str]:
        """ln P(y | word) of every word y, bounds on the absolute errors, and the method."""
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
        """P(word), p and c with Σ_y φ(P(y)) = Σ c·φ(p), shapes (E,), (E, m), (E, m), if quicker."""
        return None

    def path_lengths(
        self, rng: np.random.Generator, count: int, epsilons: FloatArray
    ) -> FloatArray | None:
        """Euclidean lengths of the noise of `paths`, which one stream draws, shape (count, E).

        None where no noise is added to the lexicon's own vectors.

        Args:
            rng: a stream in the state in which `paths` is given it.
            count: draws.
            epsilons: shape (E,).
        """
        return None

    # -- hooks: what audits and attackers compute with

    @property
    def column_form(self) -> Form | None:
        """What an exact law is made of, if a column of it costs less than the laws of all words."""
        return None

    def vector_noise(self, epsilon: float) -> VectorNoise | None:
        """The noise that is added to a vector, for a mechanism that does so."""
        return None

    def reference_noise(
        self, rng: np.random.Generator, epsilon: float, count: int
    ) -> FloatArray | None:
        """Fresh noise brought to a law that tests know: that of L2-Laplace noise at scale 1.

        For mechanisms whose noise is of another kind and whose sampler is tested by it.

        Returns:
            Shape (count, p), or None where there is no such noise.
        """
        return None

    def loss_bounds(self, guarantee: Guarantee) -> LossBounds:
        """How large the loss of any two words may be where this is promised.

        Args:
            guarantee: `guarantee` of this mechanism at an ε.
        """
        farthest = 1.0
        if isinstance(guarantee, MetricPrivacy):  # between any two words no distance matters
            lexicon = self.lexicon.with_metric(Metric.EUCLIDEAN)
            farthest = lexicon.extent.diameter * (1.0 + distance_error(lexicon.dimension))
        return LossBounds(guarantee.euclidean_loss(farthest))

    def loss_groups(self, guarantee: Guarantee) -> dict[str, LossBounds]:
        """As `loss_bounds`, for pairs of words that a public rule puts together, by its names.

        Empty where no pair is promised more than any other.
        """
        return {}

    def promised_distances(self, words: IntArray, epsilon: float) -> FloatArray | None:
        """The distances that the promise at ε speaks of, between words, shape (k, k).

        None where it holds between any two words. A mechanism with a metric of its own, which is
        none of `dpcore.lexicon.metric`, computes it here.
        """
        promise = self.guarantee(epsilon)
        if not isinstance(promise, MetricPrivacy):
            return None
        points = self.lexicon.vectors[words]
        return distances(points, points, Metric.parse(promise.metric))

    @property
    def loss_search(self) -> LossSearch | None:
        """A quick way to the largest loss of all pairs of words and all outputs."""
        return None

    def least_epsilon(
        self, epsilon: float, word: int, other: int, output: int, distance: float
    ) -> float | None:
        """A proved lower bound on the true ε from this output of two words at this distance.

        None where the exact law is right to a stated error, and needs no bounds beside it.
        """
        return None

    def true_epsilons(self, epsilons: Sequence[float]) -> list[float] | None:
        """The smallest ε that is true of all pairs at each nominal ε, where the two differ."""
        return None

    def true_delta(self, epsilon: float) -> float | None:
        """The exact δ of the worst difference of two vectors, where it is not the nominal one."""
        return None


def check_mechanism(mechanism: object) -> Mechanism:
    """Return a mechanism as it is.

    Raises:
        ParameterError: It is none, such as the name of one.
    """
    return a_kind(
        mechanism,
        Mechanism,  # type: ignore[type-abstract]
        'a mechanism is needed, as dp.mechanism("tem", dp.lexicon()) returns one',
    )
