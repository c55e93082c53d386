"""Claims about our mechanisms whose noise is certified on one lexicon: A4r and A5c."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.audit.exact.laws import audit_mechanism
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.guarantee import Status
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.exponential.tem_calibrated import TemCalibrated
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.papers.carvalho2021.claims import (
    LITTLE_CUT,
    audit_tem,
    loss_numbers,
    truncating_epsilon,
)

if TYPE_CHECKING:
    from dpcore.audit.exact.laws import LawAudit
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.calibrated import CalibratedMechanism

_SAMPLE = 5  # times `settings.words`: private words compared for the repair of truncated Gumbel


def _verdict(
    mechanism: CalibratedMechanism,
    audit: LawAudit,
    settings: AuditSettings,
    *,
    title: str,
    claim: str,
    computed: str,
    numbers: dict[str, Number],
) -> Verdict:
    """Checked where a certificate of this vocabulary decides, else proved; a loss refutes both."""
    lexicon, epsilon = mechanism.lexicon, audit.found.epsilon
    guarantee = mechanism.guarantee(epsilon)
    certified = guarantee.status is Status.CERTIFIED
    outcome = Outcome.CHECKED if certified else Outcome.PROVED
    return Verdict(
        key=mechanism.short,
        title=title,
        claim=claim,
        source=guarantee.source,
        mechanism=mechanism.short,
        lexicon=lexicon.name,
        fingerprint=lexicon.fingerprint,
        settings={"epsilon": epsilon, **mechanism.settings(), "words": audit.words}
        | ({} if audit.complete else {"seed": settings.seed}),
        conditions=(
            # Where the theorem decides, no certificate is needed.
            (Condition("a certificate of this vocabulary decides at this ε", True),)
            if certified
            else ()
        ),
        computed=computed,
        outcome=outcome if audit.found.holds else Outcome.REFUTED,
        repair=guarantee.reason,
        numbers=numbers,
        command=settings.command(mechanism.short, lexicon, "epsilon", "words", "seed"),
    )


def gumbel_repaired(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """A4r: the bound for every vocabulary, and the exact loss of some words of this one."""
    mechanism = TruncatedGumbelRepaired(lexicon=lexicon)
    low = mechanism.admissible.low
    epsilon = max(settings.epsilon, 1.5 * low)
    count, fewer = settings.sample(lexicon, _SAMPLE)
    audit = audit_mechanism(mechanism, epsilon, words=count, seed=settings.seed, progress=progress)
    return _verdict(
        mechanism,
        audit,
        settings,
        title="Truncated Gumbel, repaired",
        claim=f"ε·d-private at ε = {epsilon:.4g}.",
        computed=f"The closed form of {count} words, all pairs and all outputs.{fewer}"
        + settings.moved_to(epsilon, f"1.5 times its lowest ε, {low:.4g}, is the least audited"),
        numbers={
            "claimed epsilon": epsilon,
            "true epsilon among these words": audit.found.epsilon_effective,
            "noise scale b": mechanism.noise_scale(epsilon),
            "lowest epsilon": low,
        },
    )


def tem_calibrated(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """A5c: the largest exponent whose exact loss over all pairs is ε."""
    mechanism = TemCalibrated(lexicon=lexicon)
    epsilon = truncating_epsilon(mechanism, settings)
    audit, fewer = audit_tem(mechanism, settings, progress)
    gain = mechanism.nominal(epsilon) / epsilon
    return _verdict(
        mechanism,
        audit,
        settings,
        title="TEM, calibrated",
        claim=f"ε·d-private at ε = {epsilon:.4g} with {gain:.3g} times TEM's exponent.",
        computed=f"The exact loss: {audit.method}.{fewer}" + settings.moved_to(epsilon, LITTLE_CUT),
        numbers=loss_numbers(audit, lexicon) | {"exponent over that of TEM": gain},
    )
