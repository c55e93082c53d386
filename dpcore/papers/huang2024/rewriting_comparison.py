"""Huang et al. 2024, Tables 2 and 3 (rewriting quality on Yelp), against measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.papers.readings import (
    at,
    epsilon_text,
    lexicon_facts,
    said,
    without,
)
from dpcore.papers.reported import (
    HUANG_EPSILONS,
    YELP_NOISELESS,
    YELP_TABLES,
    reported_nw,
)
from dpcore.papers.row import Row, signed
from dpcore.study.rewriting import QUANTITIES
from dpcore.study.utility_summary import chosen, curves

if TYPE_CHECKING:
    from dpcore.study.experiment_results import RecordedExperiment

_PAPER = "Huang et al. 2024"
_NAMES = {
    "gaussian-classical": "Gaussian (Theorem 2)",
    "laplace": "Laplace (Theorem 1)",
    "trlaplace": "TrLaplace (Theorem 3)",
}
_SHOWN = (0.05, 5.0, 20.0)
_OURS = {"rouge1": "rouge1_recall", "bleu": "bleu", "bert_style": "bert_style", "nw": "nw"}
_UNITS = {"rouge1": 100.0}
_STUDY = "huang2024-figure-2-yelp"
_NEURAL = (
    "The paper counts in what its auto-encoder writes. It learns with the noise inside, and the "
    "paper does not say whether its decoder sees the private text; here each word is rewritten on "
    "its own, by Algorithm 1."
)


def table_rows(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """Rows of the rewriting quality on Yelp, GloVe."""
    rows = [_noiseless(recorded)]
    rows += [_curve(recorded, quantity, curve) for quantity in _OURS for curve in _NAMES]
    return (*rows, _constant_bleu(recorded), _delta(recorded), _useful(recorded))


def _printed(quantity: str, curve: str) -> dict[float, float]:
    if quantity == "nw":
        return reported_nw(_STUDY, curve)
    values = zip(HUANG_EPSILONS, YELP_TABLES[quantity][curve], strict=True)
    return {epsilon: value / _UNITS.get(quantity, 1.0) for epsilon, value in values}


def _noiseless(recorded: RecordedExperiment) -> Row:
    found, paper = [], []
    for quantity, value in YELP_NOISELESS.items():
        ours = without(recorded, _OURS[quantity], lexicon="yelp")
        found.append(f"{QUANTITIES[_OURS[quantity]]} {ours.mean:.3f}")
        paper.append(f"{QUANTITIES[_OURS[quantity]]} {value / _UNITS.get(quantity, 1.0):.3f}")
    kept = without(recorded, "nw", lexicon="yelp").mean
    return Row(
        _PAPER,
        "Tables 2 and 3, ε = ∞ (Yelp, GloVe)",
        "quality without noise",
        "; ".join(paper),
        "; ".join(found),
        "",
        f"Ours loses the {100 * (1 - kept):.2g} % of the words that are not among the "
        f"{lexicon_facts(recorded, 'yelp')['words']:,} with a vector (each "
        "is exchanged for a random one: passing it through would publish it); the paper's loses "
        "what its auto-encoder forgets. BLEU is on other scales: see below.",
    )


def _curve(recorded: RecordedExperiment, quantity: str, curve: str) -> Row:
    printed = _printed(quantity, curve)
    ours = [at(recorded, _OURS[quantity], curve, e, lexicon="yelp") for e in _SHOWN]
    kept = [float(at(recorded, "nw", curve, e, lexicon="yelp")["mean"]) for e in _SHOWN]
    pairs = zip(ours, _SHOWN, strict=True)
    another = "" if quantity != "bert_style" else (
        " The paper's BERTScore takes another encoder, so even two unlike texts score differently."
    )  # fmt: skip
    return Row(
        _PAPER,
        "Tables 2 and 3 (Yelp, GloVe)",
        f"{QUANTITIES[_OURS[quantity]]} of {_NAMES[curve]} at ε = "
        f"{', '.join(f'{e:g}' for e in _SHOWN)}",
        ", ".join(f"{printed[e]:.3g}" for e in _SHOWN),
        ", ".join(said(float(r["mean"]), float(r["low"]), float(r["high"])) for r in ours),
        ", ".join(signed(float(r["mean"]) - printed[e]) for r, e in pairs),
        f"Share of words that stay here: {', '.join(f'{value:.2g}' for value in kept)}. {_NEURAL}"
        f"{another}",
    )


def _constant_bleu(recorded: RecordedExperiment) -> Row:
    values = [v for curve in YELP_TABLES["bleu"].values() for v in curve]
    recall = [v for curve in YELP_TABLES["rouge1"].values() for v in curve]
    ours = chosen(recorded.table, "bleu", lexicon="yelp")["value"]
    return Row(
        _PAPER,
        "Tables 2 and 3 (Yelp, GloVe)",
        "range of BLEU over all mechanisms and ε",
        f"{min(values):.3f} to {max(values):.3f}, while ROUGE-1 goes from {min(recall):.3g} to "
        f"{max(recall):.3g}",
        f"{ours.min():.2f} to {ours.max():.2f}",
        "",
        "A text that shares an eighth of its words with the original cannot have the BLEU of one "
        "that shares nine tenths: the printed BLEU does not compare the rewritten text with its "
        "original. Ours is corpus BLEU of sacrebleu, from 0 to 100.",
    )


def _delta(recorded: RecordedExperiment) -> Row:
    rows = chosen(recorded.table, "true_delta", mechanism="trlaplace", lexicon="yelp")
    rows = rows.sort_values("epsilon")
    found = ", ".join(
        f"{value:.3g} at ε = {epsilon:g}"
        for epsilon, value in zip(rows["epsilon"], rows["value"], strict=True)
        if epsilon in _SHOWN
    )
    return Row(
        _PAPER,
        "Theorem 3",
        "δ of TrLaplace at these ε",
        "4^−300 (4^−1700 at ε = 20)",
        found,
        "",
        "The claim is refuted: the region outside the other word's support has a volume of "
        "(2A)^d − Π(2A − |v_i|), not Δ_∞^d. So what TrLaplace keeps, it does not keep privately.",
    )


def _useful(recorded: RecordedExperiment) -> Row:
    rows = curves(recorded.table, "rouge1_recall", lexicon="yelp")
    top = without(recorded, "rouge1_recall", lexicon="yelp").mean
    aim = 0.5 * YELP_NOISELESS["rouge1"]
    printed = [
        f"{curve} {next(e for e, v in zip(HUANG_EPSILONS, values, strict=True) if v >= aim):g}"
        for curve, values in YELP_TABLES["rouge1"].items()
    ]
    found = []
    for curve, part in rows.groupby("curve", sort=False):
        reached = part[part["mean"] >= 0.5 * top]["epsilon"]
        first = epsilon_text(float(reached.iloc[0])) if len(reached) else "never"
        found.append(f"{curve} {first}")
    return Row(
        _PAPER,
        "Section 6.2",
        "first recorded ε at which half of the ROUGE-1 recall without noise is there",
        f"{'; '.join(printed)} (Yelp, GloVe)",
        "; ".join(found),
        "",
        "Of the mechanisms with local privacy none gets there at an ε that promises anything "
        "(odds of e^200 or more are no promise). The metric mechanisms bound another quantity: ε "
        "times a distance.",
    )
