"""RANTEXT (Tong et al. 2023, in InferDPT): a word within a random distance.

A noisy vector is drawn for the word: Laplace noise N of scale β_j = s(ε)·range_j on coordinate j,
where range_j is the difference of the largest and the smallest value in the vocabulary, and

    s(ε) = 1/ε for ε < 2,  1/(9.3111 + .016582·ln(19.0647·ε − 38.1294)) from there on.

Only its length R = ‖N‖ is used: the candidates are the words nearer than R, and

    P(y | x, R) ∝ exp((ε/2)·(1 − d(x, y)/R)),  d(x, y) < R.

Implemented after github.com/mengtong0110/InferDPT, func.py at commit 2931e0b, with the vectors of
the lexicon in place of those of a language model's tokens (which this laboratory does not have).

R does not depend on x, so P(y | x) = E_R[…] is one integral over the law of R, the same for all
words. That law is concentrated; a word farther from x than nearly every R has a probability next to
0, but may be an ordinary output of a word near to it. A word outside the ball is not a candidate
with the least score, 0; it is no candidate at all, so the exponential mechanism's ε is lost.
`rantext_bounds` encloses the law on both sides. The form "fixed" is the repair: R is a public
number, the median, and a word beyond it has the score 0 and is a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.guarantee import EpsilonMeaning, Guarantee, PureLocalPrivacy, Status
from dpcore.lexicon.cache import cached_record
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.neighbours import NeighbourIndex, Ranking
from dpcore.lexicon.progress import Progress
from dpcore.mechanisms.bulk import Bulk, OneByOne, by_paths
from dpcore.mechanisms.candidates.rantext_bounds import law_bounds, law_within, radius_bounds
from dpcore.mechanisms.distances import by_word
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.law import Effort, Law, weights_rounding
from dpcore.mechanisms.path import EpsilonPaths
from dpcore.mechanisms.settings import parameter
from dpcore.noise.samplers import standard_gumbel
from dpcore.outwards import at_least, delta_at_most
from dpcore.written import Filled, Numeral

_A, _B = 0.01658160142016071, 9.311083811697406
_C, _D = 19.064721649556482, 38.1294334077209
_CELLS = 2**17  # cells of the law of R²
_TAIL = 30.0  # a coordinate is beyond this many scales with probability e^−30
_NODES = 240  # nodes of the integral over R
_LEAST = 1e-12  # probability of R omitted at either end
_BLOCK = 64  # draws whose scores are held at a time
_ROUNDING = 1e-12  # relative, of a product of a few numbers
_DEEPEST = 600.0  # −ln P up to which a bound is resolved


def noise_scale(epsilon: float) -> float:
    """Return s(ε): the scale of the noise over the range of a coordinate."""
    if epsilon < 2.0:
        return 1.0 / epsilon
    return 1.0 / (_B + _A * math.log(_C * epsilon - _D))  # from 2 on the argument is above 0


@dataclass(frozen=True, eq=False)
class RadiusLaw:
    """Law of R at s = 1, in bins.

    Attributes:
        edges: of the bins, ascending, shape (m + 1,).
        middles: mean R of a bin, shape (m,).
        masses: its probability, shape (m,); they sum to 1.
        median: of R.
    """

    edges: FloatArray
    middles: FloatArray
    masses: FloatArray
    median: float


@lru_cache(maxsize=4)
def radius_law(lexicon: Lexicon, nodes: int = _NODES) -> RadiusLaw:
    """Return the law of ‖N‖ for Laplace noise of the scales range_j."""
    kind = f"rantext-law-1-{_CELLS}-{_TAIL}-{_LEAST}-{nodes}"
    return cached_record(RadiusLaw, lexicon.fingerprint, kind, lambda: _law_of(lexicon, nodes))


def _law_of(lexicon: Lexicon, nodes: int) -> RadiusLaw:
    """Compute the law.

    R² = Σ range_j²·E_j² with exponential E_j: the masses of each term on a grid, and products of
    their Fourier transforms. A mass is split between the two grid points around it so that its mean
    is kept; the remaining spread is less than half a cell for each coordinate.
    """
    ranges = np.ptp(lexicon.vectors.astype(np.float64), axis=0)
    ranges = ranges[ranges > 0] / ranges.max()
    top = 2.0 * float((ranges**2).sum()) + _TAIL**2
    cell = top / _CELLS
    points = np.arange(_CELLS + 1) * cell
    product = np.ones(_CELLS + 1, dtype=np.complex128)
    for scale in ranges.tolist():
        product *= np.fft.rfft(_split(np.sqrt(points) / scale, scale**2, cell), 2 * _CELLS)
    mass = np.maximum(np.fft.irfft(product)[:_CELLS], 0.0)
    mass /= mass.sum()
    below = np.cumsum(mass)
    # Bins that are even in the logarithm of the odds: fine in both tails too.
    odds = np.linspace(math.log(_LEAST), -math.log(_LEAST), nodes + 1)
    cuts = np.unique(np.searchsorted(below, 1.0 / (1.0 + np.exp(-odds))))
    cuts = np.unique(np.concatenate(([0], cuts[(cuts > 0) & (cuts < _CELLS)], [_CELLS])))
    radii = np.sqrt(points[:_CELLS])
    masses = np.add.reduceat(mass, cuts[:-1])
    moments = np.add.reduceat(mass * radii, cuts[:-1])
    full = masses > 0
    unit = float(np.ptp(lexicon.vectors.astype(np.float64), axis=0).max())
    middles = np.where(full, moments / np.where(full, masses, 1.0), radii[cuts[:-1]])
    # Half a cell before the first grid point of a bin: where the masses begin.
    edges = np.sqrt(np.maximum(cuts - 0.5, 0.0) * cell)
    return RadiusLaw(
        unit * edges,
        unit * np.maximum(middles, math.sqrt(0.25 * cell)),
        masses / masses.sum(),
        unit * float(radii[int(np.searchsorted(below, 0.5))]),
    )


@dataclass(frozen=True)
class RadiusVariation:
    """Variation of the random distance.

    Attributes:
        share: its standard deviation, divided by its mean.
    """

    share: float


@lru_cache(maxsize=4)
def radius_variation(lexicon: Lexicon) -> RadiusVariation:
    """Compute the variation of ‖N‖; much faster than its law, and cached as that is."""
    return cached_record(
        RadiusVariation, lexicon.fingerprint, "rantext-variation-1", lambda: _variation_of(lexicon)
    )


def _variation_of(lexicon: Lexicon) -> RadiusVariation:
    """Compute the variation from two moments of R.

    E[R] = (2√π)^(−1) ∫ (1 − E[e^(−t·R²)])·t^(−3/2) dt, and E[e^(−t·r²·E²)] = √π·z·erfcx(z) with
    z = 1/(2r√t) for an exponential E; E[R²] = 2·Σ range_j².
    """
    from scipy.special import erfcx  # slow to import; a list of mechanisms reads the cache

    ranges = np.ptp(lexicon.vectors.astype(np.float64), axis=0)
    ranges = ranges[ranges > 0]
    square = 2.0 * float((ranges**2).sum())
    # The integrand falls like e^(−|u|/2) in u = ln(t·E[R²]) on both sides, and is smooth: the
    # trapezoid rule is exact to six digits. Further down 1 − E[…] would be lost in rounding.
    u = np.linspace(-30.0, 60.0, 901)
    z = 0.5 * np.exp(-0.5 * u)[:, None] * (math.sqrt(square) / ranges)
    with np.errstate(divide="ignore"):
        logs = np.log(math.sqrt(math.pi) * z * erfcx(z)).sum(axis=1)
    mean = (
        float(np.sum(-np.expm1(logs) * np.exp(-0.5 * u))) * (u[1] - u[0]) / math.sqrt(4 * math.pi)
    )
    share = math.sqrt(max(0.0, 1.0 / mean**2 - 1.0))  # in units of the root of E[R²]
    return RadiusVariation(share)


def _split(standard: FloatArray, square: float, cell: float) -> FloatArray:
    """Return masses of range²·E² at the grid points; each cell splits its mass, mean kept.

    Args:
        standard: √(grid)/range, shape (m + 1,).
        square: range².
        cell: distance of two grid points.
    """
    tail = np.exp(-standard)
    # E[X; a < X ≤ b] for X = range²·E²: −range²·(t² + 2t + 2)·e^−t between the ends.
    moment = -square * (standard**2 + 2.0 * standard + 2.0) * tail
    mass, first = -np.diff(tail), np.diff(moment)
    starts = np.arange(mass.size) * cell
    up = np.clip((first - starts * mass) / cell, 0.0, mass)
    result = np.zeros(mass.size)
    result += mass - up
    result[1:] += up[:-1]
    return result


@lru_cache(maxsize=4)
def _distant_words(lexicon: Lexicon) -> tuple[tuple[int, FloatArray], tuple[int, FloatArray]]:
    """Return the word farthest from the mean and the word farthest from it, with distances (n,)."""
    vectors = lexicon.vectors
    mean = vectors.mean(axis=0, dtype=np.float64)
    one = int(distances(vectors, mean[None])[0].argmax())
    apart = distances(vectors, vectors[[one]])[0]
    other = int(apart.argmax())
    return (one, apart), (other, distances(vectors, vectors[[other]])[0])


@lru_cache(maxsize=256)
def _counterexample(lexicon: Lexicon, epsilon: float) -> tuple[str, str, str, float]:
    """Return the output that best separates two distant words, the words, and a loss bound.

    The last number is a lower bound on the loss.
    """
    best = ("", "", "", 0.0)
    (one, apart), (other, apart_other) = _distant_words(lexicon)
    law, scale = radius_bounds(lexicon), noise_scale(epsilon)
    with np.errstate(divide="ignore"):
        low, high = np.log(law_bounds(law, apart, scale, epsilon))
        low_other, high_other = np.log(law_bounds(law, apart_other, scale, epsilon))
    for first, second, pair in ((low, high_other, (one, other)), (low_other, high, (other, one))):
        losses = first - np.maximum(second, -_DEEPEST)
        place = int(losses.argmax())
        if losses[place] > best[3]:
            output, word, second_word = (lexicon.words[index] for index in (place, *pair))
            best = (output, word, second_word, float(losses[place]))
    return best


@dataclass(frozen=True, eq=False, kw_only=True)
class RanText(ExactMechanism):
    """Exponential mechanism over the words within a random distance, or a fixed one."""

    key = "rantext.v1"
    short = "rantext"
    title = "RANTEXT"
    summary = "Draws a distance at random, and chooses among the words that are nearer than that"
    source = "Tong et al. 2023 (InferDPT); code mengtong0110/InferDPT at 2931e0b"
    cited: ClassVar[tuple[str, ...]] = ("tong2023inferdpt",)
    meaning = EpsilonMeaning.LOCAL
    law_method: ClassVar[str] = "quadrature"
    log_error = None  # `log_bounds` has the bounds

    form: str = parameter(
        "published",
        help="published: words beyond a random distance never come out; fixed: the distance is "
        "the median, and words beyond it score 0, so that ε holds",
        choices=("published", "fixed"),
    )

    @property
    def law_bounded(self) -> bool:
        """True for the published form: its integral gives an interval for each probability."""
        return self.form == "published"

    @property
    def never_proved(self) -> bool:
        """True for the published form."""
        return self.form == "published"

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the guarantee: ε between any two words, refuted if two distant words show it.

        Else it holds up to a δ; it is proved for a fixed distance.
        """
        value = self.check_epsilon(epsilon)
        status, reason = Status.CONDITIONAL, ""
        if self.form == "published":
            short = delta_at_most(math.log(self.falls_short(value)))
            output, one, other, loss = _counterexample(self.lexicon, value)
            excluded = Filled(
                "Words beyond the random distance are not candidates, where the exponential "
                "mechanism would give them the least score. The distance falls short of the "
                "largest between two words with probability at most {short}",
                short=Numeral(short),
            )
            if loss > value:
                status = Status.REFUTED
                reason = Filled(
                    "{excluded}. On this lexicon the output “{output}” has a loss of at least "
                    "{loss} between “{one}” and “{other}”. The form “fixed” holds.",
                    excluded=excluded,
                    output=output,
                    loss=Numeral(at_least(loss)),
                    one=one,
                    other=other,
                )
            else:
                reason = Filled(
                    "{excluded}, and up to that δ the guarantee holds. Whether every output keeps "
                    "ε, only an audit can tell: two distant words do not refute it.",
                    excluded=excluded,
                )
        if self.form == "fixed":
            status = Status.PROVED
            reason = Filled(
                "The score max(0, 1 − d/R) lies between 0 and 1 for a public R, and every word may "
                "come out: weight and normaliser change by a factor of at most e^(ε/2) each."
            )
        return PureLocalPrivacy(
            epsilon=value,
            status=status,
            reason=reason,
            source=self.source,
            rounding=weights_rounding(value * 2.0**-48) if self.form == "fixed" else None,
        )

    def falls_short(self, epsilon: float) -> float:
        """Bound P(R ≤ Δ), Δ at least all distances; if R > Δ, all words are candidates.

        So ε holds at every ε up to a δ of this probability.
        """
        reach = 2.0 * self.lexicon.largest_norm / noise_scale(epsilon)
        return radius_bounds(self.lexicon).within(reach * (1.0 + 1e-9))

    @property
    def caution(self) -> str:
        """Warning that the distance hardly varies."""
        if self.form == "fixed":
            return ""
        return Filled(
            "The random distance hardly varies (by {share:.0%} of its mean): a word beyond it is "
            "ruled out nearly for certain",
            share=radius_variation(self.lexicon).share,
        )

    # -- the law

    def log_law(self, word: int, epsilon: float, *, ranking: Ranking | None = None) -> FloatArray:
        """Return ln P(y | word), shape (n,); −∞ where no R of the integral reaches."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        distance = self.distances(index, ranking)
        if self.form == "fixed":
            reach = noise_scale(value) * radius_law(self.lexicon).median
            scores = -0.5 * value * np.minimum(distance / reach, 1.0)
            return np.asarray(scores - math.log(float(np.exp(scores).sum())))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._enclosed(distance, value)[0]))

    def law(
        self,
        word: int | str,
        epsilon: float | FloatArray | Sequence[float],
        *,
        rng: np.random.Generator | None = None,
        ranking: Ranking | None = None,
        effort: Effort | None = None,
    ) -> Law:
        """Return the exact law; its error is that of the widest interval, rounded outwards."""
        if self.form == "fixed":
            return super().law(word, epsilon, rng=rng, ranking=ranking, effort=effort)
        index, values = int(self.check_words([word])[0]), self.check_epsilons(epsilon)
        distance = self.distances(index, ranking)
        rows = [self._enclosed(distance, value) for value in values.tolist()]
        worst = (float(np.maximum(high - row, row - low).max()) for row, low, high in rows)
        return Law(
            lexicon=self.lexicon, word=index, epsilons=values, outputs=np.arange(len(self.lexicon)),
            probabilities=np.reshape([row for row, _, _ in rows], (len(rows), len(self.lexicon))),
            exact=True, error=max(worst, default=0.0), method=self.law_method,
        )  # fmt: skip

    def log_bounds(
        self, word: int, epsilon: float, *, ranking: Ranking | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return ln of `rantext_bounds.law_bounds`; −∞ below where nothing was computed."""
        index, value = int(self.check_words([word])[0]), self.check_epsilon(epsilon)
        if self.form == "fixed":
            logs = self.log_law(index, value, ranking=ranking)
            error = _ROUNDING * (1.0 + value)  # a few roundings of a score, and of ln Z
            return logs - error, logs + error
        law, distance = radius_bounds(self.lexicon), self.distances(index, ranking)
        with np.errstate(divide="ignore"):
            low, high = np.log(law_bounds(law, distance, noise_scale(value), value))
        return low, high

    def doubted_log_law(
        self, word: int, epsilon: float, ranking: Ranking
    ) -> tuple[FloatArray, FloatArray, str]:
        """Return ln P, errors from the distances to the bounds, and the method."""
        if self.form == "fixed":
            logs = self.log_law(word, epsilon, ranking=ranking)
            return logs, np.full_like(logs, _ROUNDING * (1.0 + epsilon)), self.law_method
        value = self.check_epsilon(epsilon)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, low, high = np.log(self._enclosed(self.distances(word, ranking), value))
            return logs, np.fmax(high - logs, logs - low), self.law_method

    def _enclosed(
        self, distance: FloatArray, epsilon: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P(y | x) as published and its bounds, shapes (n,); the bounds cost most."""
        law, scale = radius_law(self.lexicon), noise_scale(epsilon)
        order = np.argsort(distance, kind="stable")
        near, result = distance[order] / scale, np.zeros(distance.size)
        # Only the part of a bin beyond a word's distance has the word as a candidate.
        inside = np.searchsorted(near, law.edges)
        for i, (mass, middle) in enumerate(zip(law.masses, law.middles, strict=True)):
            if mass > 0:
                some, cut = near[: max(1, inside[i + 1])], max(1, inside[i])
                weights = np.exp(-0.5 * epsilon * (some / middle))
                width = law.edges[i + 1] - law.edges[i]
                weights[cut:] *= (law.edges[i + 1] - some[cut:]) / width
                result[: some.size] += mass / weights.sum() * weights
        undone = np.empty_like(result)
        undone[order] = result
        low, high = law_bounds(radius_bounds(self.lexicon), distance, scale, epsilon)
        return law_within(undone, low, high), low, high

    # -- draws

    def sample(
        self,
        rng: np.random.Generator,
        words: IntArray,
        epsilon: float,
        *,
        index: NeighbourIndex | None = None,
    ) -> IntArray:
        """Draw as published: a noise vector for each entry, then a word within its length."""
        if self.form == "fixed":
            return super().sample(rng, words, epsilon, index=index)
        self.check_index(index)
        entries, value = self.check_words(words), self.check_epsilon(epsilon)
        return self._drawn(rng, entries, np.array([value]), None)[:, 0]

    def bulk(self, epsilon: float) -> Bulk:
        """Return a sampler that handles one document at a time: each draw has its own distance."""
        return super().bulk(epsilon) if self.form == "fixed" else OneByOne(self, epsilon)

    def sweep(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        progress: Progress,
    ) -> IntArray:
        """Draw as published, equal words in one block: far less work than their laws."""
        if self.form == "fixed":
            return super().sweep(rng, entries, epsilons, progress)
        order = np.argsort(entries, kind="stable")
        outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
        outputs[order] = by_paths(self, rng, entries[order], epsilons, progress)
        return outputs

    def paths(
        self,
        rng: np.random.Generator,
        words: IntArray,
        *,
        rankings: Sequence[Ranking] | None = None,
        epsilons: FloatArray | None = None,
    ) -> EpsilonPaths:
        """Draw once per entry on a grid of ε: fixed noise, whose length alone depends on ε."""
        if self.form == "fixed":
            return super().paths(rng, words, rankings=rankings, epsilons=epsilons)
        entries = self.check_words(words)
        points = self.grid() if epsilons is None else np.sort(self.check_epsilons(epsilons))
        return EpsilonPaths.of_grid(entries, points, self._drawn(rng, entries, points, rankings))

    def _drawn(
        self,
        rng: np.random.Generator,
        entries: IntArray,
        epsilons: FloatArray,
        rankings: Sequence[Ranking] | None,
    ) -> IntArray:
        """Return outputs from one noise vector and one set of Gumbel numbers an entry, (k, E)."""
        ranges = np.ptp(self.lexicon.vectors.astype(np.float64), axis=0)
        outputs = np.empty((entries.size, epsilons.size), dtype=np.int64)
        scales = [noise_scale(epsilon) for epsilon in epsilons.tolist()]
        vectors = self.lexicon.vectors
        for start in range(0, entries.size, _BLOCK):
            block = entries[start : start + _BLOCK]
            lengths = np.linalg.norm(ranges * rng.laplace(size=(block.size, ranges.size)), axis=1)
            noise = standard_gumbel(rng, (block.size, len(self.lexicon)))
            words, places = by_word(block)
            if rankings is None:
                away = distances(vectors, vectors[words], Metric.EUCLIDEAN)
            else:
                known = (rankings[start + int(members[0])] for members in places)
                away = np.array([self.distances(*each) for each in zip(words, known, strict=True)])
            for distance, members in zip(away, places, strict=True):
                for e, (epsilon, scale) in enumerate(zip(epsilons, scales, strict=True)):
                    radius = scale * lengths[members][:, None]
                    scores = noise[members] - 0.5 * epsilon * (distance / radius)
                    scores[distance >= radius] = -math.inf
                    outputs[start + members, e] = scores.argmax(axis=1)
        return outputs
