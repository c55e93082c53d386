"""Privacy guarantees of mechanisms, as data that can be compared, printed and saved.

A guarantee is a bound on the privacy loss ln P(y|w) − ln P(y|w′) between two input words. Three
kinds occur in the literature on private text, and their ε are not the same quantity:

* metric privacy: loss ≤ ε·d(w, w′) (Chatzikokolakis et al. 2013);
* pure local privacy: loss ≤ ε for every pair (Kasiviswanathan et al. 2011);
* approximate local privacy: P(S|w) ≤ e^ε P(S|w′) + δ for every pair and every set S.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from dpcore.display import card
from dpcore.errors import ParameterError
from dpcore.outwards import at_most, delta_at_most
from dpcore.written import Filled, Numeral


class Status(StrEnum):
    """Status of a guarantee: proved, certified, conditional or refuted."""

    PROVED = "proved"
    """A known proof covers the mechanism as it is implemented here."""
    CERTIFIED = "certified on this lexicon"
    """The loss was computed for every pair of words and every output of this lexicon."""
    CONDITIONAL = "conditional"
    """The guarantee needs a condition that these settings may not meet; the reason names it."""
    REFUTED = "refuted"
    """A counterexample is known; the reason names it."""


class EpsilonMeaning(StrEnum):
    """Meaning of ε; mechanisms with different meanings never share an axis silently."""

    METRIC = "metric"
    """Loss ≤ ε·d(w, w′): ε per unit of distance."""
    METRIC_LOG = "metric-log"
    """As METRIC, but useful only at huge values: its axis is ln ε."""
    LOCAL = "local"
    """Loss ≤ ε between any two words."""
    LOCAL_APPROXIMATE = "local-approximate"
    """Loss ≤ ε between any two words, up to a failure probability δ."""


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """Bound on the gap between the law that floating point samples and the stated law.

    Attributes:
        relative: bound on |ln(sampled probability / stated probability)| of every output of every
            word; it adds 2·relative to the loss between any two words.
        total_variation: bound on the total variation between the two laws of any word, beyond
            `relative`; with this probability nothing is guaranteed.
        reason: one sentence that says what was bounded, and how.
    """

    relative: float = 0.0
    total_variation: float = 0.0
    reason: str

    def __post_init__(self) -> None:
        """Refuse values that are not bounds."""
        if not (0 <= self.relative < math.inf and 0 <= self.total_variation <= 1):
            raise ParameterError(
                "a rounding needs a finite relative error >= 0 and a total variation in [0, 1], "
                f"got {self.relative} and {self.total_variation}"
            )

    @property
    def loss(self) -> float:
        """Largest privacy loss that rounding may add between two words, in nats."""
        # The probabilities under both words may be off, in opposite directions.
        return 2.0 * self.relative

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "relative": self.relative,
            "loss": self.loss,
            "total_variation": self.total_variation,
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Guarantee(ABC):
    """A bound on the privacy loss between two words of one lexicon.

    Attributes:
        epsilon: parameter of the bound, finite and positive.
        status: proved, certified on this lexicon, conditional or refuted.
        reason: one sentence that says why.
        source: reference for the claim or its proof, with the number of the theorem.
        rounding: bound on the gap between the sampled law and the law of the guarantee; None
            if that gap is not bounded.
    """

    kind: ClassVar[str]
    epsilon: float
    status: Status
    reason: str
    source: str
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        """Refuse a parameter that is not a finite positive number."""
        if not 0 < self.epsilon < math.inf:
            msg = f"epsilon must be a finite number > 0, got {self.epsilon}"
            raise ParameterError(msg)

    @abstractmethod
    def loss(self, distance: float) -> float:
        """Return the largest claimed privacy loss (in nats) between two words at this distance."""

    def euclidean_loss(self, distance: float) -> float:
        """Return the largest claimed privacy loss at a Euclidean distance, for any metric."""
        return self.loss(distance)

    @property
    @abstractmethod
    def _statement(self) -> str:
        """Claim for one word, in one sentence."""

    @abstractmethod
    def _for_tokens(self, tokens: int) -> str:
        """Return the claim for a whole text, in one sentence."""

    @property
    def statement(self) -> str:
        """Guarantee in one sentence of everyday terms and numbers, true without context.

        The sentence says so if the guarantee is refuted or conditional.
        """
        return self.qualified(self._statement)

    def for_tokens(self, tokens: int) -> str:
        """Return the guarantee for a whole text whose tokens get independent noise."""
        return self.qualified(self._for_tokens(tokens))

    def qualified(self, sentence: str) -> str:
        """Prefix a consequence of the guarantee with the caveat of a weaker status."""
        within = sentence[0].lower() + sentence[1:]
        if self.status is Status.CONDITIONAL:
            return Filled("Under the condition that the reason names: {sentence}", sentence=within)
        if self.status is Status.REFUTED:
            return Filled("The claim, which is refuted: {sentence}", sentence=within)
        return sentence

    def __repr__(self) -> str:
        """Return one line: the sentence, its status and its source."""
        return f"{type(self).__name__}({self.statement} [{self.status}; {self.source}])"

    def _repr_html_(self) -> str:
        """Return the notebook card of a guarantee: sentence, status with its reason, source."""
        rounding = "" if self.rounding is None else self.rounding.reason
        return card(
            self.statement, f"{self.status}: {self.reason}", f"Source: {self.source}", rounding
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form: kind, parameters, status, reason, source, statement, rounding."""
        return {
            "kind": self.kind,
            "epsilon": self.epsilon,
            "status": str(self.status),
            "reason": self.reason,
            "source": self.source,
            "statement": self.statement,
            "rounding": None if self.rounding is None else self.rounding.to_dict(),
        }


def two_texts(tokens: int) -> str:
    """Name the two texts of a composed bound: they differ only in their protected words."""
    if tokens == 1:
        return Filled(
            "For two texts that differ in nothing but their 1 protected word, place by place,"
        )
    return Filled(
        "For two texts that differ in nothing but their {tokens} protected words, place by place,",
        tokens=tokens,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class MetricPrivacy(Guarantee):
    """Loss ≤ ε·d(w, w′) for all words, for the named metric d.

    `euclidean_factor` converts: ε·euclidean_factor·‖φ_w − φ_w′‖₂ bounds the same loss, so that
    mechanisms over different metrics can be compared. No two words are farther apart than
    `farthest`, in the guarantee's metric.
    """

    kind: ClassVar[str] = "metric"
    metric: str = "euclidean"
    euclidean_factor: float = 1.0
    farthest: float = math.inf

    def loss(self, distance: float) -> float:
        """Return ε·d, with d in the guarantee's metric."""
        return self.epsilon * distance

    def euclidean_loss(self, distance: float) -> float:
        """Return ε·min(f·d₂, `farthest`): f·d₂ bounds the guarantee's metric."""
        # A bounded metric, such as an angle, caps the loss of words that are far apart.
        return self.loss(min(self.euclidean_factor * distance, self.farthest))

    @property
    def _statement(self) -> str:
        return Filled(
            "Whatever word comes out, any two words at {metric} distance d explain it within a "
            "factor of e^({epsilon}·d).",
            metric=self.metric,
            epsilon=Numeral(at_most(self.epsilon)),
        )

    def _for_tokens(self, tokens: int) -> str:
        """Add losses over tokens: ε times the sum of the distances."""
        return Filled(
            "{texts} the factor is at most e^({epsilon}·D), D the sum of the distances of the two "
            "words in each place.",
            texts=two_texts(tokens),
            epsilon=Numeral(at_most(self.epsilon)),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form, with the metric and its bounds; `farthest` is None if infinite."""
        return super().to_dict() | {
            "metric": self.metric,
            "euclidean_factor": self.euclidean_factor,
            "farthest": self.farthest if self.farthest < math.inf else None,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class PureLocalPrivacy(Guarantee):
    """Loss ≤ ε for every two words, near or far."""

    kind: ClassVar[str] = "pure-local"

    def loss(self, distance: float) -> float:
        """Return ε for two different words, 0 for a word and itself."""
        return self.epsilon if distance > 0 else 0.0

    @property
    def _statement(self) -> str:
        return Filled(
            "Whatever word comes out, any two words of the vocabulary explain it within a factor "
            "of e^{epsilon}.",
            epsilon=Numeral(at_most(self.epsilon)),
        )

    def _for_tokens(self, tokens: int) -> str:
        """Add losses over tokens: ℓ·ε."""
        return Filled(
            "{texts} the factor is at most e^({tokens}·{epsilon}) = e^{total}.",
            texts=two_texts(tokens),
            tokens=tokens,
            epsilon=Numeral(at_most(self.epsilon)),
            total=Numeral(at_most(self.epsilon, times=tokens)),
        )


_LOG_ERROR = 1e-14  # relative error of a sum of two logarithms


@dataclass(frozen=True, kw_only=True, repr=False)
class ApproximateLocalPrivacy(Guarantee):
    """P(S|w) ≤ e^ε P(S|w′) + δ for every two words and every set of outputs.

    δ is stored as its natural logarithm: 4^−1700 is not a float64.
    """

    kind: ClassVar[str] = "approximate-local"
    log_delta: float

    def __post_init__(self) -> None:
        """Refuse δ outside (0, 1)."""
        super().__post_init__()
        if not -math.inf < self.log_delta < 0:
            msg = f"ln(delta) must be finite and below 0, got {self.log_delta}"
            raise ParameterError(msg)

    def loss(self, distance: float) -> float:
        """Return ε for two different words (up to the failure probability δ), else 0."""
        return self.epsilon if distance > 0 else 0.0

    @property
    def delta_text(self) -> str:
        """δ as readable text, even if it underflows a float."""
        return self.summed_delta(1)

    def summed_delta(self, tokens: int) -> str:
        """Return δ summed over tokens, in three digits, rounded up; "1" from 1 on."""
        log_delta = self.log_delta + math.log(max(tokens, 1))
        # The logarithm's own error must not turn 12·1e-5 into 0.000121.
        return delta_at_most(log_delta * (1 + _LOG_ERROR)) if log_delta < 0 else "1"

    @property
    def _statement(self) -> str:
        return Filled(
            "Any two words of the vocabulary explain any set of outputs within a factor of "
            "e^{epsilon}, up to a probability of δ = {delta}.",
            epsilon=Numeral(at_most(self.epsilon)),
            delta=Numeral(self.delta_text),
        )

    def _for_tokens(self, tokens: int) -> str:
        """Apply basic composition: ℓ·ε and ℓ·δ."""
        # The union bound over the places; a δ of 1 allows any output.
        delta = self.summed_delta(tokens)
        if delta == "1":
            return Filled(
                "{texts} the δ of the places add up to 1: nothing is guaranteed.",
                texts=two_texts(tokens),
            )
        return Filled(
            "{texts} ε = {epsilon} and δ = {delta} hold (sums over the places).",
            texts=two_texts(tokens),
            epsilon=Numeral(at_most(self.epsilon, times=tokens)),
            delta=Numeral(delta),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form, with ln δ and δ."""
        return super().to_dict() | {"log_delta": self.log_delta, "delta": self.delta_text}
