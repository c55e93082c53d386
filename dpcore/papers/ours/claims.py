"""Claims about our mechanisms whose noise is certified on one lexicon: A4r and A5c."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.audit.exact.laws import audit_mechanism
from dpcore.audit.verdict import Outcome
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
from dpcore.papers.claim import judged

if TYPE_CHECKING:
    from dpcore.audit.exact.laws import LawAudit
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number, Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.calibrated import CalibratedMechanism

_SAMPLE = 5  # times `settings.words`: private words compared for the repair of truncated Gumbel


def _verdict(
    mechanism: CalibratedMechanism,
    audit: LawAudit,
    settings: AuditSettings,
    numbers: dict[str, Number],
    **gaps: Any,
) -> Verdict:
    """Checked where a certificate of this vocabulary decides, else proved; a loss refutes both."""
    epsilon = audit.losses.epsilon
    guarantee = mechanism.guarantee(epsilon)
    certified = guarantee.status is Status.CERTIFIED
    outcome = Outcome.CHECKED if certified else Outcome.PROVED
    return judged(
        mechanism.short,
        mechanism.lexicon,
        settings,
        outcome if audit.losses.holds else Outcome.REFUTED,
        mechanism=mechanism,
        parameters={"epsilon": epsilon, **mechanism.settings(), "words": audit.words}
        | ({} if audit.complete else {"seed": settings.seed}),
        numbers=numbers,
        # Where the theorem decides, no certificate is needed.
        met=(True,) if certified else (),
        epsilon=epsilon,
        guarantee=guarantee,
        **gaps,
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
    numbers: dict[str, Number] = {
        "claimed epsilon": epsilon,
        "true epsilon among these words": audit.losses.epsilon_effective,
        "noise scale b": mechanism.noise_scale(epsilon),
        "lowest epsilon": low,
    }
    moved = settings.moved_to(epsilon, f"1.5 times its lowest ε, {low:.4g}, is the least audited")
    return _verdict(mechanism, audit, settings, numbers, count=count, fewer=fewer, moved=moved)


def tem_calibrated(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """A5c: the largest exponent whose exact loss over all pairs is ε."""
    mechanism = TemCalibrated(lexicon=lexicon)
    epsilon = truncating_epsilon(mechanism, settings)
    audit, fewer = audit_tem(mechanism, settings, progress)
    gain = mechanism.nominal(epsilon) / epsilon
    numbers = loss_numbers(audit, lexicon) | {"exponent over that of TEM": gain}
    moved = settings.moved_to(epsilon, LITTLE_CUT)
    gaps = {"method": audit.method, "gain": gain, "fewer": fewer, "moved": moved}
    return _verdict(mechanism, audit, settings, numbers, **gaps)
