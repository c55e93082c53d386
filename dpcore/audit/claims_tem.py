"""Claims about the truncated exponential mechanism (Carvalho et al. 2021): Theorems 2 and 3."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.laws import LawAudit, audit_mechanism
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.guarantee import Status
from dpcore.lexicon.metric import Metric, distances
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.tem import TruncatedExponential
from dpcore.mechanisms.tem_calibrated import TemCalibrated
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number
    from dpcore.lexicon.lexicon import Lexicon

_SAMPLE = 10  # times `settings.words`: private words compared where the vocabulary is large


def _epsilon(mechanism: TruncatedExponential, settings: AuditSettings) -> float:
    """ε, but at least that at which γ is ¾ of the diameter: below it nothing is truncated."""
    extent = mechanism.lexicon.with_metric(Metric.EUCLIDEAN).extent
    return max(settings.epsilon, 2.0 * mechanism.cap / (0.75 * extent.diameter))


def _audit(mechanism: TruncatedExponential, settings: AuditSettings) -> LawAudit:
    """All pairs of a vocabulary that is small enough for a table of claims, else of a sample."""
    n = len(mechanism.lexicon)
    count = None if n <= MAX_AUDIT_WORDS else min(n, _SAMPLE * settings.words)
    epsilon = _epsilon(mechanism, settings)
    return audit_mechanism(mechanism, epsilon, words=count, seed=settings.seed)


def _numbers(audit: LawAudit, lexicon: Lexicon) -> dict[str, Number]:
    found = audit.found
    numbers: dict[str, Number] = {
        "claimed epsilon": found.epsilon,
        "true epsilon of these words": found.epsilon_effective,
        "pairs": found.pairs,
        "delta at epsilon·d": found.delta,
    }
    if found.worst is not None:
        numbers |= {
            "w": lexicon.words[found.worst.word],
            "w′": lexicon.words[found.worst.other],
            "y": lexicon.words[found.worst.output],
        }
    return numbers


def carvalho_theorem_2(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Theorem 2: Algorithm 2 is εd-private for every metric."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon = _epsilon(mechanism, settings)
    audit = _audit(mechanism, settings)
    return Verdict(
        key="carvalho-theorem-2",
        title="TEM, Theorem 2",
        claim=f"Algorithm 2 is ε·d-private at ε = {epsilon:.4g}.",
        source="Carvalho et al. 2021, Theorem 2",
        mechanism=mechanism.short,
        lexicon=lexicon.name,
        fingerprint=lexicon.fingerprint,
        settings={"epsilon": epsilon, "beta": mechanism.beta, "words": audit.words},
        conditions=(
            Condition("the distance is a metric", True),
            Condition("distances are exact, not those of an approximate index", True),
        ),
        computed=f"The exact loss: {audit.method}.",
        outcome=Outcome.PROVED if audit.found.holds else Outcome.REFUTED,
        repair=(
            "min(D, γ) is a metric too, so weight and normaliser change by at most e^(ε·d/2) each. "
            "(The printed proof has exp(ε/2·γ) where exp(−ε/2·γ) is meant: a slip of sign.)"
        ),
        numbers=_numbers(audit, lexicon),
        command=settings.command("carvalho-theorem-2", lexicon, "epsilon", "words", "seed"),
    )


def carvalho_theorem_3(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Theorem 3: a word beyond γ comes out with probability at most β."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon, n = _epsilon(mechanism, settings), len(lexicon)
    gamma = mechanism.gamma(epsilon)
    count = min(n, _SAMPLE * settings.words)
    rng = generator(settings.seed, "audit", "words")
    words = np.sort(rng.choice(n, count, replace=False))
    largest, worst = 0.0, 0
    for word in words.tolist():
        row = distances(lexicon.vectors, lexicon.vectors[[word]])[0]
        beyond = row > gamma
        weights = np.exp(-0.5 * epsilon * np.minimum(row, gamma))
        share = float(weights[beyond].sum() / weights.sum())
        if share >= largest:
            largest, worst = share, word
    return Verdict(
        key="carvalho-theorem-3",
        title="TEM, Theorem 3",
        claim=f"A word beyond γ = {gamma:.4g} comes out with probability ≤ β = {mechanism.beta:g}.",
        source="Carvalho et al. 2021, Theorem 3",
        mechanism=mechanism.short,
        lexicon=lexicon.name,
        fingerprint=lexicon.fingerprint,
        settings={"epsilon": epsilon, "beta": mechanism.beta, "words": count},
        conditions=(Condition(f"0 < β < (n − 1)/n = {(n - 1) / n:.6g}", True),),
        computed=f"The exact probability of a word beyond γ, for {count} words.",
        outcome=Outcome.PROVED if largest <= mechanism.beta * (1 + 1e-9) else Outcome.REFUTED,
        repair=(
            "At worst no other word lies within γ; then (n − 1)·e^−c/(1 + (n − 1)·e^−c) = β, "
            "c = ε·γ/2."
        ),
        numbers={
            "gamma": gamma,
            "beta": mechanism.beta,
            "largest probability": largest,
            "for the word": lexicon.words[worst],
            "words": count,
            "limit of Nw at large epsilon, at least": 1.0 - mechanism.beta,
        },
        command=settings.command("carvalho-theorem-3", lexicon, "epsilon", "words", "seed"),
    )


def tem_calibrated(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A5c: the largest exponent whose exact loss over all pairs is ε."""
    mechanism = TemCalibrated(lexicon=lexicon)
    epsilon = _epsilon(mechanism, settings)
    audit = _audit(mechanism, settings)
    guarantee = mechanism.guarantee(epsilon)
    certified = guarantee.status is Status.CERTIFIED
    gain = mechanism.nominal(epsilon) / epsilon
    outcome = Outcome.CHECKED if certified else Outcome.PROVED
    return Verdict(
        key="tem-calibrated",
        title="TEM, calibrated",
        claim=f"ε·d-private at ε = {epsilon:.4g} with {gain:.3g} times TEM's exponent.",
        source=guarantee.source,
        mechanism=mechanism.short,
        lexicon=lexicon.name,
        fingerprint=lexicon.fingerprint,
        settings={"epsilon": epsilon, "beta": mechanism.beta, "words": audit.words},
        conditions=(Condition("a certificate of this vocabulary is at hand", certified),),
        computed=f"The exact loss: {audit.method}.",
        outcome=outcome if audit.found.holds else Outcome.REFUTED,
        repair=guarantee.reason,
        numbers=_numbers(audit, lexicon)
        | {"exponent over that of TEM": gain if math.isfinite(gain) else 0.0},
        command=settings.command("tem-calibrated", lexicon, "epsilon", "words", "seed"),
    )
