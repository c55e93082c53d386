"""What these claims share: a sample of words, and what is computed of a mechanism on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.audit.exact.exact import hockey_stick
from dpcore.audit.exact.laws import audit_mechanism
from dpcore.audit.verdict import Outcome
from dpcore.lexicon.progress import Progress
from dpcore.noise.streams import generator
from dpcore.papers.carvalho2021.claims import loss_numbers
from dpcore.papers.claim import judged

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Number, Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

_SAMPLE = 10  # times `settings.words`: private words that are compared


def sampled_words(
    lexicon: Lexicon, settings: AuditSettings, first: int = 0
) -> tuple[IntArray, str]:
    """A sample of the words from `first` on, ascending; and a sentence if it is a small one."""
    count, fewer = settings.sample(lexicon, _SAMPLE)
    rng = generator(settings.seed, "audit", "words")
    size = min(count, len(lexicon) - first)
    return np.sort(first + rng.choice(len(lexicon) - first, size, replace=False)), fewer


def parameters_of(
    mechanism: Mechanism, settings: AuditSettings, epsilon: float, words: IntArray
) -> dict[str, Number]:
    """What a check of this mechanism depends on."""
    return {
        "epsilon": epsilon,
        **{name: value for name, value in mechanism.settings().items() if value is not None},
        "words": int(words.size),
        "seed": settings.seed,
    }


def staying(mechanism: Mechanism, words: IntArray, epsilon: float) -> float:
    """Mean probability that a word of these stays."""
    logs = [mechanism.log_law(word, epsilon)[word] for word in words.tolist()]
    return float(np.exp(logs).mean())


def proved(
    key: str,
    mechanism: Mechanism,
    settings: AuditSettings,
    progress: Progress,
    epsilon: float | None = None,
    **gaps: Any,
) -> Verdict:
    """A claim with a proof, and the exact losses of a sample beside it; a loss refutes it."""
    value = settings.epsilon if epsilon is None else epsilon
    lexicon = mechanism.lexicon
    words, fewer = sampled_words(lexicon, settings)
    audit = audit_mechanism(mechanism, value, words=words, progress=progress)
    # Logarithms of sums are right to 1e-12, which at a small ε shows in the quotient.
    holds = audit.losses.epsilon_effective <= value * (1.0 + 1e-9)
    return judged(
        key,
        lexicon,
        settings,
        Outcome.PROVED if holds else Outcome.REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, value, words),
        numbers=loss_numbers(audit, lexicon)
        | {"words that stay": staying(mechanism, words, value)}
        | gaps.pop("numbers", {}),
        epsilon=value,
        method=audit.method,
        fewer=fewer,
        **gaps,
    )


def deltas_of(
    mechanism: Mechanism, epsilon: float, words: IntArray, *partners: IntArray
) -> list[FloatArray]:
    """δ at ε of the ordered pairs of each word with its partner, shape (k,) each."""
    needed = np.unique(np.concatenate((words, *partners)))
    logs = {word: mechanism.log_law(word, epsilon) for word in needed.tolist()}
    return [
        np.array(
            [
                min(1.0, float(hockey_stick(logs[word], logs[other], epsilon)))
                for word, other in zip(words.tolist(), others.tolist(), strict=True)
            ]
        )
        for others in partners
    ]


def nearest_of_each(lexicon: Lexicon, words: IntArray) -> IntArray:
    """The nearest other word of each, shape (k,)."""
    order = lexicon.nearest_words(words, 2)[0]
    return np.where(order[:, 0] == words, order[:, 1], order[:, 0])
