"""The audit of one mechanism at one ε: whichever method can say most about it.

A finite exact law is compared pair by pair; noise on clipped vectors has its privacy profile; noise
at ε per unit of distance is proved, and its sampler is tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import a_number
from dpcore.audit.exact.laws import audit_mechanism
from dpcore.audit.montecarlo import resolution
from dpcore.audit.profiles.noise import pair_profile, smallest_epsilon, worst_pair, worst_profile
from dpcore.audit.samplers import noise_report
from dpcore.audit.verdict import Outcome, SamplerTest
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Status
from dpcore.lexicon.progress import Progress, silent
from dpcore.outwards import at_least, at_most

if TYPE_CHECKING:
    from dpcore.guarantee import Guarantee
    from dpcore.mechanisms.mechanism import Mechanism

_PAIR_WORDS = 1000
_WIDE = 1e-3  # bounds that are farther apart are shown as two numbers
_CHECKED = 1e-8  # ε is checked to eight digits: more than rounding takes from a closed form
_NOISE_DRAWS = 4000  # see a scale that is off by 2 %


@dataclass(frozen=True)
class Worst:
    """The two words that are least protected, and what tells them apart.

    Attributes:
        word: w.
        other: w′.
        output: y, if an output was found that tells them apart most.
        distance: d(w, w′) in the metric of the claim; None for a claim between any two words.
        log_probability: ln P(y|w).
        other_log_probability: ln P(y|w′); None if it is 0.
        delta: δ of these two at the claimed ε.
    """

    word: str
    other: str
    output: str | None = None
    distance: float | None = None
    log_probability: float | None = None
    other_log_probability: float | None = None
    delta: float | None = None


@dataclass(frozen=True)
class AuditReport:
    """What was claimed, and what is true.

    Attributes:
        claimed_epsilon: ε of the guarantee.
        claimed_log_delta: ln δ of the guarantee; −∞ for a pure one.
        epsilon_effective: the smallest ε that is true at the claimed δ; ∞ if none is.
        delta_true: the smallest δ that is true at the claimed ε.
        error: bound on, or estimate of, the numerical error of `epsilon_effective`.
        epsilon_most: a bound on the true ε from above, where one was computed; else ∞.
        outcome: what is known.
        label: the outcome with its extent.
        worst: who is least protected, if that was asked.
        method: how it was computed, in words.
        resolution: the largest ε that the draws could have shown; None if nothing was drawn.
        sampler: the test of the sampler, where a proof decides about the law; then
            `epsilon_effective` is the ε of that proof, an upper bound of the smallest.
    """

    claimed_epsilon: float
    claimed_log_delta: float
    epsilon_effective: float
    delta_true: float
    error: float
    outcome: Outcome
    label: str
    worst: Worst | None
    method: str
    resolution: float | None
    sampler: SamplerTest | None = None
    epsilon_most: float = math.inf

    def __post_init__(self) -> None:
        """Refuse NaN: it would compare as if the claim held.

        Raises:
            ComputationError: ε, δ or the error is NaN.
        """
        a_number(self.epsilon_effective, "the true ε")
        a_number(self.delta_true, "the true δ")
        a_number(self.error, "the error of the true ε")
        a_number(self.epsilon_most, "the bound on the true ε")

    def __repr__(self) -> str:
        """One line: what was claimed, what is true, and what is known."""
        return f"AuditReport({self.label}: {self._figures})"

    @property
    def _figures(self) -> str:
        claimed = f"claimed ε = {self.claimed_epsilon:.6g}"
        if self.claimed_log_delta > -math.inf:
            claimed += f" with δ = e^{self.claimed_log_delta:.6g}"
        if not math.isfinite(self.epsilon_effective):
            return f"{claimed}, no ε is true"
        sign = "=" if self.sampler is None else "≤"
        true = f"true ε {sign} {self.epsilon_effective:.6g}"
        if self.bounded:
            true = f"true ε {self.between}"
        return f"{claimed}, {true}, δ at the claimed ε = {self.delta_true:.3g}"

    @property
    def bounded(self) -> bool:
        """Whether the true ε is known only to lie between bounds that are some digits apart."""
        return self.sampler is None and self.error > _WIDE * self.epsilon_effective

    @property
    def between(self) -> str:
        """The bounds on the true ε, rounded outwards."""
        if not self.epsilon_most < math.inf:
            return f"≥ {at_least(self.epsilon_effective)}, no upper bound is known"
        low, high = at_least(self.epsilon_effective), at_most(self.epsilon_most)
        return f"between {low} and {high}"

    def _repr_html_(self) -> str:
        """The verdict as a card: the figures, who is least protected, the method."""
        from dpcore.display import card

        least = ""
        if self.worst is not None:
            output = "" if self.worst.output is None else f", by the output “{self.worst.output}”"
            least = f"Least protected: “{self.worst.word}” against “{self.worst.other}”{output}"
        figures = self._figures[0].upper() + self._figures[1:]
        return card(f"Audit: {self.label}", figures, least, f"Method: {self.method}")


def audit_report(
    mechanism: Mechanism,
    epsilon: float,
    *,
    words: int | None = None,
    pairs: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> AuditReport:
    """Audit a mechanism by the method that says most about it.

    Args:
        mechanism: any of the registry.
        epsilon: the claimed ε.
        words: private words to draw; None: all, if they are not too many.
        pairs: instead, pairs to draw (exact laws only).
        seed: of what is drawn.
        progress: called with (stage, done, total).

    Raises:
        ParameterError: too many words, or a sample where there is nothing to sample.
    """
    value = mechanism.check_epsilon(epsilon)
    if mechanism.exact_law:
        return _exact(mechanism, value, words, pairs, seed, progress)
    if pairs is not None:
        raise ParameterError(
            f"{mechanism.short} has no exact law to compare pairs by: leave out the pairs"
        )
    if mechanism.clip_power is not None:
        return _profile(mechanism, value, words, seed)
    return _sampler(mechanism, value, seed)


def _claimed_log_delta(guarantee: Guarantee) -> float:
    return guarantee.log_delta if isinstance(guarantee, ApproximateLocalPrivacy) else -math.inf


def _judge(guarantee: Guarantee, holds: bool, checked: bool, extent: str) -> tuple[Outcome, str]:
    """A violation refutes; else the proof decides, else the check.

    Args:
        guarantee: what is claimed.
        holds: whether no violation was found.
        checked: whether there is none: every pair was compared, and no error can hide one.
        extent: what was compared.
    """
    if not holds:
        outcome = Outcome.REFUTED
    elif guarantee.status is Status.PROVED:
        outcome = Outcome.PROVED
    elif checked or guarantee.status is Status.CERTIFIED:
        outcome = Outcome.CHECKED
    else:
        return Outcome.NOT_REFUTED, f"{Outcome.NOT_REFUTED} ({extent})"
    return outcome, str(outcome)


def _exact(
    mechanism: Mechanism,
    epsilon: float,
    words: int | None,
    pairs: int | None,
    seed: int,
    progress: Progress,
) -> AuditReport:
    audit = audit_mechanism(
        mechanism, epsilon, words=words, pairs=pairs, seed=seed, progress=progress
    )
    losses, names = audit.losses, mechanism.lexicon.words
    worst = None
    if losses.worst is not None:
        triple = losses.worst
        unlikely = triple.other_log_probability
        worst = Worst(
            names[triple.word],
            names[triple.other],
            names[triple.output],
            triple.distance,
            triple.log_probability,
            unlikely if math.isfinite(unlikely) else None,
        )
    guarantee = mechanism.guarantee(epsilon)
    # Refuted only by more than the numerical error; and where a mechanism can bound the two
    # probabilities without quadrature, these bounds decide.
    beyond = audit.least > epsilon * (1 + 1e-9)
    method = audit.method
    if losses.worst is not None and beyond:
        pair = losses.worst.word, losses.worst.other
        least = mechanism.least_epsilon(epsilon, *pair, losses.worst.output, losses.worst.distance)
        if least is not None:
            beyond = least > epsilon
            method += (
                f"; bounds on both probabilities of the worst triple leave ε ≥ {at_least(least, 6)}"
            )
    extent = f"{losses.pairs:,} pairs of words"
    if audit.complete and not audit.most < math.inf:
        extent += "; the true ε has no known upper bound"
    elif audit.complete:
        extent += f"; the true ε may be up to {at_most(audit.most)}"
    checked = audit.complete and audit.most <= epsilon * (1 + _CHECKED)
    outcome, label = _judge(guarantee, not beyond, checked, extent)
    return AuditReport(
        claimed_epsilon=epsilon,
        claimed_log_delta=-math.inf,
        epsilon_effective=losses.epsilon_effective,
        delta_true=losses.delta,
        error=audit.error,
        outcome=outcome,
        label=label,
        worst=worst,
        method=method,
        resolution=None,
        epsilon_most=audit.most if audit.complete else math.inf,
    )


def _profile(mechanism: Mechanism, epsilon: float, words: int | None, seed: int) -> AuditReport:
    guarantee = mechanism.guarantee(epsilon)
    log_delta = _claimed_log_delta(guarantee)
    curve = worst_profile(mechanism, epsilon, np.array([epsilon]))
    count = min(_PAIR_WORDS, len(mechanism.lexicon)) if words is None else words
    pair = worst_pair(mechanism, epsilon, words=count, seed=seed)
    names = mechanism.lexicon.words
    low = pair_profile(mechanism, epsilon, pair.word, pair.other).delta(epsilon)[0]
    effective = smallest_epsilon(mechanism, epsilon, log_delta)
    low_delta = float(curve.low[0])
    # The lower bound on δ decides, so that the error of the profile refutes nothing; the tolerances
    # leave room for the rounding of calibrated noise.
    holds = low_delta <= math.exp(log_delta) * (1 + 1e-9) and effective <= epsilon * (1 + 1e-6)
    outcome, label = _judge(guarantee, holds, False, "the differences that were searched")
    return AuditReport(
        claimed_epsilon=epsilon,
        claimed_log_delta=log_delta,
        epsilon_effective=effective,
        delta_true=low_delta,
        error=curve.error,
        outcome=outcome,
        label=label,
        worst=Worst(names[pair.word], names[pair.other], delta=low),
        method=(
            "privacy profile of the noise for the worst of the differences that were searched; the "
            f"words are the least protected pair among {pair.words:,}"
        ),
        resolution=None,
    )


def _sampler(mechanism: Mechanism, epsilon: float, seed: int) -> AuditReport:
    guarantee = mechanism.guarantee(epsilon)
    report = noise_report(mechanism, epsilon, _NOISE_DRAWS, seed)
    test = report.test
    law = Outcome.PROVED if guarantee.status is Status.PROVED else Outcome.CONDITIONAL
    return AuditReport(
        claimed_epsilon=guarantee.epsilon,
        claimed_log_delta=-math.inf,
        epsilon_effective=guarantee.epsilon,
        delta_true=0.0,
        error=0.0,
        outcome=test.judged(law),
        label=test.label(str(law)),
        worst=None,
        method=(
            f"the proof, for the law ({guarantee.reason}); for the sampler {report.sentence} "
            "Draws of words could not show such an ε."
        ),
        resolution=resolution(report.draws),
        sampler=test,
        epsilon_most=guarantee.epsilon if law is Outcome.PROVED else math.inf,
    )
