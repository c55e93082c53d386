"""Claims about mechanisms that choose among candidates, each judged in the form of one commit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.audit.exact import audit_mechanism, hockey_stick
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Number, Outcome, Verdict
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.candidates.custext import CusText
from dpcore.mechanisms.candidates.diffractor import Diffractor
from dpcore.mechanisms.candidates.rantext import RanText
from dpcore.mechanisms.candidates.syntf import SynTF
from dpcore.mechanisms.candidates.wbb import WordsBlendingBoxes
from dpcore.mechanisms.exponential.santext import SanText, SanTextPlus, cosine_stretch
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.papers.carvalho2021.claims import LITTLE_CUT, loss_numbers, truncating_epsilon
from dpcore.papers.claim import judged
from dpcore.rewrite.tokens import Kind, tokenize
from dpcore.written import Filled

# Shared by these claims: a sample of words, and numbers of a mechanism on it.


_SAMPLE = 10  # times `settings.words`: private words that are compared
_SAME_LAW = 1e-4  # of two logarithms: float32 distances, and ε up to some hundreds


def sampled_words(
    lexicon: Lexicon, settings: AuditSettings, first: int = 0
) -> tuple[IntArray, str]:
    """Sample words from `first` on, ascending; return a sentence too if the sample is small."""
    count, fewer = settings.sample(lexicon, _SAMPLE)
    rng = generator(settings.seed, "audit", "words")
    size = min(count, len(lexicon) - first)
    return np.sort(first + rng.choice(len(lexicon) - first, size, replace=False)), fewer


def parameters_of(
    mechanism: Mechanism, settings: AuditSettings, epsilon: float, words: IntArray
) -> dict[str, Number]:
    """Return the parameters of a check of this mechanism."""
    return {
        "epsilon": epsilon,
        **{name: value for name, value in mechanism.settings().items() if value is not None},
        "words": int(words.size),
        "seed": settings.seed,
    }


def staying(mechanism: Mechanism, words: IntArray, epsilon: float) -> float:
    """Return the mean probability that one of these words stays."""
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
    """Judge a claim with a proof, beside the exact losses of a sample; a larger loss refutes it."""
    value = settings.epsilon if epsilon is None else epsilon
    lexicon = mechanism.lexicon
    words, fewer = sampled_words(lexicon, settings)
    audit = audit_mechanism(mechanism, value, words=words, progress=progress)
    # Logarithms of sums are correct to 1e-12, which at a small ε shows in the quotient.
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
    """Return δ at ε of the ordered pairs of each word with its partner, shape (k,) each."""
    needed = np.unique(np.concatenate((words, *partners)))
    # Each law once, though a word may be in several pairs: a law runs over the whole vocabulary.
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
    """Return the nearest other word of each word, shape (k,)."""
    order = lexicon.nearest_words(words, 2)[0]
    # A copy of a word may come before the word itself.
    return np.where(order[:, 0] == words, order[:, 1], order[:, 0])


_RADIUS_MATTERS = 2.1  # from 2 on the noise of RANTEXT hardly falls with ε any more


def custext(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the conservative form: ε within a set, ∞ between sets."""
    mechanism = CusText(lexicon=lexicon)
    table, n = mechanism.clusters, len(lexicon)
    rng = generator(settings.seed, "audit", "words")
    # Sets and not words: within one set all words are compared.
    chosen = rng.choice(len(table), min(settings.words, len(table)), replace=False)
    within = 0.0
    for done, seed in enumerate(table.seeds[np.sort(chosen)].tolist(), start=1):
        members = table.set_of(seed)
        # A set of one word has no pair.
        if members.size > 1:
            losses = audit_mechanism(mechanism, settings.epsilon, words=members).losses
            within = max(within, losses.epsilon_effective)
        progress("sets", done, chosen.size)
    sizes = np.diff(table.starts).astype(np.float64)
    shares = sizes / n
    between = 0.0
    if len(table) > 1:
        # Any two sets will do: an output of one is impossible under the other.
        pair = np.sort(table.seeds[:2])
        between = audit_mechanism(mechanism, settings.epsilon, words=pair).losses.epsilon_effective
    return judged(
        "custext",
        lexicon,
        settings,
        Outcome.CONDITIONAL if within <= settings.epsilon * (1 + 1e-9) else Outcome.REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, settings.epsilon, chosen),
        numbers={
            "claimed epsilon": settings.epsilon,
            "true epsilon within a set": within,
            "true epsilon between two sets": between,
            "sets": len(table),
            # The set is seen in every output: its entropy is what it tells of the word.
            "bits of a word that are given away": float(-(shares * np.log2(shares)).sum()),
            "of so many bits": math.log2(n),
            "pairs of words that share a set": float((sizes * (sizes - 1)).sum() / (n * (n - 1))),
        },
        met=(len(table) == 1, True),
        sets=int(chosen.size),
    )


def custext_aggressive(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the aggressive form, separate sets: ∞ between nearly all words, the nearest too."""
    mechanism = CusText(lexicon=lexicon, form="aggressive")
    words, fewer = sampled_words(lexicon, settings)
    near = nearest_of_each(lexicon, words)
    # Sets of outputs decide by themselves: where they differ, some output has an infinite loss.
    sets = [frozenset(_support(mechanism, word, settings.epsilon)) for word in words.tolist()]
    others = [frozenset(_support(mechanism, word, settings.epsilon)) for word in near.tolist()]
    apart = [a != b for i, a in enumerate(sets) for b in sets[:i]]
    neighbours = [a != b for a, b in zip(sets, others, strict=True)]
    (deltas,) = deltas_of(mechanism, settings.epsilon, words, near)
    progress("words", words.size, words.size)
    return judged(
        "custext-aggressive",
        lexicon,
        settings,
        Outcome.REFUTED if any(apart) else Outcome.NOT_REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, settings.epsilon, words),
        numbers={
            "claimed epsilon": settings.epsilon,
            "pairs with a loss of ∞": float(np.mean(apart)),
            "pairs of nearest words with a loss of ∞": float(np.mean(neighbours)),
            "true delta of nearest words, median": float(np.median(deltas)),
        },
        met=(False,),
        count=int(words.size),
        fewer=fewer,
        pairs=len(apart),
    )


def _support(mechanism: Mechanism, word: int, epsilon: float) -> list[int]:
    """Return the possible outputs of a word."""
    return np.flatnonzero(mechanism.log_law(word, epsilon) > -math.inf).tolist()


def custext_drawn(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the repair: the set is drawn too."""
    mechanism = CusText(lexicon=lexicon, form="drawn")
    return proved("custext-drawn", mechanism, settings, progress)


def diffractor(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check ε times a number of list positions, which have no meaning."""
    mechanism = Diffractor(lexicon=lexicon)
    words, _ = sampled_words(lexicon, settings)
    places = mechanism.places
    gaps = np.abs(places[:, words] - places[:, nearest_of_each(lexicon, words)]).max(axis=0)
    return proved(
        "diffractor",
        mechanism,
        settings,
        progress,
        numbers={
            "places between nearest words, mean": float(gaps.mean()),
            "places between nearest words, at most": int(gaps.max()),
        },
    )


def rantext(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check RANTEXT: words beyond a random distance are not candidates."""
    mechanism = RanText(lexicon=lexicon)
    # Below it the random distance covers the whole vocabulary, and there is nothing to refute.
    epsilon = max(settings.epsilon, _RADIUS_MATTERS)
    words, fewer = sampled_words(lexicon, settings)
    # Fewer words than elsewhere, since all pairs are compared.
    words = words[:: max(1, words.size // (2 * settings.words))]
    first, second = (side.ravel() for side in np.meshgrid(words, words))
    chosen = first != second
    found: dict[float, FloatArray] = {}
    for value in (epsilon, 3.0 * epsilon):
        logs = np.stack([mechanism.log_law(word, value) for word in words.tolist()])
        all_pairs = np.array([hockey_stick(logs, row, value) for row in logs]).ravel()
        found[value] = all_pairs[chosen]
        progress("epsilons", len(found), 2)
    deltas = found[epsilon]
    # The refutation uses bounds of the law: Σ (P − e^ε·Q)₊ of its least P and largest Q.
    place = np.flatnonzero(chosen)[int(deltas.argmax())]
    pairs = [
        mechanism.log_bounds(int(words[row]), epsilon) for row in divmod(int(place), words.size)
    ]
    certain = max(
        float(hockey_stick(one[0], other[1], epsilon)) for one, other in (pairs, pairs[::-1])
    )
    # Above all that rounding could contribute.
    broken = certain > 1e-6
    return judged(
        "rantext",
        lexicon,
        settings,
        Outcome.REFUTED if broken else Outcome.NOT_REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, epsilon, words),
        numbers={
            "claimed epsilon": epsilon,
            "true delta, largest": float(deltas.max()),
            "true delta, median": float(np.median(deltas)),
            "true delta at three times that epsilon, largest": float(found[3.0 * epsilon].max()),
        },
        met=(False,),
        count=int(words.size),
        fewer=fewer,
        pairs=int(chosen.sum()),
        epsilon=epsilon,
        moved=settings.moved_to(
            epsilon, Filled("below 2 the distance is so long that all words are near")
        ),
    )


def rantext_fixed(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the repair: a public distance, beyond which words score 0."""
    epsilon = max(settings.epsilon, _RADIUS_MATTERS)
    return proved(
        "rantext-fixed",
        RanText(lexicon=lexicon, form="fixed"),
        settings,
        progress,
        epsilon,
        moved=settings.moved_to(epsilon, Filled("as the published form is")),
    )


def wbb(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the published form: a separate box for each word, which does not hold the word."""
    mechanism = WordsBlendingBoxes(lexicon=lexicon)
    words, fewer = sampled_words(lexicon, settings)
    # A random other word, and the nearest one, which the claim should protect best.
    partners = np.roll(words, 1), nearest_of_each(lexicon, words)
    deltas, near = deltas_of(mechanism, settings.epsilon, words, *partners)
    # Any other word that can output the first one shows the loss at the output itself.
    law = np.exp(mechanism.log_law(int(words[0]), settings.epsilon))
    source = int(law.argmax())
    progress("words", words.size, words.size)
    return judged(
        "wbb",
        lexicon,
        settings,
        Outcome.REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, settings.epsilon, words),
        numbers={
            "claimed epsilon": settings.epsilon,
            "words that stay": staying(mechanism, words, settings.epsilon),
            "an output of another word": float(law[source]),
            "true delta of two words, median": float(np.median(deltas)),
            "true delta of nearest words, median": float(np.median(near)),
        },
        met=(False,),
        count=int(words.size),
        fewer=fewer,
        word=lexicon.words[source],
        other=lexicon.words[int(words[0])],
    )


def wbb_floor(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the repair: any word can be the output, with a small probability."""
    mechanism = WordsBlendingBoxes(lexicon=lexicon, form="floor")
    return proved(
        "wbb-floor",
        mechanism,
        settings,
        progress,
        numbers={"share drawn from all words": mechanism.floor(settings.epsilon)},
    )


def syntf(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the exponential mechanism with a similarity over all terms."""
    return proved("syntf", SynTF(lexicon=lexicon), settings, progress)


def syntf_synonyms(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the same mechanism with separate candidates for each word."""
    mechanism = SynTF(lexicon=lexicon, candidates="synonyms")
    words, fewer = sampled_words(lexicon, settings)
    partners = np.roll(words, 1), nearest_of_each(lexicon, words)
    far, deltas = deltas_of(mechanism, settings.epsilon, words, *partners)
    progress("words", words.size, words.size)
    return judged(
        "syntf-synonyms",
        lexicon,
        settings,
        Outcome.REFUTED if max(deltas.max(), far.max()) > 0 else Outcome.NOT_REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, settings.epsilon, words),
        numbers={
            "claimed epsilon": settings.epsilon,
            "true delta of two words, median": float(np.median(far)),
            "true delta of nearest words, median": float(np.median(deltas)),
        },
        met=(False,),
        count=int(words.size),
        fewer=fewer,
        pairs=2 * int(words.size),
    )


# Claims about SanText and SanText+ (Yue et al. 2021), judged in the form of one commit.


_ANGLE = 0.1  # between two similar words, in radians


def santext(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check the exponential mechanism over all words, with Euclidean distances."""
    return proved("santext", SanText(lexicon=lexicon), settings, progress)


def santext_angle(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the same with the angle, the smallest repair of the cosine."""
    return proved("santext-angle", SanText(lexicon=lexicon, metric="angular"), settings, progress)


def santext_cosine(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check the same with 1 − cos θ, which is not a metric."""
    crafted = SanText(lexicon=_crafted(), metric="cosine")
    # Three words in a plane are enough to refute; the vocabulary shows how much it matters.
    three = audit_mechanism(crafted, settings.epsilon, words=np.arange(3)).losses
    mechanism = SanText(lexicon=lexicon, metric="cosine")
    words, fewer = sampled_words(lexicon, settings)
    # With near words: there 1 − cos θ, about θ²/2, is far below what the triangle inequality needs.
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
    """Return three words in the plane: two at a small angle, one at a right angle to the first."""
    rows = [[1.0, 0.0], [math.cos(_ANGLE), math.sin(_ANGLE)], [0.0, 1.0]]
    return Lexicon("crafted", ("a", "b", "c"), np.array(rows, dtype=np.float32))


def santext_plus(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """Check SanText+: ε·d between sensitive words; leakage of the other words."""
    mechanism = SanTextPlus(lexicon=lexicon)
    # Only sensitive words have the promise ε·d.
    words, fewer = sampled_words(lexicon, settings, mechanism.first_sensitive)
    audit = audit_mechanism(mechanism, settings.epsilon, words=words, progress=progress)
    # The two most frequent words: neither is sensitive.
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


# TEM and Madlib in a benchmark of anonymisers: the laws are right, and unknown words are dropped.


def dropped_words(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """Check TEM as RAT-Bench draws it, and the number of words that is left of a text."""
    mechanism = TruncatedExponential(lexicon=lexicon)
    epsilon = truncating_epsilon(mechanism, settings)
    words, fewer = sampled_words(lexicon, settings)
    audit = audit_mechanism(mechanism, epsilon, words=words, progress=progress)
    # The benchmark draws a word within γ or “another one”: a law in two steps.
    apart = max(
        float(np.abs(_two_steps(mechanism, word, epsilon) - mechanism.log_law(word, epsilon)).max())
        for word in words.tolist()
    )
    remaining, lengths = [], []
    for text in teaching_corpus().texts:
        tokens = [
            token.text.lower() for token in tokenize(text) if token.kind is not Kind.PUNCTUATION
        ]
        remaining.append(sum(word in lexicon for word in tokens))
        lengths.append(len(tokens))
    same, told_apart = 0, 0
    for length in set(lengths):
        of_length = np.array([k for k, n in zip(remaining, lengths, strict=True) if n == length])
        same += of_length.size * (of_length.size - 1) // 2
        told_apart += int((of_length[:, None] != of_length).sum()) // 2
    return judged(
        "dropped-words",
        lexicon,
        settings,
        # A law that is not the one of the theorem, or that loses more, would need no condition.
        Outcome.CONDITIONAL if audit.losses.holds and apart < _SAME_LAW else Outcome.REFUTED,
        mechanism=mechanism,
        parameters=parameters_of(mechanism, settings, epsilon, words),
        numbers=loss_numbers(audit, lexicon)
        | {
            "largest difference of two logarithms of a probability": apart,
            "true delta of two texts of which one has an unknown word more": 1.0,
            "words left out": 1.0 - sum(remaining) / sum(lengths),
            "pairs of texts of one length": same,
            "of these, told apart by the number of words that are left": told_apart / same,
        },
        met=(True, False),
        epsilon=epsilon,
        count=len(lengths),
        method=audit.method,
        fewer=fewer,
        moved=settings.moved_to(epsilon, LITTLE_CUT),
    )


def _two_steps(mechanism: TruncatedExponential, word: int, epsilon: float) -> FloatArray:
    """Return ln P(y | word): one of the words within γ or ⊥, which is any of the others alike."""
    lexicon, gamma = mechanism.lexicon, mechanism.gamma(epsilon)
    row = distances(lexicon.vectors, lexicon.vectors[[word]])[0]
    beyond = row >= gamma
    others = int(beyond.sum())
    logs = -0.5 * epsilon * np.where(beyond, gamma, row)
    # ⊥ has the weight of all the words that it stands for.
    total = np.exp(logs[~beyond]).sum() + others * math.exp(-0.5 * epsilon * gamma)
    return np.asarray(logs - math.log(total))
