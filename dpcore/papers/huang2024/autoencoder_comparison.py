"""Huang et al. 2024, Tables 2 and 3, against a private auto-encoder that was recorded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.attack.output.noisy_vector import divergence, kept_at_most
from dpcore.papers.huang2024.autoencoder_plans import (
    EQUAL,
    equal_label,
    published_noise,
    total_of,
    true_delta,
)
from dpcore.papers.huang2024.deniability import HUANG_DIMENSION, HUANG_NORM
from dpcore.papers.huang2024.reported import NOISELESS, PAPER_WORDS, printed
from dpcore.papers.readings import at, epsilon_text, option, reaching, without
from dpcore.papers.row import Row, signed
from dpcore.study.autoencoder_trial import ANY, LENGTH, LIKELIEST, NEAREST, NETWORK
from dpcore.study.utility_summary import chosen, curves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcore.study.experiment_results import RecordedExperiment

PAPER = "Huang et al. 2024"
"""As the rows name it."""
NAMES = {
    "gaussian-classical": "Gaussian (Theorem 2)",
    "laplace": "Laplace (Theorem 1)",
    "trlaplace": "TrLaplace (Theorem 3)",
}
"""The mechanisms of the paper, and what their rows are called."""
_SHOWN = (0.05, 0.5, 5.0, 20.0)
_EASIER = 3
"""By this factor the paper's sentences may be easier to guess than ours before we say a word."""
_TITLES = {"rouge1_recall": "ROUGE-1 recall", "nw": "Nw"}


def autoencoder_rows(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """Rows of a corpus whose network was trained without noise."""
    return (
        _noiseless(recorded),
        *(_curve(recorded, quantity, curve) for quantity in _TITLES for curve in NAMES),
        *(_loss(recorded, curve) for curve in NAMES),
        *(_reached(recorded, curve) for curve in ("gaussian-classical", "laplace")),
        _gives_away(recorded),
        *(_equal(recorded, epsilon) for epsilon in EQUAL),
        _length(recorded),
    )


def _corpus(recorded: RecordedExperiment) -> str:
    return recorded.entry.name.rsplit("-", 1)[1]


def where_of(recorded: RecordedExperiment, learner: str) -> dict[str, Any]:
    """The rows of a writer with GloVe vectors."""
    return {"lexicon": _corpus(recorded), "learner": learner}


def mean_of(
    recorded: RecordedExperiment, quantity: str, curve: str, epsilon: float, learner: str
) -> float:
    """The mean over seeds of what a writer has, with GloVe vectors."""
    where = where_of(recorded, learner)
    return float(at(recorded, quantity, curve, epsilon, **where)["mean"])


def _tables(recorded: RecordedExperiment) -> str:
    return f"Tables 2 and 3 ({_corpus(recorded).capitalize()}, GloVe)"


def _noiseless(recorded: RecordedExperiment) -> Row:
    paper = NOISELESS[_corpus(recorded)]
    ours = {q: without(recorded, q, **where_of(recorded, NETWORK)).mean for q in paper}
    other = [
        f"{kind} {without(recorded, 'rouge1_recall', lexicon=name, learner=NETWORK).mean:.3f}"
        for name in recorded.entry.plan["lexicons"][1:]
        for kind in [name.rsplit("-", 1)[1]]
    ]
    best = without(recorded, "rouge1_recall", **where_of(recorded, NEAREST)).mean
    return Row(
        PAPER,
        f"{_tables(recorded)}, ε = ∞",
        "auto-encoder without noise: loss, ROUGE-1 recall, Nw",
        ", ".join(f"{value:.3g}" for value in paper.values()),
        ", ".join(f"{value:.3g}" for value in ours.values()),
        ", ".join(signed(ours[q] - paper[q]) for q in paper),
        "Ours writes back almost every word that it was given: what is missing are words outside "
        f"its {option(recorded, 'vocabulary'):,}, which have random stand-ins (every word looked "
        f"up again, without a network: ROUGE-1 {best:.3f}). What the paper's loses without noise "
        "its network forgets."
        + (f" With other vectors ROUGE-1 here is: {', '.join(other)}." if other else "")
        + " FastText, of the paper's Table 1, is not at hand.",
    )


def _curve(recorded: RecordedExperiment, quantity: str, curve: str) -> Row:
    paper = printed(_corpus(recorded), quantity, curve)
    ours = [mean_of(recorded, quantity, curve, e, NETWORK) for e in _SHOWN]
    near = [mean_of(recorded, quantity, curve, e, NEAREST) for e in _SHOWN]
    nothing = without(recorded, quantity, **where_of(recorded, LENGTH)).mean
    reason = (
        f"The nearest word, without a network: {joined(near)}; a network that knows nothing but "
        f"the length: {nothing:.3g}."
    )
    if quantity == "nw" and curve != "trlaplace":
        bound = [mean_of(recorded, "nw_bound", curve, e, ANY) for e in _SHOWN]
        guess = _EASIER * without(recorded, "guess", **where_of(recorded, ANY)).mean
        nats = [divergence(b, guess / _EASIER) if b < 1 else math.inf for b in bound]
        over = [
            e
            for e, n in zip(_SHOWN, nats, strict=True)
            if paper[e] > kept_at_most(n, min(guess, 1.0))
        ]
        reason += (
            f" No decoder whatever can keep more than {joined(bound)} of the words of such "
            "sentences behind this noise (the information of all its vectors, and what place and "
            "length let one guess)."
        )
        if over:
            reason += (
                f" Were the paper's sentences {_EASIER} times as easy to guess as these of up to "
                f"{option(recorded, 'words')[1]} words, its values at ε = "
                f"{', '.join(f'{e:g}' for e in over)} would still not be of the theorem's noise, "
                "at any C."
            )
    if curve == "trlaplace":
        wide = [published_noise(e).deviation / HUANG_NORM for e in _SHOWN]
        reason += (
            " The printed row is as good as without noise at every ε. The noise of Theorem 3 is "
            f"not small: {joined(wide)} times C in each coordinate, "
            f"{min(wide) * math.sqrt(HUANG_DIMENSION):.0f} times as long as the vector or more."
        )
    return Row(
        PAPER,
        _tables(recorded),
        f"{_TITLES[quantity]} of {NAMES[curve]} at ε = {joined(_SHOWN)}",
        joined([paper[e] for e in _SHOWN]),
        joined(ours),
        ", ".join(signed(o - paper[e]) for o, e in zip(ours, _SHOWN, strict=True)),
        reason,
    )


def joined(values: Iterable[float]) -> str:
    """Numbers in a row, three digits each."""
    return ", ".join(f"{value:.3g}" for value in values)


def _loss(recorded: RecordedExperiment, curve: str) -> Row:
    paper = printed(_corpus(recorded), "loss", curve)
    ours = [mean_of(recorded, "loss", curve, e, NETWORK) for e in _SHOWN]
    words = option(recorded, "vocabulary")
    return Row(
        PAPER,
        _tables(recorded),
        f"loss of {NAMES[curve]} at ε = {joined(_SHOWN)}",
        joined([paper[e] for e in _SHOWN]),
        joined(ours),
        ", ".join(signed(o - paper[e]) for o, e in zip(ours, _SHOWN, strict=True)),
        f"Ours: nats a word, over {words:,} words, noise at rewriting alone. A network that has "
        "learned with the noise never needs to lose more than one that knows no word, "
        f"ln {words:,} = {math.log(words):.2f} (the paper's {PAPER_WORDS:,}: "
        f"{math.log(PAPER_WORDS):.2f}). A printed loss above that is either of a network that met "
        "the noise first in testing, as here, or a sum over words: the paper does not say (a "
        "hypothesis).",
    )


def _reached(recorded: RecordedExperiment, curve: str) -> Row:
    paper = printed(_corpus(recorded), "rouge1_recall", curve)
    noisy, corpus = (0.2, 0.5), _corpus(recorded)
    top = without(recorded, "rouge1_recall", **where_of(recorded, NETWORK)).mean
    levels = [paper[e] / NOISELESS[corpus]["rouge1_recall"] for e in noisy]
    found = [
        reaching(recorded, "rouge1_recall", curve, s * top, **where_of(recorded, NETWORK))
        for s in levels
    ]
    return Row(
        PAPER,
        _tables(recorded),
        f"ε at which our auto-encoder with {NAMES[curve]} keeps the share of its ROUGE-1 recall "
        f"without noise that the paper's keeps at ε = {joined(noisy)} ({joined(levels)})",
        joined(noisy),
        f"{', '.join(epsilon_text(value) for value in found)} (without noise {top:.3f})",
        "",
        f"The tables look as if the noise were {_factors(found, noisy)} times smaller than that "
        "of the theorem. No slip in one constant is so large (the square root of the dimension is "
        f"{math.sqrt(HUANG_DIMENSION):.0f}), and the factor is not constant. Vectors that learn "
        "along with the noise, and are not clipped again, could outgrow it; the paper calls its "
        "vectors the initialisation of the network (a hypothesis). They would have no guarantee.",
    )


def _factors(found: Sequence[float | None], levels: Sequence[float]) -> str:
    shown = [f"{a / b:,.0f}" for a, b in zip(found, levels, strict=True) if a is not None]
    return " and ".join(shown) or "any number of"


def _gives_away(recorded: RecordedExperiment) -> Row:
    epsilon, n = 0.05, option(recorded, "vocabulary")
    found = [
        mean_of(recorded, "nw_likeliest", c, epsilon, LIKELIEST) for c in ("trlaplace", "laplace")
    ]
    rows = chosen(recorded.table, "true_delta", mechanism="trlaplace", epsilon=epsilon)
    return Row(
        PAPER,
        "Theorem 3",
        f"share of words that the law of TrLaplace's noise gives away at ε = {epsilon:g}",
        f"at most e^{epsilon:g} times as many as a guess of one in {n:,}: "
        f"{math.exp(epsilon) / n:.2g}",
        f"{found[0]:.3g} (Laplace noise at the same ε: {found[1]:.2g})",
        signed(found[0] - math.exp(epsilon) / n),
        "One who knows the law of the noise rules out each word that cannot have given a vector: "
        f"δ is {rows['value'].mean():.3g} and not 4^−300. The auto-encoder, which does not compute "
        f"that, keeps {mean_of(recorded, 'nw', 'trlaplace', epsilon, NETWORK):.2g}.",
    )


def _equal(recorded: RecordedExperiment, epsilon: float) -> Row:
    label = equal_label(epsilon)
    network = [mean_of(recorded, "nw", c, epsilon, NETWORK) for c in ("trlaplace", label)]
    near = [mean_of(recorded, "nw", c, epsilon, NEAREST) for c in ("trlaplace", label)]
    paper = printed(_corpus(recorded), "nw", "trlaplace")[epsilon]
    return Row(
        PAPER,
        "Section 6.2",
        f"Nw at equal true privacy, ε = {epsilon:g} and δ = {true_delta(epsilon):g}: TrLaplace, "
        "analytic Gaussian",
        f"{paper:.3g} (TrLaplace, with δ = 4^−{total_of(epsilon)} claimed)",
        f"{network[0]:.2g}, {network[1]:.2g}",
        "",
        "The δ is what TrLaplace's noise has in truth at this ε. With the same δ Gaussian noise is "
        f"smaller and keeps more words (nearest word: {near[0]:.2g}, {near[1]:.2g}), and neither "
        "promises anything at such a δ.",
    )


def _length(recorded: RecordedExperiment) -> Row:
    where = where_of(recorded, LENGTH)
    zero = without(recorded, "rouge1_recall", **where).mean
    guess = without(recorded, "guess", **where_of(recorded, ANY)).mean
    noisy = curves(recorded.table, "rouge1_recall", **where_of(recorded, NETWORK))
    low = noisy[noisy["curve"].isin(NAMES) & (noisy["epsilon"] <= 1.0)]["mean"]
    paper = [printed(_corpus(recorded), "rouge1_recall", curve)[0.05] for curve in NAMES]
    return Row(
        PAPER,
        f"{_tables(recorded)}, smallest ε",
        "ROUGE-1 recall where the noise leaves nothing",
        f"{joined(paper)} (Gaussian, Laplace, TrLaplace at ε = 0.05)",
        f"{low.min():.3g} to {low.max():.3g} (all mechanisms, ε ≤ 1); zero vectors: {zero:.3g}",
        "",
        "The number of words is known to every decoder, and it may guess a frequent word in each "
        f"place: right at most {guess:.3g} of the time. What the paper has with Gaussian and "
        "Laplace noise may be of this kind; its TrLaplace is not.",
    )
