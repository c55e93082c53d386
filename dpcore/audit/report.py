"""Audit of one mechanism at one ε, by the method that says most about it.

A finite exact law is compared pair by pair; noise on clipped vectors has its privacy profile; noise
at ε per unit of distance is proved, and its sampler is tested. `any_inputs_report` needs no
vocabulary, `audit` is the entry point for mechanisms and for functions, and `AuditSettings` has the
parameters of audited claims.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from dpcore.arguments import describe
from dpcore.arrays import a_number, largest
from dpcore.audit.blackbox.audit import audit_function
from dpcore.audit.blackbox.function import Form, Function
from dpcore.audit.blackbox.replay import replay_function
from dpcore.audit.blackbox.report import FunctionReport, ReplayReport
from dpcore.audit.exact import audit_mechanism
from dpcore.audit.montecarlo import resolution
from dpcore.audit.profiles.noise import pair_profile, smallest_epsilon, worst_pair, worst_profile
from dpcore.audit.profiles.profile import searched_shares, spread_shift
from dpcore.audit.samplers import noise_report
from dpcore.audit.verdict import Outcome, SamplerTest
from dpcore.display import card
from dpcore.errors import ParameterError
from dpcore.guarantee import ApproximateLocalPrivacy, Guarantee, Status
from dpcore.lexicon.catalogue import lexicon_option
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_DRAWS, MAX_AUDIT_ENTRIES, MAX_DIMENSION
from dpcore.mechanisms.clipped.clipped import ClippedMechanism
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create, resolve
from dpcore.noise.streams import check_seed
from dpcore.outwards import at_least, at_most
from dpcore.written import Filled

_PAIR_WORDS = 1000
_WIDE = 1e-3  # bounds that are farther apart are shown as two numbers
_CHECKED = 1e-8  # ε is checked to eight digits: more than rounding takes from a closed form
_NOISE_DRAWS = 4000  # see a scale that is off by 2 %


@dataclass(frozen=True)
class Worst:
    """The two words that are least protected, and the output that tells them apart.

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
    """Claim about a mechanism, and the ε and δ found to be true.

    Attributes:
        claimed_epsilon: ε of the guarantee.
        claimed_log_delta: ln δ of the guarantee; −∞ for a pure one.
        epsilon_effective: the smallest ε that is true at the claimed δ; ∞ if none is.
        delta_true: the smallest δ that is true at the claimed ε.
        error: bound on, or estimate of, the numerical error of `epsilon_effective`.
        epsilon_most: a bound on the true ε from above, where one was computed; else ∞.
        outcome: verdict on the claim.
        label: the outcome with its extent.
        worst: the least protected words; None if there are none to name.
        method: of computation, in words.
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
        """Refuse NaN, which would compare as if the claim held.

        Raises:
            ComputationError: ε, δ or the error is NaN.
        """
        a_number(self.epsilon_effective, "the true ε")
        a_number(self.delta_true, "the true δ")
        a_number(self.error, "the error of the true ε")
        a_number(self.epsilon_most, "the bound on the true ε")

    def __repr__(self) -> str:
        """Return one line with the claim, the true ε and δ, and the verdict."""
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
        """True if the true ε is known only to lie between bounds that are some digits apart."""
        return self.sampler is None and self.error > _WIDE * self.epsilon_effective

    @property
    def between(self) -> str:
        """The bounds on the true ε, rounded outwards."""
        if not self.epsilon_most < math.inf:
            return f"≥ {at_least(self.epsilon_effective)}, no upper bound is known"
        low, high = at_least(self.epsilon_effective), at_most(self.epsilon_most)
        return f"between {low} and {high}"

    def _repr_html_(self) -> str:
        """Return the verdict as a card: the figures, the least protected words, the method."""
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
        seed: of every random choice.
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


def _judge(guarantee: Guarantee, holds: bool, checked: bool, extent: str) -> tuple[Outcome, str]:
    """Return the verdict: a violation refutes; else the proof decides, else the check.

    Args:
        guarantee: the claim.
        holds: True if no violation was found.
        checked: True if there is none: every pair was compared, and no error can hide one.
        extent: of the comparison, in words.
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
            # An impossible output has ln P = −∞, which JSON lacks.
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
    log_delta = -math.inf
    if isinstance(guarantee, ApproximateLocalPrivacy):
        log_delta = guarantee.log_delta
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
    # The law rests on its proof alone: no number of draws could confirm it.
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


# Noise alone: between any two clipped inputs of d coordinates, without a vocabulary.
#
# The guarantee of noise on a clipped vector does not depend on the words. Pairs of opposite inputs
# replace the lexicon, one for each difference that `profile.worst_product` searches, so the report
# names the two inputs that are least protected.


_SHOWN = 2  # coordinates of an input that are printed
_ALIKE = 1e-6  # relative: such differences of δ are rounding of the inputs; the first is named


def on_any_inputs(name: str, dimension: str | int, settings: Mapping[str, Any]) -> Mechanism:
    """Create a mechanism over opposite inputs of norm C in d dimensions; C is 1 if it is not set.

    Args:
        name: of a mechanism that adds noise to a clipped vector.
        dimension: d, from 1 to `limits.MAX_DIMENSION`; a text is read as a whole number.
        settings: parameters of the mechanism; may be strings, as a command line gives them.

    Raises:
        ParameterError: the mechanism's loss depends on its vocabulary, or an argument is refused.
    """
    kind = resolve(name)
    if kind.clip_power is None:
        raise ParameterError(
            f"{kind.short} cannot be audited in d dimensions alone, because its privacy loss "
            "depends on the words and their distances: leave out d, and name a lexicon"
        )
    try:
        d = int(dimension)
    except ValueError:
        d = 0
    if not 1 <= d <= MAX_DIMENSION:
        raise ParameterError(
            f"d must be a whole number from 1 to {MAX_DIMENSION:,}, got {str(dimension)[:40]!r}"
        )
    inputs = _inputs(d, kind.clip_power)
    # C only sets the unit of the inputs: the same ε and δ are true for every C.
    return create(name, inputs, {"clip_norm": 1.0} | dict(settings))


def _inputs(dimension: int, power: int) -> Lexicon:
    """Make opposite inputs, half a difference each, that clipping will bring to norm C."""
    longest = float(ClippedMechanism.parameters()["clip_norm"]["high"])
    names: list[str] = []
    rows: list[np.ndarray] = []
    for share in searched_shares(dimension):
        half = spread_shift(1.0, dimension, share, power)
        for name, row in (("x", half), ("−x", -half)):
            numbers = ", ".join(f"{value:.4g}" for value in row[:_SHOWN] + 0.0).replace("-", "−")
            names.append(f"{name} = C·({numbers}{', …' if dimension > _SHOWN else ''})")
            rows.append(longest * row)
    vectors = np.array(rows, dtype=np.float32)
    return Lexicon(f"inputs of {dimension} coordinates", tuple(names), vectors)


def any_inputs_report(mechanism: Mechanism, epsilon: float) -> AuditReport:
    """Audit a mechanism that `on_any_inputs` made, at its claimed ε."""
    value = mechanism.check_epsilon(epsilon)
    report = audit_report(mechanism, value)
    firsts = range(0, len(mechanism.lexicon), 2)
    deltas = [pair_profile(mechanism, value, i, i + 1).delta(value)[0] for i in firsts]
    most = largest(np.array(deltas), "a δ")[1]
    place = int(np.argmax(np.array(deltas) >= (1.0 - _ALIKE) * most))
    first, second = mechanism.lexicon.words[2 * place : 2 * place + 2]
    return dataclasses.replace(
        report,
        worst=Worst(first, second, delta=deltas[place]),
        method=(
            f"privacy profile of the noise at d = {mechanism.lexicon.dimension}, between any two "
            "clipped inputs: the worst of the differences that were searched is from x to −x"
        ),
    )


# One entry point for all audits: a mechanism has a law, a function only outputs.


@overload
def audit(
    subject: Mechanism,
    epsilon: float,
    *,
    words: int | None = ...,
    pairs: int | None = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> AuditReport: ...
@overload
def audit(
    subject: Function | str,
    epsilon: float,
    *,
    lexicon: Lexicon | None = ...,
    metric: str | Metric = ...,
    delta: float = ...,
    samples: int = ...,
    seed: int = ...,
    error: float = ...,
    form: Form | str = ...,
    progress: Progress = ...,
) -> FunctionReport: ...
@overload
def audit(
    subject: Function | str,
    epsilon: float | None = None,
    *,
    replay: Literal[True],
    lexicon: Lexicon | None = ...,
    texts: Sequence[str] | None = ...,
    form: str = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> ReplayReport: ...
def audit(
    subject: Any, epsilon: float | None = None, *, replay: bool = False, **options: Any
) -> AuditReport | FunctionReport | ReplayReport:
    """Audit a claim of ε about a mechanism or a function.

    Args:
        subject: a mechanism, whose law is compared (`dpcore.audit.report.audit_report`); or any
            function from words to words, or its name `package.module:function`, of which only
            outputs are known (`dpcore.audit.blackbox.audit.audit_function`).
        epsilon: the claimed ε; a replay needs it only for a function that takes ε.
        replay: True for a function from text to text whose random draws are recorded and replayed
            (`dpcore.audit.blackbox.replay.replay_function`): which depend on the text?
        options: further arguments of the one or the other.

    Raises:
        ParameterError: neither of them, or a mechanism to replay.
    """
    if not isinstance(replay, bool):
        raise ParameterError(f"replay must be True or False, got {describe(replay)}")
    if replay and isinstance(subject, Mechanism):
        raise ParameterError(
            "a replay needs a function from text to text, such as `lambda text: "
            "dp.release(dp.read(text, lexicon), mechanism, epsilon)`, got a mechanism"
        )
    if replay and (callable(subject) or isinstance(subject, str)):
        return replay_function(subject, epsilon, **options)
    claimed: Any = epsilon  # None is refused as any other value that is no ε
    if isinstance(subject, Mechanism):
        return audit_report(subject, claimed, **options)
    if not (callable(subject) or isinstance(subject, str)):
        raise ParameterError(
            "an audit needs a mechanism, a function from words to words, or the name of one, got "
            f"a value of type {type(subject).__name__}"
        )
    return audit_function(subject, claimed, **options)


# Parameters at which claims are audited.


LARGEST_DELTA = 0.5


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """Settings of the table of claims that a page or a command may change.

    Attributes:
        epsilon: ε of claims between any two words, and of ε per unit of distance.
        delta: δ where a claim has one (but TrLaplace's, which is `delta_root`^d).
        delta_root: δ^{1/d} of TrLaplace as published.
        latent: n, the coordinates of ADePT's latent vector.
        clip_norm: C; None for the largest norm of the lexicon.
        edge: truncated Gumbel is audited at this multiple of its lowest ε.
        words: private words compared where laws are expensive (truncated Gumbel; its repair takes
            five times and TEM ten times as many).
        draws: noise vectors that test a sampler (4,000 see a scale that is off by 2 %), and draws
            of a word for a Monte Carlo bound.
        seed: of every sample.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    delta_root: float = 0.25
    latent: int = 32
    clip_norm: float | None = None
    edge: float = 1.01
    words: int = 6
    draws: int = 4000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings at which no claim can be audited."""
        if not 0 < self.epsilon < math.inf:
            raise ParameterError(f"epsilon must be a finite number > 0, got {self.epsilon}")
        if not 0 < self.delta <= LARGEST_DELTA:
            raise ParameterError(
                f"delta must be > 0 and at most {LARGEST_DELTA}, got {self.delta}: use "
                "a small one, such as 1e-5"
            )
        if not 0 < self.delta_root < 1:
            raise ParameterError(f"delta_root must be between 0 and 1, got {self.delta_root}")
        if not 1 < self.edge < math.inf:
            raise ParameterError(f"edge must be a finite number > 1, got {self.edge}")
        if self.clip_norm is not None and not 0 < self.clip_norm < math.inf:
            raise ParameterError(f"clip_norm must be a finite number > 0, got {self.clip_norm}")
        bounds = {
            "latent": (1, MAX_DIMENSION),
            "words": (2, 5000),
            "draws": (1000, MAX_AUDIT_DRAWS),
        }
        for name, (low, high) in bounds.items():
            if not low <= getattr(self, name) <= high:
                raise ParameterError(
                    f"{name} must be from {low:,} to {high:,}, got {getattr(self, name)}"
                )
        check_seed(self.seed)

    def sample(self, lexicon: Lexicon, times: int = 1) -> tuple[int, str]:
        """Return the number of private words to compare, and a sentence if it had to be reduced.

        It is the least of `times` times `words`, the size of the lexicon, and the number of
        laws that fit in memory.
        """
        n, asked = len(lexicon), times * self.words
        # A law has n entries, and those of all compared words are in memory at once.
        most = MAX_AUDIT_ENTRIES // n
        if min(asked, n) <= most:
            return min(asked, n), ""
        return most, Filled(
            " Of the {asked:,} words asked for {most:,} are compared, the most here.",
            asked=asked,
            most=most,
        )

    def moved_to(self, epsilon: float, reason: str) -> str:
        """Return a sentence if a claim is audited at another ε than `self.epsilon`, else ""."""
        if epsilon == self.epsilon:
            return ""
        return Filled(
            " Audited at ε = {epsilon:.4g} and not at {asked:.4g}: {reason}.",
            epsilon=epsilon,
            asked=self.epsilon,
            reason=reason,
        )

    def command(self, key: str, lexicon: Lexicon, *names: str) -> str:
        """Return the command that repeats the audit of one claim.

        Args:
            key: of the claim.
            lexicon: the vocabulary.
            names: of the settings that this claim uses; only those that are not the default are
                written.
        """
        return f"python -m dpcore audit --claim {key}{self.options(lexicon, *names)}"

    def options(self, lexicon: Lexicon, *names: str) -> str:
        """Return the options of that command: settings that are not defaults, and the lexicon."""
        plain = AuditSettings()
        changed = [
            f"--at {name}={getattr(self, name)}"
            for name in names
            if getattr(self, name) != getattr(plain, name)
        ]
        where = [shlex.quote(word) for word in lexicon_option(lexicon)]
        return "".join(f" {part}" for part in (*changed, *where))
