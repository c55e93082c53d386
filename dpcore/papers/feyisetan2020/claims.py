"""Claims about noise that is added to a vector before the nearest word is taken: A1, A2, A3, A9.

They are proved. What is computed is whether the sampler has the law that the proof speaks of;
draws of words cannot refute such a claim, because ε·d lies beyond their resolution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.montecarlo import DEFAULT_ERROR, epsilon_lower_bound
from dpcore.audit.profiles.noise import pair_profile
from dpcore.audit.samplers import Check, noise_report
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.lexicon.metric import paired_distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.additive.multivariate import Mahalanobis, MultivariateLaplace
from dpcore.mechanisms.additive.projection import RandomProjection, stretch_quantile
from dpcore.mechanisms.additive.vickrey import Vickrey
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number
    from dpcore.lexicon.lexicon import Lexicon

_BLOCK = 500  # draws of a word between two reports of progress


def _sampler_verdict(
    key: str,
    mechanism: MultivariateLaplace,
    settings: AuditSettings,
    *,
    title: str,
    claim: str,
    source: str,
    conditions: tuple[Condition, ...],
    proof: str,
    numbers: dict[str, Number],
    outputs: Check | None = None,
) -> Verdict:
    """What the proof says of the law, and what tests say of the sampler (and of its outputs)."""
    report = noise_report(mechanism, settings.epsilon, settings.draws, settings.seed)
    if outputs is not None:
        report = report.extended(outputs, DEFAULT_ERROR)
    test = report.test
    found: dict[str, Number] = {
        "noise draws": test.draws,
        "checks": test.tests,
        "smallest p-value": test.p_value,
        "threshold": test.threshold,
    }
    # Two findings: the proof is about the law, and needs its conditions; draws are the sampler's.
    met = all(condition.met for condition in conditions)
    law = Outcome.PROVED if met else Outcome.CONDITIONAL
    return Verdict(
        key=key,
        title=title,
        claim=claim,
        source=source,
        mechanism=mechanism.short,
        lexicon=mechanism.lexicon.name,
        fingerprint=mechanism.lexicon.fingerprint,
        settings={"epsilon": settings.epsilon, **mechanism.settings()},
        conditions=conditions,
        computed=report.sentence,
        outcome=test.judged(law),
        law=law,
        sampler=test,
        failing_step=(
            ""
            if report.passed
            else "The sampler does not draw from the density of the proof; the proof is untouched."
        ),
        repair=proof,
        numbers=found | numbers,
        command=settings.command(key, mechanism.lexicon, "epsilon", "draws", "seed"),
    )


def madlib(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A1: multivariate Laplace noise is ε·d₂-private."""
    mechanism = MultivariateLaplace(lexicon=lexicon)
    length = float(paired_distances(lexicon.vectors[:1], lexicon.vectors[1:2])[0])
    profile = pair_profile(mechanism, settings.epsilon, 0, 1)
    low = profile.delta(0.9 * settings.epsilon * length)[0]
    return _sampler_verdict(
        "madlib",
        mechanism,
        settings,
        title="Multivariate Laplace (Madlib)",
        claim=f"P(y|w) ≤ e^(ε·d) P(y|w′) at ε = {settings.epsilon:g}, d the Euclidean distance.",
        source="Fernandes et al. 2019; Feyisetan et al. 2020; Carvalho et al. 2021, Theorem 1",
        conditions=(
            Condition("the direction is uniform on the sphere (in the ball, ε fails)", True),
            Condition("the search for the nearest word sees the noisy vector only", True),
        ),
        proof=(
            "‖x − φ_w‖ and ‖x − φ_w′‖ differ by at most d, so the densities differ by at most "
            "e^(ε·d); taking the nearest word is post-processing."
        ),
        numbers={
            "distance of the first two words": length,
            "delta at epsilon·d, at most": profile.delta(settings.epsilon * length)[1],
            "delta at 0.9·epsilon·d, at least": low,
        },
    )


def mahalanobis(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A2: regularised Mahalanobis noise is ε·d_RM-private."""
    mechanism = Mahalanobis(lexicon=lexicon)
    smallest = mechanism.smallest_eigenvalue
    return _sampler_verdict(
        "mahalanobis",
        mechanism,
        settings,
        title="Regularised Mahalanobis",
        claim=f"P(y|w) ≤ e^(ε·d) P(y|w′) at ε = {settings.epsilon:g}, d the Mahalanobis distance.",
        source="Xu, Aggarwal, Feyisetan, Teissier 2020, Theorem 1",
        conditions=(
            Condition(f"the smallest eigenvalue {smallest:.4g} of S is above 1e-12", True),
            Condition("no renormalisation after S^(1/2): the whitened radius is Gamma(d)", True),
            Condition("the covariance is that of a public vocabulary", True),
        ),
        proof="The proof for Madlib, in the norm of the public matrix S.",
        numbers={
            "smallest eigenvalue of S": smallest,
            "epsilon per unit of Euclidean distance": settings.epsilon / math.sqrt(smallest),
        },
    )


def vickrey(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """A3: Vickrey keeps the guarantee of its noise."""
    mechanism = Vickrey(lexicon=lexicon)
    word = 0
    near = lexicon.vectors[:2000]
    others = paired_distances(np.repeat(near[:1], len(near) - 1, axis=0), near[1:])
    other = int(others.argmin()) + 1
    allowed = settings.epsilon * float(others.min())
    count = settings.draws // 2 * 2
    drawn = np.empty((2, count), dtype=np.int64)
    for i, w in enumerate((word, other)):
        rng = generator(settings.seed, "audit", "vickrey", w)
        for start in range(0, count, _BLOCK):
            part = drawn[i, start : start + _BLOCK]
            part[:] = mechanism.sample(rng, np.full(part.size, w), settings.epsilon)
            progress("draws", i * count + start + part.size, 2 * count)
    bound = epsilon_lower_bound(*drawn)
    return _sampler_verdict(
        "vickrey",
        mechanism,
        settings,
        title="Vickrey",
        claim=f"The second-price choice keeps ε·d₂ at ε = {settings.epsilon:g}.",
        source="Xu, Aggarwal, Feyisetan, Teissier 2021 (post-processing)",
        conditions=(Condition("the choice uses the noisy vector and never the word itself", True),),
        proof="The choice is post-processing of the noisy vector.",
        numbers={
            "loss allowed between two near words": allowed,
            "loss shown by draws, at least": max(bound.epsilon, 0.0),
            "largest loss that as many draws can show": bound.resolution,
            "draws of a word": count,
        },
        outputs=Check(
            "outputs of two near words",
            bound.epsilon,
            0.0 if bound.refutes(allowed) else 1.0,
            bound.error,
        ),
    )


def random_projection(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A9: noise after a public random projection."""
    exact = len(lexicon) <= MAX_AUDIT_WORDS
    m = min(50, lexicon.dimension)
    form = "exact" if exact else "paper"
    mechanism = RandomProjection(lexicon=lexicon, dimensions=m, form=form)
    bound = stretch_quantile(len(lexicon), m, mechanism.delta)
    numbers: dict[str, Number] = {
        "dimensions": m,
        "1 + beta": bound,
        "share of matrices that fail, at most": mechanism.delta,
    }
    if exact:
        numbers["largest stretch of this matrix"] = mechanism.stretch
    return _sampler_verdict(
        "random-projection",
        mechanism,
        settings,
        title="Random projection",
        claim=(
            f"Noise at ε = {settings.epsilon:g} after a projection to {m} dimensions is "
            "(1 + β)·ε·d₂-private but for a share of at most δ of all matrices; scaled by the "
            "largest stretch of this matrix it is ε·d₂-private."
        ),
        source="Feyisetan and Kasiviswanathan 2021",
        conditions=(
            Condition("the matrix is public and drawn before any private text is read", True),
            Condition("the stretch of all pairs of words was computed", exact),
        ),
        proof=(
            "No pair of words is stretched by more than the computed bound, and the proof for "
            "Madlib applies."
            if exact
            else "If no pair of words is stretched by more than 1 + β, which is so but for a share "
            "of at most δ of all matrices, the proof for Madlib applies; of this matrix it was not "
            "computed."
        ),
        numbers=numbers,
    )
