"""Huang et al. 2024, Tables 2, 3 and 5, against the private auto-encoders that were recorded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.attack.output.noisy_vector import divergence, kept_at_most
from dpcore.papers.huang2024 import printed as paper
from dpcore.papers.huang2024.deniability_comparison import row
from dpcore.papers.huang2024.plans import (
    EQUAL,
    equal_label,
    published_noise,
    total_of,
    true_delta,
)
from dpcore.papers.row import differences, epsilon_text, joined, signed
from dpcore.study.autoencoder_trial import ANY, LENGTH, LIKELIEST, NEAREST, NETWORK
from dpcore.study.utility_summary import curves

if TYPE_CHECKING:
    from dpcore.papers.row import Row
    from dpcore.study.reading import Figures

_SHOWN = (0.05, 0.5, 5.0, 20.0)
_EASIER = 3
"""By this factor the paper's sentences may be easier to guess than ours before we say a word."""
_TITLES = {"rouge1_recall": "ROUGE-1 recall", "nw": "Nw"}


def autoencoder_rows(figures: Figures) -> tuple[Row, ...]:
    """Rows of a corpus whose network was trained without noise, GloVe vectors."""
    chosen = figures.only(lexicon=_corpus(figures))
    return (
        _noiseless(chosen),
        *(_curve(chosen, quantity, curve) for quantity in _TITLES for curve in paper.MECHANISMS),
        *(_loss(chosen, curve) for curve in paper.MECHANISMS),
        *(_reached(chosen, curve) for curve in ("gaussian-classical", "laplace")),
        _gives_away(chosen),
        *(_equal(chosen, epsilon) for epsilon in EQUAL),
        _length(chosen),
    )


def noise_rows(figures: Figures) -> tuple[Row, ...]:
    """Rows of the network that was trained with the noise of each ε."""
    chosen = figures.only(lexicon=_corpus(figures))
    trained = [_trained(chosen, curve, e) for curve in paper.MECHANISMS for e in (0.05, 20.0)]
    return (*trained, _useful(chosen), _time(chosen))


def _corpus(figures: Figures) -> str:
    return figures.name.rsplit("-", 1)[1]


def _tables(figures: Figures) -> str:
    return f"Tables 2 and 3 ({_corpus(figures).capitalize()}, GloVe)"


def _shown(figures: Figures, quantity: str, curve: str, learner: str) -> list[float]:
    """The means of what a writer has at the ε of a row."""
    return [figures.mean(quantity, curve, epsilon, learner=learner) for epsilon in _SHOWN]


def _noiseless(figures: Figures) -> Row:
    theirs = [paper.noiseless(_corpus(figures), q) for q in ("loss", "rouge1_recall", "nw")]
    ours = [figures.without(q, learner=NETWORK).mean for q in ("loss", "rouge1_recall", "nw")]
    other = ", ".join(
        f"{name.rsplit('-', 1)[1]} "
        f"{figures.without('rouge1_recall', lexicon=name, learner=NETWORK).mean:.3f}"
        for name in figures.entry.plan["lexicons"][1:]
    )
    best = figures.without("rouge1_recall", learner=NEAREST).mean
    return row(
        figure=f"{_tables(figures)}, ε = ∞",
        quantity="auto-encoder without noise: loss, ROUGE-1 recall, Nw",
        said=joined(theirs),
        ours=joined(ours),
        difference=differences(ours, theirs),
        reason="Ours writes back almost every word that it was given: what is missing are words "
        f"outside its {figures.option('vocabulary'):,}, which have random stand-ins (every word "
        f"looked up again, without a network: ROUGE-1 {best:.3f}). What the paper's loses without "
        "noise its network forgets."
        + (f" With other vectors ROUGE-1 here is: {other}." if other else "")
        + " FastText, of the paper's Table 1, is not at hand.",
    )


def _curve(figures: Figures, quantity: str, curve: str) -> Row:
    printed = paper.printed(_corpus(figures), quantity, curve)
    theirs = [printed[epsilon] for epsilon in _SHOWN]
    ours = _shown(figures, quantity, curve, NETWORK)
    near = _shown(figures, quantity, curve, NEAREST)
    nothing = figures.without(quantity, learner=LENGTH).mean
    reason = (
        f"The nearest word, without a network: {joined(near)}; a network that knows nothing but "
        f"the length: {nothing:.3g}."
    )
    if quantity == "nw" and curve != "trlaplace":
        reason += _no_decoder(figures, curve, theirs)
    if curve == "trlaplace":
        wide = [published_noise(epsilon).deviation / paper.NORM for epsilon in _SHOWN]
        reason += (
            " The printed row is as good as without noise at every ε. The noise of Theorem 3 is "
            f"not small: {joined(wide)} times C in each coordinate, "
            f"{min(wide) * math.sqrt(paper.DIMENSION):.0f} times as long as the vector or more."
        )
    return row(
        figure=_tables(figures),
        quantity=f"{_TITLES[quantity]} of {paper.MECHANISMS[curve]} at ε = {joined(_SHOWN)}",
        said=joined(theirs),
        ours=joined(ours),
        difference=differences(ours, theirs),
        reason=reason,
    )


def _no_decoder(figures: Figures, curve: str, theirs: list[float]) -> str:
    """What no decoder can beat, and which printed values are beyond it for easier sentences too."""
    bound = _shown(figures, "nw_bound", curve, ANY)
    # Where the bound is below 1 it is that of our sentences, guessed with the mean probability;
    # turned back into nats it says what the same noise allows where guessing is easier.
    easier = _EASIER * figures.without("guess", learner=ANY).mean
    nats = [divergence(b, easier / _EASIER) if b < 1 else math.inf for b in bound]
    beyond = [
        epsilon
        for epsilon, printed, n in zip(_SHOWN, theirs, nats, strict=True)
        if printed > kept_at_most(n, min(easier, 1.0))
    ]
    sentence = (
        f" No decoder whatever can keep more than {joined(bound)} of the words of such "
        "sentences behind this noise (the information of all its vectors, and what place and "
        "length let one guess)."
    )
    if beyond:
        sentence += (
            f" Were the paper's sentences {_EASIER} times as easy to guess as these of up to "
            f"{figures.option('words')[1]} words, its values at ε = {joined(beyond, 'g')} would "
            "still not be of the theorem's noise, at any C."
        )
    return sentence


def _loss(figures: Figures, curve: str) -> Row:
    printed = paper.printed(_corpus(figures), "loss", curve)
    theirs = [printed[epsilon] for epsilon in _SHOWN]
    ours = _shown(figures, "loss", curve, NETWORK)
    words = figures.option("vocabulary")
    return row(
        figure=_tables(figures),
        quantity=f"loss of {paper.MECHANISMS[curve]} at ε = {joined(_SHOWN)}",
        said=joined(theirs),
        ours=joined(ours),
        difference=differences(ours, theirs),
        reason=f"Ours: nats a word, over {words:,} words, noise at rewriting alone. A network that "
        "has learned with the noise never needs to lose more than one that knows no word, "
        f"ln {words:,} = {math.log(words):.2f} (the paper's {paper.WORDS:,}: "
        f"{math.log(paper.WORDS):.2f}). A printed loss above that is either of a network that met "
        "the noise first in testing, as here, or a sum over words: the paper does not say (a "
        "hypothesis).",
    )


def _reached(figures: Figures, curve: str) -> Row:
    noisy, quantity = (0.2, 0.5), "rouge1_recall"
    printed = paper.printed(_corpus(figures), quantity, curve)
    shares = [printed[e] / paper.noiseless(_corpus(figures), quantity) for e in noisy]
    top = figures.without(quantity, learner=NETWORK).mean
    ours = [figures.reaching(quantity, curve, s * top, learner=NETWORK) for s in shares]
    factors = [f"{a / b:,.0f}" for a, b in zip(ours, noisy, strict=True) if a is not None]
    return row(
        figure=_tables(figures),
        quantity=f"ε at which our auto-encoder with {paper.MECHANISMS[curve]} keeps the share of "
        f"its ROUGE-1 recall without noise that the paper's keeps at ε = {joined(noisy)} "
        f"({joined(shares)})",
        said=joined(noisy),
        ours=f"{', '.join(epsilon_text(e) for e in ours)} (without noise {top:.3f})",
        reason="The tables look as if the noise were "
        f"{' and '.join(factors) or 'any number of'} times smaller than that "
        "of the theorem. No slip in one constant is so large (the square root of the dimension is "
        f"{math.sqrt(paper.DIMENSION):.0f}), and the factor is not constant. Vectors that learn "
        "along with the noise, and are not clipped again, could outgrow it; the paper calls its "
        "vectors the initialisation of the network (a hypothesis). They would have no guarantee.",
    )


def _gives_away(figures: Figures) -> Row:
    epsilon, n = 0.05, figures.option("vocabulary")
    truncated, laplace = (
        figures.mean("nw_likeliest", curve, epsilon, learner=LIKELIEST)
        for curve in ("trlaplace", "laplace")
    )
    deltas = figures.recorded.table
    deltas = deltas[(deltas["quantity"] == "true_delta") & (deltas["mechanism"] == "trlaplace")]
    delta = deltas.loc[deltas["epsilon"] == epsilon, "value"].mean()
    return row(
        figure="Theorem 3",
        quantity=f"share of words that the law of TrLaplace's noise gives away at ε = {epsilon:g}",
        said=f"at most e^{epsilon:g} times as many as a guess of one in {n:,}: "
        f"{math.exp(epsilon) / n:.2g}",
        ours=f"{truncated:.3g} (Laplace noise at the same ε: {laplace:.2g})",
        difference=signed(truncated - math.exp(epsilon) / n),
        reason="One who knows the law of the noise rules out each word that cannot have given a "
        f"vector: δ is {delta:.3g} and not 4^−300. The auto-encoder, which does not compute "
        f"that, keeps {figures.mean('nw', 'trlaplace', epsilon, learner=NETWORK):.2g}.",
    )


def _equal(figures: Figures, epsilon: float) -> Row:
    pair = ("trlaplace", equal_label(epsilon))
    network = [figures.mean("nw", curve, epsilon, learner=NETWORK) for curve in pair]
    near = [figures.mean("nw", curve, epsilon, learner=NEAREST) for curve in pair]
    printed = paper.printed(_corpus(figures), "nw", "trlaplace")[epsilon]
    return row(
        figure="Section 6.2",
        quantity=f"Nw at equal true privacy, ε = {epsilon:g} and δ = {true_delta(epsilon):g}: "
        "TrLaplace, analytic Gaussian",
        said=f"{printed:.3g} (TrLaplace, with δ = 4^−{total_of(epsilon)} claimed)",
        ours=joined(network, ".2g"),
        reason="The δ is what TrLaplace's noise has in truth at this ε. With the same δ Gaussian "
        f"noise is smaller and keeps more words (nearest word: {joined(near, '.2g')}), and neither "
        "promises anything at such a δ.",
    )


def _length(figures: Figures) -> Row:
    zero = figures.without("rouge1_recall", learner=LENGTH).mean
    guess = figures.without("guess", learner=ANY).mean
    noisy = curves(figures.rows("rouge1_recall", learner=NETWORK), "rouge1_recall")
    low = noisy[noisy["curve"].isin(paper.MECHANISMS) & (noisy["epsilon"] <= 1.0)]["mean"]
    theirs = [
        paper.printed(_corpus(figures), "rouge1_recall", curve)[0.05] for curve in paper.MECHANISMS
    ]
    return row(
        figure=f"{_tables(figures)}, smallest ε",
        quantity="ROUGE-1 recall where the noise leaves nothing",
        said=f"{joined(theirs)} (Gaussian, Laplace, TrLaplace at ε = 0.05)",
        ours=f"{low.min():.3g} to {low.max():.3g} (all mechanisms, ε ≤ 1); zero vectors: "
        f"{zero:.3g}",
        reason="The number of words is known to every decoder, and it may guess a frequent word in "
        f"each place: right at most {guess:.3g} of the time. What the paper has with Gaussian and "
        "Laplace noise may be of this kind; its TrLaplace is not.",
    )


def _trained(figures: Figures, curve: str, epsilon: float) -> Row:
    quantities = ("rouge1_recall", "nw", "loss")
    theirs = [paper.printed("yelp", quantity, curve)[epsilon] for quantity in quantities]
    ours = [figures.mean(quantity, curve, epsilon, learner=NETWORK) for quantity in quantities]
    bound = figures.mean("nw_bound", curve, epsilon, learner=ANY)
    words = figures.option("vocabulary")
    limit = f" No decoder can keep more than {bound:.3g} of the words." if bound < 1 else ""
    return row(
        figure="Tables 2 and 3 (Yelp, GloVe), noise in training too",
        quantity=f"ROUGE-1 recall, Nw, loss of {paper.MECHANISMS[curve]} at ε = {epsilon:g}",
        said=joined(theirs),
        ours=joined(ours),
        difference=differences(ours, theirs),
        reason="A network that has met the noise writes frequent words, which earns some ROUGE and "
        f"no more. Its loss is near that of one that knows no word, ln {words:,} = "
        f"{math.log(words):.2f}, and not the {theirs[-1]:.3g} that is printed.{limit}",
    )


def _useful(figures: Figures) -> Row:
    pair = ("gaussian-classical", "laplace")
    network, near = (
        [figures.mean("nw", curve, 200.0, learner=learner) for curve in pair]
        for learner in (NETWORK, NEAREST)
    )
    better = (
        "Reading the whole sentence helps against looking up each vector by itself."
        if all(read > looked for read, looked in zip(network, near, strict=True))
        else "Looking up each vector by itself is no worse than this network, which has met the "
        f"noise in {figures.option('train'):,} sentences only."
    )
    return row(
        figure="Section 6.2",
        quantity="Nw of Gaussian and Laplace noise at ε = 200, with noise in training",
        said="not printed (ε ≤ 20)",
        ours=f"{joined(network)} (nearest word: {joined(near)})",
        reason=f"Words begin to come through, and e^200 is no promise. {better}",
    )


def _time(figures: Figures) -> Row:
    clean = figures.without("cpu_seconds", learner=NETWORK).mean
    seconds = {
        curve: float(figures.curve("cpu_seconds", curve, learner=NETWORK)["mean"].mean())
        for curve in paper.MECHANISMS
    }
    return row(
        figure="Table 5",
        quantity="seconds an epoch: without noise, and with the noise in training",
        said="wall-clock on a GeForce RTX 3090; 8,539 sentences of Yelp (Section 6.1; Table 4 has "
        "them under Yahoo)",
        ours=f"without {clean:.3g}; "
        f"{'; '.join(f'{curve} {mean:.3g}' for curve, mean in seconds.items())}",
        reason=f"Ours are processor seconds of one core for {figures.option('train'):,} sentences. "
        f"With noise an epoch takes {joined((s / clean for s in seconds.values()), '.2g')} times "
        "as long as without (the first network, trained without noise, also pays for the start of "
        "torch): it is the network that costs, and not the noise.",
    )
