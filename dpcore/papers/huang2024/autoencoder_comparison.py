"""Huang et al. 2024, Tables 2, 3 and 5, against the private auto-encoders that were recorded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.attack.output.noisy_vector import divergence, kept_at_most
from dpcore.outwards import at_most
from dpcore.papers.huang2024 import printed as paper
from dpcore.papers.huang2024.deniability_comparison import published_deviation, row
from dpcore.papers.huang2024.plans import EQUAL, equal_label, total_of, true_delta
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


def _beside(ours: list[float], theirs: list[float]) -> dict[str, str]:
    """Numbers of the paper, ours, and how far they are apart."""
    return {
        "in_paper": joined(theirs),
        "ours": joined(ours),
        "difference": differences(ours, theirs),
    }


def _noiseless(figures: Figures) -> Row:
    quantities = ("loss", "rouge1_recall", "nw")
    theirs = [paper.noiseless(_corpus(figures), quantity) for quantity in quantities]
    ours = [figures.without(quantity, learner=NETWORK).mean for quantity in quantities]
    other = ", ".join(
        f"{name.rsplit('-', 1)[1]} "
        f"{figures.without('rouge1_recall', lexicon=name, learner=NETWORK).mean:.3f}"
        for name in figures.entry.plan["lexicons"][1:]
    )
    return row(
        "autoencoder-noiseless",
        figures,
        tables=_tables(figures),
        best=figures.without("rouge1_recall", learner=NEAREST).mean,
        other=f" With other vectors ROUGE-1 here is: {other}." if other else "",
        **_beside(ours, theirs),
    )


def _curve(figures: Figures, quantity: str, curve: str) -> Row:
    printed = paper.printed(_corpus(figures), quantity, curve)
    theirs = [printed[epsilon] for epsilon in _SHOWN]
    more = ""
    if quantity == "nw" and curve != "trlaplace":
        more = _no_decoder(figures, curve, theirs)
    if curve == "trlaplace":
        wide = [published_deviation(epsilon) for epsilon in _SHOWN]
        more = (
            " The printed row is as good as without noise at every ε. The noise of Theorem 3 is "
            f"not small: {joined(wide)} times C in each coordinate, "
            f"{min(wide) * math.sqrt(paper.DIMENSION):.0f} times as long as the vector or more."
        )
    return row(
        "autoencoder-curve",
        figures,
        tables=_tables(figures),
        name=_TITLES[quantity],
        mechanism=paper.MECHANISMS[curve],
        shown=joined(_SHOWN),
        near=joined(_shown(figures, quantity, curve, NEAREST)),
        nothing=figures.without(quantity, learner=LENGTH).mean,
        more=more,
        **_beside(_shown(figures, quantity, curve, NETWORK), theirs),
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
    words = figures.option("vocabulary")
    return row(
        "autoencoder-loss",
        figures,
        tables=_tables(figures),
        mechanism=paper.MECHANISMS[curve],
        shown=joined(_SHOWN),
        words=words,
        log_words=math.log(words),
        paper_words=paper.WORDS,
        log_paper_words=math.log(paper.WORDS),
        **_beside(
            _shown(figures, "loss", curve, NETWORK), [printed[epsilon] for epsilon in _SHOWN]
        ),
    )


def _reached(figures: Figures, curve: str) -> Row:
    noisy, quantity = (0.2, 0.5), "rouge1_recall"
    printed = paper.printed(_corpus(figures), quantity, curve)
    shares = [printed[e] / paper.noiseless(_corpus(figures), quantity) for e in noisy]
    top = figures.without(quantity, learner=NETWORK).mean
    reached = [figures.reaching(quantity, curve, s * top, learner=NETWORK) for s in shares]
    factors = [f"{a / b:,.0f}" for a, b in zip(reached, noisy, strict=True) if a is not None]
    return row(
        "autoencoder-reached",
        figures,
        tables=_tables(figures),
        mechanism=paper.MECHANISMS[curve],
        noisy=joined(noisy),
        shares=joined(shares),
        reached=", ".join(epsilon_text(epsilon) for epsilon in reached),
        top=top,
        factors=" and ".join(factors) or "any number of",
        root=math.sqrt(paper.DIMENSION),
    )


def _gives_away(figures: Figures) -> Row:
    epsilon = 0.05
    truncated, laplace = (
        figures.mean("nw_likeliest", curve, epsilon, learner=LIKELIEST)
        for curve in ("trlaplace", "laplace")
    )
    deltas = figures.recorded.table
    deltas = deltas[(deltas["quantity"] == "true_delta") & (deltas["mechanism"] == "trlaplace")]
    allowed = math.exp(epsilon) / figures.option("vocabulary")
    return row(
        "gives-away",
        figures,
        epsilon=epsilon,
        allowed=allowed,
        truncated=truncated,
        laplace=laplace,
        difference=signed(truncated - allowed),
        delta=deltas.loc[deltas["epsilon"] == epsilon, "value"].mean(),
        network=figures.mean("nw", "trlaplace", epsilon, learner=NETWORK),
    )


def _equal(figures: Figures, epsilon: float) -> Row:
    network, near = (
        [
            figures.mean("nw", curve, epsilon, learner=learner)
            for curve in ("trlaplace", equal_label(epsilon))
        ]
        for learner in (NETWORK, NEAREST)
    )
    return row(
        "equal-privacy",
        figures,
        epsilon=epsilon,
        delta=true_delta(epsilon),
        printed=paper.printed(_corpus(figures), "nw", "trlaplace")[epsilon],
        total=total_of(epsilon),
        ours=joined(network, ".2g"),
        near=joined(near, ".2g"),
    )


def _length(figures: Figures) -> Row:
    noisy = curves(figures.rows("rouge1_recall", learner=NETWORK), "rouge1_recall")
    low = noisy[noisy["curve"].isin(paper.MECHANISMS) & (noisy["epsilon"] <= 1.0)]["mean"]
    theirs = [
        paper.printed(_corpus(figures), "rouge1_recall", curve)[0.05] for curve in paper.MECHANISMS
    ]
    return row(
        "length",
        figures,
        tables=_tables(figures),
        theirs=joined(theirs),
        least=low.min(),
        most=low.max(),
        zero=figures.without("rouge1_recall", learner=LENGTH).mean,
        guess=figures.without("guess", learner=ANY).mean,
    )


def _trained(figures: Figures, curve: str, epsilon: float) -> Row:
    quantities = ("rouge1_recall", "nw", "loss")
    theirs = [paper.printed("yelp", quantity, curve)[epsilon] for quantity in quantities]
    ours = [figures.mean(quantity, curve, epsilon, learner=NETWORK) for quantity in quantities]
    bound = figures.mean("nw_bound", curve, epsilon, learner=ANY)
    words = figures.option("vocabulary")
    limit = f" No decoder can keep more than {at_most(bound, 3)} of the words." if bound < 1 else ""
    return row(
        "trained",
        figures,
        mechanism=paper.MECHANISMS[curve],
        epsilon=epsilon,
        words=words,
        log_words=math.log(words),
        loss=theirs[-1],
        limit=limit,
        **_beside(ours, theirs),
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
    return row("useful", figures, network=joined(network), near=joined(near), better=better)


def _time(figures: Figures) -> Row:
    clean = figures.without("cpu_seconds", learner=NETWORK).mean
    seconds = {
        curve: float(figures.curve("cpu_seconds", curve, learner=NETWORK)["mean"].mean())
        for curve in paper.MECHANISMS
    }
    texts = {
        "seconds": "; ".join(f"{curve} {mean:.3g}" for curve, mean in seconds.items()),
        "ratios": joined((mean / clean for mean in seconds.values()), ".2g"),
    }
    return row("time", figures, clean=clean, **texts)
