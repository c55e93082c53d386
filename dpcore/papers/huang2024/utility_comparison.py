"""Huang et al. 2024 on texts: Tables 2 and 3 (rewriting Yelp) and Figure 4 (accuracy)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.papers.huang2024 import printed as paper
from dpcore.papers.huang2024.deniability_comparison import row
from dpcore.papers.row import differences, epsilon_text, joined, signed
from dpcore.study.rewriting import QUANTITIES
from dpcore.study.utility_solve import solve
from dpcore.study.utility_summary import curves

if TYPE_CHECKING:
    from dpcore.papers.row import Row
    from dpcore.study.reading import Figures

_SHOWN = (0.05, 5.0, 20.0)
_KINDS = {"": "GloVe", "-bundled": "bundled vectors", "-random": "random vectors"}
_LEARNER = "averaged"


def table_rows(figures: Figures) -> tuple[Row, ...]:
    """Rows of the rewriting quality on Yelp, GloVe."""
    yelp = figures.only(lexicon="yelp")
    quantities = ("rouge1_recall", "bleu", "bert_style", "nw")
    return (
        _unchanged(yelp),
        *(_quality(yelp, quantity, curve) for quantity in quantities for curve in paper.MECHANISMS),
        _constant_bleu(yelp),
        _delta(yelp),
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
    theirs = [printed[epsilon] for epsilon in _SHOWN]
    ours = [yelp.at(quantity, curve, epsilon) for epsilon in _SHOWN]
    another = (
        " The paper's BERTScore takes another encoder, so even two unlike texts score differently."
    )
    return row(
        "quality",
        yelp,
        name=QUANTITIES[quantity],
        mechanism=paper.MECHANISMS[curve],
        shown=joined(_SHOWN, "g"),
        in_paper=joined(theirs),
        ours=", ".join(str(reading) for reading in ours),
        difference=differences((reading.mean for reading in ours), theirs),
        kept=joined((yelp.mean("nw", curve, epsilon) for epsilon in _SHOWN), ".2g"),
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


def _delta(yelp: Figures) -> Row:
    rows = yelp.rows("true_delta", mechanism="trlaplace").sort_values("epsilon")
    rows = rows[rows["epsilon"].isin(_SHOWN)]
    deltas = zip(rows["value"], rows["epsilon"], strict=True)
    ours = ", ".join(f"{delta:.3g} at ε = {epsilon:g}" for delta, epsilon in deltas)
    return row("delta-of-texts", yelp, ours=ours)


def _useful(yelp: Figures) -> Row:
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
    """Rows of accuracy on one corpus, three kinds of vectors."""
    key = str(figures.entry.plan["lexicons"][0])
    return (
        _baselines(figures, key),
        *(_trlaplace(figures, key, kind) for kind in _KINDS),
        _best(figures, key),
        _needed(figures, key),
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
            for epsilon in _SHOWN
        )
        for texts in ("clean", "private")
    )
    return row(
        "accuracy-trlaplace",
        figures,
        kind=_KINDS[kind],
        shown=joined(_SHOWN, "g"),
        in_paper="around 0.865 at every ε"
        if kind == "-random"
        else "close to the baseline at every ε",
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


def _needed(figures: Figures, key: str) -> Row:
    within = 0.05
    where = {"learner": _LEARNER, "tested_on": "clean", "lexicon": key}
    ours = "; ".join(curve.sentence for curve in solve(figures.recorded.table, within, **where))
    return row("accuracy-needed", figures, within=within, ours=ours, facts=figures.lexicon(key))


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
    """Status, largest loss and true δ of every mechanism at one ε."""
    epsilon = 20.0
    chosen = figures.only(lexicon=key, epsilon=epsilon)
    deltas = chosen.rows("true_delta").set_index("label")["value"]
    ours = []
    for _, loss in chosen.rows("claimed_loss").iterrows():
        delta = f", true δ {deltas[loss['label']]:.3g}" if loss["label"] in deltas.index else ""
        ours.append(f"{loss['mechanism']} {loss['variant']}, {loss['value']:.4g} nats{delta}")
    return row("privacy", figures, epsilon=epsilon, ours="; ".join(ours))
