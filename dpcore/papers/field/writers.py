"""Claims about mechanisms that write a text token by token, valid for any model.

The exact losses are those of crafted scores, which the proof allows; where a model is needed, the
bundled model of word pairs replaces it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.language.language import language
from dpcore.audit.composition import composition
from dpcore.audit.exact import hockey_stick
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Outcome, Verdict
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.candidates.clusters import clusters
from dpcore.mechanisms.candidates.diffractor import Diffractor
from dpcore.mechanisms.clipped.clipped import classical_sigma, gaussian_log_delta
from dpcore.mechanisms.distances import near_distances
from dpcore.mechanisms.response import KAryResponse
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.tokens import Kind, tokenize
from dpcore.rewrite.write.scores import ClippedDraw, ResponseDraw, calibrated_strength
from dpcore.rewrite.write.writers import DpPrompt

_SMOLLM, _T5, _ROBERTA = 49_152, 32_128, 50_265  # tokens of the vocabularies
_USEFUL = 50.0  # ε of a token at which sentences begin to read well
_TOKENS = 30  # of a text
_WIDER = (2.0, 10.0)  # how many times the assumed width logits may span
_LIKELIEST = 50  # candidates kept of all
_SHORT, _LONG = 20, 40  # tokens of the two questions
_HOSTED, _HOSTED_TOKENS = 0.7, 400  # temperature of a hosted model, and its most tokens


def _crafted_loss(strength: float, vocabulary: int, span: float = 1.0) -> float:
    """Return the exact loss of a token that scores high after one text, low after another."""
    draw = ClippedDraw(vocabulary=vocabulary, low=0.0, high=1.0, strength=strength * span)
    first = np.zeros(vocabulary)
    # The largest change that clipping allows: one token from 0 to 1, all others the other way.
    first[0] = 1.0
    return float(draw.log_law(first)[0] - draw.log_law(1.0 - first)[0])


def dp_prompt(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check DP-Prompt: clipped logits, all tokens possible, a public number of tokens."""
    draw = ClippedDraw(vocabulary=_SMOLLM, low=0.0, high=1.0, strength=0.5 * settings.epsilon)
    loss = _crafted_loss(draw.strength, _SMOLLM)
    return judged(
        "dp-prompt",
        lexicon,
        settings,
        # The loss is a difference of two logarithms, right to 1e-12.
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
    """Check the same at the temperature at which the largest loss is ε."""
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
    """Check randomised response on the token that the model draws."""
    draw = ResponseDraw(vocabulary=_SMOLLM, epsilon=settings.epsilon)
    # A model that is certain of one token: no scores lie further apart.
    certain = np.full(_SMOLLM, -1e6)
    certain[0] = 0.0
    first, second = draw.log_law(certain), draw.log_law(np.roll(certain, 1))
    loss = float(np.abs(first - second).max())
    # At this ε randomised response keeps a token as often as it does not.
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
    """Check the same temperature without clipping: ε grows with the span of the logits."""
    half = 0.5 * settings.epsilon
    # The temperature assumes a width of 1: wider logits are the same with a larger strength.
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
    """Check drawing from the fifty likeliest tokens only, on the bundled model of word pairs."""
    words = load(None)
    model = language(words)
    rng = generator(settings.seed, "audit", "words")
    # Of the frequent words: the model has seen enough pairs to know what follows them.
    contexts = np.sort(rng.choice(len(words) // 10, 10 * settings.words, replace=False))
    laws = np.log(np.stack([model.after(context) for context in contexts.tolist()]))
    logs, sets = np.full_like(laws, -math.inf), []
    for row, after in enumerate(laws):
        # Stable: equally likely words must not be kept by chance.
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
    """Check outputs no longer than the question: a longer output proves a longer question."""
    half = 0.5 * settings.epsilon
    # The probability of an end mark is largest where it alone has the highest score.
    end = math.exp(half - float(np.logaddexp(half, math.log(_T5 - 1))))
    # The output is longer than the short question if no end mark comes before: then the short one
    # is excluded.
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


def hosted_temperature(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check a model at a temperature whose logits nothing bounds."""
    # Two tokens, each the likelier one after one text: the loss is the gap over the temperature.
    gap = 2.0 * settings.epsilon * _HOSTED
    beyond = _crafted_loss(gap / _HOSTED, 2)
    here = DpPrompt().draw(settings.epsilon).settings
    span = here["high"] - here["low"]
    nominal = 2.0 * span / _HOSTED
    words = load(None)
    model = language(words)
    rng = generator(settings.seed, "audit", "words")
    contexts = np.sort(rng.choice(len(words) // 10, 10 * settings.words, replace=False))
    logs = np.log(np.stack([model.after(context) for context in contexts.tolist()])) / _HOSTED
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    losses = logs.max(axis=0) - logs.min(axis=0)
    token = int(losses.argmax())
    likely, unlikely = int(logs[:, token].argmax()), int(logs[:, token].argmin())
    return judged(
        "hosted-temperature",
        lexicon,
        settings,
        # For any ε, so that no ε follows from the temperature.
        Outcome.REFUTED if beyond > settings.epsilon else Outcome.NOT_REFUTED,
        parameters={
            "epsilon": settings.epsilon, "temperature": _HOSTED, "words": int(contexts.size),
            "seed": settings.seed,
        },
        numbers={
            "claimed epsilon of a token": settings.epsilon,
            "gap between two logits that exceeds it": gap,
            "true epsilon of these two tokens": beyond,
            "range of logits": span,
            "true epsilon of a token within that range": _crafted_loss(span / _HOSTED, _SMOLLM),
            "epsilon by the theorem if clipped to it": nominal,
            "that of a text": _HOSTED_TOKENS * nominal,
            "true loss after two words": float(losses[token]),
        },
        met=(False,),
        temperature=_HOSTED,
        vocabulary=_SMOLLM,
        span=span,
        nominal=nominal,
        tokens=_HOSTED_TOKENS,
        count=int(contexts.size),
        token=words.words[token],
        first=words.words[int(contexts[likely])],
        second=words.words[int(contexts[unlikely])],
    )  # fmt: skip


def dp_mlm_stop_words(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check unprotected stop words, punctuation marks and capitals; all other words keep ε."""
    tokens = [token for text in teaching_corpus().texts for token in tokenize(text)]
    kept = [
        # What the published code leaves as it is.
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


# Claims about steps of methods for whole texts, whose models this project does not have.
#
# Each step is judged in the form of one commit of public code, by numbers that do not need the
# model: the values visible without noise, and the amount of noise.


_PLACES = 768  # coordinates of one position of BART's encoder
_WIDTH, _ASSUMED = 0.3, 0.2  # of the clipping interval, and as the code assumes it
_CLIP = -15.0  # logits are clipped to [−15, 0]
_NOUN, _OTHER = 14.0, 0.1  # scores of a noun, and of a word without a score
_TEXT = 8  # words
_SET = 20  # words of a cluster
_ANSWERS = Lexicon("crafted", ("no", "yes"), np.array([[0.0], [1.0]], dtype=np.float32))


def dp_st_cluster(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the nearest public cluster, chosen without noise, and an exponential mechanism in it.

    A word represents a triple, and the sets of `clusters` the public clusters.
    """
    table, n = clusters(lexicon, _SET), len(lexicon)
    seeds = lexicon.vectors[table.seeds]
    nearest = np.empty(n, dtype=np.int64)
    # In parts: distances to all clusters at once would take gigabytes.
    for start in range(0, n, 2048):
        some = lexicon.vectors[start : start + 2048].astype(np.float64)
        nearest[start : start + 2048] = near_distances(some, seeds, Metric.EUCLIDEAN).argmin(axis=1)
        progress("words", min(start + 2048, n), n)
    shares = np.bincount(nearest, minlength=len(table)) / n
    # A cluster that no word is nearest to has no entropy.
    used = shares[shares > 0]
    rng = generator(settings.seed, "audit", "words")
    words = np.sort(rng.choice(n, min(n, settings.words), replace=False))
    logs = np.stack([_within(lexicon, int(w), int(nearest[w]), settings.epsilon) for w in words])
    deltas = [float(hockey_stick(a, b, settings.epsilon)) for a in logs for b in logs]
    several = int(used.size) > 1
    return judged(
        "dp-st-cluster",
        lexicon,
        settings,
        Outcome.REFUTED if several else Outcome.PROVED,
        parameters={
            "epsilon": settings.epsilon, "words": int(words.size), "seed": settings.seed,
            "clusters": len(table),
        },
        numbers={
            "claimed epsilon": settings.epsilon,
            "true delta of two triples, largest": min(1.0, max(deltas)),
            "bits of a triple that are given away": float(-(used * np.log2(used)).sum()),
            "of so many bits": math.log2(n),
            "pairs of triples in two clusters": float(1.0 - (used**2).sum()),
        },
        met=(not several,),
    )  # fmt: skip


def _within(lexicon: Lexicon, word: int, cluster: int, epsilon: float) -> FloatArray:
    """Return ln P(y | word): score max(1 − cosine distance, 0) over the words of a cluster."""
    table = clusters(lexicon, _SET)
    members = table.members[table.starts[cluster] : table.starts[cluster + 1]]
    rows, own = (lexicon.vectors[which].astype(np.float64) for which in (members, word))
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(own)
    # A word without length has no direction; its similarity is 0.
    similarity = np.maximum((rows @ own) / np.maximum(lengths, 1e-300), 0.0)
    scores = 0.5 * epsilon * (similarity - similarity.max())
    logs = np.full(len(lexicon), -math.inf)
    logs[members] = scores - math.log(np.exp(scores).sum())
    return logs


def dp_bart_one_noise(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check one noise vector for all positions, scaled for one and for too narrow an interval."""
    root = math.sqrt(_PLACES)
    # As the code computes it: for the interval that it assumes, and for one position.
    sigma = classical_sigma(settings.epsilon, settings.delta, _ASSUMED * root)
    one = math.exp(float(gaussian_log_delta(settings.epsilon, sigma, _WIDTH * root)))
    rng = generator(settings.seed, "audit", "noise")
    text = rng.uniform(-_ASSUMED, _WIDTH - _ASSUMED, (2, _PLACES))
    # One vector for both positions: it cancels in their difference.
    noisy = text + rng.normal(0.0, sigma, _PLACES)
    left = np.abs((noisy[0] - noisy[1]) - (text[0] - text[1])).max()
    return judged(
        "dp-bart-one-noise",
        lexicon,
        settings,
        # The difference of two positions is released without noise: texts with two such
        # differences are distinguished with certainty.
        Outcome.REFUTED,
        parameters={
            "epsilon": settings.epsilon,
            "delta": settings.delta,
            "seed": settings.seed,
            "coordinates of a position": _PLACES,
        },
        numbers={
            "claimed epsilon": settings.epsilon,
            "claimed delta": settings.delta,
            "true delta, two positions": 1.0,
            "true delta, one position": one,
            "noise left in a difference of positions, at most": float(left),
            "noise of a coordinate": sigma,
        },
        met=(False, False),
    )


def greedy_paraphrase(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the likeliest next word in place of a drawn one, on the bundled model of word pairs."""
    words = load(None)
    model = language(words)
    rng = generator(settings.seed, "audit", "words")
    contexts = np.sort(rng.choice(len(words) // 10, 10 * settings.words, replace=False))
    # Clipped as the code does, so that the drawn token keeps what is claimed for it.
    logits = np.stack([np.clip(np.log(model.after(w)), _CLIP, 0.0) for w in contexts.tolist()])
    progress("contexts", contexts.size, contexts.size)
    best = logits.argmax(axis=1)
    scaled = logits * settings.epsilon / (2.0 * -_CLIP)
    drawn = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    apart = [best[i] != best[j] for i in range(best.size) for j in range(i)]
    losses = [np.abs(drawn[i] - drawn[:i]).max() for i in range(1, best.size)]
    return judged(
        "greedy-paraphrase",
        lexicon,
        settings,
        Outcome.REFUTED if any(apart) else Outcome.NOT_REFUTED,
        parameters={
            "epsilon": settings.epsilon, "words": int(contexts.size), "seed": settings.seed,
        },
        numbers={
            "claimed epsilon of a token": settings.epsilon,
            "pairs of texts told apart for certain": float(np.mean(apart)),
            "true delta of these": 1.0,
            "largest loss if a token were drawn": float(max(losses)),
        },
        met=(False,),
        count=int(contexts.size),
        pairs=len(apart),
    )  # fmt: skip


def budget_from_text(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check ε split over the words of a text by scores computed from it, with 1-Diffractor."""
    mechanism = Diffractor(lexicon=lexicon)
    tour = np.argsort(mechanism.places[0])
    steps = [
        (float(mechanism.promised_distances(np.array(pair), 1.0)[0, 1]), pair)
        # Neighbours on a list: the claim is tightest for words that are one place apart.
        for pair in pairwise(tour[:200].tolist())
    ]
    apart, (word, other) = min(steps)
    total = _TEXT * settings.epsilon
    before = _split([_NOUN] * _TEXT, total)
    after = _split([_OTHER] + [_NOUN] * (_TEXT - 1), total)
    # Any words will do: their ε changes because of the one that differs.
    unchanged = [w for w in range(len(lexicon)) if w not in {word, other}][: _TEXT - 1]
    losses = []
    for done, (place, same) in enumerate(enumerate(unchanged, start=1), start=1):
        first, second = (mechanism.log_law(same, split[place]) for split in (before, after))
        losses.append(float(np.abs(first - second).max()))
        progress("words", done, len(unchanged))
    promised = max(before[0], after[0]) * apart
    return judged(
        "budget-from-text",
        lexicon,
        settings,
        Outcome.REFUTED if sum(losses) > promised else Outcome.NOT_REFUTED,
        parameters={"epsilon": total, "words": _TEXT, "lists": mechanism.lists},
        numbers={
            "claimed loss of the whole text": promised,
            "true loss at the words that did not change": sum(losses),
            "epsilon of such a word, in one text": float(before[1]),
            "epsilon of such a word, in the other": float(after[1]),
            "places between the two words that differ": apart,
        },
        met=(False,),
        word=lexicon.words[word],
        other=lexicon.words[other],
        pairs=1,
    )


def _split(scores: list[float], total: float) -> FloatArray:
    """Return ε of each word: the larger a word's score, the smaller its ε."""
    inverse = 1.0 / np.array(scores)
    return np.asarray(total * inverse / inverse.sum())


def tokens_in_parallel(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """Check the largest ε of the tokens as the ε of a text, on two tokens drawn exactly."""
    mechanism = KAryResponse(lexicon=_ANSWERS)
    laws = [mechanism.log_law(word, settings.epsilon) for word in range(len(_ANSWERS))]
    # Both tokens differ; with noise of their own the logarithms of a pair of outputs add up.
    first, second = (np.add.outer(law, law) for law in reversed(laws))
    losses = first - second
    output = np.unravel_index(int(losses.argmax()), losses.shape)
    text = composition(mechanism, settings.epsilon, _TOKENS, settings.delta)
    return judged(
        "tokens-in-parallel",
        lexicon,
        settings,
        Outcome.REFUTED if losses.max() > settings.epsilon * (1 + 1e-9) else Outcome.NOT_REFUTED,
        parameters={"epsilon": settings.epsilon, "delta": settings.delta, "tokens": _TOKENS},
        numbers={
            "claimed epsilon of the text": settings.epsilon,
            "true epsilon of two tokens": float(losses.max()),
            "probability of that output after one text": math.exp(first[output]),
            "probability of that output after the other": math.exp(second[output]),
            "true delta of two tokens at the claimed epsilon": float(
                hockey_stick(first.ravel(), second.ravel(), settings.epsilon)
            ),
            "epsilon of the text, as a sum": text.total,
            "epsilon of the text for this delta": text.epsilon,
        },
        met=(False,),
        pairs=1,
        one=" ".join([_ANSWERS.words[1]] * 2),
        other=" ".join([_ANSWERS.words[0]] * 2),
        output=" ".join(_ANSWERS.words[place] for place in output),
        tokens=_TOKENS,
    )
