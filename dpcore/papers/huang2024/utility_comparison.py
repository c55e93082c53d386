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
_TABLES = "Tables 2 and 3 (Yelp, GloVe)"
_FIGURE = "Figure 4 and Section 6.3"
_KINDS = {"": "GloVe", "-bundled": "bundled vectors", "-random": "random vectors"}
_LEARNER = "averaged"
_NEURAL = (
    "The paper counts in what its auto-encoder writes. It learns with the noise inside, and the "
    "paper does not say whether its decoder sees the private text; here each word is rewritten on "
    "its own, by Algorithm 1."
)


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
    theirs = [f"{QUANTITIES[q]} {paper.noiseless('yelp', q):.3f}" for q in quantities]
    ours = [f"{QUANTITIES[q]} {yelp.without(q).mean:.3f}" for q in quantities]
    return row(
        figure="Tables 2 and 3, ε = ∞ (Yelp, GloVe)",
        quantity="quality without noise",
        said="; ".join(theirs),
        ours="; ".join(ours),
        reason=f"Ours loses the {100 * (1 - yelp.without('nw').mean):.2g} % of the words that are "
        f"not among the {yelp.lexicon('yelp')['words']:,} with a vector (each "
        "is exchanged for a random one: passing it through would publish it); the paper's loses "
        "what its auto-encoder forgets. BLEU is on other scales: see below.",
    )


def _quality(yelp: Figures, quantity: str, curve: str) -> Row:
    printed = paper.printed("yelp", quantity, curve)
    ours = [yelp.at(quantity, curve, epsilon) for epsilon in _SHOWN]
    kept = joined((yelp.mean("nw", curve, epsilon) for epsilon in _SHOWN), ".2g")
    another = (
        " The paper's BERTScore takes another encoder, so even two unlike texts score differently."
    )
    return row(
        figure=_TABLES,
        quantity=f"{QUANTITIES[quantity]} of {paper.MECHANISMS[curve]} at ε = "
        f"{joined(_SHOWN, 'g')}",
        said=joined(printed[epsilon] for epsilon in _SHOWN),
        ours=", ".join(str(reading) for reading in ours),
        difference=differences((o.mean for o in ours), (printed[e] for e in _SHOWN)),
        reason=f"Share of words that stay here: {kept}. {_NEURAL}"
        f"{another if quantity == 'bert_style' else ''}",
    )


def _constant_bleu(yelp: Figures) -> Row:
    bleu, recall = (
        [value for curve in paper.TABLES["yelp"][quantity].values() for value in curve]
        for quantity in ("bleu", "rouge1_recall")
    )
    ours = yelp.rows("bleu")["value"]
    return row(
        figure=_TABLES,
        quantity="range of BLEU over all mechanisms and ε",
        said=f"{min(bleu):.3f} to {max(bleu):.3f}, while ROUGE-1 goes from {min(recall):.3g} to "
        f"{max(recall):.3g}",
        ours=f"{ours.min():.2f} to {ours.max():.2f}",
        reason="A text that shares an eighth of its words with the original cannot have the BLEU "
        "of one that shares nine tenths: the printed BLEU does not compare the rewritten text with "
        "its original. Ours is corpus BLEU of sacrebleu, from 0 to 100.",
    )


def _delta(yelp: Figures) -> Row:
    rows = yelp.rows("true_delta", mechanism="trlaplace").sort_values("epsilon")
    rows = rows[rows["epsilon"].isin(_SHOWN)]
    deltas = zip(rows["value"], rows["epsilon"], strict=True)
    return row(
        figure="Theorem 3",
        quantity="δ of TrLaplace at these ε",
        said="4^−300 (4^−1700 at ε = 20)",
        ours=", ".join(f"{delta:.3g} at ε = {epsilon:g}" for delta, epsilon in deltas),
        reason="The claim is refuted: the region outside the other word's support has a volume of "
        "(2A)^d − Π(2A − |v_i|), not Δ_∞^d. So what TrLaplace keeps, it does not keep privately.",
    )


def _useful(yelp: Figures) -> Row:
    half = 0.5 * yelp.without("rouge1_recall").mean
    aim = 0.5 * paper.noiseless("yelp", "rouge1_recall")
    theirs = []
    for curve in paper.MECHANISMS:
        values = paper.printed("yelp", "rouge1_recall", curve).items()
        theirs.append(f"{curve} {next(epsilon for epsilon, value in values if value >= aim):g}")
    ours = []
    for name, part in curves(yelp.rows("rouge1_recall"), "rouge1_recall").groupby(
        "curve", sort=False
    ):
        reached = part.loc[part["mean"] >= half, "epsilon"].tolist()
        ours.append(f"{name} {epsilon_text(reached[0] if reached else None)}")
    return row(
        figure="Section 6.2",
        quantity="first recorded ε at which half of the ROUGE-1 recall without noise is there",
        said=f"{'; '.join(theirs)} (Yelp, GloVe)",
        ours="; ".join(ours),
        reason="Of the mechanisms with local privacy none gets there at an ε that promises "
        "anything (odds of e^200 or more are no promise). The metric mechanisms bound another "
        "quantity: ε times a distance.",
    )


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
    majority = figures.without("majority", lexicon=key).mean
    printed, random = paper.RANDOM_BASELINE[key], ours["-random"].mean
    return row(
        figure=_FIGURE,
        quantity="accuracy without privacy",
        said=f"random vectors {printed:.4f}; GloVe drawn, not printed",
        ours=f"{'; '.join(f'{_KINDS[kind]} {share}' for kind, share in ours.items())}; "
        f"other classifiers with GloVe: {others}; majority class {majority:.3f}",
        difference=signed(random - printed),
        reason=f"Random vectors that stay as they are reach {random:.3f} here, guessing "
        f"{majority:.3f}. The paper says that every mechanism lifts its value to about 0.865. "
        "Rewriting only removes information, so such a gain cannot come from it: baseline and "
        f"curves can hardly have been trained alike there. {figures.entry.sizes}",
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
        figure=_FIGURE,
        quantity=f"accuracy of TrLaplace, {_KINDS[kind]}, at ε = {joined(_SHOWN, 'g')}",
        said="around 0.865 at every ε" if kind == "-random" else "close to the baseline at every ε",
        ours=f"tested on clean text {clean}; on private text {private}",
        reason="Noise of the published width on 300 coordinates leaves a share of "
        f"{chosen.mean('nw', 'trlaplace', 20.0):.2g} of the "
        "words at ε = 20, so there is nothing to learn (majority class: "
        f"{chosen.without('majority').mean:.3f}). A "
        "network that is fine-tuned with the noise inside sees the labels and the whole private "
        "sentence again and again; that is not what a release of private text gives.",
    )


def _best(figures: Figures, key: str) -> Row:
    where = {"learner": _LEARNER, "tested_on": "clean", "lexicon": f"{key}-random"}
    rows = curves(figures.recorded.table, "accuracy", **where)
    rows = rows[rows["epsilon"] == 10.0].sort_values("mean", ascending=False)
    means = zip(rows["curve"], rows["mean"], strict=True)
    return row(
        figure=_FIGURE,
        quantity="accuracy at ε = 10 with random vectors",
        said="up to about 0.87",
        ours="; ".join(f"{curve} {mean:.3f}" for curve, mean in means),
        reason="ε of the metric mechanisms is per unit of distance, so it depends on the scale of "
        "the vectors, which is ours for random ones (median nearest distance of GloVe). That of "
        "the others is between any two words. Equal numbers are not equal privacy.",
    )


def _needed(figures: Figures, key: str) -> Row:
    within = 0.05
    where = {"learner": _LEARNER, "tested_on": "clean", "lexicon": key}
    solved = solve(figures.recorded.table, within, **where)
    return row(
        figure=_FIGURE,
        quantity=f"smallest ε within {within:g} of the accuracy without privacy, GloVe",
        said="0.05, or less",
        ours="; ".join(curve.sentence for curve in solved),
        reason="For local privacy such an ε promises odds of e^ε between any two words; for metric "
        f"privacy odds of e^(ε·{figures.lexicon(key)['diameter']:.1f}) between the farthest two.",
    )


def _tested_on(figures: Figures, key: str) -> Row:
    chosen = figures.only(learner=_LEARNER, lexicon=key)
    ours = []
    for curve in ("madlib", "random-projection"):
        clean, private = (
            chosen.mean("accuracy", curve, 10.0, tested_on=texts) for texts in ("clean", "private")
        )
        ours.append(f"{curve} {clean:.3f} and {private:.3f}")
    return row(
        figure=_FIGURE,
        quantity="tested on clean and on private text, ε = 10, GloVe",
        said="which of the two is not said",
        ours="; ".join(ours),
        reason=f"Both are recorded ({figures.option('test'):,} test texts a seed). Private test "
        "texts are what a service sees that privatises every text before it is sent.",
    )


def _privacy(figures: Figures, key: str) -> Row:
    """Status, largest loss and true δ of every mechanism at one ε."""
    epsilon = 20.0
    chosen = figures.only(lexicon=key, epsilon=epsilon)
    deltas = chosen.rows("true_delta").set_index("label")["value"]
    ours = []
    for _, loss in chosen.rows("claimed_loss").iterrows():
        delta = f", true δ {deltas[loss['label']]:.3g}" if loss["label"] in deltas.index else ""
        ours.append(f"{loss['mechanism']} {loss['variant']}, {loss['value']:.4g} nats{delta}")
    return row(
        figure="Theorems 1 to 3",
        quantity=f"what is true of the privacy at ε = {epsilon:g}, GloVe: status of the claim, and "
        "its largest loss between two words",
        said=f"ε = {epsilon:g} for all of them",
        ours="; ".join(ours),
        reason="Local privacy bounds every pair by ε, metric privacy the farthest pair by ε times "
        "the largest distance; a refuted claim bounds nothing at its ε and δ. The classical "
        "Gaussian formula is a theorem up to ε = 1 only.",
    )
