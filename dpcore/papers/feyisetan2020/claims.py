"""Claims about noise that is added to a vector before the nearest word is taken: A1, A2, A3, A9.

They are proved. What is computed is whether the sampler has the law that the proof speaks of;
draws of words cannot refute such a claim, because ε·d lies beyond their resolution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.audit.montecarlo import DEFAULT_ERROR, epsilon_lower_bound
from dpcore.audit.profiles.noise import pair_profile
from dpcore.audit.samplers import Check, noise_report
from dpcore.audit.verdict import Outcome
from dpcore.lexicon.metric import paired_distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_AUDIT_WORDS
from dpcore.mechanisms.additive.multivariate import Mahalanobis, MultivariateLaplace
from dpcore.mechanisms.additive.projection import RandomProjection, stretch_quantile
from dpcore.mechanisms.additive.vickrey import Vickrey
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number, Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

_BLOCK = 500  # draws of a word between two reports of progress


def sampler_verdict(
    key: str,
    mechanism: Mechanism,
    settings: AuditSettings,
    numbers: dict[str, Number],
    *,
    epsilon: float | None = None,
    met: tuple[bool, ...] | None = None,
    outputs: Check | None = None,
    **gaps: Any,
) -> Verdict:
    """What the proof says of the law, and what tests say of the sampler (and of its outputs)."""
    value = settings.epsilon if epsilon is None else epsilon
    report = noise_report(mechanism, value, settings.draws, settings.seed)
    if outputs is not None:
        report = report.extended(outputs, DEFAULT_ERROR)
    test = report.test
    tested: dict[str, Number] = {
        "noise draws": test.draws,
        "checks": test.tests,
        "smallest p-value": test.p_value,
        "threshold": test.threshold,
    }
    # Two findings: the proof is about the law, and needs its conditions; draws are the sampler's.
    law = Outcome.PROVED if met is None or all(met) else Outcome.CONDITIONAL
    return judged(
        key,
        mechanism.lexicon,
        settings,
        test.judged(law),
        mechanism=mechanism,
        parameters={"epsilon": value, **mechanism.settings()},
        numbers=tested | numbers,
        met=met,
        fails=not report.passed,
        computed=report.sentence + gaps.pop("further", ""),
        failing_step="The sampler does not draw from the density of the proof; the proof is "
        "untouched.",
        law=law,
        sampler=test,
        epsilon=value,
        **gaps,
    )


def madlib(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A1: multivariate Laplace noise is ε·d₂-private."""
    mechanism = MultivariateLaplace(lexicon=lexicon)
    length = float(paired_distances(lexicon.vectors[:1], lexicon.vectors[1:2])[0])
    profile = pair_profile(mechanism, settings.epsilon, 0, 1)
    numbers: dict[str, Number] = {
        "distance of the first two words": length,
        "delta at epsilon·d, at most": profile.delta(settings.epsilon * length)[1],
        "delta at 0.9·epsilon·d, at least": profile.delta(0.9 * settings.epsilon * length)[0],
    }
    return sampler_verdict("madlib", mechanism, settings, numbers)


def mahalanobis(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A2: regularised Mahalanobis noise is ε·d_RM-private."""
    mechanism = Mahalanobis(lexicon=lexicon)
    smallest = mechanism.smallest_eigenvalue
    numbers: dict[str, Number] = {
        "smallest eigenvalue of S": smallest,
        # d_RM ≤ d₂/√(smallest eigenvalue): what the claim promises in the usual distance.
        "epsilon per unit of Euclidean distance": settings.epsilon / math.sqrt(smallest),
    }
    return sampler_verdict("mahalanobis", mechanism, settings, numbers)


def vickrey(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """A3: Vickrey keeps the guarantee of its noise."""
    mechanism = Vickrey(lexicon=lexicon)
    word = 0
    near = lexicon.vectors[:2000]
    others = paired_distances(np.repeat(near[:1], len(near) - 1, axis=0), near[1:])
    other = int(others.argmin()) + 1
    allowed = settings.epsilon * float(others.min())
    # Even: half of the draws choose the event, and the other half count it.
    count = settings.draws // 2 * 2
    drawn = np.empty((2, count), dtype=np.int64)
    for i, w in enumerate((word, other)):
        rng = generator(settings.seed, "audit", "vickrey", w)
        for start in range(0, count, _BLOCK):
            part = drawn[i, start : start + _BLOCK]
            part[:] = mechanism.sample(rng, np.full(part.size, w), settings.epsilon)
            progress("draws", i * count + start + part.size, 2 * count)
    bound = epsilon_lower_bound(*drawn)
    p_value = 0.0 if bound.refutes(allowed) else 1.0
    numbers: dict[str, Number] = {
        "loss allowed between two near words": allowed,
        "loss shown by draws, at least": max(bound.epsilon, 0.0),
        "largest loss that as many draws can show": bound.resolution,
        "draws of a word": count,
    }
    outputs = Check("outputs of two near words", bound.epsilon, p_value, bound.error)
    return sampler_verdict("vickrey", mechanism, settings, numbers, outputs=outputs)


def random_projection(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """A9: noise after a public random projection."""
    exact = len(lexicon) <= MAX_AUDIT_WORDS
    m = min(50, lexicon.dimension)
    form = "exact" if exact else "paper"
    mechanism = RandomProjection(lexicon=lexicon, dimensions=m, form=form)
    numbers: dict[str, Number] = {
        "dimensions": m,
        "1 + beta": stretch_quantile(len(lexicon), m, mechanism.delta),
        "share of matrices that fail, at most": mechanism.delta,
    }
    if exact:
        numbers["largest stretch of this matrix"] = mechanism.stretch
    return sampler_verdict(
        "random-projection",
        mechanism,
        settings,
        numbers,
        met=(True, exact),
        m=m,
        repair=(
            "No pair of words is stretched by more than the computed bound, and the proof for "
            "Madlib applies."
            if exact
            else "If no pair of words is stretched by more than 1 + β, which is so but for a share "
            "of at most δ of all matrices, the proof for Madlib applies; of this matrix it was not "
            "computed."
        ),
    )
