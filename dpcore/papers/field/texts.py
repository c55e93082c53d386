"""Claims about steps of methods for whole texts, whose models are not in this laboratory.

Each step is judged as it stands in one commit of public code, by what can be computed of it without
the model: who sees what without noise, and how much noise there is.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.language.language import language
from dpcore.audit.exact.exact import hockey_stick
from dpcore.audit.verdict import Outcome
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.candidates.clusters import clusters
from dpcore.mechanisms.candidates.diffractor import Diffractor
from dpcore.mechanisms.clipped.gaussian import classical_sigma, gaussian_log_delta
from dpcore.mechanisms.distance_blocks import near_distances
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon

_PLACES = 768  # coordinates of one position of BART's encoder
_WIDTH, _ASSUMED = 0.3, 0.2  # of the interval that is clipped to, and what the code takes for it
_CLIP = -15.0  # logits are clipped to [−15, 0]
_NOUN, _OTHER = 14.0, 0.1  # scores of a noun and of what has no score of its own
_TEXT = 8  # words
_SET = 20  # words of a cluster


def dp_st_cluster(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The nearest public cluster is taken without noise, and an exponential mechanism within it.

    A word stands for a triple, and the sets of `clusters` for the public clusters.
    """
    table, n = clusters(lexicon, _SET), len(lexicon)
    seeds = lexicon.vectors[table.seeds]
    nearest = np.empty(n, dtype=np.int64)
    for start in range(0, n, 2048):
        some = lexicon.vectors[start : start + 2048].astype(np.float64)
        nearest[start : start + 2048] = near_distances(some, seeds, Metric.EUCLIDEAN).argmin(axis=1)
        progress("words", min(start + 2048, n), n)
    shares = np.bincount(nearest, minlength=len(table)) / n
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
    """ln P(y | word): score max(1 − cosine distance, 0) over the words of a cluster."""
    table = clusters(lexicon, _SET)
    members = table.members[table.starts[cluster] : table.starts[cluster + 1]]
    rows, own = (lexicon.vectors[which].astype(np.float64) for which in (members, word))
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(own)
    similarity = np.maximum((rows @ own) / np.maximum(lengths, 1e-300), 0.0)
    scores = 0.5 * epsilon * (similarity - similarity.max())
    logs = np.full(len(lexicon), -math.inf)
    logs[members] = scores - math.log(np.exp(scores).sum())
    return logs


def dp_bart_one_noise(lexicon: Lexicon, settings: AuditSettings) -> Verdict:
    """One noise vector for all positions, of a scale for one, and for too narrow an interval."""
    root = math.sqrt(_PLACES)
    sigma = classical_sigma(settings.epsilon, settings.delta, _ASSUMED * root)
    one = math.exp(float(gaussian_log_delta(settings.epsilon, sigma, _WIDTH * root)))
    rng = generator(settings.seed, "audit", "noise")
    text = rng.uniform(-_ASSUMED, _WIDTH - _ASSUMED, (2, _PLACES))
    noisy = text + rng.normal(0.0, sigma, _PLACES)
    left = np.abs((noisy[0] - noisy[1]) - (text[0] - text[1])).max()
    return judged(
        "dp-bart-one-noise",
        lexicon,
        settings,
        # The difference of two positions is released without noise: texts with two such
        # differences are told apart for certain.
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
    """The likeliest next word in place of a drawn one, on the bundled model of pairs of words."""
    words = load(None)
    model = language(words)
    rng = generator(settings.seed, "audit", "words")
    contexts = np.sort(rng.choice(len(words) // 10, 10 * settings.words, replace=False))
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
    """ε split over the words of a text by scores that were computed from it, with 1-Diffractor."""
    mechanism = Diffractor(lexicon=lexicon)
    tour = np.argsort(mechanism.places[0])
    steps = [
        (float(mechanism.promised_distances(np.array(pair), 1.0)[0, 1]), pair)
        for pair in pairwise(tour[:200].tolist())
    ]
    apart, (word, other) = min(steps)
    total = _TEXT * settings.epsilon
    before = _split([_NOUN] * _TEXT, total)
    after = _split([_OTHER] + [_NOUN] * (_TEXT - 1), total)
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
    """ε of each word: the more a word's score, the less."""
    inverse = 1.0 / np.array(scores)
    return np.asarray(total * inverse / inverse.sum())
