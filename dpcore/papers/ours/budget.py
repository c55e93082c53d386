"""Claims about an ε of its own for each word, by a public rule: the obvious form, two repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.verdict import Outcome
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.exponential.budget import Budget
from dpcore.mechanisms.exponential.santext import SanText
from dpcore.papers.claim import judged
from dpcore.papers.field.sampled import nearest_of_each, proved, sampled_words

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray, IntArray
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Verdict

_SHARE = 0.2  # of ε, for the rarer half of the words
_LINE = (0.0, 0.1, 10.0)  # two words next to each other, and a far one


def rule_of(lexicon: Lexicon) -> str:
    """The rarer half of the words gets a fifth of ε."""
    return f"rank>{len(lexicon) // 2}:{_SHARE}"


def own_epsilon(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """The exponential mechanism, run for each word at the ε of that word."""
    epsilon = settings.epsilon
    line = Lexicon("crafted", ("a", "b", "c"), np.array(_LINE, dtype=np.float32)[:, None])
    crafted, promised = losses_at_own_epsilons(
        line, epsilon, np.array([0]), np.array([1]), np.array([_SHARE]), np.ones(1)
    )
    words, fewer = sampled_words(lexicon, settings)
    near, half = nearest_of_each(lexicon, words), len(lexicon) // 2
    shares = [np.where(side < half, 1.0, _SHARE) for side in (words, near)]
    different = shares[0] != shares[1]
    true, allowed = losses_at_own_epsilons(lexicon, epsilon, words, near, *shares)
    progress("words", words.size, words.size)
    # Pairs of one share keep the promise: they share a mechanism.
    times = (true / allowed)[different]
    return judged(
        "budget-own-epsilon",
        lexicon,
        settings,
        Outcome.REFUTED if crafted[0] > promised[0] else Outcome.NOT_REFUTED,
        parameters={"epsilon": epsilon, "share": _SHARE, "words": int(words.size),
                    "seed": settings.seed},
        numbers={
            "claimed loss of crafted words": float(promised[0]),
            "true loss of crafted words": float(crafted[0]),
            "pairs of nearest words with different budgets": int(times.size),
            "of these, the loss over the claimed one, largest": float(times.max(initial=0.0)),
        },
        met=(False,),
        fewer=fewer,
        count=int(words.size),
    )  # fmt: skip


def losses_at_own_epsilons(
    lexicon: Lexicon,
    epsilon: float,
    words: IntArray,
    others: IntArray,
    shares: FloatArray,
    other_shares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The largest losses of pairs of which each word has an ε of its own, and ε·d of the larger ε.

    Args:
        lexicon: words and vectors.
        epsilon: of share 1.
        words: shape (k,).
        others: shape (k,).
        shares: of `words`, shape (k,).
        other_shares: of `others`, shape (k,).
    """
    mechanism, true, claimed = SanText(lexicon=lexicon), [], []
    for w, v, r, s in zip(words, others, shares, other_shares, strict=True):
        logs = mechanism.log_law(int(w), epsilon * r), mechanism.log_law(int(v), epsilon * s)
        true.append(float(np.abs(logs[0] - logs[1]).max()))
        apart = distances(lexicon.vectors[[v]], lexicon.vectors[[w]])[0, 0]
        claimed.append(epsilon * float(max(r, s)) * float(apart))
    return np.array(true), np.array(claimed)


def budget(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """The budget of a word is public: what holds within one, and between two."""
    mechanism = Budget(lexicon=lexicon, rule=rule_of(lexicon))
    return proved(
        "budget",
        mechanism,
        settings,
        progress,
        numbers={"largest loss of two words of different budgets": settings.epsilon
                 * mechanism.apart},
    )  # fmt: skip


def budget_any(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Each budget against all words, and what the others pay for it."""
    mechanism = Budget(lexicon=lexicon, rule=rule_of(lexicon), promise="any")
    return proved(
        "budget-any",
        mechanism,
        settings,
        progress,
        numbers={"epsilon left to two words of the largest budget, median": settings.epsilon
                 * mechanism.left},
    )  # fmt: skip
