"""Claims about the truncated exponential mechanism (Carvalho et al. 2021): Theorems 2 and 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.exact.laws import LawAudit, audit_mechanism
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number
    from dpcore.lexicon.lexicon import Lexicon

LITTLE_CUT = "at a smaller ε γ is above ¾ of the largest distance, and little or nothing is cut off"
_SAMPLE = 10  # times `settings.words`: private words compared where the vocabulary is large


def truncating_epsilon(mechanism: TruncatedExponential, settings: AuditSettings) -> float:
    """ε, but at least that at which γ is ¾ of the diameter: below it little is truncated."""
    extent = mechanism.lexicon.with_metric(Metric.EUCLIDEAN).extent
    return max(settings.epsilon, 2.0 * mechanism.cap / (0.75 * extent.diameter))


def audit_tem(
    mechanism: TruncatedExponential, settings: AuditSettings, progress: Progress
) -> tuple[LawAudit, str]:
    """All pairs of a vocabulary that is small enough for a table of claims, else of a sample.

    Returns:
        The audit, and a sentence if the sample is smaller than was asked for.
    """
    count, fewer = None, ""
    if len(mechanism.lexicon) > MAX_AUDIT_WORDS:
        count, fewer = settings.sample(mechanism.lexicon, _SAMPLE)
    epsilon = truncating_epsilon(mechanism, settings)
    found = audit_mechanism(mechanism, epsilon, words=count, seed=settings.seed, progress=progress)
    return found, fewer


def loss_numbers(audit: LawAudit, lexicon: Lexicon) -> dict[str, Number]:
    """The figures of an exact audit, with the worst words by name."""
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


def carvalho_theorem_2(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Theorem 2: Algorithm 2 is εd-private for every metric."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon = truncating_epsilon(mechanism, settings)
    audit, fewer = audit_tem(mechanism, settings, progress)
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
            Condition(
                "vectors and metric are public and fixed (the paper also names vectors trained on "
                "private text: of that text the theorem says nothing)",
                True,
            ),
        ),
        computed=f"The exact loss: {audit.method}.{fewer}" + settings.moved_to(epsilon, LITTLE_CUT),
        outcome=Outcome.PROVED if audit.found.holds else Outcome.REFUTED,
        repair=(
            "min(D, γ) is a metric too, so weight and normaliser change by at most e^(ε·d/2) each. "
            "(The printed proof has exp(ε/2·γ) where exp(−ε/2·γ) is meant: a slip of sign.)"
        ),
        numbers=loss_numbers(audit, lexicon),
        command=settings.command("carvalho-theorem-2", lexicon, "epsilon", "words", "seed"),
    )


def carvalho_theorem_3(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Theorem 3: a word beyond γ comes out with probability at most β."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon, n = truncating_epsilon(mechanism, settings), len(lexicon)
    gamma = mechanism.gamma(epsilon)
    count = min(n, _SAMPLE * settings.words)
    rng = generator(settings.seed, "audit", "words")
    words = np.sort(rng.choice(n, count, replace=False))
    largest, worst = 0.0, 0
    for done, word in enumerate(words.tolist(), start=1):
        row = distances(lexicon.vectors, lexicon.vectors[[word]])[0]
        beyond = row > gamma
        weights = np.exp(-0.5 * epsilon * np.minimum(row, gamma))
        share = float(weights[beyond].sum() / weights.sum())
        if share >= largest:
            largest, worst = share, word
        progress("words", done, count)
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
        computed=f"The exact probability of a word beyond γ, for {count} words."
        + settings.moved_to(epsilon, LITTLE_CUT),
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
