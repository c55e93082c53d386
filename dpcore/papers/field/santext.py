"""Claims about SanText and SanText+ (Yue et al. 2021), judged in the form of one commit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.exact.laws import audit_mechanism
from dpcore.audit.verdict import Outcome
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.exponential.santext import SanText, cosine_stretch
from dpcore.mechanisms.exponential.santext_plus import SanTextPlus
from dpcore.papers.carvalho2021.claims import loss_numbers
from dpcore.papers.claim import judged
from dpcore.papers.field.sampled import nearest_of_each, parameters_of, proved, sampled_words

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Verdict

_ANGLE = 0.1  # of two words that are alike, in radians


def santext(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """The exponential mechanism over all words, with Euclidean distances."""
    return proved("santext", SanText(lexicon=lexicon), settings, progress)


def santext_angle(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The same with the angle, the smallest repair of the cosine."""
    return proved("santext-angle", SanText(lexicon=lexicon, metric="angular"), settings, progress)


def santext_cosine(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The same with 1 − cos θ, which is no metric."""
    crafted = SanText(lexicon=_crafted(), metric="cosine")
    three = audit_mechanism(crafted, settings.epsilon, words=np.arange(3)).losses
    mechanism = SanText(lexicon=lexicon, metric="cosine")
    words, fewer = sampled_words(lexicon, settings)
    words = np.unique(np.concatenate((words, nearest_of_each(lexicon, words))))
    audit = audit_mechanism(mechanism, settings.epsilon, words=words, progress=progress)
    return judged(
        "santext-cosine",
        lexicon,
        settings,
        Outcome.NOT_REFUTED if three.holds else Outcome.REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, settings.epsilon, words),
        numbers={"true epsilon of crafted words": three.epsilon_effective}
        | loss_numbers(audit, lexicon)
        | {"triangle inequality broken by a factor": cosine_stretch(lexicon, words)[0]},
        met=(False,),
        angle=_ANGLE,
        method=audit.method,
        fewer=fewer,
        pairs=audit.losses.pairs,
    )


def _crafted() -> Lexicon:
    """Three words in the plane: two at a small angle, and one at a right angle to the first."""
    rows = [[1.0, 0.0], [math.cos(_ANGLE), math.sin(_ANGLE)], [0.0, 1.0]]
    return Lexicon("crafted", ("a", "b", "c"), np.array(rows, dtype=np.float32))


def santext_plus(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """ε·d between sensitive words; what the others give away."""
    mechanism = SanTextPlus(lexicon=lexicon)
    words, fewer = sampled_words(lexicon, settings, mechanism.first_sensitive)
    audit = audit_mechanism(mechanism, settings.epsilon, words=words, progress=progress)
    frequent = audit_mechanism(mechanism, settings.epsilon, words=np.array([0, 1]))
    return judged(
        "santext-plus",
        lexicon,
        settings,
        Outcome.CONDITIONAL if audit.losses.holds else Outcome.REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, settings.epsilon, words),
        numbers=loss_numbers(audit, lexicon)
        | {
            "true epsilon of two frequent words": frequent.losses.epsilon_effective,
            "share of words that are not protected": mechanism.first_sensitive / len(lexicon),
            "more between a sensitive word and another, ln(1/p)": -math.log(mechanism.p),
            "P(sensitive | output is), from one half": mechanism.posterior(0.5),
        },
        met=(False, True),
        fewer=fewer,
        first=lexicon.words[mechanism.first_sensitive],
    )
