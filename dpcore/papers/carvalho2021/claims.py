"""Claims about the truncated exponential mechanism (Carvalho et al. 2021): Theorems 2 and 3."""

from __future__ import annotations

import numpy as np

from dpcore.audit.exact import LawAudit, audit_mechanism
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged
from dpcore.written import Filled

LITTLE_CUT = Filled(
    "at a smaller ε γ is above ¾ of the largest distance, and little or nothing is cut off"
)
_SAMPLE = 10  # times `settings.words`: private words compared where the vocabulary is large


def truncating_epsilon(mechanism: TruncatedExponential, settings: AuditSettings) -> float:
    """Return ε, but at least that at which γ is ¾ of the diameter: below it little is truncated."""
    extent = mechanism.lexicon.with_metric(Metric.EUCLIDEAN).extent
    return max(settings.epsilon, 2.0 * mechanism.cap / (0.75 * extent.diameter))


def audit_tem(
    mechanism: TruncatedExponential, settings: AuditSettings, progress: Progress
) -> tuple[LawAudit, str]:
    """Audit all pairs of a vocabulary small enough for a table of claims, else those of a sample.

    Returns:
        The audit, and a sentence if the sample is smaller than requested.
    """
    count, fewer = None, ""
    if len(mechanism.lexicon) > MAX_AUDIT_WORDS:
        count, fewer = settings.sample(mechanism.lexicon, _SAMPLE)
    epsilon = truncating_epsilon(mechanism, settings)
    audit = audit_mechanism(mechanism, epsilon, words=count, seed=settings.seed, progress=progress)
    return audit, fewer


def loss_numbers(audit: LawAudit, lexicon: Lexicon) -> dict[str, Number]:
    """Return the figures of an exact audit, with the worst words by name."""
    losses, worst = audit.losses, audit.losses.worst
    numbers: dict[str, Number] = {
        "claimed epsilon": losses.epsilon,
        "true epsilon of these words": losses.epsilon_effective,
        "pairs": losses.pairs,
        "delta at epsilon·d": losses.delta,
    }
    if worst is not None:
        words = lexicon.words
        numbers |= {"w": words[worst.word], "w′": words[worst.other], "y": words[worst.output]}
    return numbers


def carvalho_theorem_2(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check Theorem 2: Algorithm 2 is εd-private for every metric."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon = truncating_epsilon(mechanism, settings)
    audit, fewer = audit_tem(mechanism, settings, progress)
    return judged(
        "carvalho-theorem-2",
        lexicon,
        settings,
        Outcome.PROVED if audit.losses.holds else Outcome.REFUTED,
        mechanism=mechanism,
        parameters={"epsilon": epsilon, "beta": mechanism.beta, "words": audit.words},
        numbers=loss_numbers(audit, lexicon),
        epsilon=epsilon,
        method=audit.method,
        fewer=fewer,
        moved=settings.moved_to(epsilon, LITTLE_CUT),
    )


def carvalho_theorem_3(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check Theorem 3: a word beyond γ is the output with probability at most β."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon, n = truncating_epsilon(mechanism, settings), len(lexicon)
    gamma = mechanism.gamma(epsilon)
    count = min(n, _SAMPLE * settings.words)
    # The same stream in all claims: they look at the same words, and can be compared.
    rng = generator(settings.seed, "audit", "words")
    words = np.sort(rng.choice(n, count, replace=False))
    largest, worst = 0.0, 0
    for done, word in enumerate(words.tolist(), start=1):
        # One word at a time: all pairs of 25,000 words would take gigabytes.
        row = distances(lexicon.vectors, lexicon.vectors[[word]])[0]
        beyond = row > gamma
        weights = np.exp(-0.5 * epsilon * np.minimum(row, gamma))
        share = float(weights[beyond].sum() / weights.sum())
        # At least, not more: of a law with nothing beyond γ some word has to be named.
        if share >= largest:
            largest, worst = share, word
        progress("words", done, count)
    return judged(
        "carvalho-theorem-3",
        lexicon,
        settings,
        # β is attained where no other word lies within γ: rounding may then exceed it.
        Outcome.PROVED if largest <= mechanism.beta * (1 + 1e-9) else Outcome.REFUTED,
        mechanism=mechanism,
        parameters={"epsilon": epsilon, "beta": mechanism.beta, "words": count},
        numbers={
            "gamma": gamma,
            "beta": mechanism.beta,
            "largest probability": largest,
            "for the word": lexicon.words[worst],
            "words": count,
            "limit of Nw at large epsilon, at least": 1.0 - mechanism.beta,
        },
        gamma=gamma,
        # At β = (n − 1)/n the logarithm in γ is 0: no larger β has a threshold.
        most=(n - 1) / n,
        count=count,
        moved=settings.moved_to(epsilon, LITTLE_CUT),
    )
