"""Claims about TrLaplace (A8; Huang et al. 2024): Theorems 3 and 4, and the corrected cut."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.audit.profiles.noise import pair_profile, worst_pair
from dpcore.audit.profiles.profile import product, spread_shift
from dpcore.audit.verdict import Condition, Outcome
from dpcore.mechanisms.clipped.clipped import ClippedLaplace
from dpcore.mechanisms.clipped.gaussian import analytic_sigma
from dpcore.mechanisms.clipped.trlaplace import TrLaplace, TrLaplaceCorrected
from dpcore.mechanisms.clipped.truncation import worst_delta, worst_delta_bound
from dpcore.papers.huang2024.claims_clipped import SETTING_NAMES, clipped_verdict

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number, Verdict
    from dpcore.lexicon.lexicon import Lexicon

OUT_OF_RANGE = "the published formula has no noise for so large an ε; this is half its limit"
_PAIR_WORDS = 1000  # words among which the least protected pair is searched


def published_trlaplace(lexicon: Lexicon, settings: AuditSettings) -> tuple[TrLaplace, float]:
    """TrLaplace as published, and ε or, where ε is beyond its range, half the largest."""
    mechanism = TrLaplace(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta_root=settings.delta_root
    )
    high = mechanism.admissible.high
    return mechanism, settings.epsilon if settings.epsilon < high else 0.5 * high


def huang_theorem_3(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A8: the published truncation is claimed to be (ε, δ)-private."""
    mechanism, epsilon = published_trlaplace(lexicon, settings)
    d, bound = lexicon.dimension, mechanism.bound
    noise = mechanism.truncation(epsilon)
    true = worst_delta(noise, bound, d)
    equal, single = (
        product(noise.alpha, noise.cut, spread_shift(2 * bound, d, share)).delta(epsilon)
        for share in (1.0 / d, 1.0)
    )
    pair = worst_pair(mechanism, epsilon, words=min(_PAIR_WORDS, len(lexicon)), seed=settings.seed)
    words = pair_profile(mechanism, epsilon, pair.word, pair.other).delta(epsilon)
    refuted = true > 0 and math.log(true) > mechanism.log_delta
    numbers: dict[str, Number] = {
        "claimed delta": mechanism.guarantee(epsilon).to_dict()["delta"],  # type: ignore[dict-item]
        "ln claimed delta": mechanism.log_delta,
        "true delta": true,
        "true delta, equal spread": equal[0],
        "true delta, one coordinate": single[0],
        "true delta of two words' vectors": words[0],
        "first word": lexicon.words[pair.word],
        "second word": lexicon.words[pair.other],
        "A": noise.cut,
        "alpha": noise.alpha,
        "largest epsilon": mechanism.admissible.high,
        "deviation/C": noise.deviation / bound,
    }
    outcome = Outcome.REFUTED if refuted else Outcome.PROVED if d == 1 else Outcome.NOT_REFUTED
    step = (
        "The proof bounds the volume of the difference of two supports by a cube of side Δ∞; it is "
        "(2A)^d − Π(2A − |v_i|)₊, because every coordinate moves the support at once."
    )
    return clipped_verdict(
        "huang-theorem-3",
        mechanism,
        settings,
        (*SETTING_NAMES, "delta_root", "seed"),
        epsilon,
        title="TrLaplace, Theorem 3",
        claim=f"Truncated Laplace noise is (ε, δ)-private at ε = {epsilon:g}, δ = "
        f"{settings.delta_root:g}^{d}.",
        source="Huang, Yang, Habernal, Hu, Wang 2024, Theorem 3",
        conditions=(
            Condition(
                f"ε < 2·δ^(1/d)·√d = {mechanism.admissible.high:.4g}",
                epsilon < mechanism.admissible.high,
            ),
            Condition("d = 1, where the volume in the proof is right", d == 1),
        ),
        computed=(
            "The exact probability of a noisy vector that the other word could not have given, "
            "1 − Π(1 − m(v_i)): for the worst difference of length 2C, and for the least protected "
            f"pair among {pair.words:,} words. Like the theorem, of the noisy vector: the nearest "
            "word, which follows from it, can only show less."
        )
        + settings.moved_to(epsilon, OUT_OF_RANGE),
        outcome=outcome,
        extent="one ε and δ, the worst difference that was searched" if not refuted else "",
        failing_step=step if refuted or d > 1 else "",
        repair="trlaplace-corrected takes the cut that the exact δ asks for.",
        numbers=numbers,
    )


def trlaplace_corrected(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A8 corrected: the cut follows from the exact δ."""
    mechanism = TrLaplaceCorrected(
        lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta
    )
    noise = mechanism.truncation(settings.epsilon)
    true = worst_delta(noise, mechanism.bound, lexicon.dimension)
    plain = ClippedLaplace(lexicon=lexicon, clip_norm=settings.clip_norm).scale(settings.epsilon)
    known = worst_delta_bound(noise, mechanism.bound, lexicon.dimension) <= mechanism.delta
    return clipped_verdict(
        "trlaplace-corrected",
        mechanism,
        settings,
        (*SETTING_NAMES, "delta"),
        title="TrLaplace, corrected",
        claim=f"(ε, δ) = ({settings.epsilon:g}, {mechanism.delta:g}) between any two words.",
        source=mechanism.source,
        conditions=(
            Condition(
                "A ≥ 2C, where the worst difference is known, and a bound on its δ is at most δ",
                known,
            ),
        ),
        computed="The exact δ of the worst difference of length 2C.",
        outcome=Outcome.PROVED if known else Outcome.CONDITIONAL,
        repair=(
            "Within the common support the loss is at most α‖v‖₁ ≤ ε; outside it lies "
            "1 − Π(1 − m(v_i)), at most δ for this cut."
        ),
        numbers={
            "true delta": true,
            "alpha·A": noise.alpha * noise.cut,
            "deviation/C": noise.deviation / mechanism.bound,
            "deviation/C of plain Laplace": math.sqrt(2) * plain / mechanism.bound,
        },
    )


def huang_theorem_4(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A8: less variance than Laplace and Gaussian noise at δ ≤ e^−d."""
    mechanism, epsilon = published_trlaplace(lexicon, settings)
    d, bound = lexicon.dimension, mechanism.bound
    own = mechanism.truncation(epsilon).deviation / bound
    laplace_ = 2 * math.sqrt(2.0 * d) / epsilon
    gaussian_ = math.sqrt(8.0 * (math.log(1.25) - mechanism.log_delta)) / epsilon
    small = mechanism.log_delta <= -d
    private_as_published = d == 1
    conditions = (
        Condition("δ ≤ e^−d", small),
        Condition("the mechanism of Theorem 3 is (ε, δ)-private", private_as_published),
    )
    # One ε, δ and d are evaluated: that may refute the inequalities, and proves none of them.
    if small and not (own < laplace_ and own < gaussian_):
        outcome = Outcome.REFUTED
    elif all(condition.met for condition in conditions):
        outcome = Outcome.NOT_REFUTED
    else:
        outcome = Outcome.CONDITIONAL
    log_delta = math.log(settings.delta)
    right = TrLaplaceCorrected(lexicon=lexicon, clip_norm=settings.clip_norm, delta=settings.delta)
    private = {
        "corrected": right.truncation(epsilon).deviation / bound,
        "L2-Laplace": 2.0 * math.sqrt(d + 1) / epsilon,
        "analytic Gaussian": analytic_sigma(epsilon, log_delta, 2.0),
    }
    smallest = min(private, key=lambda name: private[name])
    return clipped_verdict(
        "huang-theorem-4",
        mechanism,
        settings,
        (*SETTING_NAMES, "delta_root", "delta"),
        epsilon,
        title="TrLaplace, Theorem 4",
        claim="Less variance than Laplace and Gaussian noise, if δ ≤ e^−d.",
        source="Huang, Yang, Habernal, Hu, Wang 2024, Theorem 4",
        conditions=conditions,
        computed="Standard deviation of a coordinate over C, for each mechanism."
        + settings.moved_to(epsilon, OUT_OF_RANGE),
        outcome=outcome,
        extent="evaluated at one ε, δ and d" if outcome is Outcome.NOT_REFUTED else "",
        failing_step=(
            ""
            if private_as_published
            else "The smaller variance is that of noise that is not (ε, δ)-private, beside noise "
            "that is; compare the figures of the private ones."
        ),
        repair=(
            f"Of the private ones, at δ = {settings.delta:g} where they have one, the smallest "
            f"deviation is that of: {smallest}."
        ),
        numbers={
            "deviation/C, as published (not private)": own,
            "Laplace": laplace_,
            "classical Gaussian at the published delta": gaussian_,
            "delta of the next figures": settings.delta,
        }
        | private,
    )
