"""Draws of one token from scores of all of them, in two ways that keep ε for all scores.

`ClippedDraw` is the exponential mechanism with scores clipped to a public range. With
s = (clip(score) − low)/(high − low) in [0, 1] a token y is drawn with probability

    P(y) = e^(h·s_y) / Σ_z e^(h·s_z)

over all V tokens of the vocabulary, at a strength h. Another private text may change all scores.
The loss of y between two texts is h(s_y − s′_y) + ln Z′ − ln Z, and it is largest where y alone
scores 1 in the first text and y alone scores 0 in the other:

    loss(h) = ln(1 + m·e^h) − ln(1 + m·e^−h),   m = V − 1.

Two texts with such scores attain it, so it is exact. It is below 2h, which is the source of the
usual h = ε/2 (McSherry and Talwar 2007, Theorem 6; a temperature of 2(high − low)/ε); beyond
h = ln V it grows like h + ln V, half as fast. In `calibrated_strength` loss(h) = ε, a quadratic
equation in e^h. Losses of two texts have a span of 2h in either case.

`ResponseDraw` lets the model draw a token by its own probabilities p, and gives that token to
randomised response over all V: P(y) = a·p_y + b with b = 1/(e^ε + m) and a = (e^ε − 1)·b. Nothing
is clipped. The loss is largest where p is 1 in one text and 0 in the other, and then it is ε; every
divergence that is convex is largest there too, so losses are those of randomised response (Kairouz,
Oh, Viswanath 2014). Half of the tokens are the model's own at ε = ln m, where the exponential
mechanism needs ln((1 + m²)/2): it pays for the sum Z as well.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.audit.composition import TEXT_DELTA, Composition, compose
from dpcore.errors import EpsilonError, ParameterError
from dpcore.guarantee import PureLocalPrivacy, Status
from dpcore.mechanisms.mechanism import LossBounds
from dpcore.noise.discrete import Digits, Weights, draws
from dpcore.outwards import at_most

FORMS = ("published", "calibrated", "response")
"""Names of the ways to draw a token (`drawing`)."""
_UP = 1.0 + 1e-12  # covers the floating-point error of a bound of a few terms
_FAR = 1e30  # a score that no finite one exceeds


def largest_loss(strength: float, vocabulary: int) -> float:
    """Return the largest loss of a token between any two texts, in nats, rounded up.

    Args:
        strength: h > 0.
        vocabulary: V ≥ 2 tokens.
    """
    m = vocabulary - 1
    if strength < 1.0:  # the difference of two logarithms would lose digits
        loss = math.log1p(2.0 * math.sinh(strength) / (1.0 / m + math.exp(-strength)))
    else:
        sides = np.logaddexp(0.0, math.log(m) + np.array([strength, -strength]))
        loss = float(sides[0] - sides[1])
    return min(2.0 * strength, loss * _UP)


def calibrated_strength(epsilon: float, vocabulary: int) -> float:
    """Return the largest h with `largest_loss` at most ε, rounded down.

    Args:
        epsilon: finite, > 0.
        vocabulary: V ≥ 2 tokens.
    """
    # The positive root of m·t² − (E − 1)·t − m·E = 0 for t = e^h and E = e^ε is
    # √E·(q + √(q² + 1)) with q = sinh(ε/2)/m; beyond ε = 700 it is E/m, and E overflows soon.
    m, half = vocabulary - 1, 0.5 * epsilon
    more = math.asinh(math.sinh(half) / m) if epsilon < 700.0 else half - math.log(m)
    return max(half, (half + more) / (_UP * _UP))


@dataclass(frozen=True, kw_only=True, repr=False)
class TokenPrivacy(PureLocalPrivacy):
    """Loss ≤ ε of every token between any two texts, whatever tokens came before it."""

    texts: str
    """The texts of the guarantee: "any two texts", "any two texts of as many words"."""
    kind: ClassVar[str] = "pure-local"

    @property
    def _statement(self) -> str:
        return (
            f"Whatever token comes out in a place, {self.texts} explain it within a factor of "
            f"e^{at_most(self.epsilon)}."
        )

    def _for_tokens(self, tokens: int) -> str:
        """Add up the losses of tokens, each of which depends on the whole text."""
        return (
            f"Between {self.texts} the factor of all {tokens} tokens is at most "
            f"e^({tokens}·{at_most(self.epsilon)}) = e^{at_most(self.epsilon, times=tokens)}."
        )


@dataclass(frozen=True, kw_only=True)
class TokenDraw(ABC):
    """Law of a token given its scores; all its settings are public.

    Attributes:
        vocabulary: V, number of possible tokens: all of them, always.
        texts: between which texts the scores may be anything.
    """

    vocabulary: int
    texts: str = "any two texts"

    @abstractmethod
    def log_law(self, scores: FloatArray) -> FloatArray:
        """Return ln P of every token, shape (V,), from its scores.

        A score that is no number counts as the lowest: a refusal would reveal some of the text.
        """

    @property
    @abstractmethod
    def bounds(self) -> LossBounds:
        """Bounds on the losses of a token between any two of these texts."""

    @property
    @abstractmethod
    def guarantee(self) -> TokenPrivacy:
        """Guarantee of one token: its largest loss."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, float]:
        """Numbers that determine the draw of a token, by name."""

    def token(self, log_law: FloatArray, digits: Digits) -> int:
        """Draw one token with exactly these probabilities."""
        weights = Weights(np.exp(log_law), log_law.item, np.arange(log_law.size))
        entry = np.zeros(1, dtype=np.int64)
        return int(draws(digits, entry, lambda entries: [(np.arange(entries.size), weights)])[0])

    def composed(self, tokens: int, delta: float = TEXT_DELTA) -> Composition:
        """Return the guarantee of all tokens together.

        Args:
            tokens: n, drawn one after another, each given those before it.
            delta: δ of the whole text, in [0, 1).
        """
        return compose(self.guarantee, self.bounds, tokens, delta)


@dataclass(frozen=True, kw_only=True)
class ClippedDraw(TokenDraw):
    """The exponential mechanism.

    Attributes:
        low: lower end of the range that scores are clipped to.
        high: upper end of that range.
        strength: h.
        normalised: True if scores become ln of probabilities before they are clipped.
    """

    low: float
    high: float
    strength: float
    normalised: bool = False

    @property
    def temperature(self) -> float:
        """Divisor of the clipped scores."""
        return (self.high - self.low) / self.strength

    def log_law(self, scores: FloatArray) -> FloatArray:
        """Return ln P of every token, shape (V,), from its scores before clipping."""
        numbers = np.asarray(scores, dtype=np.float64)
        if self.normalised:
            numbers = numbers - np.logaddexp.reduce(numbers)
        clipped = np.clip(np.nan_to_num(numbers, nan=self.low), self.low, self.high)
        shares = (clipped - self.low) / (self.high - self.low)
        # The largest exponent becomes 0, so that none overflows; the normaliser cancels it.
        logs = self.strength * (shares - shares.max())
        return np.asarray(logs - math.log(np.exp(logs).sum()))

    @property
    def bounds(self) -> LossBounds:
        """The largest loss, and a span of 2h."""
        return LossBounds(self.guarantee.epsilon, 2.0 * self.strength * _UP)

    @property
    def guarantee(self) -> TokenPrivacy:
        """Guarantee with the largest loss over all scores in the range."""
        return TokenPrivacy(
            epsilon=largest_loss(self.strength, self.vocabulary),
            status=Status.PROVED,
            reason=(
                "scores are clipped to a public range, every token of the vocabulary may come out, "
                "and how many are drawn is public"
            ),
            source="McSherry and Talwar 2007, Theorem 6, with the exact constant",
            texts=self.texts,
        )

    @property
    def settings(self) -> dict[str, float]:
        """Range, strength and temperature."""
        return {
            "low": self.low,
            "high": self.high,
            "strength": self.strength,
            "temperature": self.temperature,
            "vocabulary": self.vocabulary,
        }


@dataclass(frozen=True, kw_only=True)
class ResponseDraw(TokenDraw):
    """The model's own draw, through randomised response.

    Attributes:
        epsilon: of a token.
        temperature: divisor of the scores before they become probabilities; any costs the same.
    """

    epsilon: float
    temperature: float = 1.0

    @property
    def _log_floor(self) -> float:
        """ln b."""
        return -self.epsilon - math.log1p((self.vocabulary - 1) * math.exp(-self.epsilon))

    @property
    def kept(self) -> float:
        """Probability that the model's own draw is output, apart from V·b by chance."""
        return -math.expm1(-self.epsilon) * math.exp(self.epsilon + self._log_floor)

    def log_law(self, scores: FloatArray) -> FloatArray:
        """Return ln P of every token, shape (V,), from its logits."""
        numbers = np.asarray(scores, dtype=np.float64) / self.temperature
        numbers = np.nan_to_num(numbers, nan=-_FAR, posinf=_FAR, neginf=-_FAR)
        numbers = numbers - numbers.max()
        numbers -= np.logaddexp.reduce(numbers)
        return np.asarray(np.logaddexp(math.log(self.kept) + numbers, self._log_floor))

    @property
    def bounds(self) -> LossBounds:
        """Bounds of randomised response: a loss that is not 0 comes with a known probability."""
        return LossBounds(
            self.guarantee.epsilon, chance=min(1.0, math.exp(self.epsilon + self._log_floor) * _UP)
        )

    @property
    def guarantee(self) -> TokenPrivacy:
        """Guarantee with exactly ε."""
        return TokenPrivacy(
            epsilon=self.epsilon,
            status=Status.PROVED,
            reason=(
                "the model's token goes through randomised response over all tokens of the "
                "vocabulary, and how many are drawn is public"
            ),
            source="Kairouz, Oh, Viswanath 2014",
            texts=self.texts,
        )

    @property
    def settings(self) -> dict[str, float]:
        """Temperature, and the probability of the model's own draw."""
        return {
            "temperature": self.temperature,
            "kept": self.kept,
            "vocabulary": self.vocabulary,
        }


def drawing(
    form: str,
    epsilon: float,
    vocabulary: int,
    *,
    limits: tuple[float, float],
    depth: float,
    temperature: float,
    texts: str,
) -> TokenDraw:
    """Return the law of a token in a form; all numbers are public.

    Args:
        form: "published" clips scores to `limits` and has h = ε/2; "calibrated" clips logarithms of
            probabilities to [−depth, 0] and has the h at which the bound on the loss is ε;
            "response" gives a draw at `temperature` to randomised response.
        epsilon: of a token.
        vocabulary: V, number of possible tokens.
        limits: lowest and highest score.
        depth: nats.
        temperature: divisor of the scores before a token is drawn from them.
        texts: between which texts ε holds.

    Raises:
        EpsilonError: ε is not a finite number above 0.
        ParameterError: there is no such form.
    """
    check_form(form)
    if not 0 < epsilon < math.inf:
        raise EpsilonError(f"epsilon must be a finite number > 0, got {epsilon}")
    if form == "response":
        return ResponseDraw(
            vocabulary=vocabulary, epsilon=epsilon, temperature=temperature, texts=texts
        )
    low, high, strength = *limits, 0.5 * epsilon
    if calibrated := form == "calibrated":
        low, high, strength = -depth, 0.0, calibrated_strength(epsilon, vocabulary)
    return ClippedDraw(
        vocabulary=vocabulary,
        low=low,
        high=high,
        strength=strength,
        normalised=calibrated,
        texts=texts,
    )


def check_form(form: str) -> None:
    """Refuse an unknown form.

    Raises:
        ParameterError: the form is unknown; the message lists the known ones.
    """
    if form not in FORMS:
        raise ParameterError(f"form must be one of {', '.join(FORMS)}, got {form[:40]!r}")
