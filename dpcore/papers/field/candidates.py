"""Claims about mechanisms that choose among candidates, each judged in the form of one commit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.audit.exact.exact import hockey_stick
from dpcore.audit.exact.laws import audit_mechanism
from dpcore.audit.verdict import Outcome
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.candidates.custext import CusText
from dpcore.mechanisms.candidates.diffractor import Diffractor
from dpcore.mechanisms.candidates.rantext import RanText
from dpcore.mechanisms.candidates.syntf import SynTF
from dpcore.mechanisms.candidates.wbb import WordsBlendingBoxes
from dpcore.noise.streams import generator
from dpcore.papers.claim import judged
from dpcore.papers.field.sampled import (
    deltas_of,
    nearest_of_each,
    parameters_of,
    proved,
    sampled_words,
    staying,
)

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Verdict
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

_RADIUS_MATTERS = 2.1  # from 2 on the noise of RANTEXT hardly falls with ε any more


def custext(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """The conservative form: ε within a set, ∞ between sets."""
    mechanism = CusText(lexicon=lexicon)
    table, n = mechanism.clusters, len(lexicon)
    rng = generator(settings.seed, "audit", "words")
    chosen = rng.choice(len(table), min(settings.words, len(table)), replace=False)
    within = 0.0
    for done, seed in enumerate(table.seeds[np.sort(chosen)].tolist(), start=1):
        members = table.set_of(seed)
        if members.size > 1:
            losses = audit_mechanism(mechanism, settings.epsilon, words=members).losses
            within = max(within, losses.epsilon_effective)
        progress("sets", done, chosen.size)
    sizes = np.diff(table.starts).astype(np.float64)
    shares = sizes / n
    between = 0.0
    if len(table) > 1:
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
    """Own sets: ∞ between nearly all words, the nearest too."""
    mechanism = CusText(lexicon=lexicon, form="aggressive")
    words, fewer = sampled_words(lexicon, settings)
    near = nearest_of_each(lexicon, words)
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
    """The possible outputs of a word."""
    return np.flatnonzero(mechanism.log_law(word, epsilon) > -math.inf).tolist()


def custext_drawn(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The repair: the set is drawn too."""
    mechanism = CusText(lexicon=lexicon, form="drawn")
    return proved("custext-drawn", mechanism, settings, progress)


def diffractor(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """ε times a number of places, which are no meaning."""
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
    """Words beyond a random distance are no candidates."""
    mechanism = RanText(lexicon=lexicon)
    epsilon = max(settings.epsilon, _RADIUS_MATTERS)
    words, fewer = sampled_words(lexicon, settings)
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
    # What refutes are the bounds of the law: Σ (P − e^ε·Q)₊ of its least P and largest Q.
    place = np.flatnonzero(chosen)[int(deltas.argmax())]
    pairs = [
        mechanism.log_bounds(int(words[row]), epsilon) for row in divmod(int(place), words.size)
    ]
    certain = max(
        float(hockey_stick(one[0], other[1], epsilon)) for one, other in (pairs, pairs[::-1])
    )
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
        moved=settings.moved_to(epsilon, "below 2 the distance is so long that all words are near"),
    )


def rantext_fixed(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The repair: a public distance, beyond which words score 0."""
    epsilon = max(settings.epsilon, _RADIUS_MATTERS)
    return proved(
        "rantext-fixed",
        RanText(lexicon=lexicon, form="fixed"),
        settings,
        progress,
        epsilon,
        moved=settings.moved_to(epsilon, "as the published form is"),
    )


def wbb(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """A box of its own for each word, which is not in it."""
    mechanism = WordsBlendingBoxes(lexicon=lexicon)
    words, fewer = sampled_words(lexicon, settings)
    partners = np.roll(words, 1), nearest_of_each(lexicon, words)
    deltas, near = deltas_of(mechanism, settings.epsilon, words, *partners)
    # Any other word from which the first one comes out shows the loss at the output itself.
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
    """The repair: any word comes out now and then."""
    mechanism = WordsBlendingBoxes(lexicon=lexicon, form="floor")
    return proved(
        "wbb-floor",
        mechanism,
        settings,
        progress,
        numbers={"share drawn from all words": mechanism.floor(settings.epsilon)},
    )


def syntf(lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent) -> Verdict:
    """The exponential mechanism with a similarity over all terms."""
    return proved("syntf", SynTF(lexicon=lexicon), settings, progress)


def syntf_synonyms(
    lexicon: Lexicon, settings: AuditSettings, progress: Progress = silent
) -> Verdict:
    """The same with candidates of its own for each word."""
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
