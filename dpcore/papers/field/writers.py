"""Claims about mechanisms that write a text token by token, by what holds for any model.

The exact losses are those of crafted scores, which the proof allows; where a model is needed, the
bundled one of pairs of words stands for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.language.language import language
from dpcore.audit.exact.exact import hockey_stick
from dpcore.audit.verdict import Outcome
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged
from dpcore.rewrite.languages.english import ENGLISH
from dpcore.rewrite.tokens import Kind, tokenize
from dpcore.rewrite.write.scores import ClippedDraw, ResponseDraw, calibrated_strength

if TYPE_CHECKING:
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon

_SMOLLM, _T5, _ROBERTA = 49_152, 32_128, 50_265  # tokens of the vocabularies
_USEFUL = 50.0  # ε of a token at which sentences begin to read well
_TOKENS = 30  # of a text
_WIDER = (2.0, 10.0)  # how many times the assumed width logits may span
_LIKELIEST = 50  # candidates that are left of all
_SHORT, _LONG = 20, 40  # tokens of two questions


def _crafted_loss(strength: float, vocabulary: int, span: float = 1.0) -> float:
    """The exact loss of a token that alone scores high after one text and low after the other."""
    draw = ClippedDraw(vocabulary=vocabulary, low=0.0, high=1.0, strength=strength * span)
    first = np.zeros(vocabulary)
    first[0] = 1.0
    return float(draw.log_law(first)[0] - draw.log_law(1.0 - first)[0])


def dp_prompt(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Clipped logits, all tokens possible, a public number of tokens."""
    draw = ClippedDraw(vocabulary=_SMOLLM, low=0.0, high=1.0, strength=0.5 * settings.epsilon)
    loss = _crafted_loss(draw.strength, _SMOLLM)
    return judged(
        "dp-prompt",
        lexicon,
        settings,
        Outcome.PROVED if loss <= settings.epsilon * (1 + 1e-9) else Outcome.REFUTED,
        parameters={"epsilon": settings.epsilon, "delta": settings.delta, "tokens": _TOKENS},
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon of a token": loss,
            "true epsilon of a token where 50 is claimed": _crafted_loss(0.5 * _USEFUL, _SMOLLM),
            "temperature/range": 1.0 / draw.strength,
            "epsilon of the text, as a sum": _TOKENS * loss,
            "epsilon of the text for this delta": draw.composed(_TOKENS, settings.delta).epsilon,
        },
        vocabulary=_SMOLLM,
        tokens=_TOKENS,
    )


def dp_prompt_calibrated(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """The same at the temperature at which the largest loss is ε."""
    strength = calibrated_strength(settings.epsilon, _SMOLLM)
    loss = _crafted_loss(strength, _SMOLLM)
    return judged(
        "dp-prompt-calibrated",
        lexicon,
        settings,
        Outcome.PROVED if loss <= settings.epsilon * (1 + 1e-9) else Outcome.REFUTED,
        parameters={"epsilon": settings.epsilon},
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon of a token": loss,
            "temperature/range": 1.0 / strength,
            "times as cold as published": 2.0 * strength / settings.epsilon,
            "times as cold as published, at 50": 2.0
            * calibrated_strength(_USEFUL, _SMOLLM)
            / _USEFUL,
        },
        vocabulary=_SMOLLM,
    )


def dp_prompt_response(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Randomised response on what the model draws."""
    draw = ResponseDraw(vocabulary=_SMOLLM, epsilon=settings.epsilon)
    certain = np.full(_SMOLLM, -1e6)
    certain[0] = 0.0
    first, second = draw.log_law(certain), draw.log_law(np.roll(certain, 1))
    loss = float(np.abs(first - second).max())
    others = math.log(_SMOLLM - 1)
    return judged(
        "dp-prompt-response",
        lexicon,
        settings,
        Outcome.PROVED if loss <= settings.epsilon * (1 + 1e-9) else Outcome.REFUTED,
        parameters={"epsilon": settings.epsilon},
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon of a token": loss,
            "epsilon for one half": others,
            "epsilon for one half, calibrated": float(np.logaddexp(0.0, 2.0 * others))
            - math.log(2.0),
            "epsilon for one half, published": 2.0 * others,
            "epsilon for one half, least of all": math.log(0.5 * _SMOLLM),
        },
        vocabulary=_SMOLLM,
    )


def dp_prompt_unclipped(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """The same temperature without clipping: ε grows with what logits span."""
    half = 0.5 * settings.epsilon
    losses = {span: _crafted_loss(half, _T5, span) for span in (1.0, *_WIDER)}
    return judged(
        "dp-prompt-unclipped",
        lexicon,
        settings,
        Outcome.CONDITIONAL,
        parameters={"epsilon": settings.epsilon},
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon within the width": losses[1.0],
            "true epsilon at twice the width": losses[2.0],
            "true epsilon at ten times the width": losses[10.0],
        },
        met=(False,),
        vocabulary=_T5,
    )


def dp_prompt_top_k(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The fifty likeliest tokens alone, on the bundled model of pairs of words."""
    words = load(None)
    model = language(words)
    rng = generator(settings.seed, "audit", "words")
    contexts = np.sort(rng.choice(len(words) // 10, 10 * settings.words, replace=False))
    laws = np.log(np.stack([model.after(context) for context in contexts.tolist()]))
    logs, sets = np.full_like(laws, -math.inf), []
    for row, after in enumerate(laws):
        kept = np.argsort(-after, kind="stable")[:_LIKELIEST]
        sets.append(frozenset(kept.tolist()))
        logs[row, kept] = after[kept] - np.logaddexp.reduce(after[kept])
        progress("contexts", row + 1, contexts.size)
    apart = [a != b for i, a in enumerate(sets) for b in sets[:i]]
    deltas = [
        float(hockey_stick(logs[i], logs[j], settings.epsilon))
        for i in range(contexts.size)
        for j in range(i)
    ]
    return judged(
        "dp-prompt-top-k",
        lexicon,
        settings,
        Outcome.REFUTED if any(apart) else Outcome.NOT_REFUTED,
        parameters={
            "epsilon": settings.epsilon, "words": int(contexts.size), "seed": settings.seed,
        },
        numbers={
            "claimed epsilon": settings.epsilon,
            "pairs with a loss of ∞": float(np.mean(apart)),
            "true delta, median": float(np.median(deltas)),
            "true delta, largest": float(max(deltas)),
        },
        met=(False,),
        count=int(contexts.size),
        pairs=len(apart),
        kept=_LIKELIEST,
    )  # fmt: skip


def dp_prompt_length(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """As many tokens at most as the question has: a longer output proves a longer question."""
    half = 0.5 * settings.epsilon
    # An end mark is likeliest where it alone has the highest score.
    end = math.exp(half - float(np.logaddexp(half, math.log(_T5 - 1))))
    longer = (1.0 - end) ** (_SHORT + 1)
    return judged(
        "dp-prompt-length",
        lexicon,
        settings,
        Outcome.REFUTED,
        parameters={"epsilon": settings.epsilon, "tokens": _SHORT, "tokens of the other": _LONG},
        numbers={
            "claimed epsilon of a token": settings.epsilon,
            "true delta, at least": longer,
            "an end mark, at most": end,
        },
        met=(False,),
        short=_SHORT,
        long=_LONG,
    )


def dp_mlm_stop_words(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Stop words, marks and capitals are released as they are; all other words keep ε."""
    tokens = [token for text in teaching_corpus().texts for token in tokenize(text)]
    kept = [
        token.kind is Kind.PUNCTUATION or token.text.lower() in ENGLISH.stop_words
        for token in tokens
    ]
    return judged(
        "dp-mlm-stop-words",
        lexicon,
        settings,
        Outcome.CONDITIONAL,
        parameters={"epsilon": settings.epsilon},
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon of a word that is drawn": _crafted_loss(0.5 * settings.epsilon, _ROBERTA),
            "true delta of two texts with different stop words": 1.0,
            "words and marks released as they are": float(np.mean(kept)),
        },
        met=(False, False),
        count=len(tokens),
        vocabulary=_ROBERTA,
    )
