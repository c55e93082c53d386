"""Huang et al. 2024, Figure 4 (accuracy on SST-2 and AG News), against measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.papers.readings import at, lexicon_facts, option, said, without
from dpcore.papers.reported import RANDOM_BASELINE
from dpcore.papers.row import Row, signed
from dpcore.study.utility_solve import solve
from dpcore.study.utility_summary import chosen, curves

if TYPE_CHECKING:
    from dpcore.study.experiment_results import RecordedExperiment

_PAPER = "Huang et al. 2024"
_KINDS = {"": "GloVe", "-bundled": "bundled vectors", "-random": "random vectors"}
_LEARNER = "averaged"
_FIGURE = "Figure 4 and Section 6.3"


def accuracy_rows(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """Rows of accuracy on one corpus, three kinds of vectors."""
    key = str(recorded.entry.plan["lexicons"][0])
    return (
        _baselines(recorded, key),
        *(_trlaplace(recorded, key, kind) for kind in ("", "-bundled", "-random")),
        _best(recorded, key),
        _needed(recorded, key),
        _tested_on(recorded, key),
        _privacy(recorded, key),
    )


def _baselines(recorded: RecordedExperiment, key: str) -> Row:
    found = []
    for kind, name in _KINDS.items():
        mean = without(
            recorded, "accuracy", learner=_LEARNER, lexicon=f"{key}{kind}", tested_on="clean"
        )
        found.append(f"{name} {said(mean.mean, mean.low, mean.high)}")
    others = [name for name in option(recorded, "learners") if name != _LEARNER]
    more = ", ".join(
        f"{name} {without(recorded, 'accuracy', learner=name, lexicon=key).mean:.3f}"
        for name in others
    )
    majority = without(recorded, "majority", lexicon=key).mean
    printed = RANDOM_BASELINE[key]
    random = without(
        recorded, "accuracy", learner=_LEARNER, lexicon=f"{key}-random", tested_on="clean"
    ).mean
    return Row(
        _PAPER,
        _FIGURE,
        "accuracy without privacy",
        f"random vectors {printed:.4f}; GloVe drawn, not printed",
        f"{'; '.join(found)}; other classifiers with GloVe: {more}; majority class {majority:.3f}",
        signed(random - printed),
        f"Random vectors that stay as they are reach {random:.3f} here, guessing {majority:.3f}. "
        "The paper says that every mechanism lifts its value to about 0.865. "
        "Rewriting only removes information, so such a gain cannot come from it: baseline and "
        f"curves can hardly have been trained alike there. {recorded.entry.sizes}",
    )


def _trlaplace(recorded: RecordedExperiment, key: str, kind: str) -> Row:
    where = {"learner": _LEARNER, "lexicon": f"{key}{kind}"}
    epsilons = (0.05, 5.0, 20.0)
    found = {
        on: ", ".join(
            said(*(float(r[name]) for name in ("mean", "low", "high")))
            for r in (
                at(recorded, "accuracy", "trlaplace", e, tested_on=on, **where) for e in epsilons
            )
        )
        for on in ("clean", "private")
    }
    kept = float(at(recorded, "nw", "trlaplace", 20.0, lexicon=f"{key}{kind}")["mean"])
    majority = without(recorded, "majority", lexicon=f"{key}{kind}").mean
    said_ = "around 0.865 at every ε" if kind == "-random" else "close to the baseline at every ε"
    return Row(
        _PAPER,
        _FIGURE,
        f"accuracy of TrLaplace, {_KINDS[kind]}, at ε = {', '.join(f'{e:g}' for e in epsilons)}",
        said_,
        f"tested on clean text {found['clean']}; on private text {found['private']}",
        "",
        f"Noise of the published width on 300 coordinates leaves a share of {kept:.2g} of the "
        f"words at ε = 20, so there is nothing to learn (majority class: {majority:.3f}). A "
        "network that is fine-tuned with the noise inside sees the labels and the whole private "
        "sentence again and again; that is not what a release of private text gives.",
    )


def _best(recorded: RecordedExperiment, key: str) -> Row:
    rows = curves(
        recorded.table, "accuracy", learner=_LEARNER, tested_on="clean", lexicon=f"{key}-random"
    )
    rows = rows[np.isclose(rows["epsilon"], 10.0)].sort_values("mean", ascending=False)
    found = "; ".join(f"{r['curve']} {r['mean']:.3f}" for _, r in rows.iterrows())
    return Row(
        _PAPER,
        _FIGURE,
        "accuracy at ε = 10 with random vectors",
        "up to about 0.87",
        found,
        "",
        "ε of the metric mechanisms is per unit of distance, so it depends on the scale of the "
        "vectors, which is ours for random ones (median nearest distance of GloVe). That of the "
        "others is between any two words. Equal numbers are not equal privacy.",
    )


def _needed(recorded: RecordedExperiment, key: str) -> Row:
    within = 0.05
    found = solve(recorded.table, within, learner=_LEARNER, tested_on="clean", lexicon=key)
    diameter = lexicon_facts(recorded, key)["diameter"]
    return Row(
        _PAPER,
        _FIGURE,
        f"smallest ε within {within:g} of the accuracy without privacy, GloVe",
        "0.05, or less",
        "; ".join(one.sentence for one in found),
        "",
        "For local privacy such an ε promises odds of e^ε between any two words; for metric "
        f"privacy odds of e^(ε·{diameter:.1f}) between the farthest two.",
    )


def _tested_on(recorded: RecordedExperiment, key: str) -> Row:
    found = []
    for curve, epsilon in (("madlib", 10.0), ("random-projection", 10.0)):
        where = {"learner": _LEARNER, "lexicon": key}
        values = [
            float(at(recorded, "accuracy", curve, epsilon, tested_on=on, **where)["mean"])
            for on in ("clean", "private")
        ]
        found.append(f"{curve} {values[0]:.3f} and {values[1]:.3f}")
    return Row(
        _PAPER,
        _FIGURE,
        "tested on clean and on private text, ε = 10, GloVe",
        "which of the two is not said",
        "; ".join(found),
        "",
        f"Both are recorded ({option(recorded, 'test'):,} test texts a seed). Private test texts "
        "are what a service sees that privatises every text before it is sent.",
    )


def _privacy(recorded: RecordedExperiment, key: str) -> Row:
    """Status, largest loss and true δ of every mechanism at one ε."""
    epsilon = 20.0
    losses = chosen(recorded.table, "claimed_loss", lexicon=key, epsilon=epsilon)
    deltas = chosen(recorded.table, "true_delta", lexicon=key, epsilon=epsilon)
    true = dict(zip(deltas["label"], deltas["value"], strict=True))
    found = [
        f"{row['mechanism']} {row['variant']}, {row['value']:.4g} nats"
        + (f", true δ {true[row['label']]:.3g}" if row["label"] in true else "")
        for _, row in losses.iterrows()
    ]
    return Row(
        _PAPER,
        "Theorems 1 to 3",
        f"what is true of the privacy at ε = {epsilon:g}, GloVe: status of the claim, and its "
        "largest loss between two words",
        f"ε = {epsilon:g} for all of them",
        "; ".join(found),
        "",
        "Local privacy bounds every pair by ε, metric privacy the farthest pair by ε times the "
        "largest distance; a refuted claim bounds nothing at its ε and δ. The classical Gaussian "
        "formula is a theorem up to ε = 1 only.",
    )
