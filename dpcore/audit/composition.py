"""Guarantees for a whole text, composed over its j positions, and for a shuffled bag of words.

The sum over the words, `Guarantee.for_tokens`, is true for δ = 0 and far too large for any other δ,
because j independent losses are hardly ever all at their largest. Between any two texts that differ
in j protected words each of the following is a bound, and the least ε of them is taken:

* the sum itself (Dwork and Roth 2014, Theorem 3.16);
* a mechanism with ε between two words tells them apart no better than randomised response does, and
  j of these compose in closed form (Kairouz, Oh, Viswanath 2015, Theorem 3.3); where it is known
  that most outputs tell nothing (`LossBounds.chance`), the same sum with a third value, 0, of each
  loss;
* where the losses of two words have a span of ρ, as those of an exponential mechanism do, a
  position is ρ²/8-zCDP (Cesar, Rogers 2021), a text the sum of that, and ε follows by Bun,
  Steinke 2016, Lemma 3.5. Without more knowledge ρ = 2ε, which is ε²/2-zCDP;
* j Gaussian noises are one Gaussian noise: an equation and no bound (`composed_epsilon`).

Where not texts are released but a bag of the words of many, without order and authors, each word
hides among the others as well (`shuffled`).

Every ε here is rounded up and every δ of a bound too. Like the guarantee itself they are about the
stated law; `Guarantee.rounding` bounds how far the sampled law may lie from it, word by word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dpcore.arguments import a_whole
from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, MetricPrivacy, Status
from dpcore.lexicon.metric import UNIT
from dpcore.limits import MAX_BAG_WORDS
from dpcore.mechanisms.clipped.clipped import composed_epsilon
from dpcore.mechanisms.mechanism import LossBounds, Mechanism, VectorNoise
from dpcore.noise.samplers import Radial
from dpcore.outwards import at_most, safe_end, without_noise
from dpcore.written import Filled, Numeral

TEXT_DELTA = 1e-6
"""δ at which the guarantee for a whole text is stated."""
_TARGETS = 400  # E at which a bound on δ makes one on powers
_MANY = 10_000  # words beyond which the law of a sum costs too much, and zCDP is as good
_WITHIN = 1e-9  # how far above the least ε of a bound the stated one may lie, relatively
_SUM = ("sum", "Dwork and Roth 2014, Theorem 3.16")
_WAYS = (
    ("randomised response", "Kairouz, Oh, Viswanath 2015, Theorem 3.3"),
    ("zero-concentrated", "Cesar, Rogers 2021; Bun, Steinke 2016, Lemma 3.5"),
)
_GAUSSIAN = ("gaussian", "Dong, Roth, Su 2022; Balle and Wang 2018, Theorem 8")


@dataclass(frozen=True, kw_only=True)
class Composition:
    """Guarantee for a whole text, beside the plain sum.

    Attributes:
        guarantee: of one word.
        words: j ≥ 0, protected words in which two texts may differ.
        delta: δ of the text.
        epsilon: the least ε that is known to hold for it at this δ; ∞ where none is.
        total: the plain sum of the largest guaranteed losses, j·ε; for metric privacy those of the
            two farthest words.
        method: the bound that gave `epsilon`; "" where it is ∞.
        source: of that.
    """

    guarantee: Guarantee
    words: int
    delta: float
    epsilon: float
    total: float
    method: str
    source: str

    @property
    def helps(self) -> bool:
        """True if the composed ε is less than the plain sum, in the digits displayed."""
        if not self.epsilon < self.total:
            return False
        return float(_said(self.epsilon)) < float(_said(self.total))

    @property
    def total_delta(self) -> str:
        """δ of the plain sum, rounded up, as displayed: "0" for a pure guarantee."""
        if not (isinstance(self.guarantee, ApproximateLocalPrivacy) and self.words):
            return "0"
        return self.guarantee.summed_delta(self.words)

    @property
    def statement(self) -> str:
        """The composed guarantee beside the sum, as one complete sentence."""
        if self.guarantee.status is Status.REFUTED:
            return Filled(
                "The claim for one word is refuted, so nothing is composed for the whole text."
            )
        if not self.epsilon < math.inf:
            return Filled(
                "For δ = {delta} nothing is guaranteed of the whole text: the δ of its words add "
                "up to more.",
                delta=self.delta,
            )
        farthest = isinstance(self.guarantee, MetricPrivacy)
        total, delta = Numeral(_said(self.total)), Numeral(self.total_delta)
        if not (self.helps or isinstance(self.guarantee, ApproximateLocalPrivacy)):
            compared = Filled("the plain sum is the same")
            if farthest:
                compared = Filled("the plain sum for the farthest words is the same")
        elif delta != "0":  # of a guarantee between any two words
            compared = Filled("the plain sum is {total}, for δ = {delta}", total=total, delta=delta)
        elif farthest:
            compared = Filled("the plain sum for the farthest words is {total}", total=total)
        else:
            compared = Filled("the plain sum is {total}", total=total)
        return self.guarantee.qualified(
            Filled(
                "Together, for δ = {delta}, the whole text is protected within ε = {epsilon} "
                "({compared}).",
                delta=self.delta,
                epsilon=Numeral(_said(self.epsilon)),
                compared=compared,
            )
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form; ε is null where none is known."""
        return {
            "words": self.words,
            "delta": self.delta,
            "epsilon": self.epsilon if self.epsilon < math.inf else None,
            "sum": self.total,
            "sum_delta": self.total_delta,
            "method": self.method,
            "source": self.source,
            "statement": self.statement,
        }


def composition(
    mechanism: Mechanism,
    epsilon: float,
    words: int,
    delta: float = TEXT_DELTA,
    *,
    guarantee: Guarantee | None = None,
    bounds: LossBounds | None = None,
) -> Composition:
    """Compose the guarantee for any two texts that differ in nothing but `words` protected words.

    It is monotone: it holds for all texts that differ in fewer words, too.

    Args:
        mechanism: each word gets fresh independent noise.
        epsilon: of every word.
        words: j ≥ 0.
        delta: δ of the whole text, in [0, 1).
        guarantee: of the mechanism at ε, if already known.
        bounds: on the losses of two words; those of any two if not given.

    Raises:
        ParameterError: j or δ is out of range.
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)
    if not (words >= 0 and 0 <= delta < 1):
        raise ParameterError(
            f"a composition needs words >= 0 and delta in [0, 1), got {words} and {delta}"
        )
    guarantee = guarantee or mechanism.guarantee(value)
    bounds = bounds or mechanism.loss_bounds(guarantee)
    result = compose(guarantee, bounds, words, delta)
    if guarantee.status is Status.REFUTED:
        return result
    exact = _gaussian(mechanism.vector_noise(value), words, delta)
    if not exact < result.epsilon:
        return result
    method, source = _GAUSSIAN
    return replace(result, epsilon=exact, method=method, source=source)


def compose(
    guarantee: Guarantee, bounds: LossBounds, words: int, delta: float = TEXT_DELTA
) -> Composition:
    """Compose the guarantee for j positions, each with fresh noise, from bounds on one loss.

    The mechanism at a position may depend on earlier outputs: all bounds allow that.

    Args:
        guarantee: of one position.
        bounds: on its losses.
        words: j ≥ 0 positions.
        delta: δ of all together, in [0, 1).
    """
    least, (method, source) = math.inf, ("", "")
    if guarantee.status is not Status.REFUTED:
        spare = delta
        if isinstance(guarantee, ApproximateLocalPrivacy):
            # With probability 1 − jδ no word gives more away than ε; the rest of δ is left. δ may
            # underflow: it is taken to be the least float64 then, which is more.
            spare -= words * (math.exp(guarantee.log_delta) * (1.0 + 1e-12) + 5e-324)
        if words == 0 or spare >= 0:
            least, (method, source) = _least(bounds, words, spare)
    return Composition(
        guarantee=guarantee,
        words=words,
        delta=delta,
        epsilon=least,
        total=_product(words, bounds.promised),
        method=method,
        source=source,
    )


def group_compositions(
    mechanism: Mechanism,
    epsilon: float,
    words: int,
    delta: float = TEXT_DELTA,
    *,
    guarantee: Guarantee | None = None,
) -> dict[str, Composition]:
    """Compose as `composition` does, for texts whose words differ within one public group alone.

    Args:
        mechanism: as for `composition`.
        epsilon: of every word.
        words: j ≥ 0.
        delta: δ of the whole text.
        guarantee: of the mechanism at ε, if already known.

    Returns:
        By the names of `Mechanism.loss_groups`; empty where all pairs have the same guarantee.
    """
    guarantee = guarantee or mechanism.guarantee(epsilon)
    return {
        name: composition(mechanism, epsilon, words, delta, guarantee=guarantee, bounds=bounds)
        for name, bounds in mechanism.loss_groups(guarantee).items()
    }


def worst_delta(bounds: LossBounds, words: int, epsilon: float) -> float:
    """Bound δ at E between any two texts that differ in so many words.

    Args:
        bounds: on the losses of any two words.
        words: j ≥ 1, the words that differ.
        epsilon: E ≥ 0.

    Raises:
        ParameterError: a number is out of range.
    """
    if not (words >= 1 and 0 <= epsilon < math.inf):
        raise ParameterError(
            f"a bound for all texts needs words >= 1 and epsilon >= 0, got {words} and {epsilon}"
        )
    if epsilon >= _product(words, bounds.largest):
        return 0.0
    return min(_responses(bounds, words, epsilon), _concentrated(bounds, words, epsilon))


def worst_powers(
    mechanism: Mechanism,
    epsilon: float,
    words: int,
    rates: ArrayLike,
    *,
    guarantee: Guarantee | None = None,
) -> FloatArray:
    """Bound the power of every test between any two texts that differ in `words` protected words.

    (E, δ) of the texts allows a test with the false-positive rate α the power δ + e^E·α, and
    1 − e^(−E)·(1 − δ − α), where that is less (Dong, Roth, Su 2022, Section 2.2); the least over
    many E is taken. Gaussian noises have a power of their own, Φ(Φ⁻¹(α) + μ√j).

    Args:
        mechanism: each word gets fresh independent noise.
        epsilon: of every word.
        words: j ≥ 1.
        rates: false-positive rates in [0, 1], shape (m,).
        guarantee: of the mechanism at ε, if already known.

    Returns:
        Largest true-positive rates, shape (m,); 1 where nothing is guaranteed.

    Raises:
        ParameterError: j or a rate is out of range.
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)
    alpha = np.asarray(rates, dtype=np.float64)
    if not (words >= 1 and np.all((alpha >= 0) & (alpha <= 1))):
        raise ParameterError("powers need words >= 1 and false-positive rates in [0, 1]")
    guarantee = guarantee or mechanism.guarantee(value)
    if guarantee.status is Status.REFUTED:
        return np.ones_like(alpha)
    noise = mechanism.vector_noise(value)
    if noise is not None and noise.family is Radial.GAUSSIAN and noise.sensitivity < math.inf:
        from scipy.special import ndtr, ndtri

        mu = math.sqrt(words) * noise.sensitivity / noise.scale
        return np.minimum(np.asarray(ndtr(ndtri(alpha) + mu)) * (1.0 + 1e-9), 1.0)
    bounds = mechanism.loss_bounds(guarantee)
    leaked = 0.0
    if isinstance(guarantee, ApproximateLocalPrivacy):
        leaked = words * (math.exp(guarantee.log_delta) * (1.0 + 1e-12) + 5e-324)
    total = _product(words, bounds.largest)
    targets = total * np.linspace(0.0, 1.0, _TARGETS) ** 2  # small ones tell most
    deltas = leaked + np.array([worst_delta(bounds, words, target) for target in targets.tolist()])
    with np.errstate(over="ignore", invalid="ignore"):
        near_none = deltas[:, None] + np.where(alpha > 0, np.exp(targets)[:, None] * alpha, 0.0)
        near_all = 1.0 - np.exp(-targets)[:, None] * (1.0 - deltas[:, None] - alpha)
    least = np.minimum(near_none, near_all).min(axis=0)
    return np.asarray(np.minimum(least * (1.0 + 1e-9), 1.0))


def allowed_powers(guarantee: Guarantee, loss: float, rates: ArrayLike) -> FloatArray:
    """Bound the power of every test between two words whose privacy loss is guaranteed.

    Args:
        guarantee: of the mechanism at its ε.
        loss: guaranteed for the two words: `guarantee.loss` at their distance.
        rates: false-positive rates α in [0, 1], shape (m,).

    Returns:
        δ + e^loss·α and 1 − e^(−loss)·(1 − δ − α), where that is less (Dong, Roth, Su 2022,
        Section 2.2), rounded up, shape (m,); 1 where nothing is guaranteed without a condition.
    """
    alpha = np.asarray(rates, dtype=np.float64)
    if guarantee.status not in (Status.PROVED, Status.CERTIFIED) or not loss < math.inf:
        return np.ones_like(alpha)
    leaked = math.exp(guarantee.log_delta) if isinstance(guarantee, ApproximateLocalPrivacy) else 0
    with np.errstate(over="ignore", invalid="ignore"):
        near_none = leaked + np.where(alpha > 0, np.exp(loss) * alpha, 0.0)
    near_all = 1.0 - math.exp(-loss) * (1.0 - leaked - alpha)
    return np.asarray(np.minimum(np.minimum(near_none, near_all) * (1.0 + 1e-9), 1.0))


@lru_cache(maxsize=4096)
def _least(bounds: LossBounds, words: int, delta: float) -> tuple[float, tuple[str, str]]:
    """Find the least E at which `worst_delta` is at most `delta`, rounded up, and its bound."""
    total = _product(words, bounds.largest)
    if not words or worst_delta(bounds, words, 0.0) <= delta:
        return 0.0, _WAYS[0] if words else _SUM

    def enough(epsilon: FloatArray) -> bool:
        return worst_delta(bounds, words, float(epsilon)) <= delta

    least = float(safe_end(enough, total, 0.0, within=_WITHIN))
    if not least < total:
        return total, _SUM
    responses = _responses(bounds, words, least) <= delta
    return least, _WAYS[0 if responses else 1]


def _gaussian(noise: VectorNoise | None, words: int, delta: float) -> float:
    """Return the ε of so many Gaussian noises on clipped vectors; ∞ where the noise is none."""
    if not (noise is not None and noise.family is Radial.GAUSSIAN and words and delta > 0):
        return math.inf
    if not noise.sensitivity < math.inf:  # no bound on the distance of two vectors is known
        return math.inf
    log_delta = math.nextafter(math.log(delta), -math.inf)
    return composed_epsilon(noise.scale, log_delta, noise.sensitivity, words)


def _responses(bounds: LossBounds, words: int, epsilon: float) -> float:
    """Return δ at E of j independent losses that are ±ε or 0; 1 for too many of them."""
    if words > _MANY:
        return 1.0
    masses = _counts(bounds, words)
    losses = np.arange(words + 1) * (bounds.largest * (1.0 + 4.0 * UNIT))  # upwards: more δ
    above = losses > epsilon
    # Underflow loses less than 1e-300 for each mass; products and sums, 3j·2u each, less than 1e-9.
    total = float(masses[above] @ -np.expm1(epsilon - losses[above])) * (1.0 + 1e-9)
    return min(1.0, total + 1e-290)


@lru_cache(maxsize=16)
def _counts(bounds: LossBounds, words: int) -> FloatArray:
    """Return P(sum of j losses = i·ε) for i from 0 to j, shape (j + 1,): all terms are positive."""
    fall = math.exp(-bounds.largest)
    always = 1.0 / (1.0 + fall)
    up = always if bounds.chance is None else min(bounds.chance, always)
    # The remainder may be far less than the rounding of the 1 that it is taken from: upwards.
    nothing = 0.0 if up == always else 1.0 - up * (1.0 + fall) + 4.0 * UNIT
    single = np.array([up * fall, nothing, up])
    result, power, left = np.ones(1), single, words
    while left:  # the j-th power of a polynomial, by squaring
        if left & 1:
            result = np.convolve(result, power)
        left >>= 1
        if left:
            power = np.convolve(power, power)
    counts = result[words:].copy()
    counts.setflags(write=False)
    return counts


def _concentrated(bounds: LossBounds, words: int, epsilon: float) -> float:
    """Return δ of ρ-zCDP at E > ρ: e^(−(E − ρ)²/4ρ), else 1; ρ is j times span²/8."""
    rho = words * (bounds.width * bounds.width) / 8.0 * (1.0 + 8.0 * UNIT)
    if not epsilon > rho > 0:  # a square may underflow
        return 1.0
    # The exponent is off by a few u of itself, and of E²/4ρ where E and ρ cancel.
    error = 16.0 * UNIT * epsilon**2 / rho
    return min(1.0, math.exp(error - (epsilon - rho) ** 2 / (4.0 * rho)) * (1.0 + 4.0 * UNIT))


def _product(words: int, loss: float) -> float:
    """Return j·ε, rounded up where a float64 cannot represent it."""
    product = words * loss
    exactly = math.isinf(product) or Fraction(product) >= words * Fraction(loss)
    return product if exactly else math.nextafter(product, math.inf)


def _said(bound: float) -> str:
    """Format a sum of float64 numbers, rounded up; three times 1.1 is 3.3 and not 3.301."""
    return at_most(without_noise(bound))


# A shuffled bag: the words of many texts in random order, without authors.
#
# Let two persons differ in one word, w or w′, of a bag of n words. Two arguments bound how well the
# bag tells them apart; in both the attacker is told some of the others' outputs, and the own one is
# left among C others, each of which is w or w′ with probability c, and then either alike.
#
# * Clones. Any mechanism with ε₀ between two words draws the own output from E with probability
#   ρ = e^ε₀/(1 + e^ε₀), else from E′, and another one, whatever its word is, with probability
#   e^(−ε₀) from (E + E′)/2 (Feldman, McMillan, Talwar 2021, Theorem 3.1). Taken for w and w′
#   themselves, E and E′ tell no less.
# * Blanket. Under k-ary response, where w comes out as itself with probability p and as any other
#   word with q, another output is with probability k·q drawn from all k words alike, so that
#   c = 2/k (Balle, Bell, Gascón, Nissim 2019). The own one is w or w′ with probability s = p + q,
#   the right one of them with ρ = p/s, and else any other, as one of the blanket may be.
#
# C ~ Bin(n − 1, chance), and of the C + 1 words T are w or w′. What is left to see is the number a
# of w among the T, with π the probability that the own word is one of them:
#
#     δ(ε) ≤ E_C E_T max_k [P(a > k) − e^ε·P′(a > k)],
#     P(a) = π·[ρ·b(a − 1; T − 1) + (1 − ρ)·b(a; T − 1)] + (1 − π)·b(a; T),
#
# b the binomial law at 1/2, and P′ with ρ and 1 − ρ exchanged. P/P′ rises with a. Both arguments
# tell the attacker more than the bag does, so that the truth may be less.


_CLONES = ("clones", "Feldman, McMillan, Talwar 2021, Theorem 3.1")
_BLANKET = ("blanket", "Balle, Bell, Gascón, Nissim 2019, with the law of k-ary response")
_NOT_SHUFFLED = ("not shuffled", "")
_TAIL = 1e-15  # mass of C, and of T, that is left out at either end
_LOST = 1e-12  # added to δ: both tails, and the rounding of all differences of laws
_STEPS = 50  # values of C at most, each of which stands for those up to the next
_MOST_SEEN = 1_500  # values of T; more take too long, and the argument says nothing then
_NEAR = 1e-4  # how far above the least ε of a bag the stated one may lie, relatively
_TRIED = 24  # values of ε for several words, for which δ need not fall with ε


@dataclass(frozen=True, kw_only=True)
class ShuffledBag:
    """Guarantee for the words of one person in a shuffled bag.

    Attributes:
        guarantee: of one word.
        bag: n, words in the bag, those of the person included.
        words: j, words of the person.
        delta: δ of all of them.
        epsilon: the least ε that is known to hold for them at this δ; ∞ where none is.
        alone: that of the same words where order or authors are kept.
        method: "clones", "blanket" or "not shuffled", where no bound on the bag is less.
        source: of that; "" where none is less.
    """

    guarantee: Guarantee
    bag: int
    words: int
    delta: float
    epsilon: float
    alone: float
    method: str
    source: str

    @property
    def statement(self) -> str:
        """The guarantee as one sentence, with the condition that the bag is one."""
        if self.guarantee.status is Status.REFUTED:
            return Filled("The claim for one word is refuted, so a bag of words has none.")
        if not self.epsilon < math.inf:
            return Filled("For δ = {delta} nothing is guaranteed of a bag.", delta=self.delta)
        if not self.source:
            return self.guarantee.qualified(
                Filled(
                    "No bound is known by which a shuffled bag of {bag:,} words lowers ε = "
                    "{alone} of {words:,} of them, for δ = {delta}.",
                    bag=self.bag,
                    alone=Numeral(_said(self.alone)),
                    words=self.words,
                    delta=self.delta,
                )
            )
        return self.guarantee.qualified(
            Filled(
                "In a shuffled bag of {bag:,} words, without order and authors, {words:,} of one "
                "person are protected within ε = {epsilon}, for δ = {delta}; where order or "
                "authors are kept, within ε = {alone}.",
                bag=self.bag,
                words=self.words,
                epsilon=Numeral(_said(self.epsilon)),
                delta=self.delta,
                alone=Numeral(_said(self.alone)),
            )
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form; ε is null where none is known."""
        return {
            "bag": self.bag,
            "words": self.words,
            "delta": self.delta,
            "epsilon": self.epsilon if self.epsilon < math.inf else None,
            "alone": self.alone if self.alone < math.inf else None,
            "method": self.method,
            "source": self.source,
            "statement": self.statement,
        }


def shuffled(
    mechanism: Mechanism, epsilon: float, bag: int, words: int = 1, delta: float = TEXT_DELTA
) -> ShuffledBag:
    """Bound what a shuffled bag of words reveals of one person's words, whatever the others are.

    Only a bag is shuffled: a text keeps its order, and a word with its author or its place is
    protected by its own noise alone.

    Args:
        mechanism: all n words are released by it, each with fresh independent noise.
        epsilon: of every word.
        bag: n, words in the bag.
        words: j ≤ n, words that one person contributes; their number is known.
        delta: δ of these words, in (0, 1).

    Raises:
        ParameterError: a number is out of range.
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)
    bag = a_whole(bag, "bag", 1, MAX_BAG_WORDS)
    words = a_whole(words, "words", 1, bag)
    if not 0 < delta < 1:  # written so that NaN fails
        raise ParameterError(f"delta must be in (0, 1), got {delta}")
    guarantee = mechanism.guarantee(value)
    alone = composition(mechanism, value, words, delta, guarantee=guarantee).epsilon
    best, (method, source) = alone, _NOT_SHUFFLED
    # A δ of one word already, or none that holds: nothing is known of its bag.
    unknown = guarantee.status is Status.REFUTED or isinstance(guarantee, ApproximateLocalPrivacy)
    if not unknown:
        loss = mechanism.loss_bounds(guarantee).largest
        for hiding, bound in _hidings(mechanism, value, loss):
            amplified = words * _amplified(loss, bag - words, hiding, words, delta)
            if amplified < best:
                best, (method, source) = amplified, bound
    return ShuffledBag(
        guarantee=guarantee,
        bag=bag,
        words=words,
        delta=delta,
        epsilon=best,
        alone=alone,
        method=method,
        source=source,
    )


@dataclass(frozen=True)
class Hiding:
    """Constants of one of the arguments above.

    Attributes:
        seen: s, the probability that the own output is one of the two words.
        share: ρ > 1/2, the probability of the right one of them then.
        chance: the probability that another output is one of the C.
        coin: c, the probability that it is one of the two words then.
    """

    seen: float
    share: float
    chance: float
    coin: float


def _hidings(
    mechanism: Mechanism, epsilon: float, loss: float
) -> list[tuple[Hiding, tuple[str, str]]]:
    fall = math.exp(-loss)
    bounds = [(Hiding(1.0, 1.0 / (1.0 + fall), fall, 1.0), _CLONES)]
    law = mechanism.sparse_law(epsilon)
    response = None if law is None else law.response
    if response is not None and response[0] > response[1]:
        stay, other = response
        size, either = len(mechanism.lexicon), stay + other
        blanket = Hiding(either, stay / either, min(size * other, 1.0), 2.0 / size)
        bounds.append((blanket, _BLANKET))
    return bounds


def _amplified(loss: float, others: int, hiding: Hiding, words: int, delta: float) -> float:
    """Return the least ε of one word at which j words meet δ, rounded up.

    Of j words one after the other is exchanged: δ_j(j·ε) ≤ δ(ε)·(e^(jε) − 1)/(e^ε − 1).
    """

    def enough(epsilon: FloatArray) -> bool:
        one = float(epsilon)
        single = bag_delta(one, others, hiding)
        if single == 0.0 or words * one > 700.0:
            return single == 0.0
        group = math.expm1(words * one) / math.expm1(one) if one > 0 else float(words)
        return single * group * (1.0 + 1e-12) <= delta

    tried = [loss]
    if words > 1:
        tried = np.geomspace(loss, 1e-6 * min(loss, 1.0), _TRIED).tolist()
    good = [one for one in tried if one == loss or enough(np.array(one))]
    below = [one for one in tried if one < good[-1]]
    return float(safe_end(enough, good[-1], below[0] if below else 0.0, within=_NEAR))


def bag_delta(epsilon: float, others: int, hiding: Hiding) -> float:
    """Bound δ at ε of one word in a shuffled bag, rounded up.

    Args:
        epsilon: ε ≥ 0.
        others: n − 1, other words in the bag.
        hiding: constants of the mechanism.
    """
    factor, share = math.exp(min(epsilon, 700.0)), hiding.share
    scale = (2.0 * share - 1.0) * (1.0 + factor)
    rise = factor * share - (1.0 - share)
    if not 0.0 < rise < scale:
        return 0.0  # no number of words tells them apart by more than e^ε
    # One more of the C never tells more: the least of several stands for all.
    counts, mass = _grouped(others, hiding.chance, _STEPS)
    total = 0.0
    for count, weight in zip(counts.tolist(), mass.tolist(), strict=True):
        total += weight * _told(count, hiding, factor, rise / scale, (factor - 1.0) / scale)
    # The binomial laws are good to some 1e-10, relatively, and their differences to 1e-14 a group.
    return min(total * (1.0 + 1e-7) + _LOST, 1.0)


def _told(count: int, hiding: Hiding, factor: float, slope: float, offset: float) -> float:
    """Return E_T max_k [P(a > k) − e^ε·P′(a > k)] for this C; 1 for too many T."""
    from scipy.stats import binom

    numbers, mass = _grouped(count, hiding.coin, _MOST_SEEN)
    if numbers.size > 1 and numbers[1] - numbers[0] > 1:
        return 1.0
    # With the own word among the T, or without.
    with_own = hiding.seen * np.append(0.0, mass)
    without = (1.0 - hiding.seen) * np.append(mass, 0.0)
    numbers = np.append(numbers, numbers[-1] + 1)
    own = with_own / np.maximum(with_own + without, np.finfo(np.float64).tiny)
    # a > k where P/P′ exceeds e^ε.
    odds = np.divide(1.0 - own, own, out=np.zeros(own.shape), where=own > 0)
    k = np.floor(numbers * np.minimum(slope + 0.5 * offset * odds, 1.0))
    inside = (own > 0) & (k < numbers)
    with_own, without, k, numbers = with_own[inside], without[inside], k[inside], numbers[inside]
    rest, share = np.maximum(numbers - 1, 0), hiding.share
    right, wrong = binom.sf(k - 1, rest, 0.5), binom.sf(k, rest, 0.5)
    unseen = without * binom.sf(k, numbers, 0.5)
    of_word = with_own * (share * right + (1.0 - share) * wrong) + unseen
    of_other = with_own * ((1.0 - share) * right + share * wrong) + unseen
    return float(np.maximum(of_word - factor * of_other, 0.0).sum())


def _grouped(trials: int, chance: float, steps: int) -> tuple[IntArray, FloatArray]:
    """Return numbers of a binomial law but for its tails, and their mass.

    Of more than `steps` numbers, each stands for some that follow.
    """
    from scipy.stats import binom

    if not 0.0 < chance < 1.0:
        return np.array([trials if chance >= 1.0 else 0]), np.ones(1)
    low, high = (binom.ppf(tail, trials, chance) for tail in (_TAIL, 1.0 - _TAIL))
    first, last = max(int(low) - 1, 0), min(int(high) + 1, trials)
    counts = np.arange(first, last + 1, -(-(last + 1 - first) // steps))
    if counts.size == last + 1 - first:
        return counts, np.asarray(binom.pmf(counts, trials, chance))
    ends = np.append(counts[1:], last + 1) - 1
    return counts, np.diff(binom.cdf(ends, trials, chance), prepend=0.0)
