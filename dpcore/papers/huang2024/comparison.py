"""Huang et al. 2024, Figures 2, 4 and 5 and Tables 2, 3 and 5, compared with measurements."""

from __future__ import annotations

import math
from functools import partial

from dpcore.attack.output.nearest import divergence, kept_at_most
from dpcore.outwards import at_most
from dpcore.papers.huang2024 import plans as paper
from dpcore.papers.huang2024.plans import EQUAL, equal_label, published_noise, total_of, true_delta
from dpcore.papers.row import (
    FULL,
    Row,
    comparison_row,
    differences,
    epsilon_text,
    listing,
    signed,
)
from dpcore.plots.style import number, probability_text
from dpcore.study.autoencoder_trial import ANY, LENGTH, LIKELIEST, NEAREST, NETWORK
from dpcore.study.labelled_trial import QUANTITIES
from dpcore.study.recorded import Figures, read_recorded
from dpcore.study.utility import solve_margin
from dpcore.study.utility_summary import curves
from dpcore.written import Filled, listed

row = partial(comparison_row, "huang2024")
"""Row about this paper."""
_SHOWN = (0.05, 0.5, 20.0)


def figure_rows(figures: Figures) -> tuple[Row, ...]:
    """Return all rows of one corpus."""
    return (
        _vocabulary(figures),
        row("clipping-norm", figures, norm=paper.NORM),
        *(_curve(figures, curve) for curve in paper.MECHANISMS),
        _noiseless(figures),
        _needed(figures),
        _order(figures),
        *_delta(figures),
    )


def _corpus(figures: Figures) -> str:
    return str(figures.entry.vocabulary["key"])


def _figure(figures: Figures) -> str:
    return f"Figure {2 if _corpus(figures) == 'yelp' else 5}, Tables 2 and 3"


def deviations() -> dict[str, float]:
    """Return the noise's standard deviation of a coordinate times ε/C, for δ = 4^−d, d = 300."""
    log_delta = paper.DIMENSION * math.log(0.25)
    gaussian = 2.0 * math.sqrt(2.0 * (math.log(1.25) - log_delta))
    return {"gaussian-classical": gaussian, "laplace": 2.0 * math.sqrt(2.0 * paper.DIMENSION)}


def published_deviation(epsilon: float) -> float:
    """Return TrLaplace's deviation of a coordinate over C, with the paper's d′ at this ε."""
    return published_noise(epsilon).deviation / paper.NORM


def _vocabulary(figures: Figures) -> Row:
    words = figures.entry.vocabulary
    n, theirs = int(words["words"]), int(words["paper_words"])
    kept = (
        Filled("its most frequent words that have a GloVe vector.")
        if n == theirs
        else Filled("all its words that are among the 33,860 GloVe vectors at hand.")
    )
    difference = signed(n - theirs, "+,") if n != theirs else "0"
    sizes = {"n": n, "theirs": theirs, "title": words["title"], "kept": kept}
    return row("words", figures, difference=difference, **sizes)


def _curve(figures: Figures, curve: str) -> Row:
    """Compare one mechanism, at three ε."""
    printed = paper.printed(_corpus(figures), "nw", curve)
    ours = [figures.at("nw", curve, epsilon) for epsilon in _SHOWN]
    truncated = curve == "trlaplace"
    wide = [
        f"{published_deviation(epsilon):.3g} C"
        if truncated
        else f"{number(deviations()[curve] / epsilon)} C"
        for epsilon in _SHOWN
    ]
    another = Filled(
        "The paper's N_w is {nw:g} without any noise, so it is counted in the text that the "
        "auto-encoder writes, which was trained with the noise inside: another quantity.",
        nw=paper.noiseless(_corpus(figures), "nw"),
    )
    return row(
        "curve-trlaplace" if truncated else "curve",
        figures,
        figure=_figure(figures),
        mechanism=paper.MECHANISMS[curve],
        shown=listing(_SHOWN, "g"),
        in_paper=listing((printed[epsilon] for epsilon in _SHOWN), ".3f"),
        ours=", ".join(probability_text(*nw) for nw in ours),
        difference=differences((nw.mean for nw in ours), (printed[e] for e in _SHOWN)),
        wide=", ".join(wide),
        another=another,
    )


def _noiseless(figures: Figures) -> Row:
    theirs = paper.noiseless(_corpus(figures), "nw")
    # At the largest ε, where the noise no longer matters.
    clipped = float(figures.curve("nw", "laplace")["mean"].iloc[-1])
    unclipped = figures.curve("nw", "laplace, unclipped").iloc[-1]
    numbers = {"theirs": theirs, "clipped": clipped, "unclipped": unclipped}
    return row("noiseless-nw", figures, difference=signed(clipped - theirs), **numbers)


def _needed(figures: Figures) -> Row:
    level = 0.7
    reached = (
        f"{curve} {epsilon_text(figures.crossing('nw', curve, level))}"
        for curve in ("laplace", "gaussian-classical", "l2-laplace")
    )
    theirs = []
    for curve in paper.MECHANISMS:
        printed = paper.printed(_corpus(figures), "nw", curve)
        # 0.6 and not 0.7: without any noise the printed Nw is about .70, which some printed curves
        # never reach.
        first = next((f"{epsilon:g}" for epsilon, nw in printed.items() if nw >= 0.6), "never")
        theirs.append(f"{curve} {first}")
    texts = {"theirs": ", ".join(theirs), "reached": ", ".join(reached)}
    return row("needed", figures, figure=_figure(figures), level=level, **texts)


def _order(figures: Figures) -> Row:
    pair = ("laplace", "gaussian-classical")
    half = {curve: figures.crossing("nw", curve, 0.5) for curve in pair}
    reached = [curve for curve in pair if half[curve] is not None]
    laplace, gaussian = (paper.printed(_corpus(figures), "nw", curve).values() for curve in pair)
    return row(
        "order",
        figures,
        # Counted in the printed columns, since the paper says "almost all".
        better=sum(g > lap for g, lap in zip(gaussian, laplace, strict=True)),
        columns=len(paper.EPSILONS),
        half=", ".join(f"{curve} {epsilon_text(epsilon)}" for curve, epsilon in half.items()),
        first=min(reached, key=lambda curve: half[curve] or math.inf, default="neither"),
        ratio=deviations()["gaussian-classical"] / deviations()["laplace"],
    )


def _delta(figures: Figures) -> list[Row]:
    published = figures.curve("nw", "trlaplace").set_index("epsilon")["true_delta"]
    corrected = figures.curve("nw", "trlaplace-corrected").iloc[0]
    half, laplace = (
        epsilon_text(figures.crossing("nw", curve, 0.5))
        for curve in ("trlaplace-corrected", "laplace")
    )
    lowest = probability_text(corrected["mean"], corrected["low"], corrected["high"])
    texts = {"lowest": lowest, "half": half, "laplace": laplace}
    return [
        *(
            row("delta", figures, epsilon=epsilon, delta=published[epsilon])
            for epsilon in (0.05, 0.5, 5.0)
        ),
        row("corrected", figures, epsilon=corrected["epsilon"], **texts),
    ]


# Huang et al. 2024 on texts: Tables 2 and 3 (rewriting Yelp) and Figure 4 (accuracy).


_SHOWN_UTILITY = (0.05, 5.0, 20.0)
_KINDS = {"": "GloVe", "-bundled": "bundled vectors", "-random": "random vectors"}
_LEARNER = "averaged"


def table_rows(figures: Figures) -> tuple[Row, ...]:
    """Return rows of the rewriting quality on Yelp, GloVe."""
    yelp = figures.only(lexicon="yelp")
    quantities = ("rouge1_recall", "bleu", "bert_style", "nw")
    return (
        _unchanged(yelp),
        *(_quality(yelp, quantity, curve) for quantity in quantities for curve in paper.MECHANISMS),
        _constant_bleu(yelp),
        _delta_utility(yelp),
        _useful(yelp),
    )


def _unchanged(yelp: Figures) -> Row:
    quantities = ("rouge1_recall", "bleu", "bert_style")
    return row(
        "unchanged",
        yelp,
        in_paper="; ".join(f"{QUANTITIES[q]} {paper.noiseless('yelp', q):.3f}" for q in quantities),
        ours="; ".join(f"{QUANTITIES[q]} {yelp.without(q).mean:.3f}" for q in quantities),
        lost=100 * (1 - yelp.without("nw").mean),
        words=yelp.lexicon("yelp")["words"],
    )


def _quality(yelp: Figures, quantity: str, curve: str) -> Row:
    printed = paper.printed("yelp", quantity, curve)
    theirs = [printed[epsilon] for epsilon in _SHOWN_UTILITY]
    ours = [yelp.at(quantity, curve, epsilon) for epsilon in _SHOWN_UTILITY]
    another = Filled(
        " The paper's BERTScore takes another encoder, so even two unlike texts score differently."
    )
    return row(
        "quality",
        yelp,
        name=QUANTITIES[quantity],
        mechanism=paper.MECHANISMS[curve],
        shown=listing(_SHOWN_UTILITY, "g"),
        in_paper=listing(theirs),
        ours=", ".join(str(reading) for reading in ours),
        difference=differences((reading.mean for reading in ours), theirs),
        kept=listing((yelp.mean("nw", curve, epsilon) for epsilon in _SHOWN_UTILITY), ".2g"),
        another=another if quantity == "bert_style" else "",
    )


def _constant_bleu(yelp: Figures) -> Row:
    bleu, recall = (
        [value for curve in paper.TABLES["yelp"][quantity].values() for value in curve]
        for quantity in ("bleu", "rouge1_recall")
    )
    ours = yelp.rows("bleu")["value"]
    return row(
        "bleu",
        yelp,
        least=min(bleu),
        most=max(bleu),
        least_recall=min(recall),
        most_recall=max(recall),
        ours_least=ours.min(),
        ours_most=ours.max(),
    )


def _delta_utility(yelp: Figures) -> Row:
    rows = yelp.rows("true_delta", mechanism="trlaplace").sort_values("epsilon")
    rows = rows[rows["epsilon"].isin(_SHOWN_UTILITY)]
    deltas = zip(rows["value"], rows["epsilon"], strict=True)
    ours = ", ".join(f"{delta:.3g} at ε = {epsilon:g}" for delta, epsilon in deltas)
    return row("delta-of-texts", yelp, ours=ours)


def _useful(yelp: Figures) -> Row:
    # Half of what is there without noise, here and in the paper.
    half = 0.5 * yelp.without("rouge1_recall").mean
    aim = 0.5 * paper.noiseless("yelp", "rouge1_recall")
    theirs = []
    for curve in paper.MECHANISMS:
        values = paper.printed("yelp", "rouge1_recall", curve).items()
        theirs.append(f"{curve} {next(epsilon for epsilon, value in values if value >= aim):g}")
    ours = []
    recalls = curves(yelp.rows("rouge1_recall"), "rouge1_recall")
    for name, part in recalls.groupby("curve", sort=False):
        reached = part.loc[part["mean"] >= half, "epsilon"].tolist()
        ours.append(f"{name} {epsilon_text(reached[0] if reached else None)}")
    return row("half-recall", yelp, theirs="; ".join(theirs), ours="; ".join(ours))


def accuracy_rows(figures: Figures) -> tuple[Row, ...]:
    """Return rows of accuracy on one corpus, three kinds of vectors."""
    key = str(figures.entry.plan["lexicons"][0])
    return (
        _baselines(figures, key),
        *(_trlaplace(figures, key, kind) for kind in _KINDS),
        _best(figures, key),
        _size(figures, key) if figures.name.endswith(FULL) else _needed_utility(figures, key),
        _tested_on(figures, key),
        _privacy(figures, key),
    )


def _baselines(figures: Figures, key: str) -> Row:
    clean = figures.only(tested_on="clean")
    ours = {
        kind: clean.without("accuracy", learner=_LEARNER, lexicon=f"{key}{kind}") for kind in _KINDS
    }
    others = ", ".join(
        f"{name} {figures.without('accuracy', learner=name, lexicon=key).mean:.3f}"
        for name in figures.option("learners")
        if name != _LEARNER
    )
    printed, random = paper.RANDOM_BASELINE[key], ours["-random"].mean
    return row(
        "accuracy",
        figures,
        printed=printed,
        shares="; ".join(f"{_KINDS[kind]} {share}" for kind, share in ours.items()),
        others=others,
        majority=figures.without("majority", lexicon=key).mean,
        random=random,
        difference=signed(random - printed),
    )


def _trlaplace(figures: Figures, key: str, kind: str) -> Row:
    chosen = figures.only(lexicon=f"{key}{kind}")
    clean, private = (
        ", ".join(
            str(chosen.at("accuracy", "trlaplace", epsilon, learner=_LEARNER, tested_on=texts))
            for epsilon in _SHOWN_UTILITY
        )
        for texts in ("clean", "private")
    )
    return row(
        "accuracy-trlaplace",
        figures,
        kind=_KINDS[kind],
        shown=listing(_SHOWN_UTILITY, "g"),
        in_paper=Filled("around 0.865 at every ε")
        if kind == "-random"
        else Filled("close to the baseline at every ε"),
        clean=clean,
        private=private,
        kept=chosen.mean("nw", "trlaplace", 20.0),
        majority=chosen.without("majority").mean,
    )


def _best(figures: Figures, key: str) -> Row:
    where = {"learner": _LEARNER, "tested_on": "clean", "lexicon": f"{key}-random"}
    rows = curves(figures.recorded.table, "accuracy", **where)
    rows = rows[rows["epsilon"] == 10.0].sort_values("mean", ascending=False)
    means = zip(rows["curve"], rows["mean"], strict=True)
    ours = "; ".join(f"{curve} {mean:.3f}" for curve, mean in means)
    return row("accuracy-best", figures, ours=ours)


def _needed_utility(figures: Figures, key: str) -> Row:
    within = 0.05
    where = {"learner": _LEARNER, "tested_on": "clean", "lexicon": key}
    ours = "; ".join(
        curve.sentence for curve in solve_margin(figures.recorded.table, within, **where)
    )
    return row("accuracy-needed", figures, within=within, ours=ours, facts=figures.lexicon(key))


def _size(figures: Figures, key: str) -> Row:
    """Compare the record of the paper's size with that of fewer texts."""
    fewer = Figures(read_recorded(figures.name.removesuffix(FULL)))
    both = [f.only(lexicon=key, learner="averaged", tested_on="clean") for f in (fewer, figures)]
    points = (("trlaplace", 0.05), ("laplace", 0.05), ("laplace", 50.0), ("madlib", 10.0))
    changes = [("without privacy", [f.without("accuracy").mean for f in both])]
    changes += [
        (f"{curve} at ε = {e:g}", [f.mean("accuracy", curve, e) for f in both])
        for curve, e in points
    ]
    return row(
        "size",
        figures,
        printed=paper.SIZES[key],
        ours="; ".join(f"{name} {listing(means, '.3f')}" for name, means in changes),
        few=fewer.option("train"),
        many=figures.option("train"),
        majority=figures.without("majority", lexicon=key).mean,
        error=0.5 / math.sqrt(figures.option("test")),
    )


def _tested_on(figures: Figures, key: str) -> Row:
    chosen = figures.only(learner=_LEARNER, lexicon=key)
    ours = []
    for curve in ("madlib", "random-projection"):
        clean, private = (
            chosen.mean("accuracy", curve, 10.0, tested_on=texts) for texts in ("clean", "private")
        )
        ours.append(f"{curve} {clean:.3f} and {private:.3f}")
    return row("tested-on", figures, ours="; ".join(ours))


def _privacy(figures: Figures, key: str) -> Row:
    """Report status, largest loss and true δ of every mechanism at one ε."""
    epsilon = 20.0
    chosen = figures.only(lexicon=key, epsilon=epsilon)
    deltas = chosen.rows("true_delta").set_index("label")["value"]
    ours = []
    for _, loss in chosen.rows("claimed_loss").iterrows():
        delta = f", true δ {deltas[loss['label']]:.3g}" if loss["label"] in deltas.index else ""
        ours.append(f"{loss['mechanism']} {loss['variant']}, {loss['value']:.4g} nats{delta}")
    return row("privacy", figures, epsilon=epsilon, ours="; ".join(ours))


# Huang et al. 2024, Tables 2, 3 and 5, compared with the recorded private auto-encoders.


_SHOWN_AUTOENCODER = (0.05, 0.5, 5.0, 20.0)
_EASIER = 3
"""Allowance: the paper's sentences may be this many times as easy to guess as ours."""
_TITLES = {"rouge1_recall": "ROUGE-1 recall", "nw": "Nw"}


def autoencoder_rows(figures: Figures) -> tuple[Row, ...]:
    """Return rows of a corpus whose network was trained without noise, GloVe vectors."""
    chosen = figures.only(lexicon=_corpus_autoencoder(figures))
    return (
        _noiseless_autoencoder(chosen),
        *(
            _curve_autoencoder(chosen, quantity, curve)
            for quantity in _TITLES
            for curve in paper.MECHANISMS
        ),
        *(_loss(chosen, curve) for curve in paper.MECHANISMS),
        *(_reached(chosen, curve) for curve in ("gaussian-classical", "laplace")),
        _gives_away(chosen),
        *(_equal(chosen, epsilon) for epsilon in EQUAL),
        _length(chosen),
    )


def noise_rows(figures: Figures) -> tuple[Row, ...]:
    """Return rows of the network that was trained with the noise of each ε."""
    chosen = figures.only(lexicon=_corpus_autoencoder(figures))
    trained = [_trained(chosen, curve, e) for curve in paper.MECHANISMS for e in (0.05, 20.0)]
    return (*trained, _useful_autoencoder(chosen), _time(chosen))


def _corpus_autoencoder(figures: Figures) -> str:
    return figures.name.rsplit("-", 1)[1]


def _tables(figures: Figures) -> str:
    return f"Tables 2 and 3 ({_corpus_autoencoder(figures).capitalize()}, GloVe)"


def _shown(figures: Figures, quantity: str, curve: str, learner: str) -> list[float]:
    """Return the means of one decoder at the ε of a row."""
    return [
        figures.mean(quantity, curve, epsilon, learner=learner) for epsilon in _SHOWN_AUTOENCODER
    ]


def _beside(ours: list[float], theirs: list[float]) -> dict[str, str]:
    """Return numbers of the paper, ours, and their differences."""
    return {
        "in_paper": listing(theirs),
        "ours": listing(ours),
        "difference": differences(ours, theirs),
    }


def _noiseless_autoencoder(figures: Figures) -> Row:
    quantities = ("loss", "rouge1_recall", "nw")
    theirs = [paper.noiseless(_corpus_autoencoder(figures), quantity) for quantity in quantities]
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
        other=Filled(" With other vectors ROUGE-1 here is: {other}.", other=other) if other else "",
        **_beside(ours, theirs),
    )


def _curve_autoencoder(figures: Figures, quantity: str, curve: str) -> Row:
    printed = paper.printed(_corpus_autoencoder(figures), quantity, curve)
    theirs = [printed[epsilon] for epsilon in _SHOWN_AUTOENCODER]
    more = ""
    if quantity == "nw" and curve != "trlaplace":
        more = _no_decoder(figures, curve, theirs)
    if curve == "trlaplace":
        wide = [published_deviation(epsilon) for epsilon in _SHOWN_AUTOENCODER]
        more = Filled(
            " The printed row is as good as without noise at every ε. The noise of Theorem 3 is "
            "not small: {wide} times C in each coordinate, {long:.0f} times as long as the vector "
            "or more.",
            wide=listing(wide),
            long=min(wide) * math.sqrt(paper.DIMENSION),
        )
    return row(
        "autoencoder-curve",
        figures,
        tables=_tables(figures),
        name=_TITLES[quantity],
        mechanism=paper.MECHANISMS[curve],
        shown=listing(_SHOWN_AUTOENCODER),
        near=listing(_shown(figures, quantity, curve, NEAREST)),
        nothing=figures.without(quantity, learner=LENGTH).mean,
        more=more,
        **_beside(_shown(figures, quantity, curve, NETWORK), theirs),
    )


def _no_decoder(figures: Figures, curve: str, theirs: list[float]) -> str:
    """State the bound for every decoder, and the printed values beyond it for easier texts too."""
    bound = _shown(figures, "nw_bound", curve, ANY)
    # A bound below 1 is that of our sentences, guessed with the mean probability; converted back to
    # nats it gives the limit of the same noise where guessing is easier.
    easier = _EASIER * figures.without("guess", learner=ANY).mean
    nats = [divergence(b, easier / _EASIER) if b < 1 else math.inf for b in bound]
    beyond = [
        epsilon
        for epsilon, printed, n in zip(_SHOWN_AUTOENCODER, theirs, nats, strict=True)
        if printed > kept_at_most(n, min(easier, 1.0))
    ]
    sentence = Filled(
        " No decoder whatever can keep more than {bound} of the words of such sentences behind "
        "this noise (the information of all its vectors, and what place and length let one guess).",
        bound=listing(bound),
    )
    if beyond:
        further = Filled(
            " Were the paper's sentences {times} times as easy to guess as these of up to {words} "
            "words, its values at ε = {epsilons} would still not be of the theorem's noise, at any "
            "C.",
            times=_EASIER,
            words=figures.option("words")[1],
            epsilons=listing(beyond, "g"),
        )
        return listed((sentence, further), "")
    return sentence


def _loss(figures: Figures, curve: str) -> Row:
    printed = paper.printed(_corpus_autoencoder(figures), "loss", curve)
    words = figures.option("vocabulary")
    return row(
        "autoencoder-loss",
        figures,
        tables=_tables(figures),
        mechanism=paper.MECHANISMS[curve],
        shown=listing(_SHOWN_AUTOENCODER),
        words=words,
        log_words=math.log(words),
        paper_words=paper.WORDS,
        log_paper_words=math.log(paper.WORDS),
        **_beside(
            _shown(figures, "loss", curve, NETWORK),
            [printed[epsilon] for epsilon in _SHOWN_AUTOENCODER],
        ),
    )


def _reached(figures: Figures, curve: str) -> Row:
    noisy, quantity = (0.2, 0.5), "rouge1_recall"
    printed = paper.printed(_corpus_autoencoder(figures), quantity, curve)
    shares = [printed[e] / paper.noiseless(_corpus_autoencoder(figures), quantity) for e in noisy]
    top = figures.without(quantity, learner=NETWORK).mean
    reached = [figures.reaching(quantity, curve, s * top, learner=NETWORK) for s in shares]
    # How many times the paper's ε it takes here to keep the same share.
    factors = [f"{a / b:,.0f}" for a, b in zip(reached, noisy, strict=True) if a is not None]
    return row(
        "autoencoder-reached",
        figures,
        tables=_tables(figures),
        mechanism=paper.MECHANISMS[curve],
        noisy=listing(noisy),
        shares=listing(shares),
        reached=", ".join(epsilon_text(epsilon) for epsilon in reached),
        top=top,
        factors=" and ".join(factors) or Filled("any number of"),
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
    # Under ε a word of the vocabulary is guessed at most e^ε times as often as blindly.
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
        printed=paper.printed(_corpus_autoencoder(figures), "nw", "trlaplace")[epsilon],
        total=total_of(epsilon),
        ours=listing(network, ".2g"),
        near=listing(near, ".2g"),
    )


def _length(figures: Figures) -> Row:
    noisy = curves(figures.rows("rouge1_recall", learner=NETWORK), "rouge1_recall")
    # Where the noise is so large that the output can only know the length.
    low = noisy[noisy["curve"].isin(paper.MECHANISMS) & (noisy["epsilon"] <= 1.0)]["mean"]
    theirs = [
        paper.printed(_corpus_autoencoder(figures), "rouge1_recall", curve)[0.05]
        for curve in paper.MECHANISMS
    ]
    return row(
        "length",
        figures,
        tables=_tables(figures),
        theirs=listing(theirs),
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
    # An upper bound, so it is rounded up.
    limit = ""
    if bound < 1:
        limit = Filled(
            " No decoder can keep more than {bound} of the words.", bound=at_most(bound, 3)
        )
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


def _useful_autoencoder(figures: Figures) -> Row:
    pair = ("gaussian-classical", "laplace")
    network, near = (
        [figures.mean("nw", curve, 200.0, learner=learner) for curve in pair]
        for learner in (NETWORK, NEAREST)
    )
    better = (
        Filled("Reading the whole sentence helps against looking up each vector by itself.")
        if all(read > looked for read, looked in zip(network, near, strict=True))
        else Filled(
            "Looking up each vector by itself is no worse than this network, which has met the "
            "noise in {sentences:,} sentences only.",
            sentences=figures.option("train"),
        )
    )
    return row("useful", figures, network=listing(network), near=listing(near), better=better)


def _time(figures: Figures) -> Row:
    clean = figures.without("cpu_seconds", learner=NETWORK).mean
    seconds = {
        curve: float(figures.curve("cpu_seconds", curve, learner=NETWORK)["mean"].mean())
        for curve in paper.MECHANISMS
    }
    texts = {
        "seconds": "; ".join(f"{curve} {mean:.3g}" for curve, mean in seconds.items()),
        "ratios": listing((mean / clean for mean in seconds.values()), ".2g"),
    }
    return row("time", figures, clean=clean, **texts)
